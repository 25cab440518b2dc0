package ir

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// AdamWSettings is the number of sources of an AdamW or AdamW8 node in front of its tensors.
const AdamWSettings = 9

// StepLists is how many lists of a tensor for each parameter the values of a step of an optimizer are, new
// parameters first. The sources are the same lists with the gradients in the second place. It is 0 for other
// ops.
func StepLists(op Op, flags Flag) int {
	lists := RowOf(op).Steps
	if lists > 0 && flags&Masters != 0 {
		lists++
	}
	return lists
}

// Replaced says which source of a step of an optimizer value i of n takes the place of. It is -1 for other
// ops.
func Replaced(op Op, flags Flag, n, i int) int {
	lists := StepLists(op, flags)
	if lists == 0 {
		return -1
	}
	count := n / lists
	if i < count {
		return AdamWSettings + i
	}
	return AdamWSettings + count + i
}

func optimizerRows() []Row {
	return []Row{{
		Op: AdamW, Name: "adamw", Infer: inferAdamW, Tol: rounding, Steps: 3,
		Doc: "AdamW steps any number of tensors in one launch (Loshchilov, Hutter: Decoupled weight decay regularization, ICLR 2019). Sources: the settings lr, β₁, β₂, ε, λ, " +
			"c₁ = 1−β₁ᵗ, c₂ = 1−β₂ᵗ, a factor f for the gradients and a guard, each f32[] (f64[] for f64), then all p, all g, all m, all v. Values: all p′, all m′, all v′. " +
			"g′ = f·g; m′ = β₁·m + (1−β₁)·g′; v′ = β₂·v + (1−β₂)·g′²; p′ = p − lr·(m′/c₁/(√(v′/c₂) + ε) + λ·p). " +
			"p and g have one float dtype; m and v are f32 (f64 for f64). If the guard is not finite, nothing changes. With Flags InPlace p, m and v are not used " +
			"afterwards, and the values may have their memory. With Flags Masters p is f16 or bf16, and behind all v stand all masters w, of f32, so behind all v′ all w′: " +
			"w counts in place of p where it rounds to p, as a step leaves it; w′ is its step, and p′ is w′ rounded.",
		NoGrad: "an optimizer step is not part of a loss",
		Flops:  stepFlops(15),
	}, {
		Op: AdamW8, Name: "adamw8", Infer: inferAdamW8, Tol: rounding, Steps: 5,
		Doc: "AdamW8 is adamw with moments in 8 bits (Dettmers, Lewis, Shleifer, Zettlemoyer: 8-bit Optimizers via Block-wise Quantization, ICLR 2022). Sources: the settings of adamw, " +
			"each f32[], then all p, all g, all codes of m, all scales of m, all codes of r, all scales of r. Values: all p′, then codes and scales of m′ and r′. r is the root of v, " +
			"which the step divides by: its numbers span half as many decades. p and g have one float dtype but f64. Codes are u8[b 256] and scales f32[b 1] for a p of up to 256·b elements: " +
			"256 of them share a scale, which is the largest |x|, and a code is the rank of x/scale in a dynamic map, with a sign for m and without for r. Codes behind the last element " +
			"are those of 0. A block with a number that is not finite gets the scale NaN. The guard and Flags InPlace and Masters are those of adamw.",
		NoGrad: "an optimizer step is not part of a loss",
		Flops:  stepFlops(60),
	}}
}

// stepFlops counts so many operations for each element of the parameters.
func stepFlops(each int64) func(n *Node) int64 {
	return func(n *Node) int64 {
		var total int64
		for _, o := range n.Outs[:len(n.Outs)/StepLists(n.Op, n.Attr.Flags)] {
			total += each * int64(Size(o.Shape))
		}
		return total
	}
}

func inferAdamW(n *Node) error {
	list, k, err := stepSources(n)
	if err != nil {
		return err
	}
	outs := make([]Type, 3*k)
	for i := range k {
		p, g, m, v := list[i], list[k+i], list[2*k+i], list[3*k+i]
		state := Type{accumulator(p.DType), p.Shape}
		switch {
		case !p.DType.Float():
			return wrong(n, "got parameter %v, want a floating-point dtype", p)
		case accumulator(p.DType) != accumulator(list[0].DType):
			return wrong(n, "got parameters of f64 and of narrower dtypes, want one kind")
		case g.DType != p.DType || !slices.Equal(g.Shape, p.Shape):
			return wrong(n, "got gradient %v for parameter %v, want the same type", g, p)
		case m.DType != state.DType || v.DType != state.DType || !slices.Equal(m.Shape, p.Shape) || !slices.Equal(v.Shape, p.Shape):
			return wrong(n, "got moments %v and %v for parameter %v, want %v", m, v, p, state)
		}
		outs[i], outs[k+i], outs[2*k+i] = p.Type(), state, state
	}
	return inferStep(n, list, k, outs)
}

// stepSources lists the tensors of a step of an optimizer, and how many parameters there are.
func stepSources(n *Node) (list []*Node, count int, err error) {
	lists, tensors := StepLists(n.Op, n.Attr.Flags)+1, len(n.Src)-AdamWSettings
	if tensors < lists || tensors%lists != 0 {
		return nil, 0, wrong(n, "got %d operands, want %d settings and %d lists of tensors", len(n.Src), AdamWSettings, lists)
	}
	return n.Src[AdamWSettings:], tensors / lists, nil
}

// inferStep adds the masters of k parameters, if there are some, to the types of the values.
func inferStep(n *Node, list []*Node, k int, outs []Type) error {
	if n.Attr.Flags&Masters != 0 {
		for i, w := range list[len(list)-k:] {
			p := list[i]
			switch {
			case p.DType.Size() != 2:
				return wrong(n, "got parameter %v with a master, want f16 or bf16", p)
			case w.DType != dtype.F32 || !slices.Equal(w.Shape, p.Shape):
				return wrong(n, "got master %v for parameter %v, want %v", w, p, Type{dtype.F32, p.Shape})
			}
			outs = append(outs, w.Type())
		}
	}
	if err := inferSettings(n, accumulator(list[0].DType)); err != nil {
		return err
	}
	n.tuple(outs...)
	return nil
}

func inferSettings(n *Node, want dtype.Type) error {
	for _, s := range n.Src[:AdamWSettings] {
		if len(s.Shape) != 0 || s.DType != want {
			return wrong(n, "got setting %v, want %v[]", s, want)
		}
	}
	return nil
}

func inferAdamW8(n *Node) error {
	list, k, err := stepSources(n)
	if err != nil {
		return err
	}
	outs := make([]Type, 5*k)
	for i := range k {
		p, g := list[i], list[k+i]
		blocks := (Size(p.Shape) + DynamicBlock - 1) / DynamicBlock
		codes, scales := Type{dtype.U8, []int{blocks, DynamicBlock}}, Type{dtype.F32, []int{blocks, 1}}
		switch {
		case !p.DType.Float() || p.DType == dtype.F64:
			return wrong(n, "got parameter %v, want f32, f16 or bf16", p)
		case g.DType != p.DType || !slices.Equal(g.Shape, p.Shape):
			return wrong(n, "got gradient %v for parameter %v, want the same type", g, p)
		}
		outs[i] = p.Type()
		for part, want := range []Type{codes, scales, codes, scales} {
			if m := list[(2+part)*k+i]; m.DType != want.DType || !slices.Equal(m.Shape, want.Shape) {
				return wrong(n, "got moments %v for parameter %v, want %v", m, p, want)
			}
			outs[(1+part)*k+i] = want
		}
	}
	return inferStep(n, list, k, outs)
}
