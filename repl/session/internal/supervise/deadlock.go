package supervise

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A program, or a cell of a script, whose goroutines all wait for each other ends as Go's runtime would end
// it. The runtime itself never sees this, because the session's own goroutines are never all asleep. So from
// time to time the session reads the states of the program's goroutines from their stacks. In doubt there is
// no deadlock: if compiled code has started goroutines, or if the program uses something that wakes
// goroutines from outside, like timers and connections.

// deadlockEvery is the time between two looks; two must find all asleep. Where a look takes long, they are
// rarer.
const deadlockEvery = 50 * time.Millisecond

// harmless are what starts goroutines that wake none of the program's by themselves: the session, the
// interpreter, and the engine's pool, which works only while a call of the engine waits for it.
var harmless = []string{"github.com/mcs-notebook/mcs/repl/session", "github.com/traefik/yaegi/", "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool."}

// Deadlock waits until all goroutines of the program wait for each other. State is the reason why the
// first one waits, or "" if ctx was cancelled before. Before has the goroutines that existed before the
// program began, because a later look could include the program's own.
func (rn *Runner) Deadlock(ctx context.Context, before map[uint64]bool) (state string) {
	wait, idle := deadlockEvery, 0
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-time.After(wait):
		}
		start := time.Now()
		state, ok := rn.asleep(before)
		if idle++; !ok {
			idle = 0
		}
		if idle == 2 {
			return state
		}
		wait = max(deadlockEvery, 50*time.Since(start))
	}
}

// A DeadlockError is the error of a cell whose goroutines all wait for each other. State is the reason why
// the cell waits.
type DeadlockError struct{ State string }

func (e *DeadlockError) Error() string {
	return "all goroutines are asleep - deadlock! [" + e.State + "]"
}

// EndAsleep stops the cell that runs when all goroutines of cells wait for each other, until ctx is
// cancelled. Before is as in Deadlock.
func (rn *Runner) EndAsleep(ctx context.Context, before map[uint64]bool) {
	state := rn.Deadlock(ctx, before)
	if c := rn.code.rt.Current(); state != "" && c != nil {
		rn.code.rt.Interrupt(c, &DeadlockError{state})
	}
}

// asleep says whether all goroutines of the program wait for each other, and why its first one waits.
// Before has the goroutines that existed before the program began. Other sessions of the process may have
// programs of their own: a goroutine counts if the runtime of this one knows it, or if it makes a call that
// such a one waits for.
func (rn *Runner) asleep(before map[uint64]bool) (state string, ok bool) {
	r := rn.code.rt
	started, own := r.Started(), r.Goroutines()
	if len(own) == 0 || r.Current() == nil {
		return "", false
	}
	at, calls := map[uint64]goroutineState{}, map[uint64]goroutineState{}
	for _, g := range goroutines() {
		at[g.id] = g
		if strings.Contains(g.creator, "/rt.(*Runtime).Block") && g.id > calls[g.parent].id { // of earlier ones nobody waits for the end
			calls[g.parent] = g
		}
		by := func(prefix string) bool { return strings.HasPrefix(g.creator, prefix) }
		if !before[g.id] && !slices.Contains(own, g.id) && !slices.ContainsFunc(harmless, by) {
			return "", false
		}
	}
	waits := false
	for i, id := range own {
		g := at[id]
		why := g.waitsFor()
		for why != "" && g.inside("Runtime).await") {
			g = calls[g.id]
			why = g.waitsFor()
		}
		if why == "" {
			return "", false
		}
		if waits = waits || !g.supervises(); i == 0 {
			state = why
		}
	}
	return state, waits && r.Started() == started
}
