package llm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A batch of prompts of any lengths gives what each gives alone, however many grow at once.
func TestBatchIsEachAlone(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	prompts := make([][]int, 9)
	for i, n := range []int{5, 1, 90, 33, 32, 2, 140, 64, 7} {
		prompts[i] = randomTokens(rng, n)
	}
	for name, m := range decoders() {
		for i, o := range []Sampling{{Tokens: 30, Rows: 4}, {Tokens: 70, Temperature: 1.5, Seed: 3, Repetition: 1.2}, {Tokens: 9, Rows: 1, Cache: dtype.BF16}} {
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

// After some steps of as many texts a function computes the next ones; with the keys of a prompt that came
// between, they are computed plainly for a while.
func TestBatchFunction(t *testing.T) {
	m := New(tiny())
	b, err := m.NewBatch(t.Context(), Sampling{Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	steps := func(count int, want bool) {
		t.Helper()
		for range count {
			if err := b.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.mem.again.step != nil; got != want {
			t.Errorf("after %d steps a function computes them: %v, want %v", count, got, want)
		}
	}
	for _, prompt := range [][]int{{1, 2, 3}, {4}} {
		if _, err := b.Add(t.Context(), Request{Prompt: prompt, Sampling: Sampling{Tokens: 100}}); err != nil {
			t.Fatal(err)
		}
	}
	steps(stepsBefore, false)
	steps(1, true)
	if _, err := b.Add(t.Context(), Request{Prompt: []int{7, 8, 9}, Sampling: Sampling{Tokens: 100}}); err != nil {
		t.Fatal(err)
	}
	steps(stepsBefore, false)
	steps(1, true)
}

// Texts that join and leave a batch at any step are what each is alone, and their log-probabilities are those
// of the model's scores.
func TestBatchJoins(t *testing.T) {
	for name, m := range decoders() {
		m.Stop = nil
		rng := rand.New(rand.NewPCG(4, 2))
		b, err := m.NewBatch(t.Context(), Sampling{Rows: 3})
		if err != nil {
			t.Fatal(err)
		}
		var all []*Growth
		var wants [][]int
		made := map[*Growth][]Token{}
		for step := 0; len(all) < 12 || b.Len() > 0; step++ {
			for len(all) < 12 && b.Places() > 0 && rng.IntN(3) > 0 {
				o := Sampling{Tokens: 1 + rng.IntN(9), Seed: uint64(1 + len(all)), Temperature: float64(len(all) % 2)}
				prompt := randomTokens(rng, 1+rng.IntN(70))
				g, err := b.Add(t.Context(), Request{Prompt: prompt, Sampling: o, LogProbs: len(all)%3 == 0, Top: 2, Echo: len(all)%3 == 0})
				if err != nil {
					t.Fatal(err)
				}
				want, err := m.GenerateTokens(t.Context(), prompt, o)
				if err != nil {
					t.Fatal(err)
				}
				all, wants = append(all, g), append(wants, want)
			}
			if step%5 == 4 && b.Len() > 1 { // one that is not wanted any more
				g := b.rows[0]
				b.Remove(g)
				wants[slices.Index(all, g)] = nil
			}
			rows := slices.Clone(b.rows)
			if err := b.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, g := range rows {
				made[g] = append(made[g], g.Token)
			}
		}
		for i, g := range all {
			if wants[i] == nil {
				continue
			}
			if !slices.Equal(g.ids, wants[i]) || g.End != EndLength {
				t.Errorf("%s, text %d: got %v, %q, want %v", name, i, g.ids, g.End, wants[i])
			}
			if g.request.LogProbs {
				checkLikelihoods(t, m, g, append(slices.Clone(g.Read), made[g]...))
			}
		}
		b.Free()
	}
}

// Long prompts that join are read in blocks between the steps of a text that grows, which has a token of
// each, and all become what they are alone.
func TestLongPromptJoins(t *testing.T) {
	for name, m := range decoders() {
		m.Stop = nil
		rng := rand.New(rand.NewPCG(5, 3))
		b, err := m.NewBatch(t.Context(), Sampling{Rows: 4})
		if err != nil {
			t.Fatal(err)
		}
		block, least := shortBlock, 700/shortBlock
		if b.mem.device().Hints().Later { // a GPU
			block, least = longBlock, 3
		}
		requests := []Request{
			{Prompt: randomTokens(rng, 9), Sampling: Sampling{Tokens: 60}},
			{Prompt: randomTokens(rng, 700), Sampling: Sampling{Tokens: 5, Temperature: 1, Seed: 3}},
			{Prompt: randomTokens(rng, 300), Sampling: Sampling{Tokens: 5}, LogProbs: true, Top: 2, Echo: true},
			{Prompt: randomTokens(rng, 20), Sampling: Sampling{Tokens: 5}},
		}
		var all []*Growth
		join := func(r Request) {
			g, err := b.Add(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, g)
		}
		join(requests[0])
		var said []Token // of the one with log-probabilities
		steps := 0
		for ; b.Len() > 0; steps++ {
			if steps == 3 {
				for _, r := range requests[1:] {
					join(r)
				}
			}
			read := func() (n int) {
				for _, g := range all[1:] {
					n += max(0, min(g.known, len(g.request.Prompt)-1))
				}
				return n
			}
			before, gone := read(), false
			if err := b.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, g := range all {
				gone = gone || g.End != ""
			}
			if n := read() - before; !gone && (n > 2*block || steps == 3 && n == 0) { // a block of two, or of one
				t.Errorf("%s: step %d reads %d tokens, want at most two blocks of %d", name, steps, n, block)
			}
			if all[0].End == "" && all[0].Token.ID < 0 {
				t.Errorf("%s: step %d makes no token of the text that grows", name, steps)
			}
			if len(all) > 2 && all[2].Token.ID >= 0 && len(said) < 5 {
				said = append(said, all[2].Token)
			}
		}
		for i, g := range all {
			want, err := m.GenerateTokens(t.Context(), requests[i].Prompt, requests[i].Sampling)
			if err != nil || !slices.Equal(g.ids, want) {
				t.Errorf("%s, text %d: got %v, want %v, %v", name, i, g.ids, want, err)
			}
		}
		checkLikelihoods(t, m, all[2], append(slices.Clone(all[2].Read), said...))
		if steps < least {
			t.Errorf("%s: all was done in %d steps", name, steps)
		}
		b.Free()
	}
}

func checkLikelihoods(t *testing.T, m *Model, g *Growth, said []Token) {
	t.Helper()
	scores := m.Logits(tensor.From(g.ids, 1, len(g.ids))).LogSoftmax(-1).Floats()
	vocab := m.Config.Vocab
	for i, token := range said {
		if token.ID != g.ids[i] {
			t.Fatalf("token %d: got %d, want %d", i, token.ID, g.ids[i])
		}
		if i == 0 {
			continue
		}
		row := scores[(i-1)*vocab : i*vocab]
		if math.Abs(token.LogProb-float64(row[token.ID])) > 1e-4 || len(token.Top) != 2 || math.Abs(token.Top[0].LogProb-float64(slices.Max(row))) > 1e-4 || token.Top[1].LogProb > token.Top[0].LogProb {
			t.Errorf("token %d: got %+v, want log-probability %v and a best one of %v", i, token, row[token.ID], slices.Max(row))
		}
	}
	if len(said) != len(g.ids) {
		t.Errorf("got %d tokens with log-probabilities, want %d", len(said), len(g.ids))
	}
}
