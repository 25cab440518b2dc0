package kernel

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// A chunked is the gradient of attention with a window, cut into chunks of queries:
//
//	queries    0 … rest   | chunk 0     | chunk 1     | …
//	keys       0 … rest   | seen before | its own     |
//	                      |             | seen before | its own …
//
// A library computes all scores up to the diagonal, those that a window hides, too, and keeps the slopes of
// all scores of a call. A chunk has the keys of its places and as many before them as its first query sees.
// Chunks are the batches of one call. A key is seen by queries of several chunks, so dk and dv of each are
// parts in the workspace, which a text adds up in the order of the chunks.
type chunked struct {
	attentionCall
	chunks, length, before int    // chunks of so many queries, which see keys before their own
	parts                  [2]int // where the parts of dk and dv begin in the workspace
	size                   int    // bytes of them
}

const (
	// partScores is how many scores take as long as a row of each part, for each head, on an H200.
	partScores = 80
	// leastSaved are operations that chunks must save: the time of some 20 launches.
	leastSaved = 1 << 34
)

// chunk cuts a gradient into chunks, if that saves so many operations.
func (c *attentionCall) chunk(least int) (*chunked, bool) {
	a := &c.Attention
	if !a.Gradient || a.Window == 0 || a.Queries%4 != 0 { // rows of logsumexps begin at multiples of 16 bytes
		return nil, false
	}
	s := &chunked{attentionCall: *c, before: ceilTo(a.Window-1, 128)}
	// A query of a chunk of n has n/2 scores too many, and (n + before)/n rows of parts: n is where they cost
	// the least.
	s.length = ceilTo(int(math.Sqrt(float64(2*partScores*s.before))), 128)
	for s.chunks = (a.Queries - 1) / s.length; s.chunks > 0 && s.keys() < s.before; {
		s.chunks--
	}
	scores := func(queries, keys int) int { return queries*keys - queries*queries/2 }
	saved := scores(a.Queries, a.Keys) - scores(s.queries(), s.keys()) - s.chunks*(scores(s.length, s.seen())+partScores*s.seen())
	if s.chunks == 0 || 5*(a.Width+a.Depth)*a.Batches*a.Heads*saved < least {
		return nil, false
	}
	for n, width := range []int{a.Width, a.Depth} {
		s.parts[n] = s.size
		s.size += ceilTo(a.Batches*a.KeyHeads*(s.keys()+s.chunks*s.seen())*width*a.DType.Size(), 64)
	}
	return s, true
}

// queries and keys are how many there are before the chunks.
func (s *chunked) queries() int { return s.Attention.Queries - s.chunks*s.length }
func (s *chunked) keys() int    { return s.Attention.Keys - s.chunks*s.length }

// seen is how many keys a chunk sees.
func (s *chunked) seen() int { return s.before + s.length }

// calls are those of what is before the chunks, of all batches, and of the chunks of each batch.
func (s *chunked) calls(memory int) (list []attentionCall, ok bool) {
	first := s.attentionCall
	first.Attention.Queries, first.Attention.Keys = s.queries(), s.keys()
	all := []attentionCall{s.inParts(first, 0)}
	for b := range s.Attention.Batches {
		all = append(all, s.batch(b))
	}
	for _, c := range all {
		calls, ok := c.split(memory)
		if !ok {
			return nil, false
		}
		list = append(list, calls...)
	}
	return list, true
}

// batch is the call of a batch's chunks.
func (s *chunked) batch(b int) attentionCall {
	c := s.attentionCall
	a := &c.Attention
	for operand := range c.Operands {
		at, first := &a.At[operand], s.queries()
		if operand == AttentionK || operand == AttentionV {
			first = s.keys() - s.before
		}
		c.Operands[operand].At += (b*at[0] + first*at[2]) * a.size(operand)
		at[0] = s.length * at[2]
	}
	a.Queries, a.Keys = s.length, s.seen()
	batches := a.Batches
	a.Batches = s.chunks
	return s.inParts(c, a.KeyHeads*(batches*s.keys()+b*s.chunks*s.seen()))
}

// inParts lets a call leave dk and dv in the parts, from a row on.
func (s *chunked) inParts(c attentionCall, row int) attentionCall {
	a := &c.Attention
	for n, operand := range []int{AttentionDK, AttentionDV} {
		heads, rows, width := a.Shape(operand)
		c.Operands[operand] = Field{Kind: Scratch, Size: 8, At: s.parts[n] + row*width*a.size(operand)}
		a.At[operand] = [3]int{heads * rows * width, rows * width, width}
	}
	return c
}

// add writes the text that adds up the parts: a thread has eight numbers of a row.
func (s *chunked) add(g *backend.Group, limits Limits) Dispatch {
	a, most := newAttention(g, limits), 0
	a.lengths()
	a.constant("rows", a.b*a.hk*a.tk)
	a.constant("batches", a.b)
	a.constant("rest", s.keys())
	a.constant("chunks", s.chunks)
	a.constant("chunk", s.length)
	a.constant("before", s.before)
	threads := limits.group()
	for _, o := range g.Outputs[1:] {
		name, length, width := "dk", "width", a.d
		if o.Value.Result == 2 {
			name, length, width = "dv", "depth", a.dv
		}
		a.writes(name, o)
		a.member(fmt.Sprintf("device const %s*", memoryTypes[o.DType]), name+"_parts", Field{Kind: Scratch, Size: 8, At: s.parts[o.Value.Result-1]})
		most = max(most, a.b*a.hk*a.tk*width/8)
		a.line("if (group.y == %d) {", o.Value.Result-1)
		a.line("const %[1]s n = %[1]s(group.x) * %[2]d + %[1]s(at.x), row = n / (a.%[3]s / 8), d = n %% (a.%[3]s / 8) * 8;", a.index, threads, length)
		a.line("if (row < a.rows) {")
		a.line("const %s j = row %% a.tk, h = row / a.tk %% a.hk, b = row / a.tk / a.hk;", a.index)
		a.line("const %s begin = max(%[1]s(0), j - a.rest) / a.chunk;", a.index)
		a.line("float sum[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, part[8];")
		a.line("if (j < a.rest) load8(a.%s_parts + ((b * a.hk + h) * a.rest + j) * a.%s + d, sum);", name, length)
		a.line("for (%s c = begin; c < a.chunks && j >= a.rest + c * a.chunk - a.before; c++) {", a.index)
		a.line("const %s first = a.rest + c * a.chunk - a.before, at_part = a.batches * a.hk * a.rest + ((b * a.chunks + c) * a.hk + h) * (a.before + a.chunk) + j - first;", a.index)
		a.line("load8(a.%s_parts + at_part * a.%s + d, part);", name, length)
		a.line("UNROLL for (int e = 0; e < 8; e++) sum[e] += part[e];")
		a.line("}")
		a.line("store8(a.%s + %s + d, sum);", name, row(name, "b", "h", "j"))
		a.close(2)
	}
	return a.finish("attention_chunks", describe(a.g), parameters, [3]int{(most + threads - 1) / threads, 2, 1}, along(threads))
}
