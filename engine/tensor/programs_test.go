package tensor

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
)

// A program makes tensors by random operations; the same seed makes the same program on any device.
type program struct {
	rng    *rand.Rand
	data   *RNG
	params []Tensor
	pool   []Tensor // f32, what operations may use
	text   []string
}

func newProgram(seed uint64) *program {
	p := &program{rng: rand.New(rand.NewPCG(seed, 9)), data: NewRNG(seed)}
	for _, shape := range [][]int{{3, 4}, {4}, {2, 3, 4}, {1, 4}, {3, 1}, {}, {4, 4}} {
		w := p.data.Randn(shape...).Param()
		p.params = append(p.params, w)
		p.add(fmt.Sprintf("param%v", shape), w)
	}
	p.add("full", Full(0.5, 3, 4))
	p.add("range", Range(4).Mul(0.25))
	return p
}

func (p *program) add(text string, x Tensor) {
	p.pool = append(p.pool, x)
	p.text = append(p.text, fmt.Sprintf("%d: %s -> %v", len(p.pool)-1, text, x.Shape()))
}

// take returns a random tensor of the pool, more often a late one.
func (p *program) take() (int, Tensor) {
	i := max(p.rng.IntN(len(p.pool)), p.rng.IntN(len(p.pool)))
	return i, p.pool[i]
}

var programOps = []struct {
	name string
	f    func(p *program, x, y Tensor) Tensor
}{
	{"add", func(p *program, x, y Tensor) Tensor { return x.Add(y) }},
	{"sub", func(p *program, x, y Tensor) Tensor { return x.Sub(y) }},
	{"mul", func(p *program, x, y Tensor) Tensor { return x.Mul(y).Tanh() }},
	{"div", func(p *program, x, y Tensor) Tensor { return x.Div(y.Abs().Add(1)) }},
	{"max", func(p *program, x, y Tensor) Tensor { return x.Maximum(y) }},
	{"where", func(p *program, x, y Tensor) Tensor { return Where(x.Gt(y), x, y.Mul(0.5)) }},
	{"number", func(p *program, x, y Tensor) Tensor { return x.Mul(0.5).Add(1).Tanh() }},
	{"exp", func(p *program, x, y Tensor) Tensor { return x.Tanh().Exp() }},
	{"silu", func(p *program, x, y Tensor) Tensor { return x.Silu().Tanh() }},
	{"square", func(p *program, x, y Tensor) Tensor { return x.Square().Sigmoid() }},
	{"cast", func(p *program, x, y Tensor) Tensor { return x.Gt(0).Cast(x.DType()).Add(x) }},
	{"sum", func(p *program, x, y Tensor) Tensor { return x.SumKeep(p.axis(x)...).Tanh() }},
	{"mean", func(p *program, x, y Tensor) Tensor { return x.Mean(p.axis(x)...) }},
	{"max of", func(p *program, x, y Tensor) Tensor { return x.MaxKeep(p.axis(x)...).Mul(0.5) }},
	{"softmax", func(p *program, x, y Tensor) Tensor { return p.rows(x).Softmax(-1) }},
	{"log_softmax", func(p *program, x, y Tensor) Tensor { return p.rows(x).LogSoftmax(0).Tanh() }},
	{"rms_norm", func(p *program, x, y Tensor) Tensor { return p.rows(x).RMSNorm(Tensor{}, 0.1) }},
	{"transpose", func(p *program, x, y Tensor) Tensor {
		if x.Rank() < 2 {
			return x.Neg()
		}
		return x.Transpose()
	}},
	{"flip", func(p *program, x, y Tensor) Tensor { return x.Flip() }},
	{"flatten", func(p *program, x, y Tensor) Tensor { return x.Flatten() }},
	{"slice", func(p *program, x, y Tensor) Tensor {
		if x.Rank() == 0 {
			return x.Abs()
		}
		return x.SliceStep(-1, -1, -x.Len(-1)-1, -1-p.rng.IntN(2))
	}},
	{"pad", func(p *program, x, y Tensor) Tensor { return p.rows(x).Pad(-1, 1, 0, 0.5) }},
	{"cumsum", func(p *program, x, y Tensor) Tensor { return p.rows(x).CumSum(-1).Tanh() }},
	{"concat", func(p *program, x, y Tensor) Tensor { return Concat([]Tensor{p.rows(x), p.rows(x).Neg()}, -1) }},
	{"take", func(p *program, x, y Tensor) Tensor {
		x = p.rows(x)
		return x.Take(From([]int{0, x.Len(0) - 1, 0}), 0)
	}},
	{"matmul", func(p *program, x, y Tensor) Tensor {
		x = p.rows(x)
		return x.Transpose().MatMul(x).Tanh()
	}},
	{"product", func(p *program, x, y Tensor) Tensor {
		if x.Rank() > 0 && x.Len(-1) == 4 {
			return x.MatMul(p.params[6]).Tanh()
		}
		return x.Sin()
	}},
}

