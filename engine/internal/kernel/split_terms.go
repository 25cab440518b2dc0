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
// Computations", 2019). An infinity is its first term, and has nothing left; a number beyond bf16's greatest
// becomes one.
//
// Each call reads the weight. Of few rows that is most of the work: their terms are one below the other, for
// one call, and the epilogue adds up what it gives.

// terms is how many terms an operand has.
const terms = 3

// termsFlops is the flopsPerByte of the products of a term, beside a text that does the whole in f32.
const termsFlops = 24

// byTerms says whether the left operand of pair n has terms.
func (p *product) byTerms(n int) bool {
	i, input := p.inst.Args[2*n].Input()
	return input && !isNumber(p.g.Inputs[i]) && p.inst.DType == dtype.F32 && !p.g.TF32 &&
		p.operandType(2*n) == dtype.F32 && p.operandType(2*n+1) == dtype.BF16
}

// inTerms says whether it is multiplied so.
func (s *split) inTerms(n int) bool { return (s.way == inFloats || s.way == stacked) && s.byTerms(n) }

// bringTerms writes the dispatch that makes the terms of the left operand of pair n, and returns the pairs of
// them, the smallest first, or one of all.
func (s *split) bringTerms(n int) (list []pair, ok bool) {
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
	if s.way == stacked {
		apart = size
	}
	to := s.borrow(terms*apart, dtype.BF16)
	s.bytes += size*4 + 2*terms*size*2
	s.steps = append(s.steps, termsOf(&backend.Group{Name: s.g.Name, Inputs: []backend.Input{in}}, s.limits, to, apart)...)
	term := func(i int) pair {
		left := operand{Matrix{DType: dtype.BF16, Stride: shape[len(shape)-1], Batch: batch}, field(to, 2*i*apart)}
		return pair{sides: [2]operand{left, right}, inner: s.inner[n]}
	}
	if s.way == stacked {
		return []pair{term(0)}, true
	}
	s.bytes += (terms - 1) * s.space.lens[0] * s.inner[n] * dtype.BF16.Size() // of the weight, again
	for i := terms - 1; i >= 0; i-- {
		list = append(list, term(i))
	}
	return list, true
}

// termsOf writes the terms of a group's only input, so many elements apart.
func termsOf(g *backend.Group, limits Limits, to, apart int) []Dispatch {
	shape := g.Inputs[0].Layout.Shape
	y := contiguous("y", shape)
	y.reach = terms * apart
	e := newElements(g, limits, "terms", shape, y, named{name: "x", layout: g.Inputs[0].Layout})
	e.fours = e.space.vectors(4) && e.place("x").strides[0] == 1
	e.pointer("", "y", dtype.BF16, to, 0)
	e.reads("x", backend.In(0))
	e.constant("apart", apart)
	per, load, store := 1, "term[0] = loaded(a.x[%s]);", "a.y[%s + %d * a.apart] = bfloat(term[0]);"
	if e.fours {
		per, load, store = 4, "load4(a.x + (%s), term);", "store4(a.y + (%s + %d * a.apart), term);"
	}
	return e.dispatch(func() {
		e.line("float term[%d], left[%[1]d];", per)
		e.line(load, e.here("x"))
		for n := range terms {
			e.line("UNROLL for (int k = 0; k < %d; k++) {", per)
			e.line("const float whole = term[k], near = float(bfloat(whole)), rest = whole - near;")
			e.line("term[k] = near;")
			e.line("left[k] = abs(rest) < INFINITY ? rest : 0.0f;")
			e.line("}")
			e.line(store, e.here("y"), n)
			if n < terms-1 {
				e.line("UNROLL for (int k = 0; k < %d; k++) term[k] = left[k];", per)
			}
		}
	})
}
