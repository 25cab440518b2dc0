package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// A library adds a bias to the scores, of the operands' type, before it hides the keys behind a query. A text
// makes one of a mask of any kind, in the workspace, with what a window hides, and with the keys behind a
// query where there are more keys than queries.

// narrow is how many times fewer keys than there are a window shows, so that our own attention, which visits
// no others, is as fast as a library that computes all scores.
const narrow = 16

// bias lets a call read a bias in place of the mask, and returns the text that writes it to the first bytes
// of the workspace. A gradient gets a copy of the logsumexp, too, see biasText.
func (c *attentionCall) bias(g *backend.Group, mask []backend.Ref, limits Limits) (text Dispatch, bytes int, ok bool) {
	a := &c.Attention
	apart, masks := ceilTo(a.Keys, operandAlignment/a.DType.Size()), inputLayout(g, mask[0]).Shape[:2]
	rows := masks[0] * masks[1] * a.Queries
	bytes = ceilTo(rows*apart*a.DType.Size(), 64)
	if a.Window > 0 && a.Window*narrow < a.Keys || bytes > max(mostScores, limits.Library.Memory/scoresShare) {
		return text, 0, false
	}
	a.Biased, a.Window, a.Causal = true, 0, a.Causal && a.Queries == a.Keys
	a.At[AttentionBias] = [3]int{masks[1] * a.Queries * apart, a.Queries * apart, apart}
	for axis, n := range masks {
		if n == 1 {
			a.At[AttentionBias][axis] = 0
		}
	}
	c.Operands[AttentionBias] = Field{Kind: Scratch, Size: 8}
	low := c.Operands[AttentionBias]
	low.At = bytes
	if a.Gradient {
		c.Operands[AttentionLSE] = low
		bytes += a.Bytes(AttentionLSE)
	}
	t := newAttention(g, limits)
	t.masked(mask)
	t.lengths()
	t.constant("rows", rows)
	t.constant("apart", apart)
	t.constant("masks", masks[1])
	t.member(fmt.Sprintf("device %s*", memoryTypes[a.DType]), "bias", c.Operands[AttentionBias])
	return t.biasText(limits.group(), rows*apart/8, low, a.Gradient), bytes, true
}

// biasText is the text; a thread has eight scores of a row. A gradient gets a logsumexp of 0 for queries that
// see no key, because theirs, of -∞, would make NaN of what the bias hides.
func (a *attentionText) biasText(threads, most int, low Field, gradient bool) Dispatch {
	a.line("const %[1]s n = %[1]s(group.x) * %[2]d + %[1]s(at.x), row = n / (a.apart / 8), from = n %% (a.apart / 8) * 8;", a.index, threads)
	a.line("if (group.y == 0 && row < a.rows) {")
	a.line("const %s i = row %% a.tq, h = row / a.tq %% a.masks, b = row / a.tq / a.masks;", a.index)
	a.line("float bias[8];")
	a.line("UNROLL for (int e = 0; e < 8; e++) {")
	a.line("const %s j = from + e;", a.index)
	a.line("bool seen = j < a.tk%s;", a.near())
	a.line("float v = 0.0f;")
	a.hide("h")
	a.line("bias[e] = seen ? v : -INFINITY;")
	a.line("}")
	a.line("store8(a.bias + row * a.apart + from, bias);")
	a.line("}")
	kinds := 1
	if gradient {
		kinds = 2
		queries := a.b * a.hq * a.tq
		most = max(most, queries)
		a.readsLSE()
		a.member("device float*", "low", low)
		a.constant("queries", queries)
		a.line("if (group.y == 1 && n < a.queries) a.low[n] = a.lse[n] == -INFINITY ? 0.0f : a.lse[n];")
	}
	return a.finish("attention_bias", describe(a.g), parameters, [3]int{(most + threads - 1) / threads, kinds, 1}, along(threads))
}
