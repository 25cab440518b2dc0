package kernel

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Attention of f32 as products of a library, with scores in memory. A part is some heads of keys and, of the
// query heads that share them, some queries; its products have only the keys that the part's last query sees:
//
//	scores = q·kᵀ      slopes = do·vᵀ
//	p = exp(scale·scores + mask − lse)     ds = scale·p·(slopes − do·o)
//	dv += pᵀ·do        dk += dsᵀ·q         dq = ds·k
//
// A text before them copies the part's q and do, so that the rows of heads that share keys are one matrix,
// and finds do·o; one makes p and ds of scores and slopes, in their places; and one puts dq where it belongs.
// The last queries come first: they see all keys, so their dv and dk are stored and those of the others
// added. Forward it is two products: of exp(scores − the greatest) and v, whose rows are scaled where they
// are put.
//
// An H200 does 48 TFLOP/s in products of f32, where texts do 9 of a gradient and 15 forward. A gradient
// writes or reads a score 9 times, 36 bytes for 10 operations of each number of a row: at a width of 64 its
// memory could feed products of 70 TFLOP/s. Forward it is 20 bytes for 4: 50 TFLOP/s.

// A scoring writes attention in that way.
type scoring struct {
	*attentionText // for its lengths; each text is another one
	k              *Kernel
	gradient       bool
	operands       int // before a mask
	results        map[int]backend.Output
	queries, heads int            // of a part, at most
	sides          [4]scoringSide // k, v, dk, dv
	room           scoringPlaces  // where a part's matrices lie in the workspace
	size           int            // bytes of it
	steps          []Dispatch
	lacks          bool // the library lacks one of the products
}

// The places in the workspace, in bytes. Forward o has the place of do, and the rows' scales that of the
// dots.
type scoringPlaces struct {
	q, do, dots, scores, slopes int
}

// A scoringSide is rows for each key.
type scoringSide struct {
	all    operand // of all heads, as they lie
	copied bool    // the library does not take it so: each part has a copy of its heads
	at     int     // where in the workspace
	width  int
}

// A scoringPart is heads of keys, counted through all batches, and queries of each head that shares them.
type scoringPart struct {
	head, heads, first, high int
	keys, apart              int // how many are seen, and how far rows of scores are apart
}

// What parts must be worth.
const (
	// partFlops are done while the launches of a part begin and end, some 30 µs on an H200.
	partFlops = 5 << 28
	// leastScoreRows of a part's matrices: products of fewer rows are slow.
	leastScoreRows = 64
)

// byProducts writes attention or its gradient as products, if that is worth it: all is f32, there is no
// window (products would compute all scores), a query sees a key, the library has the products, and is faster
// than the texts. It is not on Apple's GPUs, whose texts lose nothing to a product's.
func byProducts(g *backend.Group, k *Kernel) bool {
	l := k.limits.Library
	if l == nil || l.Room == 0 {
		return false
	}
	s := &scoring{attentionText: newAttention(g, k.limits), k: k, operands: 3, results: map[int]backend.Output{}}
	if s.gradient = s.in.Op == ir.AttentionGrad; s.gradient {
		s.operands = 6
	}
	for _, o := range g.Outputs {
		s.results[o.Value.Result] = o
	}
	switch {
	case !s.plain(), s.Window > 0, s.causal() && s.tq > s.tk, min(s.b, s.hq, s.tq, s.tk, s.d, s.dv) < 1:
		return false
	case !s.cut(l.Room):
		return false
	case !l.Always && (k.limits.Family != NVIDIA || s.flops() < leastTraining || s.queries*s.hq/s.hk < leastScoreRows):
		return false
	}
	for head := 0; head < s.b*s.hk; head += s.heads {
		s.some(head, min(s.heads, s.b*s.hk-head))
	}
	if s.lacks {
		return false
	}
	k.Dispatches, k.Scratch = s.steps, s.size
	k.shareWorkspace()
	return true
}

