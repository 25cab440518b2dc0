package session

import (
	"context"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/supervise"
)

// wakers are the functions and packages that can cause an event while all goroutines wait.
var wakers = []string{"time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "time.Tick", "context.WithTimeout",
	"context.WithTimeoutCause", "context.WithDeadline", "context.WithDeadlineCause", "net.", "net/http.", "os/exec.", "testing."}

// mayWake says whether the code of a unit uses one of the wakers, or one more.
func mayWake(u *compile.Unit, more ...string) bool {
	return u.Mentions(func(f *types.Func) bool {
		if f.Pkg() == nil {
			return false
		}
		name := f.Pkg().Path() + "." + f.Name()
		is := func(w string) bool { return name == w || strings.HasSuffix(w, ".") && strings.HasPrefix(name, w) }
		return slices.ContainsFunc(wakers, is) || slices.ContainsFunc(more, is)
	})
}

// A sleepGuard stops the cells of a script whose goroutines all wait for each other.
type sleepGuard struct {
	before map[uint64]bool // the goroutines that existed before the first cell
	wakes  bool            // code of a cell can be woken from outside: nobody is stopped any more
	end    context.CancelFunc
}

// guardSleep looks after the cell that begins, until end is called.
func (s *Session) guardSleep(ctx context.Context) (end func()) {
	g := &s.asleep
	if !s.opts.Script || g.wakes || s.runner.Running(ctx) {
		return func() {}
	}
	if g.before == nil {
		g.before = supervise.Goroutines()
	}
	ctx, g.end = context.WithCancel(ctx)
	go s.runner.EndAsleep(ctx, g.before)
	return g.end
}

// sleeps notes that a unit begins to run. The person ends the context of a cell.
func (s *Session) sleeps(u *compile.Unit) {
	if g := &s.asleep; s.opts.Script && !g.wakes && mayWake(u, "context.Done") {
		g.wakes = true
		g.end()
	}
}
