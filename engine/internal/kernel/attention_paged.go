package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// Attention to keys in pages is attention without a mask, whose tiles of columns are fetched slot by slot,
// and whose end is data. So a launch takes as long as its keys, however large their room is: the parts into
// which keys are split for few rows are parts of those that there are. A text that needs one part leaves
// others nothing to do.

// newPaged is the text of an ir.PagedAttention.
func newPaged(g *backend.Group, limits Limits) *attentionText {
	in := &g.Insts[0]
	q, k, v, pages := g.Type(in.Args[0]).Shape, g.Type(in.Args[1]).Shape, g.Type(in.Args[2]).Shape, g.Type(in.Args[3]).Shape
	page := in.Attr.Ints[0]
	a := &attentionText{in: in, page: page, b: q[0], hq: q[1], tq: q[2], d: q[3], hk: k[0], tk: pages[1] * page, dv: v[2], kept: 1}
	return a.begin(g, limits, []int{1}) // a code times its scale has more digits than f16 and bf16
}

func pagedAttention(g *backend.Group, k *Kernel) {
	switch a := newPaged(g, k.limits); {
	case a.b*a.hq*a.tq == 0:
	case a.isFew():
		a.few(k.limits).write(k)
	default:
		a.forward(k)
	}
}

// readsPages declares k and v, which have no axis of batches, where their rows lie, and how many a query
// sees.
func (a *attentionText) readsPages() {
	in, slots := a.in, a.g.Type(a.in.Args[1]).Shape[1]
	a.readsAs("k", in.Args[1], "htd")
	a.readsAs("v", in.Args[2], "htd")
	if a.coded() {
		a.readsAs("k_scale", in.Args[5], "htd")
		a.readsAs("v_scale", in.Args[6], "htd")
	}
	a.readsAs("pages", in.Args[3], "bp")
	a.readsAs("last", in.Args[4], "bt")
	a.constant("last_page", slots/a.page-1)
}

// coded says whether keys and values are in i8.
func (a *attentionText) coded() bool { return len(a.in.Args) > 5 }

// fetchSlots is fetch of keys or values, from key first on, a multiple of high. The page is a number of the
// text: division by others is slow.
func (a *attentionText) fetchSlots(to, first string, f fetch, high int) {
	with := fmt.Sprintf("<%s<%s, %d>, %d, %d, %d, %d>", a.blocks.lines, memoryTypes[a.cell], a.stride(), a.wide, high, a.simds*simdWidth, a.page)
	from := fmt.Sprintf("%[1]s, a.%[2]s + kh * a.%[2]s_h, a.pages + b * a.pages_b, a.pages_p, a.last_page, %[3]s(%[4]s), reach, a.%[2]s_t",
		to, f.name, a.index, first)
	switch {
	case a.coded():
		a.line("fetch_slot_codes%s(%s, a.%[3]s_d, a.%[3]s_scale + kh * a.%[3]s_scale_h, a.%[3]s_scale_t, %[4]s(%[5]s), a.%[6]s, me);",
			with, from, f.name, a.index, f.d, f.length)
	case a.vectors[f.name]:
		a.line("fetch_slot_pieces%s(copies, %s, %s(%s), a.%s, me);", with, from, a.index, f.d, f.length)
	default:
		a.line("fetch_slot_elements%s(%s, a.%s_d, %s(%s), a.%s, me);", with, from, f.name, a.index, f.d, f.length)
	}
}

// pagedEnd declares which keys the group's queries see, those from start to reach, and how many each of the
// thread's rows does, until.
func (a *attentionText) pagedEnd() {
	query := func(row, other string) string {
		if !a.grouped() {
			return row
		}
		return fmt.Sprintf("(first / a.tq == last_row / a.tq ? %s %% a.tq : %s)", row, other)
	}
	until := func(query string) string {
		return fmt.Sprintf("%s(max(long(0), min(a.last[b * a.last_b + %s * a.last_t] + 1, long(a.tk))))", a.index, query)
	}
	a.line("const %s last_row = min(first + %d, a.rows) - 1;", a.index, a.rows())
	a.line("const %s reach = %s;", a.index, until(query("last_row", "a.tq - 1")))
	a.line("%s end = reach, start = 0;", a.index)
	if a.Window > 0 {
		a.line("start = max(start, %s - a.window) / %d * %d;", until(query("first", "0")), a.columns, a.columns)
	}
	a.line("%s until[2];", a.index)
	a.line("UNROLL for (int u = 0; u < 2; u++) until[u] = %s;", until("at_of[u]"))
}

// pagedWhole says whether the thread's rows see all columns of the tile.
func (a *attentionText) pagedWhole() string {
	whole := fmt.Sprintf("from + %d <= min(until[0], until[1])", a.columns)
	if a.Window > 0 {
		whole += " && max(until[0], until[1]) <= from + a.window"
	}
	return whole
}

// pagedSeen says whether the thread's row u sees key j.
func (a *attentionText) pagedSeen() string {
	if a.Window > 0 {
		return "j < until[u] && until[u] <= j + a.window"
	}
	return "j < until[u]"
}
