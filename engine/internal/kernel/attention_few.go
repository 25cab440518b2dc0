package kernel

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// Attention of few rows to keys in pages, as a step of decoding: a strip of 16 rows would be one simdgroup's
// work, from one tile of keys to the next. So here all simdgroups share the keys, each has some on one page
// at once, and a softmax of its own, whose sums fade as in a strip. The simdgroups' sums meet at the end, in
// threadgroup memory.
//
// What such a launch takes is a chain of waits, so little of it depends on what is loaded: which keys a part
// has does not depend on how many there are, its page is looked up beside that number, and the first values
// are loaded with the keys. Queries are in threadgroup memory.
//
// For scores the lanes share the width, eight elements each. Each addition across lanes is of half as many
// sums as the one before, which leaves a lane the scores of one row, and its exponentials are made once.
// Weights go to all lanes by threadgroup memory: for results each has some elements of the depth and adds
// over all keys, so that no sums of rows have to meet. NVRTC gives a thread 128 registers at a width of 64;
// seven rows are 14 operations an element.
const (
	mostFewQueries = 8
	fewElements    = 8       // of a key, that a thread has
	fewKeys        = 8       // of a simdgroup at once
	mostFewJoined  = 8       // parts that are loaded at once
	mostFewLoads   = 64      // elements of keys and values of a thread at once
	fewRoom        = 7 << 10 // floats of threadgroup memory
)

// A fewText is how few rows are shared: sizes are powers of two but for rows and parts.
type fewText struct {
	*attentionText
	rows, padded int  // and to how many they are filled up
	lanes        int  // that share a key
	per, deep    int  // keys that a simdgroup has side by side, and one after the other
	each, pieces int  // elements of the depth that a lane has side by side, and how often
	parts        int  // of the keys
	joins        bool // the last threadgroup of a part joins them
}

// isFew says whether so few rows share each key, and all can be loaded by fours.
func (a *attentionText) isFew() bool {
	fours := func(v backend.Ref) bool {
		l := inputLayout(a.g, v)
		last := len(l.Shape) - 1
		ok := l.Stride[last] == 1 && l.Shape[last]%4 == 0 && l.Offset%4 == 0
		for axis, s := range l.Stride[:last] {
			ok = ok && (s%4 == 0 || l.Shape[axis] == 1)
		}
		return ok
	}
	return a.hq/a.hk*a.tq <= mostFewQueries && max(a.d, a.dv) <= fewElements*simdWidth && fours(a.in.Args[0]) && fours(a.in.Args[1]) && fours(a.in.Args[2])
}

// few chooses who has what. Keys that a simdgroup has at once are on one page.
func (a *attentionText) few(limits Limits) *fewText {
	f := &fewText{attentionText: a, rows: a.hq / a.hk * a.tq}
	f.padded = ceilPower(f.rows)
	f.lanes = max(f.padded, ceilPower((a.d+fewElements-1)/fewElements))
	for a.page%(simdWidth/f.lanes) != 0 {
		f.lanes *= 2
	}
	f.per, f.deep = simdWidth/f.lanes, 1
	f.each = min(4, ceilPower((a.dv+simdWidth-1)/simdWidth))
	f.pieces = (a.dv + f.each*simdWidth - 1) / (f.each * simdWidth)
	for k := 2 * f.keys(); k <= fewKeys && k/f.per*fewElements+k*f.each*f.pieces <= mostFewLoads && a.page%k == 0; k *= 2 {
		f.deep *= 2
	}
	a.simds = max(1, min(floorPower(fewRoom/(f.rows*f.wide())), fewThreads/simdWidth, limits.Threads/simdWidth))
	cores := limits.Processors
	if cores == 0 {
		cores = fewCores
	}
	keys := a.tk
	if a.Window > 0 {
		keys = min(keys, a.Window+a.tq)
	}
	f.parts = max(1, min(cores/(a.b*a.hk), keys/f.tile()))
	if f.joins = f.parts > 1 && limits.Family == NVIDIA; !f.joins {
		f.parts = min(f.parts, mostKeyPart)
	}
	return f
}

