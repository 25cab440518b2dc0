package plan

import (
	"cmp"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// placement says where each value that has memory lies.
type placement struct {
	at       map[int]source
	last     map[int]int // the last launch that reads a value, if any does
	blocks   []int
	arena    int
	slots    []slot      // of the arena
	over     map[int]int // see ordering
	launches int
	taken    []reuse // of each block
	// atOnce is the first of the launches that must all be made or none: the first that changes leaves. See
	// run.
	atOnce int

	tuple int // the step of an optimizer of which moved is known
	moved int64
	of    *value // whose arguments are counted
	count map[int]int
}

// alignment of values in the arena, in bytes: a cache line, and a 512-bit vector.
const alignment = 64

// A slot is a value's stay in the arena: from the launch that writes it to the last that reads it. The
// scratch memory of launch i is value -1-i.
type slot struct {
	value, bytes, first, last, offset int
}

// allocate gives outputs memory of their own, and everything else a slot in the arena such that no two values
// overlap in time and place: the largest first, each into the smallest gap that fits.
func (o *ordering) allocate() *placement {
	m := &placement{at: map[int]source{}, last: map[int]int{}, atOnce: len(o.order), tuple: -1}
	for i, uses := range o.uses {
		for _, u := range uses {
			m.last[u.base] = i
		}
	}
	stays := map[int]int{} // the last launch that uses a value's memory
	for v, i := range m.last {
		stays[o.home(v)] = max(stays[o.home(v)], i)
	}
	var slots []slot
	for i := range o.order {
		for _, v := range o.exports[i] {
			if o.wanted[v] {
				m.own(v, o.values[v].bytes())
				if t, ok := m.reuses(o, v, i); ok {
					m.taken[len(m.taken)-1] = t
					if t.whole {
						m.atOnce = min(m.atOnce, i)
					}
				}
				continue
			}
			if o.home(v) == v {
				slots = append(slots, slot{value: v, bytes: o.bytes(v), first: i, last: max(i, stays[v])})
			}
		}
	}
	for v := range o.wanted { // outputs without elements
		if o.wanted[v] && o.values[v].kind == empty {
			m.own(v, 0)
		}
	}
	m.slots, m.over, m.launches = slots, o.over, len(o.order)
	m.pack(o.watch, slots)
	return m
}

// makeRoom gives the kernels that need scratch memory slots of the arena, for the time of their launch, and
// returns where each launch's lies.
func (m *placement) makeRoom(watch *watch, kernels []*compiled) []int {
	at := make([]int, len(kernels))
	slots := slices.Clone(m.slots)
	for i, k := range kernels {
		if n := k.Scratch(); n > 0 {
			slots = append(slots, slot{value: -1 - i, bytes: (n + alignment - 1) &^ (alignment - 1), first: i, last: i})
		}
	}
	if len(slots) == len(m.slots) {
		return at
	}
	m.arena = 0
	m.pack(watch, slots)
	for i := range at {
		at[i] = m.at[-1-i].index
	}
	return at
}

func (m *placement) own(v, bytes int) {
	m.at[v] = source{fromBlock, len(m.blocks)}
	m.blocks, m.taken = append(m.blocks, bytes), append(m.taken, reuse{leaf: -1})
}

// pack gives each slot its offset.
func (m *placement) pack(watch *watch, slots []slot) {
	slices.SortStableFunc(slots, func(a, b slot) int { return cmp.Compare(b.bytes, a.bytes) })
	t := newTimeline(m.launches, slots)
	for i := range slots {
		s := &slots[i]
		near, top := t.during(s.first, s.last)
		watch.step(1 + len(near))
		gap, best := 0, -1 // where the current gap begins; the best offset so far
		bestSize := 0
		for _, p := range near {
			if size := p.offset - gap; size >= s.bytes && (best < 0 || size < bestSize) {
				best, bestSize = gap, size
			}
			gap = max(gap, p.offset+p.bytes)
		}
		if best < 0 {
			best = top
		}
		s.offset = best
		m.arena = max(m.arena, s.offset+s.bytes)
		m.at[s.value] = source{fromArena, s.offset}
		t.add(i)
	}
	for v, b := range m.over {
		m.at[v] = m.at[b]
	}
}

// source returns where base b lies. A value without elements lies anywhere.
func (m *placement) source(g *graph, b int) source {
	if g.values[b].kind == leaf {
		return source{fromLeaf, g.values[b].index}
	}
	if s, ok := m.at[b]; ok {
		return s
	}
	if ir.Size(g.values[b].shape) == 0 {
		m.arena = max(m.arena, alignment)
		return source{fromArena, 0}
	}
	panic("plan: a value that is read was never written")
}
