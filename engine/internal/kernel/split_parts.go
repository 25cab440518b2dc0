package kernel

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Activations of f32 times a weight of bf16: in the arithmetic of f32 a GPU would first widen the weight and
// then take fifteen times as long as for bf16. So the activations are written as a sum of three matrices of
// bf16: the nearest one, what is left, and what is left of that, which together have all 24 digits. The
// library multiplies each by the weight as it lies, with sums in f32, so that no operand is rounded (Henry,
// Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision
// Computations", 2019). An infinity is its first part, and has nothing left; a number beyond bf16's greatest
// becomes one.

// manyParts is how many parts an operand has.
const manyParts = 3

// partsFlops is the flopsPerByte of a call of one part, beside a text that does the whole in f32.
const partsFlops = 24

// isParted says whether the left operand of pair n is multiplied in parts.
func (s *split) isParted(n int) bool {
	i, input := s.inst.Args[2*n].Input()
	return input && !isNumber(s.g.Inputs[i]) && s.way == inFloats && s.inst.DType == dtype.F32 && !s.g.TF32 &&
		s.operandType(2*n) == dtype.F32 && s.operandType(2*n+1) == dtype.BF16
}

// bringParts writes the dispatch that parts the left operand of pair n, and returns the pairs of its parts,
// the smallest first.
func (s *split) bringParts(n int) (list []pair, ok bool) {
	right, ok := s.asItIs(2*n + 1)
	if !ok {
		if right, ok = s.copied(2*n+1, dtype.BF16); !ok {
			return nil, false
		}
	}
	i, _ := s.inst.Args[2*n].Input()
	in := s.g.Inputs[i]
	batch := 0
	if in.Layout, batch, ok = s.shared(2*n, in.Layout); !ok {
		return nil, false
	}
	shape := in.Layout.Shape
	size := ir.Size(shape)
	apart := (size + 31) &^ 31 // libraries want operands from 64 bytes on
	to := s.borrow(manyParts*apart, dtype.BF16)
	s.bytes += size*4 + 2*manyParts*size*2
	s.steps = append(s.steps, partsOf(&backend.Group{Name: s.g.Name, Inputs: []backend.Input{in}}, s.limits, to, apart)...)
	for part := manyParts - 1; part >= 0; part-- {
		left := operand{Matrix{DType: dtype.BF16, Stride: shape[len(shape)-1], Batch: batch}, field(to, 2*part*apart)}
		list = append(list, pair{sides: [2]operand{left, right}, inner: s.inner[n]})
	}
	return list, true
}

// partsOf writes the parts of a group's only input, so many elements apart.
func partsOf(g *backend.Group, limits Limits, to, apart int) []Dispatch {
	shape := g.Inputs[0].Layout.Shape
	y := contiguous("y", shape)
	y.reach = manyParts * apart
	e := newElements(g, limits, "parts", shape, y, named{name: "x", layout: g.Inputs[0].Layout})
	e.fours = e.space.vectors() && e.place("x").strides[0] == 1
	e.pointer("", "y", dtype.BF16, to, 0)
	e.reads("x", backend.In(0))
	e.constant("apart", apart)
	per, load, store := 1, "part[0] = loaded(a.x[%s]);", "a.y[%s + %d * a.apart] = bfloat(part[0]);"
	if e.fours {
		per, load, store = 4, "load4(a.x + (%s), part);", "store4(a.y + (%s + %d * a.apart), part);"
	}
	return e.dispatch(func() {
		e.line("float part[%d], left[%[1]d];", per)
		e.line(load, e.here("x"))
		for n := range manyParts {
			e.line("UNROLL for (int k = 0; k < %d; k++) {", per)
			e.line("const float whole = part[k], near = float(bfloat(whole)), rest = whole - near;")
			e.line("part[k] = near;")
			e.line("left[k] = abs(rest) < INFINITY ? rest : 0.0f;")
			e.line("}")
			e.line(store, e.here("y"), n)
			if n < manyParts-1 {
				e.line("UNROLL for (int k = 0; k < %d; k++) part[k] = left[k];", per)
			}
		}
	})
}
