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

// A Ledger has all that is made within its context, so that a measurement can compute it before its clock
// stops. Tensors are lazy: code that makes a tensor and drops it, or puts it where nobody looks, has computed
// nothing, and its time would be that of building a graph.
//
//	l := tensor.NewLedger(ctx)
//	defer l.Close()
//	tensor.Within(l.Context(), work)
//	err := l.Settle()
//
// It holds what was made until Settle, also what the code has dropped. A goroutine that is started by the
// code and has no context of its own counts as part of it, once the code has waited for that.
type Ledger struct {
	ctx     context.Context
	record  *events.Record
	settled int
}

// NewLedger opens a ledger for what is done within its context, which is made from ctx.
func NewLedger(ctx context.Context) *Ledger {
	l := new(Ledger)
	l.ctx, l.record = events.Open(ctx, events.Nodes)
	return l
}

// Context is what the work has to be done within: see [Within].
func (l *Ledger) Context() context.Context { return l.ctx }

// Close ends the ledger.
func (l *Ledger) Close() { l.record.Close() }

// Settle computes what was made since the last Settle and is not computed yet, all together and with the
// results of the work, which may have been made earlier. That ends a run: what is made from now on belongs to
// the next. The tensors stay as lazy as they were, for those that hold them, and memory is given back at
// once. What cannot be computed is an error: no time may be shown then.
func (l *Ledger) Settle(results ...Tensor) error { return l.settle(plan.Spend, results) }

// Eval is Settle for code that runs once: the tensors keep their values.
func (l *Ledger) Eval(results ...Tensor) error { return l.settle(plan.Run, results) }

func (l *Ledger) settle(compute func(context.Context, []*ir.Node) error, results []Tensor) error {
	defer l.record.Turn()
	nodes := l.record.Left()
	l.settled += len(nodes)
	for _, t := range results {
		if n := t.node("eval"); n.Value() == nil && !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	for ; len(nodes) > 0; nodes = l.record.Left() {
		for _, list := range onDevices(nodes) {
			if err := compute(l.within(), list); err != nil {
				return err
			}
		}
	}
	return nil
}

// Covers says whether Settle computes these results of the work anyway: then it need not be given them.
func (l *Ledger) Covers(results ...Tensor) bool {
	left := l.record.Left()
	return !slices.ContainsFunc(results, func(t Tensor) bool {
		n := t.node("eval")
		return n.Value() == nil && !slices.Contains(left, n)
	})
}

// within is the context of the calling goroutine, if that is within the ledger's.
func (l *Ledger) within() context.Context {
	if ctx := scope.Context(); l.record.Of(ctx) {
		return ctx
	}
	return l.ctx
}

// onDevices sorts nodes by their devices.
func onDevices(nodes []*ir.Node) (lists [][]*ir.Node) {
	place := map[ir.Device]int{}
	for _, n := range nodes {
		i, ok := place[n.Dev]
		if !ok {
			i = len(lists)
			place[n.Dev] = i
			lists = append(lists, nil)
		}
		lists[i] = append(lists[i], n)
	}
	return lists
}

// ErrCarried says that runs go on from what those before them have made: each computes more than the last.
var ErrCarried = errors.New("a run starts from what the one before left without values")

// Inputs computes what the work of this run reads and was made before the ledger was opened, so that no run
// is charged for it. It is called between two runs of which neither is measured, before Settle. ErrCarried is
// the error if the work reads what an earlier run has left without values.
func (l *Ledger) Inputs() error {
	nodes, carried := l.record.Inputs()
	for _, list := range onDevices(nodes) {
		if err := plan.Run(l.within(), list); err != nil {
			return err
		}
	}
	if carried {
		return ErrCarried
	}
	return nil
}

// A Sum is what a ledger has counted since it was opened.
type Sum struct {
	Made         int // tensors
	Settled      int // of those, what Settle had to compute
	Left         int // and how many were not computed, because most of what they take was, for others
	Launches     int
	Bytes, Flops int64
	Merged       []Merged // equal work that was done once
}

// Merged is work that was made several times and computed once: Times is how often beyond that.
type Merged struct {
	Op    string // with its result, "matmul f32[512 512]"
	Times int
}

// Sum returns what was counted since the ledger was opened.
func (l *Ledger) Sum() Sum {
	c := l.record.Counts()
	s := Sum{Made: c.Made, Settled: l.settled, Left: c.Left}
	merged := map[string]int{}
	for _, runs := range c.Runs {
		s.Launches += runs.Count * runs.Work.Count()
		for _, launch := range runs.Launches {
			s.Bytes += int64(runs.Count) * launch.Bytes
			s.Flops += int64(runs.Count) * launch.Flops
		}
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
