package runner

import (
	"testing"

	"github.com/mcs-notebook/mcs/repl/session"
)

// A person who reads that a cell runs may interrupt before the session has it: the cell does not run.
func TestInterruptBeforeTheCell(t *testing.T) {
	r, err := New(Options{Open: func(o session.Options) (Session, error) { return session.New(o) }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, end := r.Begin(t.Context())
	r.Interrupt()
	if o := r.Run(ctx, Cell{Code: "x := 1\nfor {}"}); o.Failure == nil || o.Failure.Name != "interrupted" {
		t.Errorf("a cell that was interrupted before it began: got %+v, want an interruption", o.Failure)
	}
	end()
	if o := r.Run(t.Context(), Cell{Code: "1 + 1"}); o.Failure != nil || o.Text != "2" {
		t.Errorf("the next cell: got %q, %+v, want 2", o.Text, o.Failure)
	}
}
