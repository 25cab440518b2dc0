package kernel

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// attention computes o and the logsumexp of the scores, of each query.
func attention(g *backend.Group, k *Kernel) {
	if attend(g, k) || byProducts(g, k) {
		return
	}
	if a := newAttention(g, k.limits); a.b*a.hq*a.tq > 0 {
		a.forward(k)
	}
}

// forward writes attention down.
func (a *attentionText) forward(k *Kernel) {
	rows := a.hq / a.hk * a.tq
	a.share(rows, k.limits)
	numbers, slabs := a.slab(a.dv)
	tiles := (rows + a.rows() - 1) / a.rows()
	parts := a.parts(a.b*a.hk*tiles*slabs, k.limits)
	a.reads("q", a.in.Args[0])
	if a.page > 0 {
		a.readsPages()
	} else {
		a.reads("k", a.in.Args[1])
		a.reads("v", a.in.Args[2])
		a.masked(a.in.Args[3:])
	}
	results := a.attentionResults()
	if parts > 1 {
		k.Scratch = a.declareParts(a.text, parts)
	} else {
		results.declare(a.text, "o", "lse")
	}
	a.lengths()
	a.constant("rows", rows)
	a.constant("tiles", tiles)
	a.tiles()
	a.place(false)
	a.span(parts)
	a.line("const %[1]s slab = %[1]s(group.y) * %[2]d;", a.index, numbers)
	a.line("sum_%s sum[%d];", a.blocks.set, numbers/16)
	a.line("clear_strip(sum);")
	a.line("float top[2] = {-INFINITY, -INFINITY}, all[2] = {0.0f, 0.0f};")
	queries := []fetch{{"q", "0", "width"}}
	list := append([]fetch{{"k", "0", "width"}}, a.slabParts("v", "depth", numbers)...)
	a.start("start", queries, list, false)
	a.line("for (%s from = start; from < end; from += %d) {", a.index, a.columns)
	a.product("s", 0, queries, list, false)
	a.softmax(numbers)
	a.weigh(1, list, false)
	a.line("}")
	a.line("float share[2], lse[2];")
	a.line("UNROLL for (int u = 0; u < 2; u++) {")
	a.line("const float total = strip_sum<%s>(all[u]);", a.blocks.lanes)
	a.line("const bool none = total == 0.0f;")
	a.line("share[u] = none ? 0.0f : 1.0f / total;")
	natural := ""
	if a.binary() {
		natural = fmt.Sprintf(" * %gf", math.Ln2)
	}
	a.line("lse[u] = none ? -INFINITY : top[u]%s + op_log(total);", natural)
	a.line("}")
	o, sum := rowOf("o"), rowOf("lse")
	if parts > 1 {
		part := " + " + a.index + "(group.z) * a.count"
		o, sum = o+part+" * a.depth", sum+part
		results = attentionResults{o: "float", lse: true}
	}
	if results.o != "" {
		a.store(numbers, "depth", "o", o, results.o+"(%s * share[u])")
	}
	if results.lse {
		a.line("if (slab == 0 && column_of(places, lane, 0) == 0) {")
		a.line("UNROLL for (int u = 0; u < 2; u++) {")
		a.line("if (inside[u]) a.lse[%s] = lse[u];", sum)
		a.close(2)
	}
	k.Dispatches = []Dispatch{a.dispatch("attention", [3]int{a.b * a.hk * tiles, slabs, parts})}
	if parts > 1 {
		k.Dispatches = append(k.Dispatches, a.join(parts, k.limits))
	}
}

// span declares start and end, between which the group looks at keys.
func (a *attentionText) span(parts int) {
	if a.page > 0 {
		a.pagedEnd()
	} else {
		a.end()
	}
	if parts > 1 {
		a.line("const %s part = ((end - start + %d) / %d + %d) / %d * %d;", a.index, parts-1, parts, a.columns-1, a.columns, a.columns)
		a.line("start += %s(group.z) * part;", a.index)
		a.line("end = min(end, start + part);")
	}
}

// parts is how many parts the keys are split into, where so many threadgroups are one for each: enough to
// give every core work, if they are not that without.
func (a *attentionText) parts(groups int, limits Limits) int {
	cores := limits.Processors
	if cores == 0 {
		cores = fewCores
	}
	if groups >= cores {
		return 1
	}
	keys := a.tk
	if a.Window > 0 {
		keys = min(keys, 2*a.Window+a.tq)
	}
	return max(1, min(mostKeyPart, wantSimds*cores/(groups*a.simds), keys/leastKeys))
}

