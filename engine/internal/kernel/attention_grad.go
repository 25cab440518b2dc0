package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// The results of a gradient.
var (
	queryGradient = weighing{result: "dq", number: 0, slopes: true, times: "k", length: "width"}
	keyGradients  = []weighing{
		{result: "dk", number: 1, keys: true, slopes: true, times: "q", length: "width"},
		{result: "dv", number: 2, keys: true, times: "g", length: "depth"},
	}
)

// attentionGrad makes two dispatches: dq, and do·o of each query for the second one, which makes dk and dv.
func attentionGrad(g *backend.Group, k *Kernel) {
	outputs := map[int]backend.Output{}
	for _, o := range g.Outputs {
		outputs[o.Value.Result] = o
	}
	q := newAttention(g)
	n := q.b * q.hq * q.tq
	if n > 0 {
		k.Scratch = 4 * n
		_, wanted := outputs[0]
		k.Dispatches = append(k.Dispatches, q.gradQueries(outputs, wanted, k.limits))
	}
	var wanted []weighing
	for _, w := range keyGradients {
		if _, ok := outputs[w.number]; ok {
			wanted = append(wanted, w)
		}
	}
	if keys := newAttention(g); len(wanted) > 0 && keys.b*keys.hk*keys.tk > 0 {
		k.Dispatches = append(k.Dispatches, keys.gradKeys(outputs, wanted, k.limits))
	}
}

// gradients declares the operands of a gradient.
func (a *attentionText) gradients() {
	for n, name := range []string{"q", "k", "v", "o"} {
		a.reads(name, a.in.Args[n])
	}
	i, _ := a.in.Args[4].Input()
	l := a.g.Inputs[i].Layout
	a.pointer("const ", "lse", a.g.Inputs[i].DType, a.g.Inputs[i].Buf, l.Offset)
	for axis, s := range l.Stride {
		a.constant("lse_"+string("bht"[axis]), s)
	}
	a.reads("g", a.in.Args[5])
	a.masked(a.in.Args[6:])
	a.member("device float*", "dots", Field{Kind: Scratch, Size: 8})
	a.lengths()
}

// lse is the logsumexp of a query's scores.
func lse(h, i string) string {
	return fmt.Sprintf("a.lse[b * a.lse_b + %s * a.lse_h + %s * a.lse_t]", h, i)
}

// gradQueries computes dq if it is wanted, and leaves do·o of each query in the workspace.
func (a *attentionText) gradQueries(outputs map[int]backend.Output, wanted bool, limits Limits) Dispatch {
	w, rows := queryGradient, a.hq/a.hk*a.tq
	a.share(rows, 2, limits)
	a.gradients()
	tiles := (rows + a.rows() - 1) / a.rows()
	a.constant("rows", rows)
	a.constant("tiles", tiles)
	numbers, slabs := a.slab(a.d)
	if wanted {
		a.pointer("", w.result, outputs[0].DType, outputs[0].Buf, 0)
		a.tiles(2)
	} else {
		slabs = 1
		a.line("const int under_row = strip_row(lane);")
	}
	a.place(false)
	a.dots(wanted)
	if wanted {
		a.line("const %[1]s slab = %[1]s(group.y) * %[2]d;", a.index, numbers)
		a.line("float lse[2];")
		a.line("for (int u = 0; u < 2; u++) lse[u] = %s;", lse("h_of[u]", "at_of[u]"))
		a.end()
		a.line("strip<%d> sum;", numbers/8)
		a.line("sum.clear();")
		a.line("for (%[1]s from = 0; from < end; from += %[2]d) {", a.index, a.columns)
		a.gradient(w, numbers)
		a.line("}")
		a.rowsOf("hq", "tq")
		a.store(numbers, w.length, "a."+w.result, memoryTypes[outputs[0].DType]+"(%s)")
	}
	return a.dispatch("attention_dq", [3]int{a.b * a.hk * tiles, slabs, 1})
}