// plain says whether all operands and results are f32, but for a mask.
func (s *scoring) plain() bool {
	for _, v := range s.in.Args[:s.operands] {
		if s.g.Type(v).DType != dtype.F32 {
			return false
		}
	}
	return !slices.ContainsFunc(s.g.Outputs, func(o backend.Output) bool { return o.DType != dtype.F32 })
}

// flops counts the operations of the products, with the keys that are seen alone.
func (s *scoring) flops() int {
	a := Attention{Gradient: s.gradient, Batches: s.b, Heads: s.hq, Queries: s.tq, Keys: s.tk, Width: s.d, Depth: s.dv, Causal: s.causal()}
	return a.Flops()
}

// cut chooses the parts: as many queries and heads in each as makes the least work, and fits into the room. A
// causal part computes, for each query, half as many keys as it has queries more than are seen; and each part
// has its launches.
func (s *scoring) cut(room int) bool {
	s.findSides()
	queries, heads, least := 0, 0, math.MaxInt
	all := s.b * s.hk
	for n := s.tq; n > 0; n = fewer(n) {
		s.queries, s.heads = n, 1
		most := min(all, room/s.lay())
		if most == 0 {
			continue
		}
		pieces := (all + most - 1) / most
		work := pieces * ((s.tq + n - 1) / n) * partFlops
		if s.causal() {
			work += s.flops() / s.tq * n
		}
		if work < least {
			queries, heads, least = n, (all+pieces-1)/pieces, work
		}
	}
	s.queries, s.heads = queries, heads
	s.size = s.lay()
	return queries > 0
}

// fewer is the next smaller number of queries to look at: a multiple of a library's tiles, while there are as
// many.
func fewer(n int) int {
	if n > 64 {
		return (n - 1) / 64 * 64
	}
	return n / 2
}

// lay lays the workspace out, and returns its size.
func (s *scoring) lay() int {
	at := 0
	take := func(to *int, elements int) {
		*to = at
		at += ceilTo(4*elements, 64)
	}
	rows := s.heads * s.hq / s.hk * s.queries
	take(&s.room.q, rows*s.d)
	take(&s.room.do, rows*s.dv)
	take(&s.room.dots, rows)
	for n := range s.sides {
		if side := &s.sides[n]; side.copied {
			take(&side.at, s.heads*s.tk*side.width)
		}
	}
	take(&s.room.scores, rows*ceilTo(s.tk, 4))
	if s.gradient {
		take(&s.room.slopes, rows*ceilTo(s.tk, 4))
	}
	return at
}

// findSides finds where k and v, and their gradients, are matrices for the library.
func (s *scoring) findSides() {
	for n, width := range []int{s.d, s.dv} {
		in := inputOf(s.g, s.in.Args[1+n])
		s.sides[n] = sideOf(in.Layout, placeOf(in), width)
		if o, ok := s.results[1+n]; ok && s.gradient {
			s.sides[2+n] = sideOf(o.Layout(), field(o.Buf, o.Offset*o.DType.Size()), width)
		}
	}
}

func sideOf(l ir.Layout, at Field, width int) scoringSide {
	batch, even := evenly(l)
	matrix, ok := matrixOf(dtype.F32, l.Shape[2], l.Shape[3], l.Stride[2], l.Stride[3], batch)
	return scoringSide{all: operand{matrix, at}, copied: !ok || !even, width: width}
}

// evenly says how far the heads of all batches are apart, if that is everywhere the same.
func evenly(l ir.Layout) (apart int, ok bool) {
	switch {
	case l.Shape[1] == 1:
		return l.Stride[0], true
	case l.Shape[0] == 1 || l.Stride[0] == l.Shape[1]*l.Stride[1]:
		return l.Stride[1], true
	}
	return 0, false
}

