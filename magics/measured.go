package magics

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/session"
)

// leaves is called before a run. What it returns is a note on the goroutines that the run has started and not
// waited for.
func (c *call) leaves() (after func() []string) {
	running := c.s.Started()
	return func() []string {
		if n := running(); n > 0 {
			return []string{"not in the time: what " + units.Plural(int64(n), "goroutine") + " will do that this code has started and not waited for"}
		}
		return nil
	}
}

// once runs the work and computes all lazy tensors that it made; they keep their values. What they read and
// was left undone before is computed apart. Afterwards w.restore puts back the variables that the run
// changed, because the next run has to start from the same state.
func (w *work) once(ctx context.Context) (remarks []string, err error) {
	l := tensor.NewLedger(ctx)
	defer l.Close()
	var results []tensor.Tensor
	left := w.look()
	err = w.stmt.Within(l.Context(), func() error {
		v, err := w.stmt.Loop(1)
		if err == nil {
			err = l.Inputs()
		}
		if err != nil {
			return err
		}
		results = tensorsIn(v)
		return l.Eval(results...)
	})
	if err == nil {
		remarks = append(bench.Remarks(l, results...), left()...)
	}
	w.restore()
	return remarks, err
}

// record runs the work once and records its launches; how is profile.Record or profile.RecordTraced.
func (w *work) record(ctx context.Context, how func(context.Context, func(context.Context)) *profile.Recording) (r *profile.Recording, err error) {
	var remarks []string
	r = how(ctx, func(ctx context.Context) { remarks, err = w.once(ctx) })
	r.Remarks = remarks
	return r, err
}

// bench returns the work in the form that package bench times. Its results are the tensors that it makes.
// Output is shown in the first run only.
func (c *call) bench(ctx context.Context, name string, w *work, mute *session.Mute) (bench.Work, error) {
	each, err := c.s.CompileEach(w.code.Text)
	if err != nil {
		return bench.Work{}, err
	}
	empty, err := c.emptied(ctx, w)
	if err != nil {
		return bench.Work{}, err
	}
	around, err := c.setup(ctx)
	if err != nil {
		return bench.Work{}, err
	}
	before := c.state(w.code, c.s.Assigned(w.code))
	c.remember()
	inspected := false
	var made any
	return bench.Work{
		Name: name, Within: w.stmt.Within, Single: around != nil, Floor: empty.run,
		Around: func(sample func() error) error {
			if around != nil {
				run := sample
				sample = func() error { return around(run) }
			}
			if !inspected { // the first run may print
				inspected = true
				return sample()
			}
			return mute.While(sample)
		},
		Run: func(n int) (err error) {
			made, err = w.stmt.Loop(n)
			return err
		},
		Each: func(n int, ran func() error) error {
			empty.asks = true
			return each.Each(n, func(v any) error {
				made = v
				return ran()
			})
		},
		Look:    c.leaves,
		Results: func() []any { return resultsIn(made) },
		Restore: func() bool { return len(before.restore()) > 0 },
		Advice:  "-setup gives each the same start",
	}, nil
}

// An emptied is a work with its calls removed. Its time is the time of the interpreter alone.
type emptied struct {
	loop, each *session.Stmt
	asks       bool // the work is timed run by run, with code after each run
}

func (c *call) emptied(ctx context.Context, w *work) (*emptied, error) {
	text := c.floor(w.code)
	loop, err := c.s.Compile(text)
	if err == nil && text != cheapest {
		before := c.state(w.code, c.s.Assigned(w.code))
		_, err = loop.Run(ctx, 1)
		before.restore()
	}
	if err != nil { // a type of the session that has another name here, or a failure because functions did nothing
		text = cheapest
		if loop, err = c.s.Compile(text); err != nil {
			return nil, err
		}
	}
	each, err := c.s.CompileEach(text)
	return &emptied{loop: loop, each: each}, err
}

// run runs the empty statements n times, in the same way as the work.
func (e *emptied) run(n int) error {
	if e.asks {
		return e.each.Each(n, func(any) error { return nil })
	}
	_, err := e.loop.Loop(n)
	return err
}

// setup returns a function that runs the statement of -setup before each sample; nil without -setup.
func (c *call) setup(ctx context.Context) (around func(sample func() error) error, err error) {
	if c.before == nil {
		return nil, nil
	}
	w, err := c.compile(c.before)
	if err != nil {
		return nil, err
	}
	return func(sample func() error) error {
		if _, err := w.once(ctx); err != nil {
			return fmt.Errorf("-setup: %w", err)
		}
		return sample()
	}, nil
}

// dropped is a note that says how many lines timed runs printed.
func dropped(m *session.Mute) []string {
	if m.Lines() == 0 {
		return nil
	}
	return []string{"dropped " + units.Plural(int64(m.Lines()), "line") + " that later runs printed"}
}

// remember is called before the first run, for goesOn.
func (c *call) remember() {
	if c.changes == nil {
		c.changes = c.s.Changes()
	}
}

// goesOn says which variables runs have found as the runs before them had left them.
func (c *call) goesOn() (notes []string) {
	way := ""
	if c.magic.flag("setup") != nil {
		if c.text("setup") != "" { // the person has seen to it
			return nil
		}
		way = "; -setup gives each the same start"
	}
	if c.changes == nil {
		return nil
	}
	changed, complete := c.changes()
	if n := len(changed); n > 0 {
		notes = append(notes, "each run went on from where the one before it had ended: not put back is what they changed in "+strings.Join(changed[:min(n, 5)], ", ")+way)
	}
	if !complete {
		notes = append(notes, "whether each run started from the same state is not known: the session's variables lead to too much to look at"+way)
	}
	return notes
}
