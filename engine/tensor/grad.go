package tensor

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// Grad returns the gradients of loss, which has one element, with respect to parameters, lazily and in their
// order. Any tensor that loss was computed from may be asked for; after loss was evaluated, only what was
// made with [Tensor.Param]. A parameter that the loss does not reach, or reaches only through an op that has
// no gradient, is an error that names it, and so is one that is frozen. The gradient of a complex parameter
// is that of its real part and, as imaginary part, that of its imaginary part: PyTorch's, along which the
// loss rises most. One of the two that the loss does not reach is 0.
func Grad(loss Tensor, params ...Tensor) []Tensor {
	if list := reals(params...); len(list) > len(params) {
		return gradOfParts(loss, params)
	}
	nodes := make([]*ir.Node, len(params))
	for i, p := range params {
		nodes[i] = p.node("grad")
		if why := nodes[i].Frozen; why != "" {
			fail("grad", "%v is %s; an optimizer's Step asks for the gradients of what it trains", nodes[i], why)
		}
	}
	grads, err := ir.Grad(scope.Context(), loss.node("grad"), nodes)
	check("grad", err)
	out := make([]Tensor, len(grads))
	for i, g := range grads {
		out[i] = wrap(g)
	}
	return out
}

// gradOfParts is Grad where some parameters are complex.
func gradOfParts(loss Tensor, params []Tensor) []Tensor {
	from := loss.real("grad")
	zero := map[*ir.Node]bool{} // parts that the loss does not reach, though it reaches the other part
	var wanted []Tensor
	for _, p := range params {
		parts := reals(p)
		reached := slices.DeleteFunc(slices.Clone(parts), func(x Tensor) bool { return !ir.Depends(from, x.node("grad")) })
		if len(reached) == 0 {
			reached = parts // Grad says what is wrong
		}
		for _, x := range parts {
			zero[x.node("grad")] = !slices.Contains(reached, x)
		}
		wanted = append(wanted, reached...)
	}
	grads := Grad(loss, wanted...)
	next := func(x Tensor) (g Tensor) {
		if zero[x.node("grad")] {
			return ZerosLike(x)
		}
		g, grads = grads[0], grads[1:]
		return g
	}
	out := make([]Tensor, len(params))
	for i, p := range params {
		if parts := p.parts(); parts != nil {
			out[i] = pairOf(next(parts[0]), next(parts[1]))
		} else {
			out[i] = next(p)
		}
	}
	return out
}

// Checkpoint returns f(x). Gradients through it compute f again instead of keeping what it computed on the
// way (Chen et al. 2016): the memory of a deep model is then that of one layer and the inputs of all, for one
// forward pass more. Results are the same. The tensors that f makes must not be used outside of it: their
// gradients would have to go through the first computation.
func Checkpoint(f func(x Tensor) Tensor, x Tensor) Tensor {
	start := x.node("checkpoint")
	return wrap(apply(ir.Checkpoint, ir.Attr{}, f(x).node("checkpoint"), start))
}

// AdamWStep are the settings of one step of AdamW.
type AdamWStep struct {
	LR, Beta1, Beta2, Eps, WeightDecay float64
	Step                               int                           // counted from 1, for the bias correction
	Scale                              Tensor                        // multiplies the gradients (clipping), an f32 number; none: 1
	At                                 func() (lr float64, step int) // says LR and Step; in a compiled function in each call
	Guard                              Tensor                        // a number, for example the loss: if it is not finite, nothing changes; none: 0

	// InPlace says that the caller will replace params, m and v by the results and not read them again: then
	// the results take their memory, unless another handle, a view, or an operation that waits to read them
	// could see that.
	InPlace bool
}

// AdamW computes one step of AdamW (Loshchilov and Hutter 2019) for all tensors in one launch. The moments m
// and v are f32 (f64 for parameters of f64). It returns the new parameters and moments.
func AdamW(params, grads, m, v []Tensor, o AdamWStep) (newParams, newM, newV []Tensor) {
	results := stepped(ir.AdamW, 0, o, params, grads, m, v)
	return results[0], results[1], results[2]
}

