package magics

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/machine"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session"
)

func runTime(ctx context.Context, c *call) (display.Value, error) {
	code := parsed(c.rest)
	err := c.settleInputs(code)
	if err != nil {
		return nil, err
	}
	o := oneRun{watch: bench.NewWatch(c.table.Clock)}
	before := c.state(code, code.Assigned())
	o.Recording = profile.Record(ctx, func(ctx context.Context) {
		l := tensor.NewLedger(ctx)
		defer l.Close()
		left := c.leaves()
		if err = c.runOnce(l, code, &o); err == nil {
			o.remarks = append(bench.Remarks(l, o.results...), left()...)
		}
		o.left = l.Sum().Left
	})
	o.Remarks = o.remarks
	o.putBack = before.restore()
	if err != nil {
		return nil, err
	}
	o.machine = o.watch.Machine()
	line := o.line(ctx)
	if o.value != nil {
		return timedValue{values{o.value, line}, o.value}, nil
	}
	return line, nil
}

// A timedValue is what %time shows of statements that have a value.
type timedValue struct {
	values
	value *session.Taken
}

// Kept is the value, for cells.
func (v timedValue) Kept() any { return v.value }

// oneRun is the measurement of %time.
type oneRun struct {
	*profile.Recording
	watch   *bench.Watch
	machine bench.Machine // as it was meanwhile
	wall    time.Duration
	value   *session.Taken // nil if the statements have no value
	results []tensor.Tensor
	remarks []string
	left    int // tensors that were not computed: see tensor.Sum
	putBack []string
}

// runOnce runs statements and computes the tensors that they make. Declared variables belong to the
// session. The value of a last expression is shown, or that of the variable that the last statement declares.
func (c *call) runOnce(l *tensor.Ledger, code *notation.Statements, o *oneRun) error {
	last := code
	if code.Declares() {
		var before *notation.Statements
		if before, last = trailingExpr(code); last == nil {
			before = code
		}
		var failed error
		err := c.s.Declare(l.Context(), before.Text, func(run func()) {
			failed = errors.Join(failed, o.time(func() error {
				run()
				return nil
			}))
			if last == nil && failed == nil { // a last expression computes them, within its time
				failed = o.eval(l)
			}
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		if last == nil {
			return c.takeDeclared(l.Context(), lastDeclared(code), o)
		}
	}
	w, err := c.compile(last)
	if err != nil {
		return err
	}
	return w.stmt.Within(l.Context(), func() error {
		var made any
		err := o.time(func() (err error) {
			made, err = w.stmt.Loop(1)
			return err
		})
		if err == nil {
			err = o.eval(l, tensorsIn(made)...)
		}
		o.value = w.stmt.Take()
		return err
	})
}

// takeDeclared makes the value of a variable the one that is shown. Without a name there is none.
func (c *call) takeDeclared(ctx context.Context, name string, o *oneRun) error {
	if name == "" {
		return nil
	}
	w, err := c.compile(parsed(name))
	if err != nil {
		return err
	}
	return w.stmt.Within(ctx, func() error {
		v, err := w.stmt.Loop(1)
		o.results, o.value = tensorsIn(v), w.stmt.Take()
		return err
	})
}

// eval adds the time of computing what a run has made and its results. What they read and was left undone
// before is computed outside of the time.
func (o *oneRun) eval(l *tensor.Ledger, results ...tensor.Tensor) error {
	o.results = results
	if err := l.Inputs(); err != nil {
		return err
	}
	return o.time(func() error { return l.Eval(results...) })
}

// time adds the time of a run; the run ends when the device has finished.
func (o *oneRun) time(run func() error) error {
	start := machine.Now()
	err := run()
	if err == nil {
		err = device.Sync()
	}
	o.wall += machine.Now() - start
	return err
}

// line is the time of the run, unless a check finds it impossible, and a summary of its work.
func (o *oneRun) line(ctx context.Context) display.Value {
	tally := bench.Tally{Launches: o.Launches, Flops: o.Flops(), Uncounted: o.Uncounted(), Bytes: o.Bytes(), Working: o.Working, Devices: o.Devices, DType: o.DType}
	took := units.Duration(o.wall)
	refused, err := bench.Believe(ctx, tally, o.wall.Seconds())
	if refused != "" {
		took = "no time: " + refused
	}
	lines := append([]string{took + " · " + o.Summary()}, o.Notes()...)
	if err != nil {
		lines = append(lines, "not held against the machine's ceilings, which could not be measured: "+err.Error())
	}
	if o.left > 0 {
		lines = append(lines, bench.LeftOut(o.left))
	}
	if len(o.putBack) > 0 {
		lines = append(lines, "put back: "+strings.Join(o.putBack, ", ")+"; := keeps what is made")
	}
	return display.Lines(strings.Join(append(lines, o.machine.Brief()), "\n"))
}
