package events

import (
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// mostTraced is how many launches and copies a record keeps one by one.
const mostTraced = 1 << 16

// A tape has the runs of plans and the copies that a record has traced, one after another. To keep a run must
// cost little beside a kernel of some microseconds. So a run is a few words in a block of memory, which is
// never copied and in which the collector has nothing to look for; what is the same in many runs is a number.
type tape struct {
	words   blocks[int64] // of each run: its head, then the times of its launches
	copies  blocks[Copy]
	stacks  numbering[string]
	origins lists[[]ir.Origin]
	kept    int // launches and copies
	dropped int // launches that were too many
}

// The head of a run: which plan it was, whether that was reused, whether there are times; the numbers of
// its stack and its origins; when it began, was planned, ended.
const (
	headPlan = iota
	headPlaces
	headBegan
	headPlanned
	headEnded
	headWords
)

const (
	reusedBit = 1 << iota
	timedBit
	flagBits = iota
)

// run adds a run of the plan with a place in Counts.Runs.
func (t *tape) run(plan int, run *Run) {
	n := len(run.Launches)
	if t.kept+n > mostTraced {
		t.dropped += n
		return
	}
	t.kept += n
	flags := 0
	if run.Reused {
		flags |= reusedBit
	}
	if run.Times != nil {
		flags |= timedBit
	}
	words := t.words.take(headWords + len(run.Times))
	words[headPlan] = int64(plan<<flagBits | flags)
	words[headPlaces] = int64(t.stacks.of(run.Stack))<<32 | int64(t.origins.of(run.Origins))
	words[headBegan], words[headPlanned], words[headEnded] = int64(run.Began), int64(run.Planned), int64(run.Ended)
	for i, took := range run.Times {
		words[headWords+i] = int64(took)
	}
}

func (t *tape) copy(c Copy) {
	if t.kept < mostTraced {
		t.kept++
		t.copies.take(1)[0] = c
	}
}

// read returns all that is on the tape. Plans has the plans by their places.
func (t *tape) read(plans []Runs) Traced {
	out := Traced{Copies: slices.Concat(t.copies...), Dropped: t.dropped}
	for _, words := range t.words {
		for len(words) > 0 {
			plan, places := words[headPlan], words[headPlaces]
			run := Run{Work: plans[plan>>flagBits].Work, Reused: plan&reusedBit != 0, Stack: t.stacks.keys[places>>32], Origins: t.origins.list[uint32(places)],
				Began: time.Duration(words[headBegan]), Planned: time.Duration(words[headPlanned]), Ended: time.Duration(words[headEnded])}
			if words = words[headWords:]; plan&timedBit != 0 {
				run.Times = make([]time.Duration, len(run.Launches))
				for i := range run.Times {
					run.Times[i] = time.Duration(words[i])
				}
				words = words[len(run.Times):]
			}
			out.Runs = append(out.Runs, run)
		}
	}
	return out
}

// blocks is a list that grows without being copied.
type blocks[T any] [][]T

const (
	leastBlock = 1 << 8
	mostBlock  = 1 << 13
)

// take returns the next n elements, which lie side by side.
func (b *blocks[T]) take(n int) []T {
	last := len(*b) - 1
	if last < 0 || cap((*b)[last])-len((*b)[last]) < n {
		size := leastBlock
		if last >= 0 {
			size = min(2*cap((*b)[last]), mostBlock)
		}
		*b = append(*b, make([]T, 0, max(size, n)))
		last++
	}
	block := &(*b)[last]
	from := len(*block)
	*block = (*block)[:from+n]
	return (*block)[from:]
}

// numbering numbers things that code uses again and again, mostly in the order of the first time: it looks
// for what came after the last thing before it asks the map.
type numbering[K comparable] struct {
	keys    []K
	next    []int // what came after each
	last    int
	numbers map[K]int
}

// of returns the number of key, from 0 on.
func (in *numbering[K]) of(key K) int {
	if in.last < len(in.keys) {
		if in.keys[in.last] == key {
			return in.last
		}
		if n := in.next[in.last]; in.keys[n] == key {
			in.last = n
			return n
		}
	}
	n, known := in.numbers[key]
	if !known {
		if n = len(in.keys); n == 0 {
			in.numbers = map[K]int{}
		}
		in.numbers[key], in.keys, in.next = n, append(in.keys, key), append(in.next, 0)
	}
	in.next[in.last], in.last = n, n
	return n
}

// lists numbers lists by the address of their first element: one that was read once is not changed.
type lists[T any] struct {
	firsts numbering[*T]
	list   [][]T
}

func (in *lists[T]) of(list []T) int {
	var first *T
	if len(list) > 0 {
		first = &list[0]
	}
	n := in.firsts.of(first)
	if n == len(in.list) {
		in.list = append(in.list, list)
	}
	return n
}
