package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/race"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// noisy is a model whose loss needs random numbers.
type noisy struct{ *llm.Model }

func (n noisy) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	return n.Model.Loss(inputs, targets).Mul(tensor.Rand().Mul(0.1).Add(1))
}

// A run with replayed steps is the same as one without, bit for bit, whatever interrupts it.
func TestCompiledRunIsTheSame(t *testing.T) {
	const steps = 24
	for _, test := range []struct {
		name   string
		change func(o *Options)
	}{
		{"AdamW, clipped", func(o *Options) { o.Accumulate = 1 }},
		{"accumulated", func(o *Options) { o.Accumulate = 3 }},
		{"weight decay, no clipping", func(o *Options) { o.Accumulate, o.Clip, o.Optimizer = 1, 0, optim.AdamW{WeightDecay: 0.1} }},
		{"SGD", func(o *Options) { o.Accumulate, o.Optimizer = 1, optim.SGD{Momentum: 0.9, Nesterov: true} }},
		{"evaluated in between", func(o *Options) { o.Accumulate, o.Eval, o.EvalEvery = 1, windows(), 4 }},
	} {
		o := options(steps)
		test.change(&o)
		train := func(name string, run func(m Model, o Options) (*History, error)) (hash, history string) {
			m := noisy{newModel()}
			h, err := run(m, o)
			if err != nil {
				t.Fatalf("%s, %s: %v", test.name, name, err)
			}
			h.Elapsed = 0
			text, _ := json.Marshal(h)
			return nn.Hash(nn.Params(m)), string(text)
		}
		straight := func(m Model, o Options) (*History, error) { return Run(context.Background(), m, windows(), o) }
		hash, history := train("plain", straight)
		for name, run := range map[string]func(m Model, o Options) (*History, error){
			"compiled": straight,
			"compiled, interrupted": func(m Model, o Options) (*History, error) {
				var stopped *Interrupted
				if h, err := Run(cancelAfter(7), m, windows(), o); !errors.As(err, &stopped) {
					return h, fmt.Errorf("was not interrupted: %w", err)
				}
				return straight(m, o)
			},
			"compiled, from a checkpoint": func(m Model, o Options) (*History, error) {
				o.Checkpoint, o.Steps = t.TempDir(), steps/2
				if h, err := straight(noisy{newModel()}, o); err != nil {
					return h, err
				}
				o.Resume, o.Steps = true, steps
				return straight(m, o)
			},
		} {
			o.Compile = true
			gotHash, got := train(name, run)
			if gotHash != hash || got != history {
				t.Errorf("%s, %s: got\n%s, want\n%s", test.name, name, got, history)
			}
		}
	}
}

// poison is a source whose batches become bad at some step: its loss has a token that the model answers with
// NaN.
type poison struct {
	data.Source
	from int
	w    tensor.Tensor
}

func (p *poison) Batch(n int) (data.Batch, error) {
	if n == p.from {
		p.w.Set(tensor.FullLike(p.w, math.NaN()))
	}
	return p.Source.Batch(n)
}

// A replayed step that is not finite changes nothing, and says where it began.
func TestCompiledNotFinite(t *testing.T) {
	for _, from := range []int{1, 6} { // in a trace, and in a replay
		m := newModel()
		norm := m.Blocks[0].MLPNorm.(*nn.RMSNorm).Weight
		o := Options{Steps: 12, LR: optim.Constant(1e-3), Clip: 1, Compile: true, Params: nn.Trainable(m.Blocks[0].AttnNorm)}
		short := o
		short.Steps = from
		same := newModel()
		short.Params = nn.Trainable(same.Blocks[0].AttnNorm)
		mustRun(t, same, windows(), short)
		h, err := Run(context.Background(), m, &poison{windows(), from, norm}, o)
		var bad *NotFinite
		if !errors.As(err, &bad) || bad.Step != from+1 || h.Steps() != from {
			t.Fatalf("got %v after %d steps, want a NotFinite at step %d", err, h.Steps(), from+1)
		}
		if !strings.Contains(bad.Tensor, "model.layers.0.post_attention_layernorm.weight") {
			t.Errorf("got %q, want the norm's weight", bad.Tensor)
		}
		if nn.Hash(o.Params) != nn.Hash(short.Params) {
			t.Errorf("the refused step %d changed the weights", bad.Step)
		}
	}
}

// stepping is a model whose loss changes at a step.
type stepping struct {
	*llm.Model
	calls int
}

func (s *stepping) Loss(inputs, targets tensor.Tensor) tensor.Tensor {
	s.calls++
	return s.Model.Loss(inputs, targets).Mul(float64(2 + s.calls/4))
}

func TestCompiledLossThatChanges(t *testing.T) {
	o := options(20)
	o.Accumulate, o.Compile = 1, true
	_, err := Run(context.Background(), &stepping{Model: newModel()}, windows(), o)
	if err == nil || !strings.Contains(err.Error(), "computes with the number 3 instead of 2 in call 5") {
		t.Errorf("got %v", err)
	}
}

// adapted is the small decoder of the measurements with adapters on all linear layers; without -long a
// quarter as wide.
func adapted(t testing.TB) (*llm.Model, []nn.Param) {
	c := llm.Config{Vocab: 512, Layers: 4, Width: 128, Heads: 8, KVHeads: 2, Hidden: 352, Seed: 1}
	if long.Tests() {
		c.Vocab, c.Width, c.Hidden = 8192, 512, 1408
	}
	m := llm.New(c)
	adapter, err := lora.Inject(m, lora.Config{Rank: 16})
	if err != nil {
		t.Fatal(err)
	}
	return m, adapter.Params()
}

// A replayed step leaves the collector little to do.
func TestCompiledStepAllocatesLittle(t *testing.T) {
	for _, compute := range []dtype.Type{dtype.F32, dtype.BF16} {
		t.Run(compute.String(), func(t *testing.T) {
			if objects := objectsOfStep(t, compute); objects >= 100 && !race.Enabled {
				t.Errorf("a replayed step allocates %.0f objects, want less than 100", objects)
			}
		})
	}
}

// objectsOfStep is how many objects of Go's a replayed step makes that computes in a type.
func objectsOfStep(t *testing.T, compute dtype.Type) float64 {
	m, params := adapted(t)
	m.Config.Compute = compute
	tokens, rows := 32, 2
	if long.Tests() {
		tokens, rows = 256, 4
	}
	batch, err := data.Windows(text, tokens, rows).Batch(0)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Steps: 1000, LR: optim.Cosine(1e-3, 5, 1000), Clip: 1, Compile: true, Params: params}
	run, err := start(m, &fixed{[]data.Batch{batch}}, o.withDefaults(), params)
	if err != nil {
		t.Fatal(err)
	}
	steps := func(n int) {
		for range n {
			if err := run.step(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
	}
	steps(18) // the Go code of the loss runs again in the 33rd and 65th
	objects := math.Inf(1)
	for range 4 { // workers that have had nothing to do before make their states whenever that ends
		objects = min(objects, testing.AllocsPerRun(2, func() { steps(1) }))
	}
	t.Logf("%.0f objects a step", objects)
	if run.history.Last() >= run.history.First() {
		t.Error("it learnt nothing")
	}
	return objects
}
