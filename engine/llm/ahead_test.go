package llm

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A device that computes later has been asked for the next step when the host reads a token, and for no step
// after the last one; a processor is asked when the step is wanted.
func TestAhead(t *testing.T) {
	devicetest.Register("late")
	prompt := []int{1, 2, 3, 4, 5}
	var want []int
	for _, c := range []struct {
		device   string
		launches int   // of a choice
		asked    []int // steps, when so many tokens have come
	}{{"cpu", 1, []int{1, 2, 3, 4}}, {"late", 2, []int{2, 3, 4, 4}}} {
		m := New(tiny())
		d, err := device.Lookup(c.device)
		if err != nil {
			t.Fatal(err)
		}
		m.To(d)
		generate := func(ctx context.Context, tokens, most int) (ids []int) {
			for id, err := range m.StreamTokens(ctx, prompt, Sampling{Tokens: tokens}) {
				if err != nil {
					t.Fatal(c.device, err)
				}
				if ids = append(ids, id); len(ids) == most {
					break
				}
			}
			return ids
		}
		all := generate(t.Context(), 4, 4)
		if want == nil {
			want = all
		}
		if !slices.Equal(all, want) {
			t.Errorf("%s: got %v, want %v", c.device, all, want)
		}
		for i, asked := range c.asked {
			steps := 0
			r := profile.Record(t.Context(), func(ctx context.Context) { generate(ctx, 4, i+1) })
			for _, k := range r.Kernels {
				if k.Name == "arg_max" {
					steps += k.Launches / c.launches
				}
			}
			if steps != asked {
				t.Errorf("%s: asked for %d steps when token %d came, want %d", c.device, steps, i, asked)
			}
		}
	}
}

// Texts of a batch are what they are alone also where the device has begun their next step: while others
// come, end, or are taken away, and in a context that is not that of the step before.
func TestBatchAhead(t *testing.T) {
	devicetest.Register("late")
	late, err := device.Lookup("late")
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*Model{"window": decoders()["window"], "mamba": recurrentDecoders()["mamba"]} {
		if name == "mamba" && !long.CI() {
			continue
		}
		rng := rand.New(rand.NewPCG(4, 2))
		m.Stop = []int{4, 7, 11, 200, 201, 202}
		var prompts, wants [][]int
		for i := range 9 {
			prompts = append(prompts, randomTokens(rng, 1+rng.IntN(40)))
			want, err := m.GenerateTokens(t.Context(), prompts[i], Sampling{Tokens: 1 + 3*i})
			if err != nil {
				t.Fatal(err)
			}
			wants = append(wants, want)
		}
		m.To(late)
		b, err := m.NewBatch(t.Context(), Sampling{Rows: 3})
		if err != nil {
			t.Fatal(err)
		}
		ctx, begun, resumed := t.Context(), 0, 0
		var all []*Growth
		for step := 0; len(all) < len(prompts) || b.Len() > 0; step++ {
			for i := len(all); i < len(prompts) && b.Places() > 0 && rng.IntN(3) > 0; i++ {
				g, err := b.Add(t.Context(), Request{Prompt: prompts[i], Sampling: Sampling{Tokens: 1 + 3*i}, LogProbs: i == 3})
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, g)
			}
			if step == 8 && b.Len() > 1 {
				g := b.rows[0]
				b.Remove(g)
				wants[slices.Index(all, g)] = nil
			}
			if step%7 == 6 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(t.Context())
				defer cancel()
				resumed += len(b.mem.ahead.texts)
			}
			if err := b.Step(ctx); err != nil {
				t.Fatal(err)
			}
			begun += len(b.mem.ahead.texts)
		}
		for i, g := range all {
			if wants[i] != nil && !slices.Equal(g.ids, wants[i]) {
				t.Errorf("%s, text %d: got %v, want %v", name, i, g.ids, wants[i])
			}
		}
		if begun == 0 || resumed == 0 {
			t.Errorf("%s: %d steps of texts were begun ahead, and %d taken back", name, begun, resumed)
		}
		b.Free()
	}
}

// Where a token ends the text, the step after it is as if it had never been asked for.
func TestAheadOfTheEnd(t *testing.T) {
	devicetest.Register("late")
	d, err := device.Lookup("late")
	if err != nil {
		t.Fatal(err)
	}
	m := New(tiny())
	m.To(d)
	prompt := []int{1, 2, 3, 4, 5}
	want, err := m.GenerateTokens(t.Context(), prompt, Sampling{Tokens: 6})
	if err != nil {
		t.Fatal(err)
	}
	mem, err := m.begin(t.Context(), Sampling{}, room{texts: 1, asked: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer mem.free()
	begun := mem.text(prompt)
	yield := func(_ int, err error) bool {
		if err != nil {
			t.Error(err)
		}
		return true
	}
	ends := slices.Index(want[len(prompt):], want[len(prompt)+2])
	m.Stop = want[len(prompt)+2:][:1]
	mem.extend(t.Context(), begun, Sampling{Tokens: 6}, yield)
	if has := want[:len(prompt)+ends]; !slices.Equal(begun.ids, has) || begun.known > len(has) {
		t.Errorf("got %v, of which %d are known, want %v", begun.ids, begun.known, has)
	}
	m.Stop, begun.known = nil, min(begun.known, len(begun.ids)-1)
	mem.extend(t.Context(), begun, Sampling{Tokens: 6 - ends}, yield)
	if !slices.Equal(begun.ids, want) {
		t.Errorf("afterwards: got %v, want %v", begun.ids, want)
	}
}