// softmax makes the scores in s weights, and lets what was added up before fade: if scores rise by so much
// that weights would come to more than e⁵ or 2⁸ otherwise, which is seldom.
func (a *attentionText) softmax(numbers int) {
	slack := "5.0f"
	if a.binary() {
		slack = "8.0f"
	}
	a.line("float high[2] = {-INFINITY, -INFINITY}, fade[2];")
	a.scores(false, func() {
		a.line("if (!seen) v = -INFINITY;")
		a.line("set_element(s[n], e, v);")
		a.line("high[u] = max(high[u], v);")
	})
	a.line("UNROLL for (int u = 0; u < 2; u++) {")
	a.line("const float found = strip_max<%s>(high[u]), highest = found > top[u] + %s ? found : top[u];", a.blocks.lanes, slack)
	a.line("high[u] = highest == -INFINITY ? 0.0f : highest;")
	a.line("fade[u] = %s(top[u] - high[u]);", a.exp())
	a.line("top[u] = highest;")
	a.line("all[u] *= fade[u];")
	a.line("}")
	a.elements(a.columns)
	a.line("const float w = %s(element(s[n], e) - high[u]);", a.exp())
	a.line("set_element(s[n], e, w);")
	a.line("all[u] += w;")
	a.close(2)
	a.line("if (simd_any(fade[0] != 1.0f || fade[1] != 1.0f)) {")
	a.elements(numbers)
	a.line("set_element(sum[n], e, element(sum[n], e) * fade[u]);")
	a.close(2)
	a.line("}")
}

// attentionResults are the outputs of attention that are wanted.
type attentionResults struct {
	o       string // its type in memory, or ""
	lse     bool
	outputs []backend.Output
}

func (a *attentionText) attentionResults() attentionResults {
	r := attentionResults{outputs: a.g.Outputs}
	for _, o := range a.g.Outputs {
		if o.Value.Result == 0 {
			r.o = memoryTypes[o.DType]
		} else {
			r.lse = true
		}
	}
	return r
}

func (r attentionResults) declare(t *text, names ...string) {
	for _, o := range r.outputs {
		t.writes(names[o.Value.Result], o)
	}
}

// declareParts declares the results of parts, in the workspace, and returns how many bytes they have: o of
// each part, and the logsumexp of each.
func (a *attentionText) declareParts(t *text, parts int) (bytes int) {
	count := a.b * a.hq * a.tq
	at := ceilTo(4*parts*count*a.dv, 64)
	t.member("device float*", "o", Field{Kind: Scratch, Size: 8})
	t.strides("o", []int{a.hq * a.tq * a.dv, a.tq * a.dv, a.dv})
	t.member("device float*", "lse", Field{Kind: Scratch, Size: 8, At: at})
	t.strides("lse", []int{a.hq * a.tq, a.tq, 1})
	t.constant("count", count)
	return at + 4*parts*count
}

// join adds up the parts of each query: a simdgroup has some numbers of one, and a thread the share of a
// part. All that it loads is under way together.
func (a *attentionText) join(parts int, limits Limits) Dispatch {
	results := a.attentionResults()
	t := newText(a.g, a.index == "long")
	a.declareParts(t, parts)
	results.declare(t, "all_o", "all_lse")
	t.constant("hq", a.hq)
	t.constant("tq", a.tq)
	t.constant("depth", a.dv)
	t.constant("parts", parts)
	perGroup, pieces := max(1, min(rowThreads, limits.Threads)/simdWidth), (a.dv+simdWidth-1)/simdWidth
	t.constant("pieces", pieces)
	t.line("const %[1]s mine = %[1]s(group.x) * %[2]d + %[1]s(simd);", t.index, perGroup)
	t.line("const bool inside = mine < a.count * a.pieces;")
	t.line("const %[1]s row = min(mine / a.pieces, a.count - 1), d = mine %% a.pieces * %[2]d + %[1]s(lane);", t.index, simdWidth)
	t.line("const %s b = row / a.tq / a.hq, h = row / a.tq %% a.hq, i = row %% a.tq;", t.index)
	t.line("float lse = a.lse[min(%[1]s(lane), %[1]s(a.parts - 1)) * a.count + row];", t.index)
	most := ceilPower(parts)
	if results.o != "" {
		t.line("float v[%d];", most)
		t.line("UNROLL for (int p = 0; p < %d; p++) v[p] = a.o[(min(%[2]s(p), %[2]s(a.parts - 1)) * a.count + row) * a.depth + min(d, %[2]s(a.depth - 1))];", most, t.index)
		t.line("simdgroup_barrier(mem_flags::mem_none);")
	}
	t.line("if (int(lane) >= int(a.parts)) lse = -INFINITY;")
	t.line("float top = lse;")
	t.line("for (ushort mask = 16; mask > 0; mask /= 2) top = op_max(top, simd_shuffle_xor(top, mask));")
	t.line("const float e = top == -INFINITY ? 0.0f : op_exp(lse - top);")
	t.line("const float total = simd_sum(e);")
	t.line("const float share = total > 0.0f || isnan(total) ? e / total : 0.0f;")
	if results.lse {
		t.line("if (inside && mine %% a.pieces == 0 && lane == 0) a.all_lse[%s] = top == -INFINITY ? top : top + op_log(total);", row("all_lse", "b", "h", "i"))
	}
	if results.o != "" {
		t.line("float sum = 0.0f;")
		t.line("UNROLL for (int p = 0; p < %d; p++) sum = fma(simd_shuffle(share, ushort(p)), v[p], sum);", most)
		t.line("if (inside && d < a.depth) a.all_o[%s + d] = %s(sum);", row("all_o", "b", "h", "i"), results.o)
	}
	threads := along(perGroup * simdWidth)
	count := a.b * a.hq * a.tq * pieces
	return t.finish("attention_join", "attention, of all parts", parameters, along((count+perGroup-1)/perGroup), threads)
}
