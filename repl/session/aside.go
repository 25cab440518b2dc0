package session

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// RunAside runs Go that is none of the person's cells, such as the check of an exercise, with the names that
// the cells have declared. It has no number and no place in the history, what it prints and shows is dropped,
// its input is empty, and the names that it declares are forgotten. Its error is that of Run, with places in
// cells only: no line of src is quoted, except by a *CheckError.
func (s *Session) RunAside(ctx context.Context, src string) (err error) {
	s.busy.Lock()
	defer s.busy.Unlock()
	n := -1 - s.places.linesBefore(src)
	s.past.cells = append(s.past.cells, Cell{N: n, Source: src})
	imports, newest := maps.Clone(s.compiler.World.Imports), s.past.lastPanic
	defer func() {
		s.past.cells = s.past.cells[:len(s.past.cells)-1]
		s.past.lastPanic = newest
	}()
	ctx, mute := s.Mute(ctx)
	own, leave := s.runner.Enter(ctx)
	defer leave()
	defer s.guardSleep(ctx)()
	s.drawings.begin()
	defer s.drawings.end()
	_ = mute.While(func() error { err = s.runCell(own, &Result{N: n}, src); return err })
	for name, e := range s.compiler.World.Names {
		if e.Cell == n {
			_ = s.Delete(name) // it is declared
		}
	}
	s.compiler.World.Imports = imports
	return placed(err, n)
}

// placed is an error without the places of a cell.
func placed(err error, n int) error {
	var failed *FailedError
	var panicked *PanicError
	switch {
	case errors.As(err, &failed) && failed.Diag.Cell == n:
		return failed.Err
	case errors.As(err, &panicked):
		e := *panicked
		e.Frames = slices.DeleteFunc(slices.Clone(e.Frames), func(f Frame) bool { return f.Cell == n })
		if e.Diag != nil && e.Diag.Cell == n {
			e.Diag = nil
		}
		return &e
	}
	return err
}