// wide is to how many elements a row of a result is filled up.
func (f *fewText) wide() int { return f.each * f.pieces * simdWidth }

// keys are those of a simdgroup at once, and tile those of a threadgroup.
func (f *fewText) keys() int { return f.per * f.deep }
func (f *fewText) tile() int { return f.simds * f.keys() }

// write writes it down.
func (f *fewText) write(k *Kernel) {
	f.reads("q", f.in.Args[0])
	f.readsPages()
	results := f.attentionResults()
	switch {
	case f.parts == 1:
		results.declare(f.text, "o", "lse")
	case f.joins:
		results.declare(f.text, "all_o", "all_lse")
		f.member("device atomic_uint*", "arrived", Field{Kind: Table, Size: 8})
		k.Table = make([]byte, 4*f.b*f.hk)
		lse := 4 * f.b * f.hk * f.parts * f.rows * f.wide()
		f.member("device float*", "o", Field{Kind: Scratch, Size: 8})
		f.member("device float*", "lse", Field{Kind: Scratch, Size: 8, At: lse})
		k.Scratch = lse + lse/f.wide()
	default:
		k.Scratch = f.declareParts(f.text, f.parts)
	}
	f.lengths()
	f.begins(results)
	f.line("while (from < end) {")
	f.loads()
	f.scores()
	f.weigh()
	f.line("}")
	f.meet()
	f.store(results)
	if f.joins {
		f.joinParts(results)
	}
	k.Dispatches = []Dispatch{f.dispatch("attention_few", [3]int{f.hk, f.b, f.parts})}
	if f.parts > 1 && !f.joins {
		k.Dispatches = append(k.Dispatches, f.join(f.parts, k.limits))
	}
}

// held is how many scores of a row a lane is left with, and alike how many lanes have the same ones: one of
// both is 1.
func (f *fewText) held() int  { return max(1, f.padded*f.deep/f.lanes) }
func (f *fewText) alike() int { return max(1, f.lanes/(f.padded*f.deep)) }

// apart are in which bits lanes differ that have other scores of one row.
func (f *fewText) apart() (masks []int) {
	for mask := f.alike(); mask < simdWidth; mask *= 2 {
		if mask < f.lanes/f.padded || mask >= f.lanes {
			masks = append(masks, mask)
		}
	}
	return masks
}

