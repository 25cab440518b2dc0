package kernel

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// Attention of few rows to keys in pages, as a step of decoding: a strip of 16 rows would be one simdgroup's
// work, from one tile of keys to the next. So here all simdgroups share the keys. Some lanes of a simdgroup
// have a key, eight elements of it each; products meet by shuffles, and each simdgroup has a softmax of its
// own, whose sums fade as in a strip. The simdgroups' sums meet at the end, in threadgroup memory.
//
// Of 64 keys with a width of 128 a threadgroup of 256 threads has 64 KB of f32 under way at once. Seven rows
// are 14 operations an element.
const (
	mostFewQueries = 8
	fewElements    = 8       // of a key, that a thread has
	fewKeys        = 8       // of a simdgroup at once
	mostFewLoads   = 4       // keys of a thread at once
	fewRoom        = 7 << 10 // floats of threadgroup memory
)

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

// few writes it down.
func (a *attentionText) few(k *Kernel) {
	rows, lanes := a.hq/a.hk*a.tq, max(4, ceilPower((max(a.d, a.dv)+fewElements-1)/fewElements))
	per := simdWidth / lanes // keys that a simdgroup has side by side
	deep := max(1, min(mostFewLoads, fewKeys/per))
	a.simds = max(1, min(floorPower(fewRoom/(rows*fewElements*lanes)), fewThreads/simdWidth, k.limits.Threads/simdWidth))
	step := a.simds * per * deep
	cores := k.limits.Processors
	if cores == 0 {
		cores = fewCores
	}
	keys := a.tk
	if a.Window > 0 {
		keys = min(keys, a.Window+a.tq)
	}
	parts := max(1, min(mostKeyPart, cores/(a.b*a.hk), keys/step))
	a.reads("q", a.in.Args[0])
	a.readsPages()
	results := a.attentionResults()
	if parts > 1 {
		k.Scratch = a.declareParts(a.text, parts)
	} else {
		results.declare(a.text)
	}
	a.lengths()
	a.fewSpan(rows, parts, step)
	a.line("const int sub = int(lane) / %d, place = int(lane) %% %[1]d * 4;", lanes)
	a.fewLoad("q", "width", "q + "+row("q", "b", "(kh * a.shared + n / a.tq)", "n % a.tq"), rows, lanes)
	a.line("UNROLL for (int e = 0; e < %d; e++) q[e] = place + e / 4 %% 2 * %d < a.width ? q[e] : 0.0f;", rows*fewElements, 4*lanes)
	a.line("float top[%[1]d], all[%[1]d], sum[%[2]d];", rows, rows*fewElements)
	a.line("UNROLL for (int r = 0; r < %d; r++) {", rows)
	a.line("top[r] = -INFINITY;")
	a.line("all[r] = 0.0f;")
	a.line("}")
	a.line("UNROLL for (int e = 0; e < %d; e++) sum[e] = 0.0f;", rows*fewElements)
	a.line("for (%[1]s from = start + %[1]s(simd) * %[2]d; from < end; from += %[3]d) {", a.index, per*deep, step)
	a.line("%s slot[%d];", a.index, deep)
	a.line("UNROLL for (int n = 0; n < %d; n++) slot[n] = slot_at(a.pages + b * a.pages_b, a.pages_p, a.page, a.last_page, min(from + n * %d + sub, end - 1));", deep, per)
	a.fewLoad("k", "width", "k + kh * a.k_h + slot[n] * a.k_t", deep, lanes)
	a.fewLoad("v", "depth", "v + kh * a.v_h + slot[n] * a.v_t", deep, lanes)
	if a.coded() {
		a.line("UNROLL for (int e = 0; e < %d; e++) {", deep*fewElements)
		a.line("k[e] *= a.k_scale[kh * a.k_scale_h + slot[e / %d] * a.k_scale_t];", fewElements)
		a.line("v[e] *= a.v_scale[kh * a.v_scale_h + slot[e / %d] * a.v_scale_t];", fewElements)
		a.line("}")
	}
	a.line("simdgroup_barrier(mem_flags::mem_none);") // all loads are under way before the first product
	a.line("UNROLL for (int r = 0; r < %d; r++) {", rows)
	a.fewScores(lanes, per, deep)
	a.line("}")
	a.line("}")
	a.fewMeet(rows, lanes)
	natural := ""
	if a.binary() {
		natural = fmt.Sprintf(" * %gf", math.Ln2)
	}
	a.fewStore(rows, lanes, parts, natural, results)
	k.Dispatches = []Dispatch{a.dispatch("attention_few", [3]int{a.b * a.hk, 1, parts})}
	if parts > 1 {
		k.Dispatches = append(k.Dispatches, a.join(parts, k.limits))
	}
}