// dots computes do·o of the simdgroup's rows, one after the other, and keeps those of the thread's.
func (a *attentionText) dots(kept bool) {
	if kept {
		a.line("float dot[2] = {0.0f, 0.0f};")
	}
	a.line("for (int r = 0; r < %d; r++) {", stripRows)
	a.line("const %s n = first + int(simd) * %d + r, there = min(n, a.rows - 1);", a.index, stripRows)
	h, i := "kh", "there"
	if a.grouped() {
		a.line("const %s h = kh * a.shared + there / a.tq, i = there %% a.tq;", a.index)
		h, i = "h", "i"
	}
	a.line("float part = 0.0f;")
	a.line("for (%[1]s d = %[1]s(lane); d < a.depth; d += %[2]d) part = fma(loaded(a.g[%[3]s + d * a.g_d]), loaded(a.o[%[4]s + d * a.o_d]), part);", a.index, simdWidth, row("g", "b", h, i), row("o", "b", h, i))
	a.line("part = simd_sum(part);")
	a.line("if (lane == 0 && group.y == 0 && n < a.rows) a.dots[(b * a.hq + %s) * a.tq + %s] = part;", h, i)
	if kept {
		a.line("for (int u = 0; u < 2; u++) {")
		a.line("if (r == under_row + 8 * u) dot[u] = part;")
		a.line("}")
	}
	a.line("}")
}

// gradKeys computes dk and dv, or one of them: each for threadgroups of its own.
func (a *attentionText) gradKeys(outputs map[int]backend.Output, wanted []weighing, limits Limits) Dispatch {
	a.share(a.tk, 2, limits)
	a.gradients()
	tiles := (a.tk + a.rows() - 1) / a.rows()
	a.constant("tiles", tiles)
	for _, w := range wanted {
		a.pointer("", w.result, outputs[w.number].DType, outputs[w.number].Buf, 0)
	}
	a.tiles(2)
	a.place(true)
	slabs := 1
	for n, w := range wanted {
		length := a.d
		if w.length == "depth" {
			length = a.dv
		}
		numbers, count := a.slab(length)
		slabs = max(slabs, count)
		if len(wanted) > 1 {
			a.line("if (group.z == %d) {", n)
		}
		a.line("const %[1]s slab = %[1]s(group.y) * %[2]d;", a.index, numbers)
		a.line("strip<%d> sum;", numbers/8)
		a.line("sum.clear();")
		a.line("for (%s h = kh * a.shared; h < (kh + 1) * a.shared; h++) {", a.index)
		begin := "0"
		if a.causal() { // the first query that sees the group's first key
			begin = fmt.Sprintf("max(%s(0), first - (a.tk - a.tq)) / %d * %d", a.index, a.columns, a.columns)
		}
		a.line("for (%s from = %s; from < a.tq; from += %d) {", a.index, begin, a.columns)
		a.gradient(w, numbers)
		a.line("}")
		a.line("}")
		a.rowsOf("hk", "tk")
		a.store(numbers, w.length, "a."+w.result, memoryTypes[outputs[w.number].DType]+"(%s)")
		if len(wanted) > 1 {
			a.line("}")
		}
	}
	return a.dispatch("attention_dkv", [3]int{a.b * a.hk * tiles, slabs, len(wanted)})
}

// gradient makes the weights of a tile, and adds it up.
func (a *attentionText) gradient(w weighing, numbers int) {
	first, second := [2]string{"q", "k"}, [2]string{"g", "v"}
	if w.keys {
		first, second = [2]string{"k", "q"}, [2]string{"v", "g"}
	}
	a.product("s", 0, first[0], first[1], "width", w.keys)
	if w.slopes {
		a.product("slope", 1, second[0], second[1], "depth", w.keys)
	}
	low, dot := "lse[u]", "dot[u]"
	a.scores(w.keys, func() {
		if !w.keys {
			return
		}
		a.line("const %[1]s there = min(i, a.tq - 1);", a.index)
		a.line("const float low = %s;", lse("h", "there"))
		low = "low"
		if w.slopes {
			a.line("const float dot = a.dots[(b * a.hq + h) * a.tq + there];")
			dot = "dot"
		}
	})
	a.line("const float p = seen && %[1]s != -INFINITY ? op_exp(v - %[1]s) : 0.0f;", low)
	if w.slopes {
		a.line("s.set(n, u, e, p == 0.0f ? 0.0f : p * (slope.get(n, u, e) - %s) * a.scale);", dot)
	} else {
		a.line("s.set(n, u, e, p);")
	}
	a.close()
	a.weigh(w, numbers)
}
