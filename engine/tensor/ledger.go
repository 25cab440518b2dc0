package tensor

import (
	"context"
	"errors"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/events"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/plan"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// A Ledger remembers all tensors that are made within its context, so that a measurement can compute them
// before its clock stops. Tensors are lazy: code that makes a tensor and drops it, or stores it, has
// computed nothing yet. Its time would be that of building a graph.
//
//	l := tensor.NewLedger(ctx)
//	defer l.Close()
//	tensor.Within(l.Context(), work)
//	err := l.Settle()
//
// It holds the tensors until Settle, also those that the code has dropped. A goroutine that the code
// starts, and that has no context of its own, counts as part of the code if the code waits for its end.
type Ledger struct {
	ctx     context.Context
	record  *events.Record
	settled int
}

// NewLedger opens a ledger. Its context is made from ctx.
func NewLedger(ctx context.Context) *Ledger {
	l := new(Ledger)
	l.ctx, l.record = events.Open(ctx, events.Nodes)
	return l
}

// Context returns the context for the work: see [Within].
func (l *Ledger) Context() context.Context { return l.ctx }

// Close ends the ledger.
func (l *Ledger) Close() { l.record.Close() }

// Settle computes, all at once, the tensors that were made since the last Settle and have no value yet, and
// the results of the work, which may be older. It ends a run: later tensors belong to the next run. The
// tensors stay lazy for the code that holds them, and their memory is freed at once. If the error is not
// nil, some tensor could not be computed, and no time may be shown.
func (l *Ledger) Settle(results ...Tensor) error { return l.compute(plan.RunAndDiscard, results) }

// Eval is Settle for code that runs once: the tensors keep their values.
func (l *Ledger) Eval(results ...Tensor) error { return l.compute(plan.Run, results) }

func (l *Ledger) compute(compute func(context.Context, []*ir.Node) error, results []Tensor) error {
	defer l.record.Turn()
	nodes := l.record.Left()
	l.settled += len(nodes)
	for _, t := range reals(results...) {
		if n := t.node("eval"); n.Value() == nil && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	for ; len(nodes) > 0; nodes = l.record.Left() {
		for _, list := range ir.ByDevice(nodes) {
			if err := compute(l.within(), list); err != nil {
				return err
			}
		}
	}
	return nil
}

// Covers reports whether Settle computes these results without being given them.
func (l *Ledger) Covers(results ...Tensor) bool {
	left := l.record.Left()
	return !slices.ContainsFunc(reals(results...), func(t Tensor) bool {
		n := t.node("eval")
		return n.Value() == nil && !slices.Contains(left, n)
	})
}

// within returns the context of the calling goroutine if that is within the ledger's; else the ledger's.
func (l *Ledger) within() context.Context {
	if ctx := scope.Context(); l.record.Of(ctx) {
		return ctx
	}
	return l.ctx
}

// ErrCarried means that a run continues from tensors that the run before has left lazy. So each run would
// compute more than the last.
var ErrCarried = errors.New("a run starts from what the one before left without values")

// Inputs computes the tensors that the work of this run reads and that are older than the ledger, so that no
// run is charged for them: recordings within which the ledger stands do not count that either. Call it before
// Settle or Eval, outside of the clock. The error is ErrCarried if the work reads a tensor that an earlier
// run has left lazy.
func (l *Ledger) Inputs() error {
	nodes, carried := l.record.Inputs()
	for _, list := range ir.ByDevice(nodes) {
		if err := events.Apart(l.within(), func(ctx context.Context) error { return plan.Run(ctx, list) }); err != nil {
			return err
		}
	}
	if carried {
		return ErrCarried
	}
	return nil
}

// A Sum is the count of a ledger since it was opened.
type Sum struct {
	Made         int // tensors
	Settled      int // tensors that Settle had to compute
	Left         int // tensors that were not computed, because most of their work was done for other tensors
	Launches     int
	Bytes, Flops int64
	Merged       []Merged // equal work that was computed once
}

// A Merged is work that was made several times and computed once. Times counts the repetitions.
type Merged struct {
	Op    string // operation and result, "matmul f32[512 512]"
	Times int
}

// Launched returns the Launches, Bytes and Flops of [Ledger.Sum] without the rest, which takes longer.
func (l *Ledger) Launched() (launches int, bytes, flops int64) {
	a := l.record.Amount()
	return a.Launches, a.Bytes, a.Flops
}

// Sum returns the counts since the ledger was opened.
func (l *Ledger) Sum() Sum {
	c := l.record.Counts()
	s := Sum{Made: c.Made, Settled: l.settled, Left: c.Left}
	s.Launches, s.Bytes, s.Flops = l.Launched()
	merged := map[string]int{}
	for _, runs := range c.Runs {
		for _, m := range runs.Merged {
			i, ok := merged[m.Op]
			if !ok {
				i = len(s.Merged)
				merged[m.Op] = i
				s.Merged = append(s.Merged, Merged{Op: m.Op})
			}
			s.Merged[i].Times += runs.Count * m.Times
		}
	}
	return s
}
