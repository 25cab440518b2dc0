package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// An attentionText writes attention with an online softmax (Milakov, Gimelshein: Online normalizer
// calculation for softmax, 2018; Dao and others: FlashAttention, 2022): the scores never reach memory.
//
// A simdgroup works on one query or, for dk and dv, on one key. Its row lies in threadgroup memory. Its 32
// threads score 32 keys at a time, one each, and then share the numbers of the result: thread l has
// dimensions l, l+32, …, held of them.
type attentionText struct {
	*text
	in            *backend.Inst
	b, hq, hk     int
	tq, tk, d, dv int
	mask          dtype.Type // Invalid if there is none
}

// attentionRows is how many simdgroups, each with a row, a threadgroup has.
const attentionRows = 4

// held is how many numbers of a row of that width a thread has: a power of two, for the text's sake.
func held(width int) int { return ceilPower((width + simdWidth - 1) / simdWidth) }

func newAttention(g *backend.Group) *attentionText {
	in := &g.Insts[0]
	q, k, v := inputLayout(g, in.Args[0]).Shape, inputLayout(g, in.Args[1]).Shape, inputLayout(g, in.Args[2]).Shape
	a := &attentionText{in: in, b: q[0], hq: q[1], tq: q[2], d: q[3], hk: k[1], tk: k[2], dv: v[3]}
	wide := false
	for _, i := range g.Inputs {
		wide = wide || !isNumber(i) && reachOf(i.Layout) > most32
	}
	for _, o := range g.Outputs {
		wide = wide || ir.Size(o.Shape) > most32
	}
	a.text = newText(g, wide)
	return a
}

// reads declares an operand with a stride for each of its four axes; one of length 1 is repeated.
func (a *attentionText) reads(name string, v backend.Ref) {
	i, _ := v.Input()
	in := a.g.Inputs[i]
	a.pointer("const ", name, in.DType, in.Buf, in.Layout.Offset)
	for axis, s := range in.Layout.Stride {
		if in.Layout.Shape[axis] == 1 {
			s = 0
		}
		a.constant(name+"_"+string("bhtd"[axis]), s)
	}
}

// row is the index at which a row of an operand begins.
func row(name, b, h, t string) string {
	return fmt.Sprintf("%s * a.%s_b + %s * a.%s_h + %s * a.%s_t", b, name, h, name, t, name)
}

// shape declares the lengths.
func (a *attentionText) lengths() {
	for _, c := range []struct {
		name string
		n    int
	}{{"hq", a.hq}, {"hk", a.hk}, {"shared", a.hq / a.hk}, {"tq", a.tq}, {"tk", a.tk}, {"width", a.d}, {"depth", a.dv}} {
		a.constant(c.name, c.n)
	}
	a.float("scale", a.in.Attr.Float)
}

// begin writes down which query or key the simdgroup has: axes are the lengths that mine counts through, the
// innermost first, with the names of their indices.
func (a *attentionText) begin(count int, axes ...[2]string) {
	a.constant("count", count)
	a.line("const %[1]s mine = %[1]s(group.x) * %[2]d + %[1]s(at.y);", a.index, attentionRows)
	a.line("const bool inside = mine < a.count;")
	a.line("%s left = min(mine, a.count - 1);", a.index)
	for i, axis := range axes {
		if i == len(axes)-1 {
			a.line("const %s %s = left;", a.index, axis[0])
			break
		}
		a.line("const %s %s = left %% a.%s;", a.index, axis[0], axis[1])
		a.line("left /= a.%s;", axis[1])
	}
	a.line("const int lane_ = int(at.x), mine_ = int(at.y);")
}

// keep loads a row into threadgroup memory; name_row is where it lies there.
func (a *attentionText) keep(name, start, length string, width int) {
	room := simdWidth * held(width)
	a.line("threadgroup float %s_rows[%d];", name, attentionRows*room)
	a.line("threadgroup float* %s_row = %s_rows + mine_ * %d;", name, name, room)
	a.line("for (int d = lane_; d < %d; d += %d) %s_row[d] = d < int(a.%s) ? loaded(a.%s[%s + d * a.%s_d]) : 0.0f;", room, simdWidth, name, length, name, start, name)
}