// axis is a random axis, or none, which means all.
func (p *program) axis(x Tensor) []int {
	if x.Rank() == 0 || p.rng.IntN(3) == 0 {
		return nil
	}
	return []int{p.rng.IntN(x.Rank())}
}

// rows gives a tensor two axes at least.
func (p *program) rows(x Tensor) Tensor {
	for x.Rank() < 2 {
		x = x.Unsqueeze(0)
	}
	return x
}

// broadcasts says whether a binary operation takes both.
func broadcasts(x, y Tensor) bool {
	a, b := x.Shape(), y.Shape()
	for i := 1; i <= min(len(a), len(b)); i++ {
		if p, q := a[len(a)-i], b[len(b)-i]; p != q && p != 1 && q != 1 {
			return false
		}
	}
	return true
}

// run grows the program, and returns what it made last, its loss and the gradients.
func (p *program) run(steps int) []Tensor {
	for range steps {
		i, x := p.take()
		j, y := p.take()
		op := programOps[p.rng.IntN(len(programOps))]
		if !broadcasts(x, y) {
			j, y = i, x
		}
		if z := op.f(p, x, y); z.Size() <= 4096 && z.Rank() <= 5 {
			p.add(fmt.Sprintf("%s(%d, %d)", op.name, i, j), z)
		}
	}
	loss := Scalar(0)
	for _, w := range p.params {
		loss = loss.Add(w.Sum().Mul(0.1)) // so that every parameter is reached
	}
	for _, x := range p.pool[len(p.pool)-3:] {
		loss = loss.Add(x.Mean())
	}
	outs := append([]Tensor{loss}, p.pool[len(p.pool)-3:]...)
	outs = append(outs, Grad(loss, p.params...)...)
	Eval(outs...)
	return outs
}

var (
	programs     = flag.Int("programs", 100, "how many random programs TestRandomPrograms compares")
	firstProgram = flag.Int("firstprogram", 0, "the seed of the first one")
)

// Random programs with their gradients give the same on every device, with fusion and without: as far as the
// results of the disturbed reference spread, and not more.
func TestRandomPrograms(t *testing.T) {
	run := func(ctx context.Context, seed uint64, device string, fuse bool) (values [][]float64, p *program) {
		use(t, device)
		Within(WithFusion(ctx, fuse), func() {
			p = newProgram(seed)
			for _, x := range p.run(14) {
				values = append(values, x.Float64s())
			}
		})
		return values, p
	}
	for seed := uint64(*firstProgram); seed < uint64(*firstProgram+*programs); seed++ {
		want, p := run(t.Context(), seed, "ref", false)
		off := spreadOf(want, func(k uint64) [][]float64 {
			values, _ := run(ref.Disturbed(t.Context(), k), seed, "ref", false)
			return values
		})
		for _, way := range []struct {
			device string
			fuse   bool
		}{{"ref", true}, {"cpu", false}, {"cpu", true}} {
			got, _ := run(t.Context(), seed, way.device, way.fuse)
			for i := range want {
				for j, w := range want[i] {
					if g := got[i][j]; g != w && !(math.Abs(g-w) <= off[i][j]) && (g == g || w == w) {
						t.Fatalf("seed %d on %s, fusion %v: element %d of result %d: got %v, want %v ± %v\n%v",
							seed, way.device, way.fuse, j, i, g, w, off[i][j], p.text)
					}
				}
			}
		}
	}
}

// spreadOf says how far each result may be off: 24 times as far as that of the disturbed reference is at
// most, and two steps of a float32.
func spreadOf(want [][]float64, disturbed func(k uint64) [][]float64) (off [][]float64) {
	for _, list := range want {
		off = append(off, make([]float64, len(list)))
	}
	for k := range uint64(4) {
		for i, list := range disturbed(k) {
			for j, x := range list {
				off[i][j] = max(off[i][j], math.Abs(x-want[i][j]))
			}
		}
	}
	for i, list := range want {
		for j, w := range list {
			off[i][j] = 24*off[i][j] + math.Abs(w)/(1<<22) + 1e-38
		}
	}
	return off
}
