package cpu

import (
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// attention computes o = softmax(scale·q·kᵀ + mask)·v, and the logarithm of the sum that each softmax divides
// by. A query that may see no key gives 0.
type attention struct {
	heads
	out, lse *backend.Output // nil if it is not wanted
	few      bool            // few queries: keys and values are read as they lie
	group    int             // few: so many query heads of one key head may stand in one task, whose rows read each key once
	kernel   *micro.Kernel
	scratch  int // elements of a worker's memory
}

func newAttention(c *standalone, h heads) func(*launch) {
	a := &attention{heads: h, out: c.output(0), lse: c.output(1), kernel: gemm.Kernel(queryBlock)}
	a.few = h.tq <= gemm.Few && h.k.stride[3] == 1 && h.v.stride[3] == 1
	if a.few {
		a.group = 1
		if h.tq > 0 && h.hk > 0 {
			a.group = divisorBelow(h.hq/h.hk, gemm.Few/h.tq)
		}
		a.scratch = a.fewScratch()
	} else {
		a.scratch = a.blockScratch()
	}
	return a.run
}

// divisorBelow is the largest divisor of n that is at most limit, or 1.
func divisorBelow(n, limit int) int {
	for d := min(n, limit); d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}

func roundUp16(n int) int { return (n + 15) &^ 15 }

// keyHeadOverBatch numbers the head of keys over the batch that a head of queries, numbered so, looks at.
func (a *attention) keyHeadOverBatch(head int) int { return head/a.hq*a.hk + a.keyHead(head%a.hq) }

func (a *attention) run(l *launch) {
	blocks := (a.tq + queryBlock - 1) / queryBlock
	heads := a.b * a.hq
	if heads*blocks == 0 {
		return
	}
	if a.few {
		a.runFew(l, heads)
		return
	}
	packed := a.pack(l)
	memory := l.scratch.floats(l.pool.Threads() * a.scratch)
	l.pool.For(heads*blocks, func(worker, chunk int) {
		t := blockTask{attention: a, l: l, worker: worker, packed: packed, head: chunk % heads}
		// The last queries see the most keys with a causal mask: they come first.
		t.first = (blocks - 1 - chunk/heads) * queryBlock
		t.queries = min(queryBlock, a.tq-t.first)
		t.divide(memory[worker*a.scratch:])
		t.run()
	})
}