// sum declares the numbers of a result that the thread has.
func (a *attentionText) sum(name string, width int) {
	a.line("float %s[%d];", name, held(width))
	a.line("for (int p = 0; p < %d; p++) %s[p] = 0.0f;", held(width), name)
}

// dot is the loop that multiplies a row in threadgroup memory with one in device memory.
func (a *attentionText) dot(result, kept, length, name, start string) {
	a.line("for (int d = 0; d < int(a.%s); d++) %s = fma(%s_row[d], loaded(a.%s[%s + d * a.%s_d]), %s);", length, result, kept, name, start, name, result)
}

// score computes s, the score of query i and key j, from their product: -Inf where the key may not be seen.
func (a *attentionText) score() {
	a.line("s *= a.scale;")
	switch a.mask {
	case dtype.Invalid:
	case dtype.Bool:
		a.line("if (!a.mask[%s + j * a.mask_d]) s = -INFINITY;", row("mask", "b", "h", "i"))
	default:
		a.line("s += loaded(a.mask[%s + j * a.mask_d]);", row("mask", "b", "h", "i"))
	}
}

// sees is the condition under which query i may see key j.
func (a *attentionText) sees() string {
	if a.in.Attr.Flags&ir.Causal != 0 {
		return "j <= i + a.tk - a.tq"
	}
	return "true"
}

// add adds weight, which each thread has of one row, times that row to a sum.
func (a *attentionText) add(sum, weight, from, limit, name, start, length string, width int) {
	a.line("for (int n = 0; n < %d; n++) {", simdWidth)
	a.line("const float w = simd_shuffle(%s, ushort(n));", weight)
	a.line("const %s r = min(%s + n, %s - 1);", a.index, from, limit)
	a.line("for (int p = 0; p < %d; p++) {", held(width))
	a.line("const int d = lane_ + %d * p;", simdWidth)
	a.line("if (d < int(a.%s) && w != 0.0f) %s[p] = fma(w, loaded(a.%s[%s + d * a.%s_d]), %s[p]);", length, sum, name, start, name, sum)
	a.line("}")
	a.line("}")
}

// end makes the dispatch.
func (a *attentionText) end(kind string, count int) Dispatch {
	threads := [3]int{simdWidth, attentionRows, 1}
	function, source := a.finish(kind, describe(a.g), parameters, threads)
	return Dispatch{Function: function, Text: source, Args: a.args, Groups: [3]int{(count + attentionRows - 1) / attentionRows, 1, 1}, Threads: threads}
}

// masked declares the mask, if there is one.
func (a *attentionText) masked(rest []backend.Ref) {
	if len(rest) > 0 {
		i, _ := rest[0].Input()
		a.mask = a.g.Inputs[i].DType
		a.reads("mask", rest[0])
	}
}

