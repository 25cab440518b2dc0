package train

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/plot"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A regression learns a line from points.
type regression struct{ layer *nn.Linear }

func (r regression) Members() []nn.Member { return []nn.Member{{Name: "layer", Part: r.layer}} }

func (r regression) Loss(x, y tensor.Tensor) tensor.Tensor {
	d := r.layer.Forward(x).Sub(y)
	return d.Mul(d).Mean()
}

// points are 8 examples of y = 3x.
type points struct{}

func (points) Fingerprint() string { return "points" }

func (points) Batch(int) (data.Batch, error) {
	x := tensor.Linspace(-1, 1, 8).Reshape(8, 1)
	return data.Batch{Inputs: x, Targets: x.Mul(3)}, nil
}

// slow is data of which a batch takes a while: a clock that ticks rarely, as that of Windows, shows no rate
// otherwise.
type slow struct{ data.Source }

func (s slow) Batch(n int) (data.Batch, error) {
	time.Sleep(20 * time.Millisecond)
	return s.Source.Batch(n)
}

// TestTokensAreThoseThatCount: a run says how many tokens it learnt from. Prompts and padding are none, and
// a log has both figures.
func TestTokensAreThoseThatCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(path, []byte(`{"prompt": "a long prompt", "completion": "abc"}`+"\n"+`{"prompt": "x", "completion": "y"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	set, err := data.ReadRecords(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := data.Tokens{}.Of(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log.jsonl")
	h, err := Run(t.Context(), newModel(), rows.Padded(2), Options{Steps: 3, LR: optim.Constant(1e-3), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if want := 3 * 4; h.Tokens != want || rows.Counted() != 4 || h.Places != 3*2*16 {
		t.Errorf("got %d tokens in %d places, want %d in %d", h.Tokens, h.Places, want, 3*2*16)
	}
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), `"tokens":12,"places":96,`) {
		t.Errorf("got the log %s, error %v, want 12 tokens in 96 places", text, err)
	}
}

// A run that goes on and has nothing left to do says no speed.
func TestNothingLeft(t *testing.T) {
	o, note := Options{Steps: 2, LR: optim.Constant(1e-3), Checkpoint: t.TempDir(), Resume: true}, ""
	ctx := progress.With(t.Context(), func(e progress.Event) { note = e.Note })
	for range 2 {
		if _, err := Run(ctx, newModel(), windows(), o); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.HasPrefix(note, "loss ") || strings.Contains(note, "/s") {
		t.Errorf("got %q, want the loss only", note)
	}
}

// Tokens and nats are the units of text. Data that has none is counted in samples, and its loss has no unit.
func TestUnitsFitTheData(t *testing.T) {
	for _, c := range []struct {
		name              string
		m                 Model
		d                 data.Source
		tokens, examples  int
		rate, other, unit string
	}{
		{"text", newModel(), windows(), 2 * 16 * 2, 2 * 2, " tokens/s", "samples/s", "nats per token"},
		{"regression", regression{nn.NewLinear(1, 1)}, points{}, 0, 2 * 8, " samples/s", "tokens/s", ""},
	} {
		note := ""
		ctx := progress.With(context.Background(), func(e progress.Event) { note = e.Note })
		h, err := Run(ctx, c.m, slow{c.d}, Options{Steps: 2, LR: optim.Constant(1e-3)})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if h.Tokens != c.tokens || h.Examples != c.examples {
			t.Errorf("%s: got %d tokens of %d examples, want %d of %d", c.name, h.Tokens, h.Examples, c.tokens, c.examples)
		}
		for _, text := range []string{h.Text(80), note} {
			if !strings.Contains(text, c.rate) || strings.Contains(text, c.other) || strings.Contains(text, " 0 B") {
				t.Errorf("%s: got %q, want it in%s", c.name, text, c.rate)
			}
		}
		if got := h.Plot().YLabel; got != c.unit {
			t.Errorf("%s: plotted as %q, want %q", c.name, got, c.unit)
		}
	}
}

// A loss of a thousandth is not shown as 0.000.
func TestLossText(t *testing.T) {
	for _, c := range []struct {
		loss float64
		want string
	}{{5.5, "5.500"}, {0.0123, "0.012"}, {0.00123, "0.00123"}, {1.5e-7, "1.5e-07"}, {0, "0.000"}} {
		if got := lossText(c.loss); got != c.want {
			t.Errorf("%v: got %s, want %s", c.loss, got, c.want)
		}
	}
}

// With Plot a run draws its loss and its evaluations; the last state has all of them.
func TestPlotOfRun(t *testing.T) {
	var last *plot.Plot
	ctx := progress.WithCanvas(context.Background(), func(d progress.Drawing) { last = d.Snapshot().(*plot.Plot) })
	o := Options{Steps: 7, LR: optim.Constant(1e-2), Plot: true, Eval: points{}, EvalEvery: 3}
	h, err := Run(ctx, regression{nn.NewLinear(1, 1)}, points{}, o)
	if err != nil {
		t.Fatal(err)
	}
	if last == nil || len(last.Series) != 2 || !slices.Equal(last.Series[0].Y, h.Loss) || len(last.Series[1].Y) != len(h.Eval) || len(h.Eval) == 0 {
		t.Errorf("drew %+v of losses %v and evaluations %v", last, h.Loss, h.Eval)
	}
	o.Plot, last = false, nil
	if _, err := Run(ctx, regression{nn.NewLinear(1, 1)}, points{}, o); err != nil || last != nil {
		t.Errorf("without Plot: drew %v, %v", last, err)
	}
}