// fewSpan declares between which keys the threadgroup looks, and until which one each row does.
func (a *attentionText) fewSpan(rows, parts, step int) {
	until := func(query string) string {
		return fmt.Sprintf("%s(max(long(0), min(a.last[b * a.last_b + %s * a.last_t] + 1, long(a.tk))))", a.index, query)
	}
	a.line("const %[1]s kh = %[1]s(group.x) %% a.hk, b = %[1]s(group.x) / a.hk;", a.index)
	a.line("%s until[%d];", a.index, rows)
	a.line("UNROLL for (int r = 0; r < %d; r++) until[r] = %s;", rows, until("(r % a.tq)"))
	a.line("%s end = %s, start = 0;", a.index, until("(a.tq - 1)"))
	if a.Window > 0 {
		a.line("start = max(start, %s - a.window);", until("0"))
	}
	if parts > 1 {
		a.line("const %s part = ((end - start + %d) / %d + %d) / %d * %[5]d;", a.index, parts-1, parts, step-1, step)
		a.line("start += %s(group.z) * part;", a.index)
		a.line("end = min(end, start + part);")
	}
}

// fewLoad declares the thread's elements of so many rows, which are at from.
func (a *attentionText) fewLoad(name, length, from string, count, lanes int) {
	a.line("float %s[%d];", name, count*fewElements)
	a.line("UNROLL for (int n = 0; n < %d; n++) {", count)
	a.line("UNROLL for (int c = 0; c < %d; c++) {", fewElements/4)
	a.line("float four[4];")
	a.line("load4(a.%s + min(place + c * %d, int(a.%s) - 4), four);", from, 4*lanes, length)
	a.line("UNROLL for (int d = 0; d < 4; d++) %s[%d * n + 4 * c + d] = four[d];", name, fewElements)
	a.line("}")
	a.line("}")
}

// fewScores adds the thread's keys to what row r has.
func (a *attentionText) fewScores(lanes, per, deep int) {
	seen := "j < end && j < until[r]"
	if a.Window > 0 {
		seen += " && until[r] <= j + a.window"
	}
	a.line("float s[%d], high = -INFINITY;", deep)
	a.line("UNROLL for (int n = 0; n < %d; n++) {", deep)
	a.line("float dot = 0.0f;")
	a.line("UNROLL for (int d = 0; d < %d; d++) dot = fma(q[%[1]d * r + d], k[%[1]d * n + d], dot);", fewElements)
	a.line("UNROLL for (ushort mask = 1; mask < %d; mask *= 2) dot += simd_shuffle_xor(dot, mask);", lanes)
	a.line("const %s j = from + n * %d + sub;", a.index, per)
	a.line("bool seen = %s;", seen)
	a.line("{")
	a.judge("dot", "")
	a.line("s[n] = seen ? v : -INFINITY;")
	a.line("}")
	a.line("high = max(high, s[n]);")
	a.line("}")
	a.line("UNROLL for (ushort mask = %d; mask < %d; mask *= 2) high = max(high, simd_shuffle_xor(high, mask));", lanes, simdWidth)
	a.line("const float highest = max(top[r], high), base = highest == -INFINITY ? 0.0f : highest, fade = %s(top[r] - base);", a.exp())
	a.line("top[r] = highest;")
	a.line("all[r] *= fade;")
	a.line("UNROLL for (int d = 0; d < %d; d++) sum[%[1]d * r + d] *= fade;", fewElements)
	a.line("UNROLL for (int n = 0; n < %d; n++) {", deep)
	a.line("const float w = %s(s[n] - base);", a.exp())
	a.line("all[r] += w;")
	a.line("UNROLL for (int d = 0; d < %d; d++) sum[%[1]d * r + d] = fma(w, v[%[1]d * n + d], sum[%[1]d * r + d]);", fewElements)
	a.line("}")
}

