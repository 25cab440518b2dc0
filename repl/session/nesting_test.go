package session

import (
	"context"
	"errors"
	"go/ast"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/display"
)

// commandFunc is a Commands that is one function.
type commandFunc func(ctx context.Context, s *Session, line string) (display.Value, error)

func (f commandFunc) Run(ctx context.Context, s *Session, line string) (display.Value, error) {
	return f(ctx, s, line)
}

// A command runs cells inside of its own; any other caller waits until the cell has ended.
func TestCellsOfSeveralCallers(t *testing.T) {
	begun, others := make(chan bool), make(chan Result, 2)
	nest := func(ctx context.Context, s *Session, line string) (display.Value, error) {
		close(begun)
		time.Sleep(50 * time.Millisecond) // for the others
		r := s.Run(ctx, "n = 2")
		return nil, r.Err
	}
	s, out := newSession(t, Options{Commands: commandFunc(nest)})
	run(t, s, "n := 1")
	go func() {
		<-begun
		for range 2 {
			go func() { others <- s.Run(context.Background(), "n *= 10") }()
		}
	}()
	if got := transcript(s, out, "%nest\nn++\nn"); got != "3\n" {
		t.Errorf("the nested cell and the rest of its own give %q, want 3", got)
	}
	for range 2 {
		if r := <-others; r.Err != nil {
			t.Error(r.Err)
		}
	}
	if got := run(t, s, "n"); got != "300" {
		t.Errorf("afterwards n is %s, want 300", got)
	}
}

// A check that does not end, which would be a fault of this package, does not take the session with it.
func TestCheckIsInterrupted(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "kept := 41")
	var hangs atomic.Bool
	hangs.Store(true)
	s.compiler.Trace = func(*ast.File) {
		if hangs.Load() {
			select {}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r := s.Run(ctx, "x := 1"); !errors.Is(r.Err, ErrInterrupted) || !strings.Contains(r.Err.Error(), "does not end") {
		t.Errorf("got %v, want that the check does not end", r.Err)
	}
	hangs.Store(false)
	if got := run(t, s, "kept + 1"); got != "42" {
		t.Errorf("afterwards kept + 1 is %s", got)
	}
}

// The work that a cell has started continues when the cell and its context have ended: its own code, the
// ctx that it was given, and its work in the engine. An interrupt while the cell runs stops it.
func TestGoroutinesOutliveTheirCell(t *testing.T) {
	s, _ := newSession(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	const start = `steps, cancelled := 0, false
go func() { <-ctx.Done(); cancelled = true }()
go func() { x := tensor.Ones(64, 64); for { x = x.MatMul(x).Tanh().Eval(); steps++; time.Sleep(time.Millisecond) } }()`
	if r := s.Run(ctx, start); r.Err != nil {
		t.Fatal(r.Err)
	}
	cancel() // as a front end does when a cell has ended
	const goesOn = `before := steps
for range 200 { // a busy machine makes no step for a while
	if time.Sleep(100 * time.Millisecond); steps > before {
		break
	}
}
steps > before, cancelled`
	if got := run(t, s, goesOn); got != "true, false" {
		t.Errorf("after the end of the cell: %s, want true, false", got)
	}
	other, interrupt := context.WithCancel(t.Context())
	go cancelRunning(s, other, interrupt, 20*time.Millisecond)
	if r := s.Run(other, "for {}"); !errors.Is(r.Err, ErrInterrupted) {
		t.Fatal(r.Err)
	}
	if got := run(t, s, goesOn); got != "true, false" {
		t.Errorf("after another cell was interrupted: %s, want true, false", got)
	}
}