// begins declares which keys the simdgroup sees, from its first on, and what its lanes have, and fetches the
// queries. What the text needs of its arguments is read here, at once: a compiler reads them again behind a
// barrier. The page and the queries of a head are numbers of the text, as division by others is slow.
func (f *fewText) begins(results attentionResults) {
	until := func(query string) string {
		return fmt.Sprintf("%s(max(long(0), min(last[%s * a.last_t] + 1, long(a.tk))))", f.index, query)
	}
	rows, fours := ceilTo(f.padded, 4)/4, 2*f.lanes
	weights, fades := f.rows*fours, f.rows*fours+f.simds*f.keys()*rows
	f.line("threadgroup float4 space[%d];", max(fades+f.simds*rows, f.simds*f.rows*f.wide()/4))
	f.line("threadgroup float tops[%d];", f.simds*f.rows)
	f.line("threadgroup float alls[%d];", f.simds*f.rows)
	if f.joins {
		f.line("threadgroup bool last_one[1];")
	}
	f.line("threadgroup float4* queries = space;")
	f.line("threadgroup float4* weights = space + %d + int(simd) * %d;", weights, f.keys()*rows)
	f.line("threadgroup float4* fades = space + %d + int(simd) * %d;", fades, rows)
	f.line("const %[1]s kh = %[1]s(group.x), b = %[1]s(group.y);", f.index)
	f.line("const int sub = int(lane) / %d, place = int(lane) %% %[1]d, first = place / %d * %d;", f.lanes, f.alike(), f.held())
	f.line("const int mine = first / %d, query = min(mine, %d) %% %d;", f.deep, f.rows-1, f.tq)
	f.line("const bool leads = sub == 0 && place %% %d == 0 && mine < %d;", f.lanes/f.padded, f.rows)
	f.line("device const long* pages = a.pages + b * a.pages_b;")
	f.line("device const long* last = a.last + b * a.last_b;")
	f.line("const %s pages_p = a.pages_p, last_page = a.last_page, most = a.tk - %d;", f.index, f.keys())
	start := "0"
	if f.Window > 0 {
		f.line("const %[1]s window = a.window, start = max(%[1]s(0), %[2]s - window);", f.index, until("0"))
		start = fmt.Sprintf("start / %d * %[1]d", f.keys())
	}
	f.line("%[1]s from = %[2]s + (%[1]s(group.z) * %[3]d + %[1]s(simd)) * %[4]d;", f.index, start, f.simds, f.keys())
	f.looksUp(f.index + " slot")
	f.line("simdgroup_barrier(mem_flags::mem_none);") // the page is looked up before another load is waited for
	f.line("const %s until = %s, end = %s;", f.index, until("query"), until(fmt.Sprint(f.tq-1)))
	f.line("const %s h = kh * a.shared, depth = a.depth;", f.index)
	f.declareAt(results)
	f.operand("k", "width", f.lanes*fewElements == f.d, "sub", "4 * place", 4, fewElements/4, 4*f.lanes)
	f.operand("v", "depth", f.wide() == f.dv, "0", fmt.Sprintf("%d * int(lane)", f.each), f.each, f.pieces, f.each*simdWidth)
	count, threads := f.rows*fours, f.simds*simdWidth
	f.line("float four[%d][4];", (count+threads-1)/threads)
	f.line("UNROLL for (int n = 0; n < %d; n++) {", (count+threads-1)/threads)
	f.line("const int e = min(n * %d + int(at.x), %d), r = e / %d, d = e %% %[3]d * 4;", threads, count-1, fours)
	f.line("load4(a.q + %s + min(d, int(a.width) - 4), four[n]);", row("q", "b", fmt.Sprintf("(kh * a.shared + r / %d)", f.tq), fmt.Sprintf("r %% %d", f.tq)))
	f.line("}")
	f.line("simdgroup_barrier(mem_flags::mem_none);") // these loads are all under way
	f.line("UNROLL for (int n = 0; n < %d; n++) {", (count+threads-1)/threads)
	f.line("const int e = n * %d + int(at.x);", threads)
	f.line("if (e < %d) queries[e] = e %% %d * 4 < a.width ? float4(four[n][0], four[n][1], four[n][2], four[n][3]) : float4(0.0f);", count, fours)
	f.line("}")
	if f.joins {
		f.line("const int active = max(1, min(%d, int((end - %s + %d) / %d)));", f.parts, start, f.tile()-1, f.tile())
		f.line("if (int(group.z) >= active) return; // uniform: the keys end before those of the threadgroup")
	}
	f.line("float top = -INFINITY, all = 0.0f, sum[%d];", f.rows*f.each*f.pieces)
	f.line("UNROLL for (int e = 0; e < %d; e++) sum[e] = 0.0f;", f.rows*f.each*f.pieces)
	f.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
}

