package plan

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// rewrite applies the rules that need to know the users of a value, until none applies.
func (g *graph) rewrite() {
	r := &rewriting{graph: g, outsAt: map[int][]int{}, sums: map[int]bool{}}
	order := g.order()
	r.list()
	for _, v := range order {
		r.useArgs(v, func(b int) { r.uses[b]++ })
	}
	for i, o := range g.outs {
		b, _ := g.base(o)
		r.uses[b]++
		r.outsAt[o] = append(r.outsAt[o], i)
	}
	for changed := true; changed; {
		changed = false
		for _, v := range order {
			g.step(1)
			if r.uses[v] > 0 && (r.addProducts(v) || r.sumBatches(v)) {
				changed = true
			}
		}
	}
}

// rewriting knows the users of each value, while rules replace values.
type rewriting struct {
	*graph
	uses   []int         // how many values that are needed use each value, not through views; an output counts too
	users  [][]int       // the values that have each value as an argument, and perhaps some that had
	outsAt map[int][]int // of each value that is an output, which ones
	sums   map[int]bool  // the products that addProducts made
}

// list makes room for new values, and notes what they use.
func (r *rewriting) list() {
	from := len(r.users)
	more := len(r.values) - from
	r.uses, r.users = append(r.uses, make([]int, more)...), append(r.users, make([][]int, more)...)
	for v := from; v < len(r.values); v++ {
		for _, a := range r.values[v].args {
			r.users[a] = append(r.users[a], v)
		}
	}
}

// useArgs calls f for what v uses.
func (r *rewriting) useArgs(v int, f func(base int)) {
	x := &r.values[v]
	if x.kind == view {
		return
	}
	r.step(len(x.args))
	for _, a := range x.args {
		b, _ := r.base(a)
		f(b)
	}
}

// use gives v so many uses more, or less. With its first use v itself becomes a user of its arguments, and
// with the last one it is no user any more.
func (r *rewriting) use(v, more int) {
	type change struct{ v, more int }
	for list := []change{{v, more}}; len(list) > 0; {
		at := list[len(list)-1]
		list = list[:len(list)-1]
		before := r.uses[at.v]
		r.uses[at.v] += at.more
		switch after := r.uses[at.v]; {
		case before == 0 && after > 0:
			r.useArgs(at.v, func(b int) { list = append(list, change{b, 1}) })
		case before > 0 && after == 0:
			r.useArgs(at.v, func(b int) { list = append(list, change{b, -1}) })
		}
	}
}

// addProducts turns a·b + c·d into one product of two pairs, if nothing else uses the two products. The
// gradient of an input that went into several products is such a sum, and so is an adapted layer that is
// written out by hand.
func (g *rewriting) addProducts(v int) bool {
	x := &g.values[v]
	if x.kind != mapped || x.op != ir.Add {
		return false
	}
	dt, left, right := x.dtype, x.args[0], x.args[1]
	l, lf := g.product(left)
	r, rf := g.product(right)
	if l < 0 || r < 0 || l == r || !slices.Equal(g.values[l].shape, g.values[r].shape) {
		return false
	}
	if g.sums[r] && !g.sums[l] {
		l, lf, r, rf = r, rf, l, lf
	}
	p, q := g.values[l], g.values[r]
	g.now = slices.Concat(q.from, x.from)
	p.args, q.args = g.scaleFirst(p.args, lf), g.scaleFirst(q.args, rf)
	if g.sums[l] && lf < 0 { // nobody else has it: it grows, because a long sum must not be copied again and again
		g.grow(l, q.args)
		g.values[l].lora = p.lora || q.lora
		g.values[l].from = append(p.from, g.now...)
		g.replace(v, l)
		return true
	}
	g.values = append(g.values, value{kind: heavy, op: ir.MatMul, dtype: dt, shape: p.shape, args: slices.Concat(p.args, q.args), lora: p.lora || q.lora, from: slices.Concat(p.from, g.now)})
	sum := len(g.values) - 1
	g.sums[sum] = true
	g.replace(v, sum)
	return true
}

// grow gives a product more pairs.
func (g *rewriting) grow(product int, args []int) {
	g.list()
	x := &g.values[product]
	x.args = append(x.args, args...)
	for _, a := range args {
		b, _ := g.base(a)
		g.use(b, 1)
		g.users[a] = append(g.users[a], product)
	}
}

// product returns the product that v is, or -1; with a number that it is multiplied by, or else -1 for that.
// A factor is found only where it can as well be given to the product's first operand at no cost, s·((x·a)·b)
// = (s·(x·a))·b: that operand is a product, too, and has no other use.
func (g *rewriting) product(v int) (product, factor int) {
	b, c := g.base(v)
	x := &g.values[b]
	switch {
	case g.uses[b] != 1 || x.apart || !c.direct():
		return -1, -1
	case x.kind == heavy && x.op == ir.MatMul:
		return b, -1
	case x.kind != mapped || x.op != ir.Mul || !x.dtype.Float():
		return -1, -1
	}
	for i, f := range x.args {
		m, mc := g.base(x.args[1-i])
		p := &g.values[m]
		if g.values[f].kind != scalar || !mc.direct() || p.kind != heavy || p.op != ir.MatMul || g.uses[m] != 1 || len(p.args) != 2 {
			continue
		}
		h, hc := g.base(p.args[0])
		if y := &g.values[h]; hc.direct() && y.kind == heavy && y.op == ir.MatMul && g.uses[h] == 1 {
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

// sumBatches turns a sum over all batches of a product into one product whose inner axis runs over the
// batches too: the gradient of a weight.
func (g *rewriting) sumBatches(v int) bool {
	x := &g.values[v]
	if x.kind != heavy || x.op != ir.Sum {
		return false
	}
	m, c := g.base(x.args[0])
	p := &g.values[m]
	rank := len(p.shape)
	if len(c) > 0 || g.uses[m] != 1 || p.kind != heavy || p.op != ir.MatMul || rank <= 2 || x.dtype != p.dtype {
		return false
	}
	for i, d := range p.shape {
		if summed := slices.Contains(x.attr.Axes, i); summed != (i < rank-2) && d > 1 {
			return false
		}
	}
	g.now = slices.Concat(p.from, x.from)
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
func (g *rewriting) replace(v, w int) {
	shape := g.values[v].shape
	w = g.view(w, reshape(shape))
	g.list()
	base, c := g.base(w)
	users := g.users[v]
	g.users[v] = nil
	g.step(len(users))
	for _, i := range users {
		x := &g.values[i]
		if i == w || !slices.Contains(x.args, v) {
			continue
		}
		to := w
		if x.kind == view {
			to, x.chain = base, c.then(g.values[base].shape, x.chain...)
		}
		x.args = slices.Clone(x.args)
		for j, a := range x.args {
			if a == v {
				x.args[j] = to
			}
		}
		g.users[to] = append(g.users[to], i)
	}
	for _, i := range g.outsAt[v] {
		g.outs[i] = w
	}
	g.outsAt[w] = append(g.outsAt[w], g.outsAt[v]...)
	delete(g.outsAt, v)
	n := g.uses[v]
	g.use(base, n)
	g.use(v, -n)
}
