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
	if attend(g, k) || byProducts(g, k) {
		return
	}
	outputs := map[int]backend.Output{}
	for _, o := range g.Outputs {
		outputs[o.Value.Result] = o
	}
	q := newAttention(g, k.limits)
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
	if keys := newAttention(g, k.limits); len(wanted) > 0 && keys.b*keys.hk*keys.tk > 0 {
		k.Dispatches = append(k.Dispatches, keys.gradKeys(outputs, wanted, k.limits))
	}
}

// gradients declares the operands of a gradient.
func (a *attentionText) gradients() {
	for n, name := range []string{"q", "k", "v", "o"} {
		a.reads(name, a.in.Args[n])
	}
	a.readsLSE()
	a.reads("g", a.in.Args[5])
	a.masked(a.in.Args[6:])
	a.member("device float*", "dots", Field{Kind: Scratch, Size: 8})
	a.lengths()
}

// readsLSE declares the logsumexps of a gradient.
func (a *attentionText) readsLSE() {
	a.strides("lse", a.input("lse", a.in.Args[4]).Layout.Stride)
}

// lse is the logsumexp of a query's scores.
func lse(h, i string) string {
	return "a.lse[" + row("lse", "b", h, i) + "]"
}

// dots is do·o of a query.
func dots(h, i string) string { return fmt.Sprintf("a.dots[(b * a.hq + %s) * a.tq + %s]", h, i) }

// gradQueries computes dq if it is wanted, and leaves do·o of each query in the workspace.
func (a *attentionText) gradQueries(outputs map[int]backend.Output, wanted bool, limits Limits) Dispatch {
	w, rows := queryGradient, a.hq/a.hk*a.tq
	a.share(rows, limits)
	a.gradients()
	tiles := (rows + a.rows() - 1) / a.rows()
	a.constant("rows", rows)
	a.constant("tiles", tiles)
	numbers, slabs := a.slab(a.d)
	if wanted {
		a.writes(w.result, outputs[0])
	} else {
		slabs = 1
	}
	a.tiles()
	a.place(false)
	a.dots()
	if wanted {
		a.line("const %[1]s slab = %[1]s(group.y) * %[2]d;", a.index, numbers)
		a.line("float lse[2];")
		a.line("UNROLL for (int u = 0; u < 2; u++) lse[u] = %s;", lse("h_of[u]", "at_of[u]"))
		a.end()
		a.line("sum_%s sum[%d];", a.blocks.set, numbers/16)
		a.line("clear_strip(sum);")
		a.gradient(w, "start", numbers)
		a.store(numbers, w.length, w.result, rowOf(w.result), memoryTypes[outputs[0].DType]+"(%s)")
	}
	return a.dispatch("attention_dq", [3]int{a.b * a.hk * tiles, slabs, 1})
}

// dots computes do·o of the thread's rows: the diagonal of a product of the strips of do and o. It is added
// up as do·vᵀ is, so that a query which sees one key, whose o is v, has a ds of exactly 0.
func (a *attentionText) dots() {
	a.line("sum_%s square[1];", a.blocks.set)
	a.line("clear_strip(square);")
	a.line("for (%s d = 0; d < a.depth; d += %d) {", a.index, a.wide)
	a.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	a.fetchRows(0, fetch{"o", "d", "depth"}, false)
	a.fetchRows(1, fetch{"g", "d", "depth"}, false)
	a.line("copies.commit();")
	a.line("copies.finish<0>();")
	a.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	a.line("scored<%s, %d, %d>(square, rows_tile1, strip_at, rows_tile0, strip_at);", a.operands(), a.stride(), a.wide)
	a.line("}")
	a.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	a.line("float dot[2] = {0.0f, 0.0f};")
	a.line("UNROLL for (int e = 0; e < 8; e++) {")
	a.line("const int u = %s;", a.blocks.under)
	a.line("if (row_of(places, lane, e) == column_of(places, lane, e)) dot[u] = element(square[0], e);")
	a.line("}")
	a.line("UNROLL for (int u = 0; u < 2; u++) {")
	a.line("dot[u] = strip_sum<%s>(dot[u]);", a.blocks.lanes)
	a.line("if (inside[u] && group.y == 0 && column_of(places, lane, 0) == 0) %s = dot[u];", dots("h_of[u]", "at_of[u]"))
	a.line("}")
}