// fewMeet leaves what the simdgroups have in threadgroup memory, and how much each counts.
func (a *attentionText) fewMeet(rows, lanes int) {
	wide := fewElements * lanes
	for _, name := range []string{"tops", "alls", "shares"} {
		a.line("threadgroup float %s[%d];", name, a.simds*rows)
	}
	a.line("threadgroup float sums[%d];", a.simds*rows*wide)
	a.line("UNROLL for (ushort mask = %d; mask < %d; mask *= 2) {", lanes, simdWidth)
	a.line("UNROLL for (int r = 0; r < %d; r++) all[r] += simd_shuffle_xor(all[r], mask);", rows)
	a.line("UNROLL for (int e = 0; e < %d; e++) sum[e] += simd_shuffle_xor(sum[e], mask);", rows*fewElements)
	a.line("}")
	a.line("UNROLL for (int r = 0; r < %d; r++) {", rows)
	a.line("const int mine = int(simd) * %d + r;", rows)
	a.line("if (lane == 0) {")
	a.line("tops[mine] = top[r];")
	a.line("alls[mine] = all[r];")
	a.line("}")
	a.line("if (sub == 0) {")
	a.line("UNROLL for (int e = 0; e < %d; e++) sums[mine * %d + place + e / 4 * %d + e %% 4] = sum[%[1]d * r + e];", fewElements, wide, 4*lanes)
	a.line("}")
	a.line("}")
	a.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
}

// fewStore joins what the simdgroups have, and stores it.
func (a *attentionText) fewStore(rows, lanes, parts int, natural string, results attentionResults) {
	wide, threads := fewElements*lanes, a.simds*simdWidth
	a.line("const int me = int(at.x);")
	if parts > 1 {
		results = attentionResults{o: "float", lse: true}
		a.line("const %[1]s part_at = %[1]s(group.z) * a.count;", a.index)
	} else {
		a.line("const %s part_at = 0;", a.index)
	}
	at := "part_at + (b * a.hq + kh * a.shared + r / a.tq) * a.tq + r % a.tq"
	a.line("for (int e = me; e < %d; e += %d) {", a.simds*rows, threads)
	a.line("const int r = e %% %d;", rows)
	a.line("float high = -INFINITY, total = 0.0f;")
	a.line("UNROLL for (int s = 0; s < %d; s++) high = max(high, tops[s * %d + r]);", a.simds, rows)
	a.line("const float base = high == -INFINITY ? 0.0f : high;")
	a.line("UNROLL for (int s = 0; s < %d; s++) total = fma(%s(tops[s * %d + r] - base), alls[s * %[3]d + r], total);", a.simds, a.exp(), rows)
	a.line("shares[e] = total == 0.0f ? 0.0f : %s(tops[e] - base) / total;", a.exp())
	if results.lse {
		a.line("if (e < %d) a.lse[%s] = total == 0.0f ? -INFINITY : high%s + op_log(total);", rows, at, natural)
	}
	a.line("}")
	if results.o == "" {
		return
	}
	a.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	a.line("for (int e = me; e < %d; e += %d) {", rows*wide, threads)
	a.line("const int r = e / %d, d = e %% %[1]d;", wide)
	a.line("float o = 0.0f;")
	a.line("UNROLL for (int s = 0; s < %d; s++) o = fma(shares[s * %d + r], sums[s * %d + e], o);", a.simds, rows, rows*wide)
	a.line("if (d < a.depth) a.o[(%s) * a.depth + d] = %s(o);", at, results.o)
	a.line("}")
}
