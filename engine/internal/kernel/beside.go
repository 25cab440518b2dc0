package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// Products of one group that do not need one another are one dispatch: their threadgroups stand side by side,
// and each finds out by its number which product it works on. The gradients of adapters are dozens of
// products that would not fill a device, and a launch costs more than many of them. Products of one text, but
// for lengths and places, share it.
const (
	mostVariants = 4  // texts of a dispatch, which the device compiles together
	mostBeside   = 64 // products of a dispatch, whose structs lie in constant memory
)

// A piece is a product, a part of one, or work on elements, that is written down to be a dispatch, or a part
// of one.
type piece struct {
	*text
	kind    string
	of      string // the type of the elements of its threadgroup memory
	space   int    // how many there are
	size    int    // bytes of each
	groups  int
	threads int
	walks   [2][3]int // of work on elements alone, threadgroups and threads: the grid that its text walks over
}

// ofElements says whether the text knows a thread's place in the grid, `at` of `all`, instead of a
// threadgroup.
func (c *piece) ofElements() bool { return c.walks[0][0] > 0 }

// alone makes a dispatch of the piece.
func (c *piece) alone(g *backend.Group) Dispatch {
	if c.ofElements() {
		return c.finish(c.kind, describe(c.g), inGrid, c.walks[0], c.walks[1])
	}
	body := c.body.String()
	c.body.Reset()
	c.threadgroup(c.of, "space", c.space, c.size)
	c.body.WriteString(body)
	threads := along(c.threads)
	return c.finish(c.kind, describe(g), parameters, along(c.groups), threads)
}

// variant is equal for pieces of one text.
func (c *piece) variant() string {
	return fmt.Sprint(c.kind, c.members.String(), c.of, c.space, c.body.String())
}

// spread lets such a text find its place in a grid whose sides are in its struct.
func (c *piece) spread() {
	if !c.ofElements() {
		return
	}
	for axis, n := range c.walks[0] {
		c.constant(fmt.Sprintf("all%d", axis), n*c.walks[1][axis])
	}
	body := c.body.String()
	c.body.Reset()
	c.line("const uint3 all = uint3(uint(a.all0), uint(a.all1), uint(a.all2));")
	c.line("if (me < all.x * all.y * all.z) {")
	c.line("const uint3 at = uint3(me %% all.x, me / all.x %% all.y, me / all.x / all.y);")
	c.body.WriteString(body)
	c.line("}")
}

// sideBySide makes as few dispatches of independent pieces as there can be.
func sideBySide(g *backend.Group, pieces []*piece) (list []Dispatch) {
	for len(pieces) > 0 {
		var now, rest []*piece
		variants := map[string]bool{}
		for _, c := range pieces {
			if len(now) > 0 && (c.threads != now[0].threads || len(now) == mostBeside || len(variants) == mostVariants && !variants[c.variant()]) {
				rest = append(rest, c)
				continue
			}
			now, variants[c.variant()] = append(now, c), true
		}
		if len(now) == 1 {
			list = append(list, now[0].alone(g))
		} else {
			list = append(list, beside(g, now))
		}
		pieces = rest
	}
	return list
}

// beside makes one dispatch of pieces that have equally many threads.
func beside(g *backend.Group, pieces []*piece) Dispatch {
	for _, c := range pieces {
		c.spread()
	}
	var order []string
	byVariant := map[string][]*piece{}
	space := 0
	for _, c := range pieces {
		v := c.variant()
		if byVariant[v] == nil {
			order = append(order, v)
		}
		byVariant[v] = append(byVariant[v], c)
		space = max(space, c.space*c.size)
	}
	t := newText(g, false)
	t.threadgroup("uint4", "shared", (space+15)/16, 16)
	t.line("const long whole = long(group.x);")
	waits := func(c *piece) bool { return strings.Contains(c.body.String(), "wait_for_previous();") }
	waiting := slices.ContainsFunc(pieces, waits)
	groups := 0
	for n, v := range order {
		list := byVariant[v]
		starts := []int{}
		fmt.Fprintf(&t.members, "\tstruct product%d {\n%s\t};\n\tproduct%d of%d[%d];\n", n, list[0].members.String(), n, n, len(list))
		for _, c := range list {
			t.args.nest(&c.args)
			starts = append(starts, groups)
			groups += c.groups
		}
		t.numbers(fmt.Sprintf("start%d", n), append(starts, groups))
		t.line("if (whole >= args->start%d[0] && whole < args->start%d[%d]) {", n, n, len(list))
		t.line("int which = 0;")
		t.line("while (whole >= args->start%d[which + 1]) which++;", n)
		t.line("constant NAME_args::product%d& a = args->of%d[which];", n, n)
		t.line("const uint3 group = uint3(uint(whole - args->start%d[which]), 0, 0);", n)
		if list[0].ofElements() {
			t.line("const uint me = group.x * %d + at.x;", list[0].threads)
		}
		if c := list[0]; c.space > 0 {
			t.line("threadgroup %s* const space = (threadgroup %s*)shared;", c.of, c.of)
		}
		if waiting && !waits(list[0]) {
			t.line("wait_for_previous();")
		}
		t.body.WriteString(list[0].body.String())
		t.line("}")
	}
	threads, kind := along(pieces[0].threads), "matmuls"
	if pieces[0].ofElements() {
		kind = pieces[0].kind + "s"
	}
	return t.finish(kind, describe(g), parameters, along(groups), threads)
}