// gradKeys computes dk and dv, or one of them: each for threadgroups of its own.
func (a *attentionText) gradKeys(outputs map[int]backend.Output, wanted []weighing, limits Limits) Dispatch {
	a.share(a.tk, limits)
	a.gradients()
	tiles := (a.tk + a.rows() - 1) / a.rows()
	a.constant("tiles", tiles)
	for _, w := range wanted {
		a.writes(w.result, outputs[w.number])
	}
	a.tiles()
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
		begin, end := "0", "a.tq"
		if ahead := a.ahead(); ahead != "" { // the first query that sees the group's first key
			begin = fmt.Sprintf("max(%s(0), first + 1 - (a.tk - a.tq) - %s) / %d * %d", a.index, ahead, a.columns, a.columns)
		}
		if a.Window > 0 { // behind the last one that sees its last key
			end = fmt.Sprintf("min(a.tq, min(first + %d, a.tk) - 1 - (a.tk - a.tq) + a.window)", a.rows())
		}
		a.line("const %s end = %s;", a.index, end)
		a.line("sum_%s sum[%d];", a.blocks.set, numbers/16)
		a.line("clear_strip(sum);")
		a.line("for (%s h = kh * a.shared; h < (kh + 1) * a.shared; h++) {", a.index)
		a.gradient(w, begin, numbers)
		a.line("}")
		a.store(numbers, w.length, w.result, rowOf(w.result), memoryTypes[outputs[w.number].DType]+"(%s)")
		if len(wanted) > 1 {
			a.line("}")
		}
	}
	return a.dispatch("attention_dkv", [3]int{a.b * a.hk * tiles, slabs, len(wanted)})
}

// gradient goes along the tiles of columns from begin to end, makes their weights, and adds them up.
func (a *attentionText) gradient(w weighing, begin string, numbers int) {
	rows, list := []fetch{{"q", "0", "width"}, {"g", "0", "depth"}}, []fetch{{"k", "0", "width"}, {"v", "0", "depth"}}
	if w.keys {
		rows, list = []fetch{{"k", "0", "width"}, {"v", "0", "depth"}}, []fetch{{"q", "0", "width"}, {"g", "0", "depth"}}
	}
	if !w.slopes {
		rows, list = rows[:1], list[:1]
	}
	scores := len(list)
	list = append(list, a.slabParts(w.times, w.length, numbers)...)
	a.line("const %s begin = %s;", a.index, begin)
	a.start("begin", rows, list, w.keys)
	a.line("for (%s from = begin; from < end; from += %d) {", a.index, a.columns)
	a.product("s", 0, rows, list, w.keys)
	if w.slopes {
		a.product("slope", 1, rows, list, w.keys)
	}
	a.scores(w.keys, func() {
		low, dot := "lse[u]", "dot[u]"
		if w.keys {
			a.line("const %[1]s there = min(i, a.tq - 1);", a.index)
			a.line("const float low = %s;", lse("h", "there"))
			low, dot = "low", dots("h", "there")
		}
		a.line("const float p = seen && %[1]s != -INFINITY ? %[2]s(v - %[1]s) : 0.0f;", low, a.exp())
		if w.slopes {
			a.line("set_element(s[n], e, p == 0.0f ? 0.0f : p * (element(slope[n], e) - %s) * %s);", dot, a.slope())
		} else {
			a.line("set_element(s[n], e, p);")
		}
	})
	a.weigh(scores, list, w.keys)
	a.line("}")
}
