package plan_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/llm"
	"github.com/mcs-notebook/mcs/engine/lora"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// needs returns what the largest plan that f makes takes.
func needs(t *testing.T, f func()) (most plan.Needs) {
	t.Helper()
	plan.Forget()
	f()
	dev, err := backend.Open(device.Default().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range plan.NeedsOf(dev) {
		if n.Arena > most.Arena {
			most = n
		}
	}
	return most
}

// within fails the test if a plan takes much more than what lives at once.
func within(t *testing.T, what string, n plan.Needs) {
	t.Helper()
	if float64(n.Arena) > 1.15*float64(n.Least) {
		t.Errorf("%s: %d launches share %d bytes, though at most %d live at once", what, n.Launches, n.Arena, n.Least)
	}
}

// branching computes with random tensors of very different sizes, many of which are wanted again later, and
// their gradients.
func branching(seed uint64) []tensor.Tensor {
	r, data := rand.New(rand.NewPCG(seed, 3)), tensor.NewRNG(seed)
	w := data.Randn(64, 64).Mul(0.1).Param()
	pool := []tensor.Tensor{w}
	for range 6 {
		pool = append(pool, data.Randn(1+r.IntN(200), 64).Param())
	}
	pick := func() tensor.Tensor { return pool[max(r.IntN(len(pool)), r.IntN(len(pool)))] }
	for range 25 {
		x, y := pick(), pick()
		switch r.IntN(5) {
		case 0:
			x = x.MatMul(w)
		case 1:
			x = x.Softmax(-1)
		case 2:
			x = tensor.Concat([]tensor.Tensor{x, y}, 0).Tanh()
		case 3:
			x = x.Add(y.Mean(0)).Sigmoid()
		default:
			x = x.Slice(0, 0, (x.Len(0)+1)/2).Exp().Mul(0.1)
		}
		if x.Len(0) < 2000 {
			pool = append(pool, x)
		}
	}
	loss := tensor.Scalar(0)
	for _, x := range pool {
		loss = loss.Add(x.Mean())
	}
	return append([]tensor.Tensor{loss}, tensor.Grad(loss, w)...)
}

// What lies between the launches of a plan takes little more memory than what lives at once.
func TestMemoryOfPlans(t *testing.T) {
	defer useDevice(t, "cpu")()
	for seed := range uint64(30) {
		within(t, fmt.Sprint("random graph ", seed), needs(t, func() { tensor.Eval(branching(seed)...) }))
	}
	within(t, "training step", needs(t, trainingStep(t, false)))
	within(t, "training step with checkpoints", needs(t, trainingStep(t, true)))
}

// trainingStep returns a step of adapting a decoder.
func trainingStep(t *testing.T, checkpoint bool) func() {
	m := llm.New(llm.Config{Vocab: 96, Layers: 6, Width: 48, Heads: 4, KVHeads: 2, Hidden: 96, Seed: 1, Checkpoint: checkpoint})
	adapter, err := lora.Inject(m, lora.Config{Rank: 4})
	if err != nil {
		t.Fatal(err)
	}
	params := nn.Values(adapter.Params())
	optimizer := optim.AdamW{}.New(adapter.Params())
	ids := tensor.Range(4*64).Mod(96).Reshape(4, 64).Eval()
	return func() {
		loss := m.Loss(ids, ids)
		grads := tensor.Grad(loss, params...)
		scale, norm := optim.ClipScale(grads, 1)
		update := optimizer.Update(grads, 1e-3, scale)
		tensor.Eval(append([]tensor.Tensor{loss, norm}, update.Tensors()...)...)
	}
}

// Of two operands, the one with the large intermediate results is computed first, whichever stands first.
func TestOrderOfLaunches(t *testing.T) {
	defer useDevice(t, "cpu")()
	const rows = 80
	x, y, u := tensor.Randn(rows, 512).Eval(), tensor.Randn(rows, 512).Eval(), tensor.Randn(512, 600).Eval()
	v, w := tensor.Randn(512, 1024).Eval(), tensor.Randn(512, 4096).Eval()
	small := func() tensor.Tensor { return x.MatMul(w).Softmax(-1).Slice(1, 0, 512).MatMul(u) } // 600 columns of 8192
	wide := func() tensor.Tensor { return y.MatMul(v).Softmax(-1) }                             // 1024 columns of 2048
	for _, c := range []struct {
		name  string
		parts []tensor.Tensor
	}{
		{"small, wide", []tensor.Tensor{small(), wide()}},
		{"wide, small", []tensor.Tensor{wide(), small()}},
	} {
		n := needs(t, func() { tensor.Concat(c.parts, 1).Softmax(-1).Eval() })
		if want := 4 * rows * 8192; n.Least != want {
			t.Errorf("%s: %d bytes live at once, want %d", c.name, n.Least, want)
		}
		within(t, c.name, n)
	}
}

// Of a layer silu(x·G)·(x·U)·D a gradient keeps x, both products and what D is multiplied with: slopes are
// computed when they are needed.
func TestGradientKeepsNoSlopes(t *testing.T) {
	defer useDevice(t, "cpu")()
	const rows, width, hidden = 64, 16, 256
	least := func(layers int) int {
		x, params := tensor.Randn(rows, width).Eval(), []tensor.Tensor{}
		y := x
		for range layers {
			g, u, d := tensor.Randn(width, hidden).Eval().Param(), tensor.Randn(width, hidden).Eval().Param(), tensor.Randn(hidden, width).Eval().Param()
			y, params = y.MatMul(g).Silu().Mul(y.MatMul(u)).MatMul(d), append(params, g, u, d)
		}
		return needs(t, func() { tensor.Eval(tensor.Grad(y.Sum(), params...)...) }).Least
	}
	const more = 4
	if got, want := (least(6+more)-least(6))/more, 4*rows*(3*hidden+width); got > want {
		t.Errorf("a layer keeps %d bytes, want at most %d", got, want)
	}
}

// A step with checkpoints needs much less memory.
func TestCheckpointsNeedLessMemory(t *testing.T) {
	defer useDevice(t, "cpu")()
	plain, again := needs(t, trainingStep(t, false)), needs(t, trainingStep(t, true))
	if again.Arena > plain.Arena*6/10 {
		t.Errorf("a step takes %d bytes with checkpoints and %d without, want at most 60 %%", again.Arena, plain.Arena)
	}
	t.Logf("%d bytes with checkpoints, %d without", again.Arena, plain.Arena)
}

// The gradient of logits takes their memory, unless somebody still wants them.
func TestGradientInTheMemoryOfLogits(t *testing.T) {
	defer useDevice(t, "cpu")()
	const rows, width, classes = 40, 8, 4000
	x, w := tensor.Randn(rows, width).Eval(), tensor.Randn(width, classes).Mul(0.3).Eval().Param()
	targets := tensor.Range(rows).Eval()
	var plain []tensor.Tensor
	step := func() (logits tensor.Tensor, all []tensor.Tensor) {
		logits = x.MatMul(w)
		loss := tensor.CrossEntropy(logits, targets, tensor.CrossEntropyOptions{})
		return logits, append(tensor.Grad(loss, w), loss)
	}
	n := needs(t, func() {
		_, plain = step()
		tensor.Eval(plain...)
	})
	if most := 4 * rows * classes * 11 / 10; n.Arena > most {
		t.Errorf("%d bytes lie between the launches, want at most %d: the logits, and little else", n.Arena, most)
	}
	logits, kept := step()
	tensor.Eval(append(kept, logits)...)
	if d := tensor.MaxAbsDiff(logits, x.MatMul(w.Detach())); d > 1e-5 {
		t.Errorf("logits that were wanted, too, are off by %g", d)
	}
	for i := range plain {
		if d := tensor.MaxAbsDiff(plain[i], kept[i]); d > 1e-6 {
			t.Errorf("result %d differs by %g", i, d)
		}
	}
}