// declareAt declares where the rows' results are.
func (f *fewText) declareAt(results attentionResults) {
	declare := func(typ, name, part string) {
		f.line("device %s* %s_to = a.%s + %s;", typ, name, name, row(name, "b", "h", "0")+part)
		f.line("const %[1]s %[2]s_h = a.%[2]s_h, %[2]s_t = a.%[2]s_t;", f.index, name)
	}
	prefix := ""
	switch {
	case f.joins: // the parts of a row of heads lie side by side, at places that the text knows
		prefix = "all_"
		f.line("const %[1]s turn = b * a.hk + kh;", f.index)
		f.line("device float* o_to = a.o + (turn * %d + %s(group.z)) * %d;", f.parts, f.index, f.rows*f.wide())
		f.line("device float* lse_to = a.lse + (turn * %d + %s(group.z)) * %d;", f.parts, f.index, f.rows)
		f.line("device atomic_uint* arrived = a.arrived + turn;")
	case f.parts > 1:
		part := " + " + f.index + "(group.z) * a.count"
		declare("float", "o", part+" * depth")
		declare("float", "lse", part)
		return
	}
	if results.o != "" {
		declare(results.o, prefix+"o", "")
	}
	if results.lse {
		declare("float", prefix+"lse", "")
	}
}

// looksUp finds where the simdgroup's keys lie.
func (f *fewText) looksUp(to string) {
	f.line("%s = slot_at(pages, pages_p, %s(%d), last_page, min(from, most));", to, f.index, f.page)
}

// operand declares where the lane's pieces of a row are, from a slot on. Those beyond the end of a row that
// is not exact are the last ones.
func (f *fewText) operand(name, length string, exact bool, beside, place string, each, pieces, step int) {
	f.line("const %s %s_t = a.%[2]s_t;", f.index, name)
	f.line("device const %[1]s* %[2]s_from = a.%[2]s + kh * a.%[2]s_h + %[3]s * %[2]s_t;", memoryTypes[f.g.Type(f.in.Args[map[string]int{"k": 1, "v": 2}[name]]).DType], name, beside)
	f.line("int %s_at[%d];", name, pieces)
	at := fmt.Sprintf("%s + c * %d", place, step)
	if !exact {
		at = fmt.Sprintf("min(%s, int(a.%s) - %d)", at, length, each)
	}
	f.line("UNROLL for (int c = 0; c < %d; c++) %s_at[c] = %s;", pieces, name, at)
}

// loads begins all loads of the simdgroup's keys: the thread's elements of them, and of their values.
func (f *fewText) loads() {
	within := "j < end"
	if f.Window > 0 {
		within += " && j >= start"
	}
	f.line("float k[%d], v[%d];", f.deep*fewElements, f.keys()*f.each*f.pieces)
	f.load("k", f.deep, fewElements/4, 4, f.per, "from + n * %d + sub", within)
	f.load("v", f.keys(), f.pieces, f.each, 1, "from + n * %d", within)
	if f.coded() {
		f.line("float k_scale[%d], v_scale[%[1]d];", f.held())
		f.line("UNROLL for (int n = 0; n < %d; n++) {", f.held())
		f.line("const %s beside = (first %% %d + n) * %d + sub, j = from + beside;", f.index, f.deep, f.per)
		for _, name := range []string{"k", "v"} {
			f.line("%[1]s_scale[n] = %[2]s ? a.%[1]s_scale[kh * a.%[1]s_scale_h + (slot + beside) * a.%[1]s_scale_t] : 0.0f;", name, within)
		}
		f.line("}")
	}
	f.line("const %s here = from;", f.index)
	f.line("from += %d;", f.parts*f.tile())
	f.looksUp("slot")
	f.line("simdgroup_barrier(mem_flags::mem_none);") // all loads are under way before the first product
}

// load loads the lane's pieces of count keys that are apart apart.
func (f *fewText) load(name string, count, pieces, each, apart int, j, within string) {
	f.line("UNROLL for (int n = 0; n < %d; n++) {", count)
	f.line("const %s j = "+j+";", f.index, apart)
	f.line("UNROLL for (int c = 0; c < %d; c++) {", pieces)
	f.line("float some[%d] = {};", each)
	from := fmt.Sprintf("%[1]s_from + (slot + n * %[2]d) * %[1]s_t + %[1]s_at[c]", name, apart)
	if each == 1 {
		f.line("if (%s) some[0] = float(loaded(*(%s)));", within, from)
	} else {
		f.line("if (%s) load%d(%s, some);", within, each, from)
	}
	f.line("UNROLL for (int d = 0; d < %d; d++) %s[%d * n + %[1]d * c + d] = some[d];", each, name, each*pieces)
	f.close(2)
}

