package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// rewrite applies the rules that need to know who uses a value, until none applies.
func (g *graph) rewrite() {
	for changed := true; changed; {
		changed = false
		order := g.order()
		uses := g.uses(order)
		for _, v := range order {
			if g.addProducts(v, uses) || g.sumBatches(v, uses) {
				changed = true
				break
			}
		}
	}
}

// uses counts how many values use each value, not through views; an output counts too.
func (g *graph) uses(order []int) []int {
	n := make([]int, len(g.values))
	for _, v := range order {
		if g.values[v].kind == view {
			continue
		}
		for _, a := range g.values[v].args {
			b, _ := g.base(a)
			n[b]++
		}
	}
	for _, o := range g.outs {
		b, _ := g.base(o)
		n[b]++
	}
	return n
}

// addProducts turns a·b + c·d, which nobody else uses, into one product of two pairs. The gradient of an input that
// went into several products is such a sum, and so is an adapted layer that somebody wrote out by hand.
func (g *graph) addProducts(v int, uses []int) bool {
	x := &g.values[v]
	if x.kind != mapped || x.op != ir.Add {
		return false
	}
	dt, left, right := x.dtype, x.args[0], x.args[1]
	l, lf := g.product(left, uses)
	r, rf := g.product(right, uses)
	if l < 0 || r < 0 || l == r || !slices.Equal(g.values[l].shape, g.values[r].shape) {
		return false
	}
	p, q := g.values[l], g.values[r]
	p.args, q.args = g.scaleFirst(p.args, lf), g.scaleFirst(q.args, rf)
	sum := value{kind: heavy, op: ir.MatMul, dtype: dt, shape: p.shape, args: slices.Concat(p.args, q.args), lora: p.lora || q.lora}
	g.replace(v, g.add(sum))
	return true
}

// product returns the product that v is, or -1; with a number that it is multiplied by, or else -1 for that. A factor
// is found only where it can as well be given to the product's first operand at no cost, s·((x·a)·b) = (s·(x·a))·b:
// that operand is a product, too, and has no other use.
func (g *graph) product(v int, uses []int) (product, factor int) {
	b, c := g.base(v)
	x := &g.values[b]
	switch {
	case uses[b] != 1 || !c.direct():
		return -1, -1
	case x.kind == heavy && x.op == ir.MatMul:
		return b, -1
	case x.kind != mapped || x.op != ir.Mul || !x.dtype.Float():
		return -1, -1
	}
	for i, f := range x.args {
		m, mc := g.base(x.args[1-i])
		p := &g.values[m]
		if g.values[f].kind != scalar || !mc.direct() || p.kind != heavy || p.op != ir.MatMul || uses[m] != 1 || len(p.args) != 2 {
			continue
		}
		h, hc := g.base(p.args[0])
		if y := &g.values[h]; hc.direct() && y.kind == heavy && y.op == ir.MatMul && uses[h] == 1 {
			return m, f
		}
	}
	return -1, -1
}

// scaleFirst multiplies a product's first operand by a number, if there is one.
func (g *graph) scaleFirst(args []int, factor int) []int {
	if factor < 0 {
		return args
	}
	h, _ := g.base(args[0])
	x := g.values[h]
	scaled := g.elementwise(value{op: ir.Mul, dtype: x.dtype, shape: x.shape, args: []int{h, g.view(factor, reshapeScalar(x.shape))}})
	return []int{g.view(scaled, reshape(g.values[args[0]].shape)), args[1]}
}

// sumBatches turns a sum over all batches of a product into one product whose inner axis runs over the batches too:
// the gradient of a weight.
func (g *graph) sumBatches(v int, uses []int) bool {
	x := &g.values[v]
	if x.kind != heavy || x.op != ir.Sum {
		return false
	}
	m, c := g.base(x.args[0])
	p := &g.values[m]
	rank := len(p.shape)
	if len(c) > 0 || uses[m] != 1 || p.kind != heavy || p.op != ir.MatMul || rank <= 2 || x.dtype != p.dtype {
		return false
	}
	for i, d := range p.shape {
		if summed := slices.Contains(x.attr.Axes, i); summed != (i < rank-2) && d > 1 {
			return false
		}
	}
	sum := value{kind: heavy, op: ir.MatMul, dtype: p.dtype, shape: p.shape[rank-2:], lora: p.lora}
	for i, a := range slices.Clone(p.args) {
		flat, ok := g.batchesInside(a, i%2 == 0)
		if !ok {
			return false
		}
		sum.args = append(sum.args, flat)
	}
	g.replace(v, g.view(g.add(sum), reshape(x.shape)))
	return true
}

// batchesInside views [batch… M K] as [M batch·K], or [batch… K N] as [batch·K N].
func (g *graph) batchesInside(a int, left bool) (int, bool) {
	s := slices.Clone(g.values[a].shape)
	r := len(s)
	if !left {
		return g.tryView(a, reshape([]int{ir.Size(s[:r-1]), s[r-1]}))
	}
	order := []int{r - 2}
	to := []int{s[r-2]}
	for i := range r {
		if i != r-2 {
			order, to = append(order, i), append(to, s[i])
		}
	}
	return g.tryView(a, step{op: ir.Permute, ints: order, shape: to}, reshape([]int{s[r-2], ir.Size(s) / max(1, s[r-2])}))
}

// replace lets everything that uses v use w, which has v's elements in C order, instead.
func (g *graph) replace(v, w int) {
	shape := g.values[v].shape
	w = g.view(w, reshape(shape))
	base, c := g.base(w)
	for i := range g.values {
		x := &g.values[i]
		if i == w || !slices.Contains(x.args, v) {
			continue
		}
		x.args = slices.Clone(x.args)
		for j, a := range x.args {
			if a != v {
				continue
			}
			x.args[j] = w
			if x.kind == view {
				x.args[j], x.chain = base, c.then(g.values[base].shape, x.chain...)
			}
		}
	}
	for i, o := range g.outs {
		if o == v {
			g.outs[i] = w
		}
	}
}
