package kernel

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// AdamW with moments in 8 bits has one dispatch for all tensors of a dtype, like AdamW. A simdgroup has a
// block of 256 elements, which share a scale, at a time, and a lane eight of them, in registers: so the
// largest of a block is a fold of the simdgroup, and nothing is read twice. That is 16 bytes an element of
// f32 for some hundred operations, about as many as an M-series GPU does in that time.

// adamW8 steps all tensors of one dtype in one dispatch.
func adamW8(g *backend.Group, k *Kernel) {
	in := &g.Insts[0]
	n := len(in.Outs) / ir.StepLists(in.Op, in.Attr.Flags)
	byType := map[dtype.Type][]int{}
	for i := range n {
		if dt := in.Outs[i].DType; ir.Size(in.Outs[i].Shape) > 0 {
			byType[dt] = append(byType[dt], i)
		}
	}
	moved := together(g, k)
	for _, dt := range dtype.All() {
		for part := range slices.Chunk(byType[dt], mostTensors) {
			k.Dispatches = append(k.Dispatches, adamW8Of(g, part, n, moved, k.limits.group()))
		}
	}
}

// adamW8Of steps some of n tensors.
func adamW8Of(g *backend.Group, tensors []int, n int, moved map[int]int, threads int) Dispatch {
	in := &g.Insts[0]
	t := newText(g, false)
	settings(t, in, settingNames)
	typ := memoryTypes[in.Outs[tensors[0]].DType]
	l := newStepLists(g, t, tensors, n, moved)
	l.declare("p", typ, 0, false)
	l.declare("g", typ, 1, false)
	moments := []struct{ name, typ string }{{"m", "uchar"}, {"m_scale", "float"}, {"r", "uchar"}, {"r_scale", "float"}}
	for part, m := range moments {
		l.declare(m.name, m.typ, 2+part, false)
	}
	l.declare("new_p", typ, 0, true)
	for part, m := range moments {
		l.declare("new_"+m.name, m.typ, 1+part, true)
	}
	masters := in.Attr.Flags&ir.Masters != 0
	if masters {
		l.declare("w", "float", 6, false)
		l.declare("new_w", "float", 5, true)
	}
	groups := l.sizes()
	t.whose(len(tensors))
	const blocks = blockElements / ir.DynamicBlock
	t.line("const long first = (long(group.x) - a.start[low]) * %d;", blocks)
	t.line("const long size = a.size[low], last = min(first + %d, (size + %d) / %d);", blocks, ir.DynamicBlock-1, ir.DynamicBlock)
	t.line("const bool steps = isfinite(guard) && %s;", t.goesOn())
	l.pointers()
	t.line("const float grown = 1.0f / bias1, root = 1.0f / precise::sqrt(bias2);")
	t.line("for (long block = first + long(simd); block < last; block += long(simds)) {")
	t.line("float m[2][4], r[2][4];")
	t.line("float m_scale = m_scale_[block], r_scale = r_scale_[block], m_most = 0.0f, r_most = 0.0f;")
	t.line("bool odd = false;")
	t.line("UNROLL for (int part = 0; part < 2; part++) {")
	t.line("const long i = block * %d + part * %d + 4 * long(lane);", ir.DynamicBlock, ir.DynamicBlock/2)
	t.line("const int count = int(clamp(size - i, 0L, 4L));")
	t.line("float p[4] = {}, g[4] = {};")
	t.line("uint m_code[4], r_code[4];")
	for _, name := range []string{"p", "g"} {
		t.line("load_up_to4<%v>(%s_ + i, count, %s);", l.aligned, name, name)
	}
	for _, name := range []string{"m", "r"} {
		t.line("load_up_to4<%v>(%[2]s_ + i, 4, %[2]s_code);", l.aligned, name)
	}
	if masters {
		l.master(typ)
	}
	t.line("UNROLL for (int k = 0; k < 4; k++) {")
	t.line("const float grad = factor * g[k];")
	t.line("const float m_new = beta1 * (dynamic_number<true>(m_code[k]) * m_scale) + (1.0f - beta1) * grad;")
	t.line("const float r_old = dynamic_number<false>(r_code[k]) * r_scale;")
	t.line("const float r_new = precise::sqrt(beta2 * r_old * r_old + (1.0f - beta2) * grad * grad);")
	t.line("m[part][k] = k < count ? m_new : 0.0f;")
	t.line("r[part][k] = k < count ? r_new : 0.0f;")
	t.line("odd = odd || !isfinite(m[part][k]) || !isfinite(r[part][k]);")
	t.line("m_most = max(m_most, abs(m[part][k]));")
	t.line("r_most = max(r_most, r[part][k]);")
	t.line("if (steps) p[k] -= lr * (m_new * grown / (r_new * root + eps) + decay * p[k]);")
	t.line("}")
	if masters {
		t.line("UNROLL for (int k = 0; k < 4; k++) if (steps) w[k] = p[k];")
		t.line("if (new_w_) store_up_to4<%v>(new_w_ + i, count, w);", l.aligned)
	}
	t.line("if (new_p_) store_up_to4<%v>(new_p_ + i, count, p);", l.aligned)
	t.line("}")
	t.line("m_most = simd_max(m_most);")
	t.line("r_most = simd_max(r_most);")
	t.line("if (simd_any(odd)) m_most = r_most = NAN;")
	t.line("const float m_inverse = 1.0f / max(m_most, 1e-37f), r_inverse = 1.0f / max(r_most, 1e-37f);")
	t.line("UNROLL for (int part = 0; part < 2; part++) {")
	t.line("const long i = block * %d + part * %d + 4 * long(lane);", ir.DynamicBlock, ir.DynamicBlock/2)
	for _, m := range []struct {
		name   string
		signed bool
	}{{"m", true}, {"r", false}} {
		t.line("if (new_%s_) {", m.name)
		t.line("uint code[4];")
		t.line("if (steps) {")
		t.line("UNROLL for (int k = 0; k < 4; k++) code[k] = dynamic_code<%v>(%[2]s[part][k] * %[2]s_inverse);", m.signed, m.name)
		t.line("} else {")
		t.line("load_up_to4<%v>(%s_ + i, 4, code);", l.aligned, m.name)
		t.line("}")
		t.line("store_up_to4<%v>(new_%s_ + i, 4, code);", l.aligned, m.name)
		t.line("}")
	}
	t.line("}")
	t.line("if (lane == 0) {")
	for _, name := range []string{"m", "r"} {
		t.line("if (new_%[1]s_scale_) new_%[1]s_scale_[block] = steps ? %[1]s_most : %[1]s_scale;", name)
	}
	t.line("}")
	t.line("}")
	function, source := t.finish("adamw8", "adamw with moments in 8 bits", parameters, [3]int{threads, 1, 1})
	return Dispatch{Function: function, Text: source, Args: t.args, Groups: [3]int{groups, 1, 1}, Threads: [3]int{threads, 1, 1}}
}
