package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Which keys a query sees, and what its scores are: capped, and with what a mask says.

// ahead is how many keys, from its place on, a query sees; "" for all.
func (a *attentionText) ahead() string {
	switch {
	case a.causal():
		return "1"
	case a.Window > 0:
		return "a.window"
	}
	return ""
}

// queries are the first and the last query of a run of rows of the result.
func (a *attentionText) queries(first, last string) (string, string) {
	if !a.grouped() {
		return first, last
	}
	one := fmt.Sprintf("((%s) / a.tq == (%s) / a.tq ? ", first, last)
	return one + fmt.Sprintf("(%s) %% a.tq : 0)", first), one + fmt.Sprintf("(%s) %% a.tq : a.tq - 1)", last)
}

// end declares which keys the group's queries see: those from start to end.
func (a *attentionText) end() {
	a.line("%s start = 0, end = a.tk;", a.index)
	ahead := a.ahead()
	if ahead == "" {
		return
	}
	a.line("const %s last = min(first + %d, a.rows) - 1;", a.index, a.rows())
	first, last := a.queries("first", "last")
	a.line("end = min(end, %s + %s + a.tk - a.tq);", last, ahead)
	if a.Window > 0 {
		a.line("start = max(start, %s + 1 + a.tk - a.tq - a.window) / %d * %d;", first, a.columns, a.columns)
	}
}

// elements opens a loop over the thread's elements e of blocks n of a strip: u says in which of its rows each
// stands.
func (a *attentionText) elements(columns int) {
	a.line("UNROLL for (int n = 0; n < %d; n++) {", columns/16)
	a.line("UNROLL for (int e = 0; e < 8; e++) {")
	a.line("const int u = %s;", a.blocks.under)
}

// scores writes loops over the thread's elements of the strip s: i and j are query and key, seen says whether
// the query may see the key, and v is the score then. Most strips see all of their columns: these have a loop
// of their own, which asks nothing of an element.
func (a *attentionText) scores(keyRows bool, body func()) {
	if a.mask == dtype.Invalid {
		a.line("const int strip = int(simd) * %d;", stripRows)
		a.line("if (%s) {", a.whole(keyRows))
		a.score(keyRows, true)
		body()
		a.close(2)
		a.line("} else {")
		a.score(keyRows, false)
		body()
		a.close(2)
		a.line("}")
		return
	}
	a.score(keyRows, false)
	body()
	a.close(2)
}

// whole says of a strip, which begins at row first + strip, whether its rows see all columns of the tile.
func (a *attentionText) whole(keyRows bool) string {
	if a.page > 0 {
		return a.pagedWhole()
	}
	length, strip, tile := "tk", [2]string{"first + strip", fmt.Sprintf("first + strip + %d", stripRows-1)}, [2]string{"from", fmt.Sprintf("from + %d", a.columns-1)}
	queries, keys := strip, tile
	if keyRows {
		length, queries, keys = "tq", tile, strip
	} else {
		queries[0], queries[1] = a.queries(strip[0], strip[1])
	}
	whole := fmt.Sprintf("from + %d <= a.%s", a.columns, length)
	if ahead := a.ahead(); ahead != "" { // the first query sees the last key
		whole += fmt.Sprintf(" && %s < %s + a.tk - a.tq + %s", keys[1], queries[0], ahead)
	}
	if a.Window > 0 { // and the last one the first
		whole += fmt.Sprintf(" && %s + a.tk - a.tq < %s + a.window", queries[1], keys[0])
	}
	return whole
}

// score opens the loops.
func (a *attentionText) score(keyRows, whole bool) {
	a.elements(a.columns)
	mine, other, length := "i", "j", "tk"
	if keyRows {
		mine, other, length = "j", "i", "tq"
	}
	a.line("const %s %s = from + 16 * n + column_of(places, lane, e);", a.index, other)
	a.line("const %s %s = at_of[u];", a.index, mine)
	seen := other + " < a." + length + a.near()
	if a.page > 0 {
		seen = a.pagedSeen()
	}
	if whole {
		seen = "true"
	}
	h := "h_of[u]"
	if keyRows {
		h = "h"
	}
	a.line("bool seen = %s;", seen)
	a.judge("element(s[n], e)", h)
}

// near says of key j whether query i sees it, beside what a mask says.
func (a *attentionText) near() (condition string) {
	if ahead := a.ahead(); ahead != "" {
		condition = " && j < i + a.tk - a.tq + " + ahead
	}
	if a.Window > 0 {
		condition += " && i + a.tk - a.tq < j + a.window"
	}
	return condition
}

// judge makes v the score that a product gives: capped, and with what the mask says of query i of a head and
// key j.
func (a *attentionText) judge(product, h string) {
	a.line("float v = %s * a.steep;", product)
	switch {
	case a.Cap == 0:
	case a.cell == dtype.F32:
		a.line("const float bent = op_tanh(v);")
	default:
		a.line("const float bent = 1.0f - 2.0f / (fast::exp2(v) + 1.0f);")
	}
	if a.Cap != 0 {
		a.line("v = a.cap * bent;")
	}
	a.hide(h)
}

// hide adds to v, or takes from seen, what the mask says.
func (a *attentionText) hide(h string) {
	at := fmt.Sprintf("a.mask[%s + j * a.mask_d]", row("mask", "b", h, "i"))
	switch a.mask {
	case dtype.Invalid:
	case dtype.Bool:
		a.line("seen = seen && %s;", at)
	default:
		a.line("if (seen) v += loaded(%s);", at)
	}
}

// slope is how steeply scores follow products.
func (a *attentionText) slope() string {
	if a.Cap == 0 {
		return "a.scale"
	}
	return "a.scale * (1.0f - bent * bent)"
}
