package ir

import "slices"

// AdamWSettings is the number of sources of an AdamW node in front of its tensors.
const AdamWSettings = 9

func optimizerRows() []Row {
	return []Row{{
		Op: AdamW, Name: "adamw", Family: FamilyOptimizer, Infer: inferAdamW, Tol: rounding,
		Doc: "AdamW steps any number of tensors in one launch (Loshchilov, Hutter: Decoupled weight decay regularization, ICLR 2019). Sources: the settings lr, β₁, β₂, ε, λ, " +
			"c₁ = 1−β₁ᵗ, c₂ = 1−β₂ᵗ, a factor f for the gradients and a guard, each f32[] (f64[] for f64), then all p, all g, all m, all v. Values: all p′, all m′, all v′. " +
			"g′ = f·g; m′ = β₁·m + (1−β₁)·g′; v′ = β₂·v + (1−β₂)·g′²; p′ = p − lr·(m′/c₁/(√(v′/c₂) + ε) + λ·p). " +
			"p and g have one float dtype; m and v are f32 (f64 for f64). If the guard is not finite, nothing changes. With Flags InPlace p, m and v are not used " +
			"afterwards, and the values may have their memory.",
		NoGrad: "an optimizer step is not part of a loss",
		Flops: func(n *Node) int64 {
			var total int64
			for _, o := range n.Outs[:len(n.Outs)/3] {
				total += 15 * int64(Size(o.Shape))
			}
			return total
		},
	}}
}

func inferAdamW(n *Node) error {
	tensors := len(n.Src) - AdamWSettings
	if tensors < 4 || tensors%4 != 0 {
		return wrong(n, "got %d operands, want %d settings and four lists of tensors", len(n.Src), AdamWSettings)
	}
	k := tensors / 4
	list := n.Src[AdamWSettings:]
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
	for _, s := range n.Src[:AdamWSettings] {
		if len(s.Shape) != 0 || s.DType != accumulator(list[0].DType) {
			return wrong(n, "got setting %v, want %v[]", s, accumulator(list[0].DType))
		}
	}
	n.tuple(outs...)
	return nil
}