// scores leaves the weights of the simdgroup's keys in threadgroup memory, and how far sums of rows fade.
func (f *fewText) scores() {
	count := f.padded * f.deep
	f.line("float dot[%d];", count)
	f.line("UNROLL for (int e = 0; e < %d; e++) dot[e] = 0.0f;", count)
	f.line("UNROLL for (int r = 0; r < %d; r++) {", f.rows)
	f.line("UNROLL for (int c = 0; c < %d; c++) {", fewElements/4)
	f.line("const float4 q = queries[(%d * r + c) * %d + place];", fewElements/4, f.lanes)
	f.line("UNROLL for (int n = 0; n < %d; n++) {", f.deep)
	f.line("thread float& to = dot[r * %d + n];", f.deep)
	for d, part := range "xyzw" {
		f.line("to = fma(q.%c, k[%d * n + 4 * c + %d], to);", part, fewElements, d)
	}
	f.close(3)
	for mask := f.lanes / 2; mask > 0; mask /= 2 {
		if count == 1 {
			f.line("dot[0] += simd_shuffle_xor(dot[0], ushort(%d));", mask)
			continue
		}
		count /= 2
		f.line("UNROLL for (int e = 0; e < %d; e++) {", count)
		f.line("const bool upper = (place & %d) != 0;", mask)
		f.line("const float other = simd_shuffle_xor(upper ? dot[e] : dot[e + %d], ushort(%d));", count, mask)
		f.line("dot[e] = (upper ? dot[e + %d] : dot[e]) + other;", count)
		f.line("}")
	}
	seen := "j < end && j < until"
	if f.Window > 0 {
		seen += " && until <= j + window"
	}
	f.line("float s[%d], high = -INFINITY;", f.held())
	f.line("UNROLL for (int n = 0; n < %d; n++) {", f.held())
	f.line("const %s j = here + (first %% %d + n) * %d + sub;", f.index, f.deep, f.per)
	f.line("bool seen = %s;", seen)
	product := "dot[n]"
	if f.coded() {
		product = "(dot[n] * k_scale[n])"
	}
	f.line("{")
	f.judge(product, "")
	f.line("s[n] = seen ? v : -INFINITY;")
	f.line("}")
	f.line("high = max(high, s[n]);")
	f.line("}")
	for _, mask := range f.apart() {
		f.line("high = max(high, simd_shuffle_xor(high, ushort(%d)));", mask)
	}
	f.line("const float highest = max(top, high), base = highest == -INFINITY ? 0.0f : highest, fade = %s(top - base);", f.exp())
	f.line("top = highest;")
	f.line("all *= fade;")
	stride := ceilTo(f.padded, 4)
	f.line("threadgroup float* to = (threadgroup float*)weights + mine;")
	f.line("UNROLL for (int n = 0; n < %d; n++) {", f.held())
	f.line("const float w = %s(s[n] - base);", f.exp())
	f.line("all += w;")
	weight := "w"
	if f.coded() {
		weight = "w * v_scale[n]"
	}
	f.line("if (place %% %d == 0) to[((first %% %d + n) * %d + sub) * %d] = %s;", f.alike(), f.deep, f.per, stride, weight)
	f.line("}")
	f.line("if (leads) ((threadgroup float*)fades)[mine] = fade;")
	f.line("simdgroup_barrier(mem_flags::mem_threadgroup);")
}