// some writes what some heads of keys are for, from the last queries to the first ones.
func (s *scoring) some(head, heads int) {
	for n, c := range []bringing{{name: "k", length: "width"}, {name: "v", length: "depth"}} {
		if s.sides[n].copied {
			c.to = s.sides[n].at
			s.bring(scoringPart{head: head, heads: heads, high: s.tk}, 1, c)
		}
	}
	p := scoringPart{head: head, heads: heads, keys: s.tk}
	for end := s.tq; end > 0; end = p.first {
		p.first = (end - 1) / s.queries * s.queries
		p.high = end - p.first
		if s.causal() {
			p.keys = end + s.tk - s.tq
		}
		p.apart = ceilTo(p.keys, 4)
		s.part(p)
	}
	for n, name := range []string{"dk", "dv"} {
		if side := s.sides[2+n]; side.copied {
			s.put(scoringPart{head: head, heads: heads, high: s.tk}, 1, 1+n, name, side.at, "")
		}
	}
}

// part writes the steps of a part.
func (s *scoring) part(p scoringPart) {
	shared := s.hq / s.hk
	rows := shared * p.high
	scratch := func(at, columns, apart int) operand {
		return operand{Matrix{DType: dtype.F32, Stride: apart, Batch: rows * apart}, Field{Kind: Scratch, Size: 8, At: at}}
	}
	q, do := scratch(s.room.q, s.d, s.d), scratch(s.room.do, s.dv, s.dv)
	scores, slopes := scratch(s.room.scores, p.keys, p.apart), scratch(s.room.slopes, p.keys, p.apart)
	k, v := s.side(0, p), s.side(1, p)
	list := []bringing{{name: "q", length: "width", to: s.room.q}}
	if s.gradient {
		list = append(list, bringing{name: "g", length: "depth", to: s.room.do, with: "o"})
	}
	s.bring(p, shared, list...)
	s.multiply(p, rows, p.keys, s.d, q, turned(k), scores, false)
	if !s.gradient {
		s.softmax(p, shared)
		if _, ok := s.results[0]; ok {
			s.multiply(p, rows, s.dv, p.keys, scores, v, do, false)
			s.put(p, shared, 0, "o", s.room.do, " * a.dots[row]")
		}
		return
	}
	s.multiply(p, rows, p.keys, s.dv, do, turned(v), slopes, false)
	s.weights(p, shared)
	added := p.first+p.high < s.tq
	if _, ok := s.results[2]; ok {
		s.multiply(p, p.keys, s.dv, rows, turned(scores), do, s.side(3, p), added)
	}
	if _, ok := s.results[1]; ok {
		s.multiply(p, p.keys, s.d, rows, turned(slopes), q, s.side(2, p), added)
	}
	if _, ok := s.results[0]; ok {
		s.multiply(p, rows, s.d, p.keys, slopes, k, q, false)
		s.put(p, shared, 0, "dq", s.room.q, "")
	}
}

// turned is a matrix whose rows are the columns of another.
func turned(o operand) operand {
	o.matrix.Transposed = !o.matrix.Transposed
	return o
}

// side is k, v, dk or dv of a part's heads.
func (s *scoring) side(n int, p scoringPart) operand {
	side := s.sides[n]
	if side.copied {
		return operand{Matrix{DType: dtype.F32, Stride: side.width, Batch: s.tk * side.width}, Field{Kind: Scratch, Size: 8, At: side.at}}
	}
	side.all.at.At += 4 * p.head * side.all.matrix.Batch
	return side.all
}

// multiply adds a product, rows×inner by inner×columns for each head of a part; added says whether it is
// added to what is there.
func (s *scoring) multiply(p scoringPart, rows, columns, inner int, a, b, to operand, added bool) {
	c := &Call{Placement: placement(a.at, b.at, to.at)}
	product := Product{Rows: rows, Columns: columns, Inner: inner, Batches: p.heads, A: a.matrix, B: b.matrix, D: to.matrix, TF32: s.g.TF32}
	if added {
		product.C, c.Operands[ProductC] = to.matrix, to.at
	}
	c.Work = product
	var ok bool
	if !s.lacks {
		c.WorkspaceBytes, ok = s.k.limits.Library.Offer(product)
		s.lacks = !ok
	}
	s.steps = append(s.steps, Dispatch{Library: c})
}

