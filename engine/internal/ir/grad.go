package ir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"weak"
)

// Grad returns the gradients of loss, which has one element of a floating-point dtype, for each of params:
// nodes of the params' types. It walks the graph backwards once, and the row of each op writes its part. Only
// nodes on a way from a param to the loss take part, so frozen weights cost nothing. No gradient flows
// through integers and Bool.
//
// A param that the loss does not reach is an error that names it, and so is an op on the way that has no
// gradient. When ctx is done first, its cause is the error.
func Grad(ctx context.Context, loss *Node, params []*Node) ([]*Node, error) {
	if loss.Outs != nil || Size(loss.Shape) != 1 || !loss.DType.Float() {
		return nil, &Error{"grad", fmt.Sprintf("got loss %v, want one element of a floating-point dtype (Sum or Mean gives one)", loss)}
	}
	links.RLock()
	defer links.RUnlock()
	r := reverse{dy: map[*Node][]flows{}, on: map[*Node]bool{}, blame: newBlame(), params: params}
	order := r.order(ctx, loss, params)
	if order == nil {
		return nil, context.Cause(ctx)
	}
	if err := r.unreached(loss, params); err != nil {
		return nil, err
	}
	one := full(loss, 1, loss.Shape)
	r.blame.on(loss, one)
	r.flow(loss, 0, one)
	for i, n := range slices.Backward(order) {
		if i%lookEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := r.step(n); err != nil {
			return nil, err
		}
	}
	grads := make([]*Node, len(params))
	for i, p := range params {
		if r.dy[p] == nil { // nothing flows along the ways that there are
			grads[i] = full(p, 0, p.Shape)
		} else if grads[i] = r.sums(p)[0]; grads[i] == nil {
			return nil, unreached(loss, p, "")
		}
	}
	for _, g := range grads {
		countFrom(g)
	}
	return grads, nil
}

// reverse is one walk backwards.
type reverse struct {
	on map[*Node]bool    // of each visited node: whether a param is among it and its ancestors
	dy map[*Node][]flows // what flowed so far into each value of a node; nil where nothing did

	floor  map[*Node]bool // nodes below which it does not go
	forgot []*Node        // visited nodes that have let go of what a handle may hold
	params []*Node
	blame  blame
}

// flows are the gradients that flowed into one value. Their sum is written down when all are there, so that
// the sum of thousands of products, the uses of one weight, is one node.
type flows []*Node

// order lists the nodes between params and loss, sources first, and fills on. It returns nil if ctx is done
// first.
func (r *reverse) order(ctx context.Context, loss *Node, params []*Node) []*Node {
	wanted := map[*Node]bool{}
	all := true
	for _, p := range params {
		wanted[p] = true
		all = all && p.Tracked
	}
	order := []*Node{}
	stack := []frame{{n: loss}}
	for len(stack) > 0 {
		if len(r.on)%lookEvery == lookEvery-1 && ctx.Err() != nil {
			return nil
		}
		f := &stack[len(stack)-1]
		n := f.n
		if f.next < len(flowing(n)) && differentiable(n) && !r.floor[n] {
			s := n.Src[f.next]
			f.next++
			// A node that is not tracked has no tracked ancestors.
			if _, seen := r.on[s]; !seen && (s.Tracked || !all) {
				stack = append(stack, frame{n: s})
			}
			continue
		}
		stack = stack[:len(stack)-1]
		on := wanted[n]
		if differentiable(n) && !r.floor[n] {
			on = on || slices.ContainsFunc(flowing(n), func(s *Node) bool { return r.on[s] })
		}
		r.on[n] = on
		if n.lost != nil {
			r.forgot = append(r.forgot, n)
		}
		if on {
			order = append(order, n)
		}
	}
	return order
}

// differentiable says whether a gradient may flow from n to its sources, as far as its type tells.
func differentiable(n *Node) bool {
	return n.Op != Detach && (n.Outs != nil || n.DType.Float())
}

// flowing returns the sources of n to which a gradient may flow: the second one of a checkpoint, and of what
// it computes again, only says where and when, and a kernel with a gradient of its own goes around what it is
// composed of.
func flowing(n *Node) []*Node {
	switch {
	case n.Op == Checkpoint || n.Op == Again:
		return n.Src[:min(1, len(n.Src))]
	case n.Op == UserKernel && n.Attr.Kernel.Composed():
		return n.Src[:max(0, len(n.Src)-len(n.Outs))]
	}
	return n.Src
}

// step hands the gradient of n on to its sources.
func (r *reverse) step(n *Node) error {
	dy := r.sums(n)
	if dy != nil && len(n.Src) == 0 && r.on[n] && !r.floor[n] && !slices.Contains(r.params, n) {
		// Only a gradient that a person wrote runs code that can evaluate nodes.
		return &Error{"grad", fmt.Sprintf("%v was evaluated while its gradient was written down, and only what is computed from a Param remembers how", n)}
	}
	if dy == nil || r.floor[n] || !slices.ContainsFunc(flowing(n), func(s *Node) bool { return r.on[s] }) {
		return nil
	}
	if n.Op == Pick {
		r.flow(n.Src[0], n.Attr.Index, dy[0])
		return nil
	}
	if n.Op == Checkpoint {
		return r.again(n, dy[0])
	}
	row := RowOf(n.Op)
	if row.Grad == nil {
		return &Error{"grad", fmt.Sprintf("%s %v has no gradient: %s", row.Name, n, row.NoGrad)}
	}
	sources := flowing(n)
	grads, err := applyRule(row, n, dy)
	if err != nil {
		return err
	}
	r.blame.on(n, grads...)
	for i, s := range sources {
		if !r.on[s] || grads[i] == nothing {
			continue
		}
		if grads[i] == nil {
			return &Error{"grad", fmt.Sprintf("%s has no gradient for operand %d, %v", row.Name, i+1, s)}
		}
		r.flow(s, 0, grads[i])
	}
	return nil
}

