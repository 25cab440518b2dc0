package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
)

// A batch of prompts of any lengths gives what each gives alone, however many grow at once.
func TestBatchIsEachAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	prompts := make([][]int, 9)
	for i, n := range []int{5, 1, 90, 33, 32, 2, 140, 64, 7} {
		prompts[i] = randomTokens(rng, n)
	}
	for name, m := range decoders() {
		for i, o := range []Sampling{{Tokens: 20, Rows: 4}, {Tokens: 70, Temperature: 1.5, Seed: 3, Repetition: 1.2}, {Tokens: 9, Rows: 1, Cache: dtype.BF16}} {
			m.Stop = nil
			if i == 1 { // rows that end at different times
				m.Stop = []int{4, 7, 11, 200, 201, 202}
			}
			got, err := m.GenerateBatchTokens(t.Context(), prompts, o)
			if err != nil {
				t.Fatal(err)
			}
			for j, prompt := range prompts {
				own := o
				own.Seed += uint64(j)
				want, err := m.GenerateTokens(t.Context(), prompt, own)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got[j], want) {
					t.Errorf("%s, %+v, prompt %d: got %v, want %v", name, o, j, got[j][len(prompt):], want[len(prompt):])
				}
			}
		}
	}
}

// The families of transformers do so, too, those whose rates follow the length one by one.
func TestBatchOfFamilies(t *testing.T) {
	for _, name := range []string{"llama-3", "gemma2", "gemma3", "qwen2-window", "phi3-long", "llama-dynamic"} {
		m := loaded(t, fixtures+"/"+name)
		prompts := [][]int{{1, 2, 3}, {4}, {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}
		got, err := m.GenerateBatchTokens(t.Context(), prompts, Sampling{Tokens: 8})
		if err != nil {
			t.Fatal(err)
		}
		for i, prompt := range prompts {
			if want, err := m.GenerateTokens(t.Context(), prompt, Sampling{Tokens: 8}); err != nil || !slices.Equal(got[i], want) {
				t.Errorf("%s, prompt %d: got %v, want %v, %v", name, i, got[i], want, err)
			}
		}
	}
}

func TestBatchOfText(t *testing.T) {
	m := New(tiny())
	prompts := []string{"one", "two three", "x"}
	plain, err := m.GenerateBatch(t.Context(), prompts, Sampling{Tokens: 12})
	if err != nil {
		t.Fatal(err)
	}
	stop := plain[1][len(prompts[1])+4:][:2]
	got, err := m.GenerateBatch(t.Context(), prompts, Sampling{Tokens: 12, Stop: []string{stop}})
	for i, prompt := range prompts {
		want, _, _ := strings.Cut(plain[i][len(prompt):], stop)
		if err != nil || got[i] != prompt+want {
			t.Errorf("got %q, %v, want %q", got[i], err, prompt+want)
		}
	}
	if _, err := m.GenerateBatch(t.Context(), []string{"a", ""}, Sampling{}); err == nil || !strings.Contains(err.Error(), "prompt 1: ") {
		t.Errorf("an empty prompt: got %v", err)
	}
	if got, err := m.GenerateBatch(t.Context(), nil, Sampling{}); err != nil || len(got) != 0 {
		t.Errorf("no prompts: got %q, %v", got, err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if got, err := m.GenerateBatch(ctx, prompts, Sampling{}); !errors.Is(err, cause) || !slices.Equal(got, prompts) {
		t.Errorf("a ctx that is done: got %q, %v", got, err)
	}
}

// A batch takes the launches of its longest text, not those of all.
func TestBatchLaunches(t *testing.T) {
	m := New(tiny())
	launches := func(prompts ...[]int) int {
		run := func(ctx context.Context) {
			if _, err := m.GenerateBatchTokens(ctx, prompts, Sampling{Tokens: 40}); err != nil {
				t.Fatal(err)
			}
		}
		return profile.Record(t.Context(), run).Launches
	}
	one := launches([]int{1, 2})
	if all := launches([]int{1, 2}, []int{3, 4, 5}, []int{6}, []int{7, 8}); all > one*11/10 || one == 0 {
		t.Errorf("four texts take %d launches, one %d", all, one)
	}
}