// A bringing is an operand whose rows are copied to the workspace; with another one, what both come to, row
// by row, is stored as the dots.
type bringing struct {
	name, length string
	to           int
	with         string
}

// rowText begins a text in which each simdgroup has a row of a part: i of head h in batch b. each is how many
// heads follow one another for each head of keys.
func (s *scoring) rowText(p scoringPart, each int) *attentionText {
	t := newAttention(s.g, s.k.limits)
	t.simds = s.k.limits.group() / simdWidth
	t.lengths()
	t.constant("rows", p.heads*each*p.high)
	t.constant("high", p.high)
	t.constant("first", p.first)
	t.constant("head", p.head)
	t.constant("each", each)
	t.line("const %[1]s row = %[1]s(group.x) * %[2]d + %[1]s(simd);", t.index, t.simds)
	t.line("if (row >= a.rows) return; // uniform: the threads of a simdgroup have one row, and meet no others")
	t.line("const %s i = a.first + row %% a.high, n = a.head + row / a.high / a.each;", t.index)
	t.line("const %s b = n / a.hk, h = n %% a.hk * a.each + row / a.high %% a.each;", t.index)
	return t
}

// launch adds the step of a text that rowText began.
func (s *scoring) launch(kind string, t *attentionText, p scoringPart, each int) {
	rows := p.heads * each * p.high
	s.steps = append(s.steps, t.dispatch(kind, along((rows+t.simds-1)/t.simds)))
}

// bring copies rows of operands to the workspace.
func (s *scoring) bring(p scoringPart, each int, list ...bringing) {
	t := s.rowText(p, each)
	for _, c := range list {
		n := slices.Index([]string{"q", "k", "v", "o", "lse", "g"}, c.name)
		t.reads(c.name, s.in.Args[n])
		t.member("device float*", c.name+"_rows", Field{Kind: Scratch, Size: 8, At: c.to})
		if c.with != "" {
			t.reads(c.with, s.in.Args[3])
			t.member("device float*", "dots", Field{Kind: Scratch, Size: 8, At: s.room.dots})
			t.line("float dot = 0.0f;")
		}
		t.line("for (%[1]s d = %[1]s(lane); d < a.%[2]s; d += %[3]d) {", t.index, c.length, simdWidth)
		t.line("const float x = a.%s[%s + d * a.%s_d];", c.name, row(c.name, "b", "h", "i"), c.name)
		t.line("a.%s_rows[row * a.%s + d] = x;", c.name, c.length)
		if c.with != "" {
			t.line("dot = fma(x, a.%s[%s + d * a.%s_d], dot);", c.with, row(c.with, "b", "h", "i"), c.with)
		}
		t.line("}")
		if c.with != "" {
			t.line("dot = simd_sum(dot);")
			t.line("if (lane == 0) a.dots[row] = dot;")
		}
	}
	s.launch("attention_bring", t, p, each)
}

// put stores rows of the workspace, each times something, as result n.
func (s *scoring) put(p scoringPart, each, n int, name string, from int, times string) {
	t := s.rowText(p, each)
	t.member("device const float*", "from", Field{Kind: Scratch, Size: 8, At: from})
	t.member("device const float*", "dots", Field{Kind: Scratch, Size: 8, At: s.room.dots})
	t.writes(name, s.results[n])
	t.constant("length", s.results[n].Shape[3])
	t.line("device float* to = a.%s + %s;", name, row(name, "b", "h", "i"))
	t.line("for (%[1]s d = %[1]s(lane); d < a.length; d += %[2]d) to[d] = a.from[row * a.length + d]%[3]s;", t.index, simdWidth, times)
	s.launch("attention_put", t, p, each)
}

