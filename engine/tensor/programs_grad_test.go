package tensor

import (
	"math"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// The gradients of random programs, in float64, are what the loss changes by when all parameters move a
// little along a random direction. At a kink (of max, abs, where) there is no such number, and finite
// differences of two widths disagree: those programs are left out.
func TestRandomProgramsAgainstDifferences(t *testing.T) {
	for _, name := range []string{"ref", "cpu"} {
		t.Run(name, func(t *testing.T) {
			use(t, name)
			compareDifferences(t)
		})
	}
}

func compareDifferences(t *testing.T) {
	compared := 0
	for seed := uint64(*firstProgram); seed < uint64(*firstProgram+*programs/4); seed++ {
		loss := func(at float64) (float64, *program, Tensor) {
			p := newProgram(seed)
			direction := NewRNG(seed + 1)
			p.pool, p.text = nil, nil
			for i, w := range p.params {
				w = w.Cast(dtype.F64).Add(direction.Randn(w.Shape()...).Cast(dtype.F64).Mul(at)).Param()
				p.params[i] = w
				p.add("param", w)
			}
			outs := p.run(14)
			return outs[0].Item(), p, outs[0]
		}
		slope := func(step float64) float64 {
			up, _, _ := loss(step)
			down, _, _ := loss(-step)
			return (up - down) / (2 * step)
		}
		_, p, y := loss(0)
		direction, got := NewRNG(seed+1), 0.0
		for i, g := range Grad(y, p.params...) {
			if !p.params[i].IsParam() {
				t.Fatalf("seed %d: parameter %d is none", seed, i)
			}
			got += g.Mul(direction.Randn(g.Shape()...).Cast(dtype.F64)).Sum().Item()
		}
		fine, coarse := slope(1e-6), slope(1e-4)
		scale := max(1, math.Abs(fine))
		if math.Abs(fine-coarse) > 1e-4*scale {
			continue // a kink, or a steep place
		}
		compared++
		if math.Abs(got-fine) > 1e-5*scale {
			t.Errorf("seed %d: the gradients give a slope of %v, differences %v (%v):\n%v", seed, got, fine, coarse, p.text)
		}
	}
	if compared < *programs/8 {
		t.Errorf("only %d programs could be compared", compared)
	}
}
