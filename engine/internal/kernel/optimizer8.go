package kernel

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// AdamW with moments in 8 bits has one dispatch for all tensors of a dtype, like AdamW. A simdgroup has a
// block of 256 elements, which share a scale, at a time, and a lane eight of them, in registers: so the
// largest of a block is a fold of the simdgroup, and nothing is read twice. That is 16 bytes an element of
// f32 for some hundred operations, about as many as an M-series GPU does in that time.

// adamW8 steps some tensors.
func adamW8(l *stepLists, threads int) Dispatch {
	l.declare("p", l.typ, 0, false)
	l.declare("g", l.typ, 1, false)
	moments := []struct{ name, typ string }{{"m", "uchar"}, {"m_scale", "float"}, {"r", "uchar"}, {"r_scale", "float"}}
	for part, m := range moments {
		l.declare(m.name, m.typ, 2+part, false)
	}
	l.declare("new_p", l.typ, 0, true)
	for part, m := range moments {
		l.declare("new_"+m.name, m.typ, 1+part, true)
	}
	masters := l.in.Attr.Flags&ir.Masters != 0
	if masters {
		l.declare("w", "float", 6, false)
		l.declare("new_w", "float", 5, true)
	}
	groups := l.sizes()
	l.whose(len(l.tensors))
	const blocks = blockElements / ir.DynamicBlock
	l.line("const long first = (long(group.x) - a.start[low]) * %d;", blocks)
	l.line("const long size = a.size[low], last = min(first + %d, (size + %d) / %d);", blocks, ir.DynamicBlock-1, ir.DynamicBlock)
	l.line("const bool steps = isfinite(guard) && %s;", l.goesOn())
	l.pointers()
	l.line("const float grown = 1.0f / bias1, root = 1.0f / precise::sqrt(bias2);")
	l.line("for (long block = first + long(simd); block < last; block += long(simds)) {")
	l.line("float m[2][4], r[2][4];")
	l.line("float m_scale = m_scale_[block], r_scale = r_scale_[block], m_most = 0.0f, r_most = 0.0f;")
	l.line("bool odd = false;")
	l.line("UNROLL for (int part = 0; part < 2; part++) {")
	l.line("const long i = block * %d + part * %d + 4 * long(lane);", ir.DynamicBlock, ir.DynamicBlock/2)
	l.line("const int count = int(clamp(size - i, 0L, 4L));")
	l.line("float p[4] = {}, g[4] = {};")
	l.line("uint m_code[4], r_code[4];")
	for _, name := range []string{"p", "g"} {
		l.line("load_up_to4<%v>(%s_ + i, count, %s);", l.aligned, name, name)
	}
	for _, name := range []string{"m", "r"} {
		l.line("load_up_to4<%v>(%[2]s_ + i, 4, %[2]s_code);", l.aligned, name)
	}
	if masters {
		l.master()
	}
	l.line("UNROLL for (int k = 0; k < 4; k++) {")
	l.line("const float grad = factor * g[k];")
	l.line("const float m_new = beta1 * (dynamic_number<true>(m_code[k]) * m_scale) + (1.0f - beta1) * grad;")
	l.line("const float r_old = dynamic_number<false>(r_code[k]) * r_scale;")
	l.line("const float r_new = precise::sqrt(beta2 * r_old * r_old + (1.0f - beta2) * grad * grad);")
	l.line("m[part][k] = k < count ? m_new : 0.0f;")
	l.line("r[part][k] = k < count ? r_new : 0.0f;")
	l.line("odd = odd || !isfinite(m[part][k]) || !isfinite(r[part][k]);")
	l.line("m_most = max(m_most, abs(m[part][k]));")
	l.line("r_most = max(r_most, r[part][k]);")
	l.line("if (steps) p[k] -= lr * (m_new * grown / (r_new * root + eps) + decay * p[k]);")
	l.line("}")
	if masters {
		l.line("UNROLL for (int k = 0; k < 4; k++) if (steps) w[k] = p[k];")
		l.line("if (new_w_) store_up_to4<%v>(new_w_ + i, count, w);", l.aligned)
	}
	l.line("if (new_p_) store_up_to4<%v>(new_p_ + i, count, p);", l.aligned)
	l.line("}")
	l.line("m_most = simd_max(m_most);")
	l.line("r_most = simd_max(r_most);")
	l.line("if (simd_any(odd)) m_most = r_most = NAN;")
	l.line("const float m_inverse = 1.0f / max(m_most, 1e-37f), r_inverse = 1.0f / max(r_most, 1e-37f);")
	l.line("UNROLL for (int part = 0; part < 2; part++) {")
	l.line("const long i = block * %d + part * %d + 4 * long(lane);", ir.DynamicBlock, ir.DynamicBlock/2)
	for _, m := range []struct {
		name   string
		signed bool
	}{{"m", true}, {"r", false}} {
		l.line("if (new_%s_) {", m.name)
		l.line("uint code[4];")
		l.line("if (steps) {")
		l.line("UNROLL for (int k = 0; k < 4; k++) code[k] = dynamic_code<%v>(%[2]s[part][k] * %[2]s_inverse);", m.signed, m.name)
		l.line("} else {")
		l.line("load_up_to4<%v>(%s_ + i, 4, code);", l.aligned, m.name)
		l.line("}")
		l.line("store_up_to4<%v>(new_%s_ + i, 4, code);", l.aligned, m.name)
		l.line("}")
	}
	l.line("}")
	l.line("if (lane == 0) {")
	for _, name := range []string{"m", "r"} {
		l.line("if (new_%[1]s_scale_) new_%[1]s_scale_[block] = steps ? %[1]s_most : %[1]s_scale;", name)
	}
	l.close(2)
	return l.finish("adamw8", "adamw with moments in 8 bits", parameters, along(groups), along(threads))
}
