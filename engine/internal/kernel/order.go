package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A ranking is a top_k that is being written down, as shaders/order.metal explains: a first launch sorts
// tiles of each row and keeps the best of each; further ones merge these runs, or sort tiles of what is left.
type ranking struct {
	g            *backend.Group
	x            ir.Layout
	length, rows int
	wanted       int    // elements of each row
	key          string // type of a key: uint or ulong
	each         int    // elements that a thread sorts
	limits       Limits
	places       *placeKeys // of an index that is sorted for a scatter; nil for top_k
}

// rankedSize is the size of the block ranked<key>.
var rankedSize = map[string]int{"uint": 8, "ulong": 16}

// A sorting is a launch: from runs, or from the row itself, to runs.
type sorting struct {
	merges   bool
	from, to runs
	last     bool
}

// runs are the sorted parts of a row, which lie in the workspace one after the other.
type runs struct{ count, length, at int }

func topK(g *backend.Group, k *Kernel) {
	in := &g.Insts[0]
	r := &ranking{g: g, x: inputLayout(g, in.Args[0]), wanted: in.Attr.Index, key: "uint", each: 8, limits: k.limits}
	if g.Type(in.Args[0]).DType.Size() == 8 {
		r.key, r.each = "ulong", 4
	}
	last := len(r.x.Shape) - 1
	r.length, r.rows = r.x.Shape[last], ir.Size(r.x.Shape[:last])
	if r.rows*r.wanted == 0 {
		return
	}
	steps, bytes := r.plan()
	k.Scratch = bytes
	k.Dispatches = r.write(steps)
}

// write writes the launches down.
func (r *ranking) write(steps []sorting) []Dispatch {
	var list []Dispatch
	for _, s := range steps {
		if s.merges {
			list = append(list, r.merge(s))
		} else {
			list = append(list, r.tiles(s))
		}
	}
	return list
}

// plan chooses the launches. Where few of many are wanted, tiles of the tiles' best are sorted, which leaves
// a fraction of them; else two runs become one. The runs lie in two parts of the workspace, in turns; those
// of an index are its last ones, too.
func (r *ranking) plan() (steps []sorting, bytes int) {
	tile := r.limits.group() * r.each
	tiled := func(n int) runs { return runs{count: (n + tile - 1) / tile, length: min(r.wanted, tile)} }
	steps = []sorting{{to: tiled(r.length)}}
	for now := steps[0].to; now.count > 1; now = steps[len(steps)-1].to {
		next := sorting{merges: true, from: now, to: runs{count: (now.count + 1) / 2, length: min(2*now.length, r.wanted)}}
		if 4*now.length <= tile {
			next = sorting{from: now, to: tiled(now.count * now.length)}
		}
		steps = append(steps, next)
	}
	stored := len(steps)
	if r.places == nil {
		stored--
		steps[stored].last = true
	}
	half := 0
	for _, s := range steps[:stored] {
		half = max(half, (r.rows*s.to.count*s.to.length*rankedSize[r.key]+63)&^63)
	}
	for i := range steps {
		steps[i].to.at = i % 2 * half
		steps[i].from.at = half - steps[i].to.at
	}
	return steps, min(2, stored) * half
}

// begin declares what a launch reads and writes: the row for the first, and for the last, which looks the
// values up.
func (r *ranking) begin(s sorting) *elementText {
	last := len(r.x.Shape) - 1
	stride := r.x.Stride[last]
	list := []named{{name: "x", layout: still(r.x, last), reach: r.length * max(stride, -stride)},
		{name: "runs", reach: r.rows * max(s.from.count*s.from.length, s.to.count*s.to.length)}}
	if r.places != nil {
		list[0].reach = reachOf(r.places.index)
		list = append(list, named{name: "position", layout: r.places.positions})
	}
	e := newElements(r.g, r.limits, "top_k", still(r.x, last).Shape, list...)
	if s.from.count > 0 {
		e.member("device const ranked<"+r.key+">*", "from", Field{Kind: Scratch, Size: 8, At: s.from.at})
	}
	if !s.last {
		e.member("device ranked<"+r.key+">*", "to", Field{Kind: Scratch, Size: 8, At: s.to.at})
	} else {
		for _, o := range r.g.Outputs {
			e.pointer("", fmt.Sprintf("y%d", o.Value.Result), o.DType, o.Buf, 0)
		}
	}
	if s.from.count == 0 || s.last {
		if r.places == nil {
			e.reads("x", r.g.Insts[0].Args[0])
			e.constant("x_axis", stride)
		}
		e.declareSpace()
	}
	e.constant("rows", r.rows)
	e.constant("wanted", s.to.length)
	return e
}

// place writes down where row lies.
func (r *ranking) place(e *elementText, s sorting) {
	if s.from.count == 0 || s.last {
		e.allCoordinates("row")
		e.line("const %s row_at = %s;", e.index, e.here("x"))
	}
}

