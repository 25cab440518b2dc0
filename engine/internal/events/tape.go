package events

import (
	"slices"
	"time"
)

// mostTraced is how many launches and copies a record keeps one by one.
const mostTraced = 1 << 16

// A tape has the runs of plans and the copies that a record has traced, one after another. To keep a run must
// cost little beside a kernel of some microseconds. So a run is a few words in a block of memory, which is
// never copied and in which the collector has nothing to look for; what is the same in many runs is a number.
type tape struct {
	words   blocks[int64] // of each run: its head, then the times of its launches
	copies  blocks[Copy]
	kept    int           // launches and copies
	dropped int           // launches that were too many
	ended   time.Duration // what was added last
}

// The head of a run: which site it was at, whether its plan was reused, whether there are times; when it
// began, was planned, ended.
const (
	headSite = iota
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

// run adds a run at the site with a number.
func (t *tape) run(site int, run *Run) {
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
	words[headSite] = int64(site<<flagBits | flags)
	words[headBegan], words[headPlanned], words[headEnded] = int64(run.Began), int64(run.Planned), int64(run.Ended)
	for i, took := range run.Times {
		words[headWords+i] = int64(took)
	}
	t.ended = run.Ended
}

func (t *tape) copy(c Copy) {
	if t.kept == mostTraced {
		return
	}
	if c.Began == 0 {
		c.Began = t.ended
	}
	t.kept++
	t.copies.take(1)[0], t.ended = c, c.Began+c.Took
}

// read returns all that is on the tape. At has the sites by their numbers.
func (t *tape) read(at []*site) Traced {
	out := Traced{Copies: slices.Concat(t.copies...), Dropped: t.dropped}
	for _, words := range t.words {
		for len(words) > 0 {
			s, flags := at[words[headSite]>>flagBits], words[headSite]
			run := Run{Work: s.work, Reused: flags&reusedBit != 0, Stack: s.stack, Origins: s.origins,
				Began: time.Duration(words[headBegan]), Planned: time.Duration(words[headPlanned]), Ended: time.Duration(words[headEnded])}
			if words = words[headWords:]; flags&timedBit != 0 {
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
