package magics

import (
	"context"
	"fmt"

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

// bench is the work as package bench times it. The tensors and numbers that it comes to are its results.
func (c *call) bench(ctx context.Context, name string, w *work) (bench.Work, error) {
	stmt, err := c.s.Compile(w.floor)
	if err != nil {
		return bench.Work{}, err
	}
	around, err := c.setup(ctx)
	if err != nil {
		return bench.Work{}, err
	}
	before := c.state(w.source, c.s.Assigned(w.source))
	var made any
	run := func(n int) (err error) {
		made, err = w.loop(n)
		return err
	}
	return bench.Work{
		Single: around != nil, Name: name, Run: run, Within: w.stmt.Within, Around: around,
		Advice:  "-setup gives each the same start",
		Restore: func() bool { return len(before.restore()) > 0 },
		Floor: func(n int) error {
			_, err := stmt.Loop(n)
			return err
		},
		Results: func() (list []any) {
			for _, t := range tensorsIn(made) {
				list = append(list, t)
			}
			return list
		},
	}, nil
}

// setup returns a function that runs what -setup says before a sample; nil without -setup.
func (c *call) setup(ctx context.Context) (around func(sample func() error) error, err error) {
	source := c.text("setup")
	if source == "" {
		return nil, nil
	}
	w, err := c.compile(source)
	if err != nil {
		return nil, err
	}
	return func(sample func() error) error {
		if _, err := w.once(ctx, func(run func() error) error { return run() }); err != nil {
			return fmt.Errorf("-setup: %w", err)
		}
		return sample()
	}, nil
}