// weights makes p of the scores and ds of the slopes: four keys at a time, because rows begin at multiples of
// 16 bytes.
func (s *scoring) weights(p scoringPart, each int) {
	t := s.rowText(p, each)
	t.readsLSE()
	t.masked(s.in.Args[s.operands:])
	t.member("device const float*", "dots", Field{Kind: Scratch, Size: 8, At: s.room.dots})
	t.scoresOf(s, p)
	t.member("device float*", "slopes", Field{Kind: Scratch, Size: 8, At: s.room.slopes})
	t.line("const float low = %s, dot = a.dots[row];", lse("h", "i"))
	t.line("const bool none = low == -INFINITY;")
	t.eachFour(true, func() {
		t.line("float slope[4] = {0.0f, 0.0f, 0.0f, 0.0f};")
		t.line("if (from < end) load4(a.slopes + row * a.apart + from, slope);")
		t.fourScores(func() {
			t.line("const float p = seen && !none ? op_exp(v - low) : 0.0f;")
			t.line("x[e] = p;")
			t.line("slope[e] = p == 0.0f ? 0.0f : p * (slope[e] - dot) * %s;", t.slope())
		})
		t.line("store4(a.slopes + row * a.apart + from, slope);")
	})
	s.launch("attention_weights", t, p, each)
}

// softmax makes weights of the scores, which are yet to be divided by their sum, and the logsumexp.
func (s *scoring) softmax(p scoringPart, each int) {
	t := s.rowText(p, each)
	t.masked(s.in.Args[s.operands:])
	t.member("device float*", "dots", Field{Kind: Scratch, Size: 8, At: s.room.dots})
	t.scoresOf(s, p)
	t.line("float top = -INFINITY, total = 0.0f;")
	t.eachFour(false, func() {
		t.fourScores(func() { t.line("if (seen) top = max(top, v);") })
	})
	t.line("top = simd_max(top);")
	t.line("if (top == -INFINITY) top = 0.0f;")
	t.eachFour(true, func() {
		t.fourScores(func() {
			t.line("x[e] = seen ? op_exp(v - top) : 0.0f;")
			t.line("total += x[e];")
		})
	})
	t.line("total = simd_sum(total);")
	t.line("const bool none = total == 0.0f;")
	t.line("if (lane == 0) a.dots[row] = none ? 0.0f : 1.0f / total;")
	if lse, ok := s.results[1]; ok {
		t.writes("lse", lse)
		t.line("if (lane == 0) a.lse[%s] = none ? -INFINITY : top + op_log(total);", row("lse", "b", "h", "i"))
	}
	s.launch("attention_softmax", t, p, each)
}

// scoresOf declares the scores of a part, and how many a row sees.
func (a *attentionText) scoresOf(s *scoring, p scoringPart) {
	a.member("device float*", "scores", Field{Kind: Scratch, Size: 8, At: s.room.scores})
	a.constant("keys", p.keys)
	a.constant("apart", p.apart)
	end := "a.keys"
	if a.causal() {
		end = "i + 1 + a.tk - a.tq"
	}
	a.line("const %s end = %s;", a.index, end)
}

// eachFour goes along the row's scores: x are four of them from one on, which are stored if body changes
// them.
func (a *attentionText) eachFour(changed bool, body func()) {
	a.line("for (%[1]s from = 4 * %[1]s(lane); from < a.apart; from += %[2]d) {", a.index, 4*simdWidth)
	a.line("float x[4] = {0.0f, 0.0f, 0.0f, 0.0f};")
	a.line("if (from < end) load4(a.scores + row * a.apart + from, x);")
	body()
	if changed {
		a.line("store4(a.scores + row * a.apart + from, x);")
	}
	a.line("}")
}

// fourScores loops over four scores: seen says whether the query may see the key j, and v is the score then.
func (a *attentionText) fourScores(body func()) {
	a.line("UNROLL for (int e = 0; e < 4; e++) {")
	a.line("const %s j = from + e;", a.index)
	a.line("bool seen = j < end;")
	a.judge("x[e]", "h")
	body()
	a.line("}")
}