func attention(g *backend.Group, k *Kernel) {
	a := newAttention(g)
	count := a.b * a.hq * a.tq
	if count == 0 {
		return
	}
	a.reads("q", a.in.Args[0])
	a.reads("k", a.in.Args[1])
	a.reads("v", a.in.Args[2])
	a.masked(a.in.Args[3:])
	var narrow string
	for _, o := range g.Outputs {
		a.pointer("", []string{"o", "lse"}[o.Value.Result], o.DType, o.Buf, 0)
		if o.Value.Result == 0 {
			narrow = memoryTypes[o.DType]
		}
	}
	a.lengths()
	a.begin(count, [2]string{"i", "tq"}, [2]string{"h", "hq"}, [2]string{"b", ""})
	a.line("const %s kh = h / a.shared;", a.index)
	a.keep("q", row("q", "b", "h", "i"), "width", a.d)
	a.line("simdgroup_barrier(mem_flags::mem_threadgroup);")
	a.sum("sum", a.dv)
	a.line("float top = -INFINITY, all = 0.0f;")
	a.line("for (%s from = 0; from < a.tk; from += %d) {", a.index, simdWidth)
	a.line("const %s j = from + lane_;", a.index)
	a.line("float s = -INFINITY;")
	a.line("if (j < a.tk && %s) {", a.sees())
	a.line("s = 0.0f;")
	a.dot("s", "q", "width", "k", row("k", "b", "kh", "j"))
	a.score()
	a.line("}")
	a.line("const float highest = op_max(top, simd_max(s));")
	a.line("if (highest > -INFINITY || isnan(highest)) {")
	a.line("const float fade = op_exp(top - highest);")
	a.line("const float e = op_exp(s - highest);")
	a.line("all = all * fade + simd_sum(e);")
	a.line("for (int p = 0; p < %d; p++) sum[p] *= fade;", held(a.dv))
	a.add("sum", "e", "from", "a.tk", "v", row("v", "b", "kh", "r"), "depth", a.dv)
	a.line("top = highest;")
	a.line("}")
	a.line("}")
	a.line("const bool none = top == -INFINITY;")
	if narrow != "" {
		a.line("for (int p = 0; p < %d; p++) {", held(a.dv))
		a.line("const int d = lane_ + %d * p;", simdWidth)
		a.line("if (inside && d < int(a.depth)) a.o[mine * a.depth + d] = %s(none ? 0.0f : sum[p] / all);", narrow)
		a.line("}")
	}
	if len(g.Outputs) > 1 || narrow == "" {
		a.line("if (inside && lane_ == 0) a.lse[mine] = none ? -INFINITY : top + op_log(all);")
	}
	k.Dispatches = []Dispatch{a.end("attention", count)}
}