// weigh adds the values, with their weights, to the sums.
func (f *fewText) weigh() {
	rows, elements := ceilTo(f.padded, 4)/4, f.each*f.pieces
	each := func(four, do string) {
		f.line("UNROLL for (int r = 0; r < %d; r += 4) {", f.rows)
		f.line("const float4 four = %s;", four)
		f.line("const float w[4] = {four.x, four.y, four.z, four.w};")
		f.line("UNROLL for (int e = 0; e < %d; e++) {", 4*elements)
		f.line("if (r + e / %d < %d) sum[%[1]d * r + e] %[3]s;", elements, f.rows, do)
		f.close(2)
	}
	each("fades[r / 4]", fmt.Sprintf("*= w[e / %d]", elements))
	f.line("UNROLL for (int n = 0; n < %d; n++) {", f.keys())
	each(fmt.Sprintf("weights[n * %d + r / 4]", rows),
		fmt.Sprintf("= fma(w[e / %[1]d], v[%[1]d * n + e %% %[1]d], sum[%[1]d * r + e])", elements))
	f.line("}")
	f.line("simdgroup_barrier(mem_flags::mem_threadgroup);")
}

// meet leaves what the simdgroups have in threadgroup memory, where the queries were.
func (f *fewText) meet() {
	elements := f.each * f.pieces
	for _, mask := range f.apart() {
		f.line("all += simd_shuffle_xor(all, ushort(%d));", mask)
	}
	f.line("if (leads) {")
	f.line("tops[int(simd) * %d + mine] = top;", f.rows)
	f.line("alls[int(simd) * %d + mine] = all;", f.rows)
	f.line("}")
	f.line("threadgroup float* sums = (threadgroup float*)space;")
	f.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	f.line("UNROLL for (int e = 0; e < %d; e++) sums[(int(simd) * %[1]d + e) * %d + int(lane)] = sum[e];", f.rows*elements, simdWidth)
	f.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
}

// store joins what the simdgroups have, and stores it. A simdgroup has a row.
func (f *fewText) store(results attentionResults) {
	elements, natural := f.each*f.pieces, ""
	if f.binary() {
		natural = fmt.Sprintf(" * %gf", math.Ln2)
	}
	f.line("for (int r = int(simd); r < %d; r += %d) {", f.rows, f.simds)
	f.line("const int its = min(int(lane), %d) * %d + r;", f.simds-1, f.rows)
	f.line("const float mine = int(lane) < %d ? tops[its] : -INFINITY, high = simd_max(mine), base = high == -INFINITY ? 0.0f : high;", f.simds)
	f.line("const float faded = %s(mine - base), total = simd_sum(faded * alls[its]), share = total == 0.0f ? 0.0f : faded / total;", f.exp())
	f.line("float o[%d];", elements)
	f.line("UNROLL for (int e = 0; e < %d; e++) o[e] = 0.0f;", elements)
	f.line("UNROLL for (int s = 0; s < %d; s++) {", f.simds)
	f.line("const float times = simd_shuffle(share, ushort(s));")
	f.line("UNROLL for (int e = 0; e < %d; e++) o[e] = fma(times, sums[((s * %d + r) * %[1]d + e) * %[3]d + int(lane)], o[e]);", elements, f.rows, simdWidth)
	f.line("}")
	lse := fmt.Sprintf("total == 0.0f ? -INFINITY : high%s + op_log(total)", natural)
	switch {
	case f.joins:
		f.line("if (active == 1) {")
		f.put("all_", results, "o[e]", lse)
		f.line("} else {")
		f.line("UNROLL for (int e = 0; e < %d; e++) o_to[(r * %[1]d + e) * %d + int(lane)] = o[e];", elements, simdWidth)
		f.line("if (lane == 0) lse_to[r] = %s;", lse)
		f.line("}")
	case f.parts > 1:
		f.put("", attentionResults{o: "float", lse: true}, "o[e]", lse)
	default:
		f.put("", results, "o[e]", lse)
	}
	f.line("}")
}

