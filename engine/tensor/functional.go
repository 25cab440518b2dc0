package tensor

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Custom returns a function that computes what forward does and has the gradient that backward says, whatever
// forward is made of: operations, tensors that Go code reads and makes again (which evaluates, and so is an
// error in a function that is being compiled), kernels. It is torch.autograd.Function.
//
// backward gets the arguments, the results and the gradient of each result (zeros where nothing flowed back),
// and returns the gradient of each argument, with its shape and dtype; a zero Tensor for one without any.
// What it needs beside these it computes again; the planner does equal work once. It is written with
// operations, so gradients of gradients work. Gradients flow to the arguments only: tensors that forward
// reads by a handle get none. All arguments and results are on one device.
func Custom(forward func(x ...Tensor) []Tensor, backward func(in, out, dout []Tensor) []Tensor) func(x ...Tensor) []Tensor {
	return func(x ...Tensor) []Tensor {
		if len(x) == 0 {
			fail("custom", "got no arguments, want one at least, to which the gradient flows")
		}
		src, inside, names := make([]*ir.Node, len(x)), make([]Tensor, len(x)), make([]string, len(x))
		for i, t := range x {
			src[i], names[i] = t.real("custom"), fmt.Sprint("argument ", i+1)
			inside[i] = t
			if src[i].DType.Float() {
				inside[i] = t.Detach() // what forward computes need not be kept for a gradient through it
			}
		}
		k := &ir.Kernel{Name: "custom", Flops: -1, Gradient: box.GradientOf("backward", names, wrap, backward)}
		results := forward(inside...)
		if len(results) == 0 {
			fail("custom", "got a forward that returns nothing, want one tensor at least")
		}
		for _, y := range results {
			n := y.real("custom")
			src, k.Outs = append(src, n), append(k.Outs, n.Type())
		}
		k.SetKey()
		out, err := box.Results(wrap, apply(ir.UserKernel, ir.Attr{Kernel: k}, src...))
		check("custom", err)
		return out
	}
}

// VJP returns y = f(x), and a function that gives dyᵀ·J for dy of y's shape: what flows back to x. J is f's
// Jacobian at x. It is torch.func.vjp. Both have gradients.
func VJP(f func(x Tensor) Tensor, x Tensor) (y Tensor, back func(dy Tensor) Tensor) {
	variable(x, "vjp")
	n := x.node("vjp")
	view := apply(ir.Reshape, ir.Attr{Shape: n.Shape}, n)
	view.Tracked = true // what is computed from it keeps its sources when it is evaluated, as if x were a parameter
	y = f(wrap(view))
	return y, func(dy Tensor) Tensor { return pulled("vjp", y, dy, x) }
}

// JVP returns y = f(x) and J·v for v of x's shape: how y changes in the direction v. It is torch.func.jvp,
// computed by two walks backwards: dyᵀ·J is linear in dy, and its gradient in the direction v is J·v.
func JVP(f func(x Tensor) Tensor, x, v Tensor) (y, dy Tensor) {
	y, back := VJP(f, x)
	variable(y, "jvp")
	if dx, dv := x.node("jvp"), v.node("jvp"); !slices.Equal(dx.Shape, dv.Shape) {
		fail("jvp", "got the direction %v at %v, want its shape", dv, dx)
	}
	at := OnesLike(y).Detach() // any dy would do
	return y, pulled("jvp", back(at), v, at)
}

// Jacobian returns the function whose value at x, of shape […x], is the Jacobian of f, of shape […y …x]:
// the derivative of each element of f(x) for each of x. It is torch.func.jacrev, and takes one walk backwards
// for each element of f(x), which one evaluation computes together. Jacobian(Jacobian(f)) works.
func Jacobian(f func(x Tensor) Tensor) func(x Tensor) Tensor {
	return func(x Tensor) Tensor {
		y, back := VJP(f, x)
		variable(y, "jacobian")
		shape := append(y.Shape(), x.Shape()...)
		size := y.Size()
		if size == 0 {
			return ZerosLike(x).Unsqueeze(0).Slice(0, 0, 0).Reshape(shape...)
		}
		rows, unit := make([]Tensor, size), rangeOn(y.node("jacobian"), size)
		for i := range rows {
			rows[i] = back(unit.Eq(i).Cast(y.DType()).Reshape(y.Shape()...))
		}
		return Stack(rows, 0).Reshape(shape...)
	}
}

// Hessian returns the function whose value at x, of shape […x], is the matrix of second derivatives of f,
// whose result has one element: of shape […x …x]. It is torch.func.hessian.
func Hessian(f func(x Tensor) Tensor) func(x Tensor) Tensor {
	return Jacobian(func(x Tensor) Tensor {
		y, back := VJP(f, x)
		y.one("hessian")
		return back(OnesLike(y))
	})
}

// Vmap returns the function that applies f to each element of the arguments' first axes, which are equally
// long, and puts the results side by side along a new first axis. It is torch.func.vmap, written out: f's
// operations are there once for each element, so operations that take a batch by themselves are faster.
func Vmap(f func(x ...Tensor) Tensor) func(x ...Tensor) Tensor {
	return func(x ...Tensor) Tensor {
		n := -1
		for _, t := range x {
			if node := t.node("vmap"); len(node.Shape) == 0 || n >= 0 && node.Shape[0] != n {
				fail("vmap", "got %v, want a first axis as long as that of the other arguments", node)
			}
			n = t.Len(0)
		}
		if n <= 0 {
			fail("vmap", "got nothing to apply the function to, want arguments with a first axis of one element at least")
		}
		ys, args := make([]Tensor, n), make([]Tensor, len(x))
		for i := range ys {
			for k, t := range x {
				args[k] = t.Select(0, i)
			}
			ys[i] = f(args...)
		}
		return Stack(ys, 0)
	}
}

// variable refuses what has no derivative.
func variable(x Tensor, op string) {
	if n := x.node(op); !n.DType.Float() {
		fail(op, "got %v, want floats, which have a derivative", n)
	}
}

// pulled is dyᵀ·J for the Jacobian J of y at x; zeros if y is not computed from x.
func pulled(op string, y, dy, x Tensor) Tensor {
	variable(y, op)
	n, d := y.node(op), dy.node(op)
	if !slices.Equal(n.Shape, d.Shape) {
		fail(op, "got %v beside %v, want its shape", d, n)
	}
	if !ir.Depends(n, x.node(op)) {
		return ZerosLike(x)
	}
	return Grad(y.Mul(dy.Cast(y.DType())).Sum(), x)[0]
}