// applyRule calls a rule and turns its refusal into an error.
func applyRule(row *Row, n *Node, dy []*Node) (grads []*Node, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case refusal:
			err = &Error{"grad", fmt.Sprintf("%s %v has no gradient: %s", row.Name, n, p)}
		default:
			panic(p)
		}
	}()
	return row.Grad(n, dy), nil
}

// A refusal is the panic by which a rule says that it cannot.
type refusal string

// flow adds g to the gradient of a value of n.
func (r *reverse) flow(n *Node, value int, g *Node) {
	t := n.Type()
	if n.Outs != nil {
		t = n.Outs[value]
	}
	if g.DType != t.DType || !slices.Equal(g.Shape, t.Shape) {
		panic(fmt.Sprintf("ir: gradient %v of a value %v of %v", g, t, n.Op))
	}
	list := r.dy[n]
	if list == nil {
		list = make([]flows, max(1, len(n.Outs)))
		r.dy[n] = list
	}
	list[value] = append(list[value], g)
}

// sums returns what flowed into each value of n, nil where nothing did; it is nil if nothing did at all.
func (r *reverse) sums(n *Node) []*Node {
	list := r.dy[n]
	if list == nil {
		return nil
	}
	sums := make([]*Node, len(list))
	for i, f := range list {
		if len(f) > 0 {
			sums[i] = f.sum()
			r.blame.from(f[0].Origin, sums[i])
			list[i] = flows{sums[i]}
		}
	}
	return sums
}

// sum adds gradients of one value. Products in a row become one MatMul with the pairs of all, so that the
// gradient of what several projections read is one launch.
func (f flows) sum() *Node {
	sum := f[0]
	for f = f[1:]; len(f) > 0; {
		alike := 0 // how many can be joined with the sum
		join := func(ok func(n *Node) bool) bool {
			for ok(sum) && alike < len(f) && ok(f[alike]) {
				alike++
			}
			return alike > 0
		}
		switch {
		case join(func(n *Node) bool { return n.Op == MatMul }):
			src := slices.Clone(sum.Src)
			for _, n := range f[:alike] {
				src = append(src, n.Src...)
			}
			sum = build(MatMul, Attr{}, src...)
		case join(func(n *Node) bool { return n.Op == Reshape && slices.Equal(n.Src[0].Shape, sum.Src[0].Shape) }):
			inner := flows{sum.Src[0]}
			for _, n := range f[:alike] {
				inner = append(inner, n.Src[0])
			}
			sum = reshape(inner.sum(), sum.Shape)
		default:
			alike = 1
			sum = build(Add, Attr{}, sum, f[0])
		}
		f = f[alike:]
	}
	return sum
}

// unreached returns an error for the params that no way leads to, or that an evaluated value has forgotten.
func (r *reverse) unreached(loss *Node, params []*Node) error {
	var errs []error
	for _, p := range params {
		held := weak.Make(p)
		lost := slices.IndexFunc(r.forgot, func(n *Node) bool { return n.lost.has(held) })
		switch {
		case !p.DType.Float():
			errs = append(errs, &Error{"grad", fmt.Sprintf("got parameter %v, want a floating-point dtype", p)})
		case lost >= 0:
			errs = append(errs, &Error{"grad", fmt.Sprintf("the loss depends on %v through %v, which was evaluated, and only what is computed from a Param remembers how",
				p, r.forgot[lost])})
		case !r.on[p]:
			errs = append(errs, unreached(loss, p, blocker(loss, p)))
		}
	}
	return errors.Join(errs...)
}

// unreached says that no gradient flows from loss to p; why is what a search for the reason found.
func unreached(loss, p *Node, why string) error {
	return &Error{"grad", fmt.Sprintf("the loss does not depend on %v%s", p, why)}
}

// blocker looks for an op without a gradient that stops it on the way from loss to p. It returns "" if there
// is none.
func blocker(loss, p *Node) string {
	through := map[*Node]*Node{loss: nil} // the last op without a gradient between a node and the loss
	list := []*Node{loss}
	for len(list) > 0 {
		n := list[len(list)-1]
		list = list[:len(list)-1]
		stop := through[n]
		if n == p {
			if stop == nil {
				return ""
			}
			return fmt.Sprintf(" but through %v, which has no gradient: %s", stop.Op, RowOf(stop.Op).NoGrad)
		}
		if !differentiable(n) && RowOf(n.Op).NoGrad != "" {
			stop = n
		}
		for _, s := range n.Src {
			if _, seen := through[s]; !seen {
				through[s] = stop
				list = append(list, s)
			}
		}
	}
	return ""
}
