package lora_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/train"
)

// through returns a layer of width n that does nothing but show what its adapter sees of x: W is 0, A and B
// are 1.
func through(n int, dropout float64) *lora.Linear {
	l := lora.Wrap(&nn.Linear{Weight: tensor.Zeros(n, n)}, lora.Config{Rank: n, Alpha: float64(n), Dropout: dropout})
	l.Parts[0].A.Set(tensor.Eye(n))
	l.Parts[0].B.Set(tensor.Eye(n))
	return l
}

// In training an adapter sees x without about a share p of its elements, the others divided by 1 − p, so that
// the mean stays; the gradient of x is that of the same elements. The base sees all of x.
func TestDropout(t *testing.T) {
	const n, rows, p = 32, 500, 0.2
	tensor.Seed(1)
	l := through(n, p)
	x := tensor.NewRNG(3).Rand(rows, n).Add(0.5).Param()
	if d := tensor.MaxAbsDiff(l.Forward(x), x); d != 0 {
		t.Errorf("not in training: x moved by %g, want 0", d)
	}
	nn.SetTraining(nn.Layer(l), true)
	y := l.Forward(x)
	left, given := y.Float64s(), x.Float64s()
	gradient := tensor.Grad(y.Sum(), x)[0].Float64s()
	zeros := 0
	for i, v := range left {
		want, slope := float64(float32(given[i])*float32(1/(1-p))), 1/(1-p)
		if v == 0 {
			zeros++
			want, slope = 0, 0
		}
		if math.Abs(v-want) > 1e-6*want || math.Abs(gradient[i]-slope) > 1e-6 {
			t.Fatalf("element %d: got %v and a gradient of %v for %v, want %v and %v", i, v, gradient[i], given[i], want, slope)
		}
	}
	size := float64(n * rows)
	if got, off := float64(zeros)/size, 5*math.Sqrt(p*(1-p)/size); math.Abs(got-p) > off {
		t.Errorf("left out a share of %.4f, want %v ± %.4f", got, p, off)
	}
	if got, want := y.Mean().Item(), x.Mean().Item(); math.Abs(got-want) > 5*want*math.Sqrt(p/(1-p)*1.1/size) {
		t.Errorf("got a mean of %v, want about %v", got, want)
	}
	if again := l.Forward(x); tensor.MaxAbsDiff(again, y) == 0 {
		t.Error("the second time leaves out what the first time did")
	}
	tensor.Seed(1)
	if d := tensor.MaxAbsDiff(l.Forward(x), y); d != 0 {
		t.Errorf("after the same seed results differ by %g", d)
	}
	w := &nn.Linear{Weight: tensor.Eye(n)}
	whole := lora.Wrap(w, lora.Config{Rank: n, Dropout: 1}) // of which the adapter sees nothing
	whole.Parts[0].B.Set(tensor.Eye(n))
	whole.SetTraining(true)
	if d := tensor.MaxAbsDiff(whole.Forward(x), x); d != 0 {
		t.Errorf("with dropout 1 x moved by %g on its way through the base, want 0", d)
	}
	if half := l.Forward(x.Cast(dtype.BF16)); half.DType() != dtype.BF16 {
		t.Errorf("got %v for bf16", half.DType())
	}
}

// Dropout costs two launches more: the random numbers, and what they leave of x. The base and the adapter
// stay one product.
func TestDropoutLaunches(t *testing.T) {
	x, w := tensor.Randn(64, 32).Eval(), &nn.Linear{Weight: tensor.Randn(32, 48).Eval()}
	launches := func(dropout float64) int {
		l := lora.Wrap(w, lora.Config{Rank: 4, Dropout: dropout})
		l.SetTraining(true)
		return profile.Record(t.Context(), func(context.Context) { l.Forward(x).Eval() }).Launches
	}
	if without, with := launches(0), launches(0.1); with != without+2 {
		t.Errorf("got %d launches with dropout, %d without, want two more", with, without)
	}
}

// Dropout is in PEFT's configuration, and comes back with the adapter; training turns it on and evaluation
// off.
func TestDropoutIsKept(t *testing.T) {
	m := model()
	ad := inject(t, m, lora.Config{Rank: 4, Dropout: 0.25})
	disturb(ad)
	if !strings.Contains(ad.String(), "dropout 0.25") {
		t.Errorf("got %q, want the dropout in it", ad)
	}
	path := filepath.Join(t.TempDir(), "folder")
	if err := ad.Save(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(path, "adapter_config.json"))
	if err != nil || !strings.Contains(string(text), `"lora_dropout": 0.25`) {
		t.Errorf("got configuration %s, %v, want lora_dropout 0.25", text, err)
	}
	fresh := model()
	got, err := lora.Load(path, fresh)
	if err != nil {
		t.Fatal(err)
	}
	if got.Config.Dropout != 0.25 {
		t.Errorf("got dropout %v after loading, want 0.25", got.Config.Dropout)
	}
	moves := func(m *llm.Model) bool { return tensor.MaxAbsDiff(m.Logits(ids), m.Logits(ids)) != 0 }
	nn.SetTraining(fresh, true)
	if !moves(fresh) {
		t.Error("in training two passes give the same")
	}
	nn.SetTraining(fresh, false)
	if moves(fresh) {
		t.Error("outside of training two passes differ")
	}
	for _, p := range []float64{-0.1, 1.5, math.NaN()} {
		if _, err := lora.Inject(model(), lora.Config{Dropout: p}); err == nil || !strings.Contains(err.Error(), "dropout") {
			t.Errorf("dropout %v: got %v, want an error about dropout", p, err)
		}
	}
}

// A checkpoint knows where the random numbers are: training goes on with the elements that it would have left
// out.
func TestDropoutResumes(t *testing.T) {
	run := func(seed uint64, steps int, dir string) ([]float64, string) {
		t.Helper()
		m := model()
		ad := inject(t, m, lora.Config{Rank: 2, Dropout: 0.3})
		tensor.Seed(seed)
		h, err := train.Run(context.Background(), m, data.Windows(strings.Repeat("what is left out, ", 20), 8, 2),
			train.Options{Steps: steps, LR: optim.Constant(1e-2), Checkpoint: dir, Resume: true})
		if err != nil {
			t.Fatal(err)
		}
		return h.Loss, nn.Hash(ad.Params())
	}
	losses, want := run(1, 6, t.TempDir())
	dir := t.TempDir()
	run(1, 3, dir)
	if again, got := run(2, 6, dir); got != want || !slices.Equal(again, losses) {
		t.Errorf("resumed after 3 steps: losses\n%v, want\n%v", again, losses)
	}
	if other, _ := run(2, 6, t.TempDir()); slices.Equal(other, losses) {
		t.Error("another seed leaves out the same")
	}
}