// store writes ranked element r[e] to place at: of the runs or, in the last launch, of the results.
func (r *ranking) store(e *elementText, s sorting, at string) {
	if !s.last {
		e.line("r[e].put(a.to + (%s));", at)
		return
	}
	for _, o := range r.g.Outputs {
		value := fmt.Sprintf("a.x[row_at + %s(r[e].at) * a.x_axis]", e.index)
		if o.Value.Result == 1 {
			value = "long(r[e].at)"
		}
		e.line("a.y%d[%s] = %s;", o.Value.Result, at, value)
	}
}

// tiles sorts tiles of each row, or of its runs, and keeps the first of each.
func (r *ranking) tiles(s sorting) Dispatch {
	length := r.length
	if s.from.count > 0 {
		length = s.from.count * s.from.length
	}
	e := r.begin(s)
	e.constant("elements", length)
	e.constant("tiles", s.to.count)
	if s.from.count == 0 && r.places == nil {
		flip := int64(-1) // a key that grows with the element becomes one for the order that is wanted
		if r.g.Insts[0].Attr.Flags&ir.Reverse != 0 {
			flip = 0
		}
		e.member(r.key, "flip", Field{Kind: Constant, Size: rankedSize[r.key] / 2, Value: flip})
	}
	e.line("threadgroup ranked<%s> memory[%d];", r.key, (r.each+1)*rowThreads)
	e.line("const %[1]s tile = %[1]s(group.x %% uint(a.tiles));", e.index)
	e.line("const %[1]s mine = %[1]s(group.x / uint(a.tiles)) * %[1]s(size.y) + %[1]s(at.y);", e.index)
	e.line("const bool inside = mine < a.rows;")
	e.line("const %s row = min(mine, a.rows - 1);", e.index)
	r.place(e, s)
	e.line("const %s start = tile * %s(%d * size.x);", e.index, e.index, r.each)
	e.line("ranked<%s> r[%d];", r.key, r.each)
	e.line("for (uint e = 0; e < %d; e++) {", r.each)
	e.line("const %[1]s j = start + %[1]s(e * size.x + at.x);", e.index)
	e.line("r[e] = ranked<%s>::none();", r.key)
	switch {
	case s.from.count > 0:
		e.line("if (j < a.elements) r[e] = ranked<%s>::get(a.from + (row * a.elements + j));", r.key)
	case r.places != nil:
		r.places.write(e, r)
	default:
		e.line("if (j < a.elements) r[e] = ranked<%s>::of(rising(loaded(a.x[row_at + j * a.x_axis])) ^ a.flip, uint(j));", r.key)
	}
	e.line("}")
	e.line("tile_sorted(r, memory + at.y * (%d * size.x), at.x, size.x);", r.each+1)
	e.line("for (uint e = 0; e < %d; e++) {", r.each)
	e.line("const %[1]s j = %[1]s(e * size.x + at.x);", e.index)
	e.line("if (inside && j < a.wanted) {")
	r.store(e, s, "(row * a.tiles + tile) * a.wanted + j")
	e.close(2)
	threads := min(r.limits.group(), ceilPower((length+r.each-1)/r.each))
	perGroup := min(r.limits.group()/threads, ceilPower(r.rows))
	return e.finish("top_k_tiles", describe(e.g), inGroup, along(s.to.count*((r.rows+perGroup-1)/perGroup)), [3]int{threads, perGroup, 1})
}

// merge makes one run of two; the last of an odd number stays as it is. Each thread finds a few elements of
// the result.
func (r *ranking) merge(s sorting) Dispatch {
	chunks := (s.to.length + r.each - 1) / r.each
	e := r.begin(s)
	e.constant("length", s.from.length)
	e.constant("runs", s.from.count)
	e.constant("pairs", s.to.count)
	e.constant("chunks", chunks)
	e.line("for (%[1]s row = %[1]s(at.z); row < a.rows; row += %[1]s(all.z)) {", e.index)
	r.place(e, s)
	e.line("for (%[1]s pair = %[1]s(at.y); pair < a.pairs; pair += %[1]s(all.y)) {", e.index)
	e.line("const %s first = (row * a.runs + 2 * pair) * a.length;", e.index)
	e.line("const uint second = 2 * pair + 1 < a.runs ? uint(a.length) : 0;")
	e.line("for (%[1]s chunk = %[1]s(at.x); chunk < a.chunks; chunk += %[1]s(all.x)) {", e.index)
	e.line("ranked<%s> r[%d];", r.key, r.each)
	e.line("merged<0>(a.from, first, uint(a.length), first + a.length, second, uint(chunk) * %d, r);", r.each)
	e.line("for (int e = 0; e < %d; e++) {", r.each)
	e.line("const %s j = chunk * %d + e;", e.index, r.each)
	e.line("if (j < a.wanted) {")
	r.store(e, s, "(row * a.pairs + pair) * a.wanted + j")
	e.close(5)
	groups, threads := grid(chunks, []int{s.to.count, r.rows}, r.limits)
	return e.finish("top_k_merge", describe(e.g), inGrid, groups, threads)
}