// attentionGrad makes two dispatches: a query's threads compute dq, and do·o for the second one, in which a
// key's threads compute dk and dv over all queries that look at it.
func attentionGrad(g *backend.Group, k *Kernel) {
	queries := newAttention(g)
	if queries.b*queries.hq == 0 {
		return
	}
	k.Scratch = 4 * queries.b * queries.hq * queries.tq
	outputs := map[int]backend.Output{}
	for _, o := range g.Outputs {
		outputs[o.Value.Result] = o
	}
	if n := queries.b * queries.hq * queries.tq; n > 0 {
		k.Dispatches = append(k.Dispatches, queries.gradQueries(n, outputs))
	}
	_, wantsK := outputs[1]
	_, wantsV := outputs[2]
	if keys := newAttention(g); keys.b*keys.hk*keys.tk > 0 && (wantsK || wantsV) {
		k.Dispatches = append(k.Dispatches, keys.gradKeys(outputs))
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
}

// gradQueries computes dq, and leaves do·o of each query in the workspace.
func (a *attentionText) gradQueries(n int, outputs map[int]backend.Output) Dispatch {
	a.gradients()
	dq, wanted := outputs[0]
	if wanted {
		a.pointer("", "dq", dq.DType, dq.Buf, 0)
	}
	a.lengths()
	a.begin(n, [2]string{"i", "tq"}, [2]string{"h", "hq"}, [2]string{"b", ""})
	a.line("const %s kh = h / a.shared;", a.index)
	a.keep("q", row("q", "b", "h", "i"), "width", a.d)
	a.keep("g", row("g", "b", "h", "i"), "depth", a.dv)
	a.line("simdgroup_barrier(mem_flags::mem_threadgroup);")
	a.line("float part = 0.0f;")
	a.line("for (int d = lane_; d < int(a.depth); d += %d) part = fma(g_row[d], loaded(a.o[%s + d * a.o_d]), part);", simdWidth, row("o", "b", "h", "i"))
	a.line("const float dot = simd_sum(part);")
	a.line("if (inside && lane_ == 0) a.dots[mine] = dot;")
	if wanted {
		a.line("const float lse = a.lse[%s];", row("lse", "b", "h", "i"))
		a.sum("sum", a.d)
		a.line("for (%s from = 0; from < a.tk; from += %d) {", a.index, simdWidth)
		a.line("const %s j = from + lane_;", a.index)
		a.line("float ds = 0.0f;")
		a.line("if (j < a.tk && lse != -INFINITY && %s) {", a.sees())
		a.line("float s = 0.0f, dp = 0.0f;")
		a.dot("s", "q", "width", "k", row("k", "b", "kh", "j"))
		a.score()
		a.dot("dp", "g", "depth", "v", row("v", "b", "kh", "j"))
		a.line("const float e = op_exp(s - lse);")
		a.line("if (e != 0.0f) ds = e * (dp - dot) * a.scale;")
		a.line("}")
		a.add("sum", "ds", "from", "a.tk", "k", row("k", "b", "kh", "r"), "width", a.d)
		a.line("}")
		a.line("for (int p = 0; p < %d; p++) {", held(a.d))
		a.line("const int d = lane_ + %d * p;", simdWidth)
		a.line("if (inside && d < int(a.width)) a.dq[mine * a.width + d] = %s(sum[p]);", memoryTypes[dq.DType])
		a.line("}")
	}
	return a.end("attention_dq", n)
}

// gradKeys computes dk and dv.
func (a *attentionText) gradKeys(outputs map[int]backend.Output) Dispatch {
	a.gradients()
	dk, wantsK := outputs[1]
	dv, wantsV := outputs[2]
	if wantsK {
		a.pointer("", "dk", dk.DType, dk.Buf, 0)
	}
	if wantsV {
		a.pointer("", "dv", dv.DType, dv.Buf, 0)
	}
	a.lengths()
	n := a.b * a.hk * a.tk
	a.begin(n, [2]string{"j", "tk"}, [2]string{"kh", "hk"}, [2]string{"b", ""})
	a.keep("k", row("k", "b", "kh", "j"), "width", a.d)
	a.keep("v", row("v", "b", "kh", "j"), "depth", a.dv)
	a.line("simdgroup_barrier(mem_flags::mem_threadgroup);")
	a.sum("sum_k", a.d)
	a.sum("sum_v", a.dv)
	a.line("for (%s h = kh * a.shared; h < (kh + 1) * a.shared; h++) {", a.index)
	a.line("for (%s from = 0; from < a.tq; from += %d) {", a.index, simdWidth)
	a.line("const %s i = from + lane_;", a.index)
	a.line("float e = 0.0f, ds = 0.0f;")
	a.line("if (i < a.tq && %s) {", a.sees())
	a.line("const float lse = a.lse[%s];", row("lse", "b", "h", "i"))
	a.line("float s = 0.0f, dp = 0.0f;")
	a.dot("s", "k", "width", "q", row("q", "b", "h", "i"))
	a.score()
	a.dot("dp", "v", "depth", "g", row("g", "b", "h", "i"))
	a.line("if (lse != -INFINITY) e = op_exp(s - lse);")
	a.line("if (e != 0.0f) ds = e * (dp - a.dots[(b * a.hq + h) * a.tq + i]) * a.scale;")
	a.line("}")
	if wantsK {
		a.add("sum_k", "ds", "from", "a.tq", "q", row("q", "b", "h", "r"), "width", a.d)
	}
	if wantsV {
		a.add("sum_v", "e", "from", "a.tq", "g", row("g", "b", "h", "r"), "depth", a.dv)
	}
	a.line("}")
	a.line("}")
	store := func(name, sum, length string, o backend.Output, width int) {
		a.line("for (int p = 0; p < %d; p++) {", held(width))
		a.line("const int d = lane_ + %d * p;", simdWidth)
		a.line("if (inside && d < int(a.%s)) a.%s[mine * a.%s + d] = %s(%s[p]);", length, name, length, memoryTypes[o.DType], sum)
		a.line("}")
	}
	if wantsK {
		store("dk", "sum_k", "width", dk, a.d)
	}
	if wantsV {
		store("dv", "sum_v", "depth", dv, a.dv)
	}
	return a.end("attention_dkv", n)
}