// AdamWMasters is [AdamW] of parameters of f16 or bf16 that have masters of f32: these are stepped, and the
// new parameters are the new masters, rounded. Where a master does not round to its parameter, which somebody
// has set then, the parameter counts.
func AdamWMasters(params, grads, m, v, masters []Tensor, o AdamWStep) (newParams, newM, newV, newMasters []Tensor) {
	results := stepped(ir.AdamW, ir.Masters, o, params, grads, m, v, masters)
	return results[0], results[1], results[2], results[3]
}

// An Eight is numbers in 8 bits, of which 256 share a scale, in a dynamic map (Dettmers 2015) with a sign or
// without. For n numbers there are b = ⌈n/256⌉ blocks.
type Eight struct {
	Codes  []Tensor // u8[b 256] for each parameter
	Scales []Tensor // f32[b 1], the largest of each block
}

// AdamW8 is [AdamW] with moments in 8 bits (Dettmers et al. 2022), in one launch, too: the first moments m,
// with a sign, and the roots of the second ones, without. Parameters are f32, f16 or bf16.
func AdamW8(params, grads []Tensor, m, roots Eight, o AdamWStep) (newParams []Tensor, newM, newRoots Eight) {
	r := stepped(ir.AdamW8, 0, o, params, grads, m.Codes, m.Scales, roots.Codes, roots.Scales)
	return r[0], Eight{r[1], r[2]}, Eight{r[3], r[4]}
}

// AdamW8Masters is [AdamW8] of parameters that have masters, as [AdamWMasters] has them.
func AdamW8Masters(params, grads []Tensor, m, roots Eight, masters []Tensor, o AdamWStep) (newParams []Tensor, newM, newRoots Eight, newMasters []Tensor) {
	r := stepped(ir.AdamW8, ir.Masters, o, params, grads, m.Codes, m.Scales, roots.Codes, roots.Scales, masters)
	return r[0], Eight{r[1], r[2]}, Eight{r[3], r[4]}, r[5]
}

// stepped is the step of an optimizer that replaces all lists but the gradients, the second one.
func stepped(op ir.Op, flags ir.Flag, o AdamWStep, lists ...[]Tensor) [][]Tensor {
	name, count := ir.RowOf(op).Name, len(lists[0])
	results := make([][]Tensor, len(lists)-1)
	for _, list := range lists {
		if len(list) != count {
			fail(name, "got %d parameters and %d gradients or moments, want as many of each", count, len(list))
		}
	}
	if count == 0 {
		return results
	}
	first := lists[0][0].node(name)
	dt := dtype.F32
	if first.DType == dtype.F64 {
		dt = dtype.F64
	}
	src := make([]*ir.Node, 0, ir.AdamWSettings+len(lists)*count)
	for i, f := range adamWSettings(o) {
		n := ir.Number(first.Dev, dt, f)
		if o.At != nil && slices.Contains([]int{0, 5, 6}, i) {
			n = varying(first.Dev, dt, func() float64 { return adamWSettings(o)[i] })
		}
		src = append(src, n)
	}
	for i, t := range []Tensor{o.Scale, o.Guard} {
		if !t.IsNone() {
			src[ir.AdamWSettings-2+i] = cast(t.node(name), dt)
		}
	}
	for _, list := range lists {
		for _, t := range list {
			src = append(src, t.node(name))
		}
	}
	if o.InPlace {
		flags |= ir.InPlace
	}
	tuple := apply(op, ir.Attr{Flags: flags}, src...)
	for i := range results {
		for k := range count {
			results[i] = append(results[i], pick(tuple, i*count+k))
		}
	}
	return results
}

// adamWSettings lists the scalar operands of the op in its order; the last two are the factor of the
// gradients and the guard.
func adamWSettings(o AdamWStep) [ir.AdamWSettings]float64 {
	if o.At != nil {
		o.LR, o.Step = o.At()
	}
	step := float64(max(o.Step, 1))
	return [...]float64{o.LR, o.Beta1, o.Beta2, o.Eps, o.WeightDecay, 1 - math.Pow(o.Beta1, step), 1 - math.Pow(o.Beta2, step), 1, 0}
}
