package magics

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// once runs the work and computes all that it made, which keeps its values. Timed is called for the run
// alone, without what it takes to enter the session and to leave it.
func (w *work) once(ctx context.Context, timed func(run func() error) error) (v any, err error) {
	l := tensor.NewLedger(ctx)
	defer l.Close()
	err = w.stmt.Within(l.Context(), func() error {
		return timed(func() error {
			if v, err = w.loop(1); err != nil {
				return err
			}
			return l.Eval(tensorsIn(v)...)
		})
	})
	return v, err
}

// record runs the work once and records what it launches.
func (w *work) record(ctx context.Context, how func(context.Context, func(context.Context)) *profile.Recording) (r *profile.Recording, err error) {
	r = how(ctx, func(ctx context.Context) {
		_, err = w.once(ctx, func(run func() error) error { return run() })
	})
	return r, err
}

// loop runs the statements n times and returns what the last time has made. The last of several results may
// be an error.
func (w *work) loop(n int) (any, error) {
	made, err := w.stmt.Loop(n)
	if err != nil {
		return nil, err
	}
	if list, ok := made.(results); ok && len(list) > 0 {
		if err, ok := list[len(list)-1].(error); ok {
			return nil, err
		}
	}
	return made, nil
}

// results are the values of work that has several.
type results = []any

// measured is work that runs often. All that a run makes is computed in it, before its clock stops, and
// thrown away: the tensors that others hold stay as lazy as they were.
type measured struct {
	*work
	floor  *work
	ledger *tensor.Ledger
	lazy   bool // runs leave something to compute: it is computed for each run by itself
	extra  bool // results are to be computed that the runs do not make
	runs   int  // that were inspected
	tally  bench.Tally
}

// measured prepares work to run often. It is closed by the ledger.
func (c *call) measured(ctx context.Context, w *work) (*measured, error) {
	stmt, err := c.s.Compile(w.floor)
	if err != nil {
		return nil, err
	}
	return &measured{work: w, floor: &work{source: w.floor, stmt: stmt}, ledger: tensor.NewLedger(ctx)}, nil
}

// bench is the work as package bench times it.
func (m *measured) bench(name string) bench.Work {
	return bench.Work{Name: name, Run: m.run, Around: m.around, Floor: m.runFloor, Inspect: m.inspect}
}

// around enters the session for a sample.
func (m *measured) around(sample func() error) error {
	return m.stmt.Within(m.ledger.Context(), sample)
}

// run is what is timed.
func (m *measured) run(n int) error {
	if !m.lazy {
		if _, err := m.loop(n); err != nil {
			return err
		}
		return m.ledger.Settle()
	}
	for range n {
		made, err := m.loop(1)
		if err == nil {
			err = m.settle(made)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runFloor makes the calls of run around a statement that does nothing.
func (m *measured) runFloor(n int) error {
	if !m.lazy {
		if _, err := m.floor.loop(n); err != nil {
			return err
		}
		return m.ledger.Settle()
	}
	for range n {
		if _, err := m.floor.loop(1); err != nil {
			return err
		}
		if err := m.ledger.Settle(); err != nil {
			return err
		}
	}
	return nil
}

func (m *measured) settle(made any) error {
	if m.extra {
		return m.ledger.Settle(tensorsIn(made)...)
	}
	return m.ledger.Settle()
}

// inspect runs the work once, outside of the clock, and says what that did.
func (m *measured) inspect() (bench.Tally, error) {
	var made any
	var err, carried error
	var before, after runtime.MemStats
	begun := m.ledger.Sum()
	r := profile.Record(m.ledger.Context(), func(ctx context.Context) {
		err = m.stmt.Within(ctx, func() (err error) {
			runtime.ReadMemStats(&before)
			made, err = m.loop(1)
			if err != nil {
				return err
			}
			if carried = m.ledger.Inputs(); carried != nil && !errors.Is(carried, tensor.ErrCarried) {
				return carried
			}
			m.extra = m.extra || !m.ledger.Covers(tensorsIn(made)...)
			err = m.settle(made)
			runtime.ReadMemStats(&after)
			return err
		})
	})
	if err != nil {
		return bench.Tally{}, err
	}
	all := m.ledger.Sum()
	m.lazy = m.lazy || m.extra || all.Settled > begun.Settled
	t := bench.Tally{
		Launches: r.Launches, Flops: r.Flops(), Bytes: r.Bytes(), Made: all.Made - begun.Made,
		Allocs: float64(after.Mallocs - before.Mallocs), Heap: float64(after.TotalAlloc - before.TotalAlloc),
	}
	for _, each := range r.Merged {
		t.Merged += each.Times
	}
	m.runs++
	if m.runs > 2 && (t.Launches > m.tally.Launches || t.Flops > m.tally.Flops) {
		carried = fmt.Errorf("its work grows: a run launched %d kernels at first, and %d later", m.tally.Launches, t.Launches)
	}
	if carried != nil {
		t.Refused = carried.Error() + "; -setup STATEMENT can give each run the same start"
	}
	m.tally = t
	return t, nil
}
