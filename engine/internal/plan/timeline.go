package plan

import (
	"cmp"
	"slices"
)

// A timeline finds slots by the time of their stay: a tree over the launches, in which a slot stands at the
// largest spans that lie within its stay.
type timeline struct {
	slots []slot
	size  int       // of the span of the root, a power of two
	at    [][]int32 // the slots that stand at a span; span i is made of 2i and 2i+1
	own   []int     // where the highest of them ends
	high  []int     // where the highest slot within a span ends
	found marks
	near  []slot
}

// mostNear is how many slots of one time are looked at for a gap between them.
const mostNear = 1 << 9

func newTimeline(launches int, slots []slot) *timeline {
	size := 1
	for size < launches {
		size *= 2
	}
	return &timeline{
		slots: slots, size: size, found: newMarks(len(slots)),
		at: make([][]int32, 2*size), own: make([]int, 2*size), high: make([]int, 2*size),
	}
}

// add enters slot i, which has its offset.
func (t *timeline) add(i int) {
	s := &t.slots[i]
	end := s.offset + s.bytes
	var enter func(span, lo, hi int)
	enter = func(span, lo, hi int) {
		if hi <= s.first || lo > s.last {
			return
		}
		t.high[span] = max(t.high[span], end)
		if s.first <= lo && hi <= s.last+1 {
			t.at[span], t.own[span] = append(t.at[span], int32(i)), max(t.own[span], end)
			return
		}
		enter(2*span, lo, (lo+hi)/2)
		enter(2*span+1, (lo+hi)/2, hi)
	}
	enter(1, 0, t.size)
}

// during returns the slots that stay at some time from first to last, by their offset, and where the highest
// ends. If there are very many it returns no slots: to compare each with each other would take too long.
func (t *timeline) during(first, last int) (near []slot, top int) {
	t.found.clear()
	t.near = t.near[:0]
	var visit func(span, lo, hi int)
	visit = func(span, lo, hi int) {
		if hi <= first || lo > last || t.high[span] == 0 || len(t.near) > mostNear {
			return
		}
		for _, i := range t.at[span] {
			if t.found.add(int(i)) {
				if t.near = append(t.near, t.slots[i]); len(t.near) > mostNear {
					return
				}
			}
		}
		if hi-lo > 1 {
			visit(2*span, lo, (lo+hi)/2)
			visit(2*span+1, (lo+hi)/2, hi)
		}
	}
	visit(1, 0, t.size)
	if len(t.near) > mostNear {
		t.near = t.near[:0]
	}
	slices.SortFunc(t.near, func(a, b slot) int { return cmp.Compare(a.offset, b.offset) })
	return t.near, t.top(1, 0, t.size, first, last)
}

// top is where the highest slot ends that stays at some time from first to last.
func (t *timeline) top(span, lo, hi, first, last int) int {
	switch {
	case hi <= first || lo > last:
		return 0
	case first <= lo && hi <= last+1:
		return t.high[span]
	}
	mid := (lo + hi) / 2
	return max(t.own[span], t.top(2*span, lo, mid, first, last), t.top(2*span+1, mid, hi, first, last))
}
