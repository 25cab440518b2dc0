package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/plot"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

var text = strings.Repeat("func add(a, b int) int { return a + b }\n", 20)

func newModel() *llm.Model {
	return llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 24, Seed: 1})
}

func windows() *data.Batches { return data.Windows(text, 16, 2) }

// options are those of a short run with everything that has a state: schedule, clipping, accumulation, a
// seed.
func options(steps int) Options {
	return Options{Steps: steps, LR: optim.Cosine(1e-2, 3, 20), Clip: 1, Accumulate: 2, Seed: 7}
}

func mustRun(t *testing.T, m Model, d data.Source, o Options) *History {
	t.Helper()
	h, err := Run(context.Background(), m, d, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// hearingAll is a context whose progress line reports every step, so that a test can interrupt at one.
func hearingAll() context.Context { return context.WithValue(context.Background(), everyStep{}, true) }

// cancelAfter returns a context that is cancelled when a step count is reported.
func cancelAfter(steps int64) context.Context {
	ctx, cancel := context.WithCancel(hearingAll())
	return progress.With(ctx, func(e progress.Event) {
		if e.Done >= steps {
			cancel()
		}
	})
}

func TestRunLearns(t *testing.T) {
	m := newModel()
	o := Options{Steps: 60, LR: optim.Cosine(1e-2, 5, 60), Clip: 1, Eval: data.Windows(text, 16, 2), EvalEvery: 20, EvalBatches: 2}
	h := mustRun(t, m, windows(), o)
	if h.First() < 5.4 || h.First() > 5.7 {
		t.Errorf("first loss %.3f, want about ln 256 = 5.545", h.First())
	}
	if h.Last() > 3 {
		t.Errorf("loss %.3f after 60 steps, want well below %.3f", h.Last(), h.First())
	}
	if len(h.LR) != 60 || h.LR[0] != 2e-3 || h.Tokens != 60*32 {
		t.Errorf("got %d rates from %g, %d tokens", len(h.LR), h.LR[0], h.Tokens)
	}
	if len(h.Eval) != 3 || h.Eval[2].Step != 60 || h.Eval[2].Loss >= h.Eval[0].Loss {
		t.Errorf("evaluations %v", h.Eval)
	}
	c := h.Plot()
	if c.Title != "loss" || !slices.Equal(c.Names, []string{"training", "other data"}) || len(c.X[0]) != 60 || c.Y[0][0] != h.First() || c.X[1][0] != 20 {
		t.Errorf("plot %q of %v with %d points", c.Title, c.Names, len(c.X[0]))
	}
	if p, ok := c.Drawing().(*plot.Plot); !ok || len(p.Series) != 2 || p.Series[1].Name != "other data" {
		t.Errorf("the drawing is %+v", c.Drawing())
	}
}

// TestThirdStepBuildsNoPlan: rate, step number and batch change, the plan does not. The second step may have
// plans of its own, because it steps what the first one has made, in its memory.
func TestThirdStepBuildsNoPlan(t *testing.T) {
	o := options(1)
	m := newModel()
	run, err := start(m, windows(), o.withDefaults(), nn.Trainable(m))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := run.step(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	r := profile.Record(t.Context(), func(ctx context.Context) { err = run.step(ctx) })
	if err != nil || r.PlansBuilt != 0 || r.Launches == 0 {
		t.Errorf("the third step: %d plans built, %d launches, %v", r.PlansBuilt, r.Launches, err)
	}
}

// TestAccumulationIsALargerBatch: two batches of two are one batch of four.
func TestAccumulationIsALargerBatch(t *testing.T) {
	large := &fixed{}
	small := &fixed{}
	for n := range 4 {
		a, _ := windows().Batch(2 * n)
		b, _ := windows().Batch(2*n + 1)
		small.list = append(small.list, a, b)
		large.list = append(large.list, data.Batch{
			Inputs:  tensor.Concat([]tensor.Tensor{a.Inputs, b.Inputs}, 0),
			Targets: tensor.Concat([]tensor.Tensor{a.Targets, b.Targets}, 0),
		})
	}
	sgd := Options{Steps: 4, LR: optim.Constant(0.5), Clip: 0.5, Optimizer: optim.SGD{}}
	one := newModel()
	h := mustRun(t, one, large, sgd)
	sgd.Accumulate = 2
	two := newModel()
	g := mustRun(t, two, small, sgd)
	for i := range h.Loss {
		if math.Abs(h.Loss[i]-g.Loss[i]) > 1e-4 || math.Abs(h.GradNorm[i]-g.GradNorm[i]) > 1e-3 {
			t.Errorf("step %d: loss %v and %v, norm %v and %v", i+1, h.Loss[i], g.Loss[i], h.GradNorm[i], g.GradNorm[i])
		}
	}
	for i, p := range nn.Params(one) {
		if d := tensor.MaxAbsDiff(p.Value(), nn.Params(two)[i].Value()); d > 1e-4 {
			t.Errorf("%s differs by %g", p.Name, d)
		}
	}
}

// fixed is a source of given batches.
type fixed struct{ list []data.Batch }

func (f *fixed) Batch(n int) (data.Batch, error) { return f.list[n%len(f.list)], nil }
func (f *fixed) Fingerprint() string             { return "fixed" }

// TestInterruptedRunGoesOn: what was learnt is kept, and running again makes the steps that are left,
// exactly.
func TestInterruptedRunGoesOn(t *testing.T) {
	straight := newModel()
	want := mustRun(t, straight, windows(), options(12))

	m := newModel()
	var last progress.Event
	ctx, cancel := context.WithCancel(hearingAll())
	ctx = progress.With(ctx, func(e progress.Event) {
		if last = e; e.Done >= 5 {
			cancel()
		}
	})
	h, err := Run(ctx, m, windows(), options(12))
	var stopped *Interrupted
	if !errors.As(err, &stopped) || !errors.Is(err, context.Canceled) || !h.Interrupted || h.Steps() < 5 || h.Steps() == 12 {
		t.Fatalf("got %v after %d steps", err, h.Steps())
	}
	if want := "run it again to go on"; !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want it to say %q", err, want)
	}
	if want := fmt.Sprintf("interrupted: %d steps kept; run it again to go on", h.Steps()); !last.Final || last.Note != want {
		t.Errorf("the live line ends with %q, want %q", last.Note, want)
	}
	again := mustRun(t, m, windows(), options(12))
	if again.Steps() != 12 || again.Interrupted || !slices.Equal(again.Loss, want.Loss) {
		t.Errorf("losses\n%v, want\n%v", again.Loss, want.Loss)
	}
	if nn.Hash(nn.Params(m)) != nn.Hash(nn.Params(straight)) {
		t.Error("the weights differ from those of a run that was not interrupted")
	}
	if h := mustRun(t, m, windows(), options(3)); h.Steps() != 3 {
		t.Errorf("a new run after the end made %d steps, want 3", h.Steps())
	}
}

// TestOtherOptionsStartAnew: only the same run goes on.
func TestOtherOptionsStartAnew(t *testing.T) {
	m := newModel()
	if _, err := Run(cancelAfter(2), m, windows(), options(12)); err == nil {
		t.Fatal("the run was not interrupted")
	}
	o := options(3)
	o.Clip = 2
	if h := mustRun(t, m, windows(), o); h.Steps() != 3 || h.GradNorm == nil {
		t.Errorf("made %d steps, want 3", h.Steps())
	}
}

// TestResumeInAnotherProcess: 20 steps are 10 steps, a checkpoint, and 10 steps of another process, bit for
// bit.
func TestResumeInAnotherProcess(t *testing.T) {
	if dir := os.Getenv("MCS_TEST_TRAIN_RESUME"); dir != "" {
		m := newModel()
		o := options(20)
		o.Checkpoint, o.Resume = dir, true
		h := mustRun(t, m, windows(), o)
		out, _ := json.Marshal(result{nn.Hash(nn.Params(m)), h.Loss, h.Tokens})
		if err := os.WriteFile(filepath.Join(dir, "result.json"), out, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	straight := newModel()
	want := mustRun(t, straight, windows(), options(20))

	dir := t.TempDir()
	o := options(10)
	o.Checkpoint = dir
	mustRun(t, newModel(), windows(), o)
	child := exec.Command(os.Args[0], "-test.run=^TestResumeInAnotherProcess$")
	child.Env = append(os.Environ(), "MCS_TEST_TRAIN_RESUME="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got result
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Loss, want.Loss) || got.Tokens != want.Tokens {
		t.Errorf("losses\n%v, want\n%v", got.Loss, want.Loss)
	}
	if got.Hash != nn.Hash(nn.Params(straight)) {
		t.Error("the weights differ from those of a run in one process")
	}
}

type result struct {
	Hash   string
	Loss   []float64
	Tokens int
}

func TestNotFinite(t *testing.T) {
	m := newModel()
	m.Blocks[0].MLPNorm.(*nn.RMSNorm).Weight.Set(tensor.Full(1e38, 16))
	before := nn.Hash(nn.Params(m))
	h, err := Run(context.Background(), m, windows(), options(5))
	var bad *NotFinite
	if !errors.As(err, &bad) || bad.Step != 1 || h.Steps() != 0 {
		t.Fatalf("got %v after %d steps, want a NotFinite at step 1", err, h.Steps())
	}
	if !strings.Contains(bad.Tensor, "model.layers.0.mlp.") {
		t.Errorf("got %q, want the first bad tensor to be a product with a weight of model.layers.0.mlp", bad.Tensor)
	}
	if nn.Hash(nn.Params(m)) != before {
		t.Error("a refused step changed the weights")
	}
}

// TestLoRATrainsTheAdapterOnly also saves and resumes with a frozen base.
func TestLoRATrainsTheAdapterOnly(t *testing.T) {
	m := newModel()
	ad, err := lora.Inject(m, lora.Config{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	base := untrained(m, ad.Params())
	before, start := nn.Hash(base), nn.Hash(ad.Params())
	o := options(4)
	o.Params, o.Checkpoint = ad.Params(), t.TempDir()
	mustRun(t, m, windows(), o)
	if nn.Hash(base) != before {
		t.Error("the base's weights changed")
	}
	if nn.Hash(ad.Params()) == start {
		t.Error("the adapter did not change")
	}
	o.Steps, o.Resume = 6, true
	if h := mustRun(t, m, windows(), o); h.Steps() != 6 {
		t.Errorf("%d steps after resuming, want 6", h.Steps())
	}
	table := m.Embed.(*nn.Embedding)
	table.Weight.Set(table.Weight.Add(1))
	if _, err := Run(context.Background(), m, windows(), o); err == nil || !strings.Contains(err.Error(), "weights that are not trained differ") {
		t.Errorf("another base: got %v", err)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	frozen := newModel()
	nn.Freeze(frozen)
	tests := []struct {
		name string
		m    Model
		d    data.Source
		o    Options
		want string
	}{
		{"no steps", newModel(), windows(), Options{LR: optim.Constant(1)}, "got 0 steps"},
		{"no rate", newModel(), windows(), Options{Steps: 1}, "the learning rate is missing"},
		{"frozen", frozen, windows(), options(1), "no trainable weights"},
		{"frozen parameter", frozen, windows(), Options{Steps: 1, LR: optim.Constant(1), Params: nn.Params(frozen)[:1]}, "model.embed_tokens.weight is frozen"},
		{"short text", newModel(), data.Windows("short", 16, 2), options(1), "the text has 5 tokens"},
		{"token beyond the vocabulary", llm.New(llm.Config{Vocab: 8, Layers: 1, Width: 4, Heads: 1, Seed: 1}), windows(), options(1), ""},
	}
	for _, test := range tests {
		_, err := Run(context.Background(), test.m, test.d, test.o)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want it to say %q", test.name, err, test.want)
		}
	}
}

// TestNothing: a model or data that is nil is an error of each function that takes them.
func TestNothing(t *testing.T) {
	for _, x := range []struct {
		m    Model
		d    data.Source
		want string
	}{{nil, windows(), "a model"}, {(*llm.Model)(nil), nil, "a model"}, {newModel(), nil, "data"}} {
		for name, f := range map[string]func() error{
			"Run":         func() error { _, err := Run(t.Context(), x.m, x.d, options(1)); return err },
			"LoRA":        func() error { _, err := LoRA(t.Context(), x.m, x.d, Options{}); return err },
			"Full":        func() error { _, err := Full(t.Context(), x.m, x.d, Options{}); return err },
			"Predict":     func() error { _, err := Predict(t.Context(), x.m, x.d, options(1)); return err },
			"PredictLoRA": func() error { _, err := PredictLoRA(t.Context(), x.m, x.d, Options{}); return err },
			"PredictFull": func() error { _, err := PredictFull(t.Context(), x.m, x.d, Options{}); return err },
			"Evaluate":    func() error { _, err := Evaluate(t.Context(), x.m, x.d, 1); return err },
		} {
			if err := f(); err == nil || err.Error() != "train: got nil, want "+x.want {
				t.Errorf("%s: got %v, want %s", name, err, x.want)
			}
		}
	}
}

func TestEvaluateLearnsNothing(t *testing.T) {
	m := newModel()
	before := nn.Hash(nn.Params(m))
	loss, err := Evaluate(context.Background(), m, windows(), 3)
	if err != nil || math.Abs(loss-math.Log(256)) > 0.1 {
		t.Errorf("got %v, %v, want about %.3f", loss, err, math.Log(256))
	}
	if nn.Hash(nn.Params(m)) != before {
		t.Error("the weights changed")
	}
	if _, err := Evaluate(context.Background(), m, windows(), -1); err == nil {
		t.Error("no batches: got no error")
	}
}

func TestHistoryText(t *testing.T) {
	h := &History{Total: 4, Loss: []float64{5.5, 3, 2}, Tokens: 600, Elapsed: 2e9, Eval: []Point{{Step: 2, Loss: 2.5, Tokens: true}}}
	if got, want := h.Text(0), "3 of 4 steps · loss 5.500 → 2.000 · on other data 2.500, perplexity 12.18 · 300 tokens/s · 2.00 s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := (&History{Total: 4}).Text(0), "0 of 4 steps"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := h.Plot().String(), "loss: training 5.5 → 2 in 3 points, other data 2.5 → 2.5 in 1 point"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