// put stores what the simdgroup has of row r.
func (f *fewText) put(prefix string, results attentionResults, o, lse string) {
	at := func(name string) string {
		return fmt.Sprintf("%[1]s%[2]s_to[r / %[3]d * %[1]s%[2]s_h + r %% %[3]d * %[1]s%[2]s_t", prefix, name, f.tq)
	}
	if results.o != "" {
		f.line("UNROLL for (int e = 0; e < %d; e++) {", f.each*f.pieces)
		f.line("const int d = %s;", f.column())
		f.line("if (d < depth) %s + d] = %s(%s);", at("o"), results.o, o)
		f.line("}")
	}
	if results.lse {
		f.line("if (lane == 0) %s] = %s;", at("lse"), lse)
	}
}

// joinParts has the last threadgroup that arrives add the parts up, in their order: bits do not depend on
// which one is the last. A few parts are loaded at once. On Apple's GPUs nothing orders what threadgroups of
// one dispatch write and read, and a second one joins the parts.
func (f *fewText) joinParts(results attentionResults) {
	elements, most := f.each*f.pieces, min(mostFewJoined, ceilPower(f.parts))
	f.line("if (active == 1) return; // uniform: all threads know how many parts there are")
	f.line("threadgroup_barrier(mem_flags::mem_device);")
	f.line("if (at.x == 0) last_one[0] = last_to_arrive(arrived, uint(active));")
	f.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	f.line("if (!last_one[0]) return; // uniform: all threads read one answer")
	f.line("for (int r = int(simd); r < %d; r += %d) {", f.rows, f.simds)
	f.line("float high = -INFINITY, total = 0.0f, o[%d];", elements)
	f.line("UNROLL for (int e = 0; e < %d; e++) o[e] = 0.0f;", elements)
	f.line("device const float* from_o = a.o + turn * %d + r * %d + int(lane);", f.parts*f.rows*f.wide(), f.wide())
	f.line("device const float* from_lse = a.lse + turn * %d + r;", f.parts*f.rows)
	f.line("for (int p = 0; p < active; p += %d) {", most)
	f.line("float lse[%d], v[%d];", most, most*elements)
	f.line("UNROLL for (int n = 0; n < %d; n++) {", most)
	f.line("const bool there = p + n < active;")
	f.line("lse[n] = there ? from_lse[n * %d] : -INFINITY;", f.rows)
	f.line("UNROLL for (int e = 0; e < %d; e++) v[%[1]d * n + e] = there ? from_o[n * %d + e * %d] : 0.0f;", elements, f.rows*f.wide(), simdWidth)
	f.line("}")
	f.line("from_o += %d;", most*f.rows*f.wide())
	f.line("from_lse += %d;", most*f.rows)
	f.line("simdgroup_barrier(mem_flags::mem_none);")
	f.line("float top = high;")
	f.line("UNROLL for (int n = 0; n < %d; n++) top = op_max(top, lse[n]);", most)
	f.line("const float base = top == -INFINITY ? 0.0f : top, fade = op_exp(high - base);")
	f.line("total *= fade;")
	f.line("UNROLL for (int e = 0; e < %d; e++) o[e] *= fade;", elements)
	f.line("UNROLL for (int n = 0; n < %d; n++) {", most)
	f.line("const float w = op_exp(lse[n] - base);")
	f.line("total += w;")
	f.line("UNROLL for (int e = 0; e < %d; e++) o[e] = fma(w, v[%[1]d * n + e], o[e]);", elements)
	f.line("}")
	f.line("high = top;")
	f.line("}")
	f.line("const float share = total == 0.0f ? 0.0f : 1.0f / total;")
	f.put("all_", results, "o[e] * share", "high == -INFINITY ? high : high + op_log(total)")
	f.line("}")
}

// column is which of the depth element e of a lane is.
func (f *fewText) column() string {
	return fmt.Sprintf("e / %d * %d + int(lane) * %[1]d + e %% %[1]d", f.each, f.each*simdWidth)
}
