package supervise

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A program whose goroutines all wait for each other is ended as Go's runtime ends it. The runtime itself
// cannot tell: the session's own goroutines are never all asleep. So from time to time the states of the
// program's goroutines are read off their stacks. What cannot be judged does not count as a deadlock:
// goroutines that compiled code has started, and programs that use what wakes goroutines from outside, like
// timers and connections.

// deadlockEvery is the time between two looks; two must find all asleep. Where a look takes long, they are
// rarer.
const deadlockEvery = 50 * time.Millisecond

// Deadlock waits until all goroutines of the program wait for each other, and says for what the first one
// does; nothing, if ctx is cancelled before. Before are the goroutines that the process had when the program
// had not begun: seen later, the program's own could be among them.
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

// asleep says whether all goroutines of the program wait for each other, and for what its first one does.
// Before are those that the process had when the program began.
func (rn *Runner) asleep(before map[uint64]bool) (state string, ok bool) {
	own := rn.rt.Goroutines()
	if len(own) == 0 {
		return "", false
	}
	seen, behind := 0, ""
	for _, g := range goroutines() {
		switch {
		case !before[g.id] && strings.Contains(g.creator, "/rt.(*Runtime).Block"): // makes a call that one of the program's waits for
			if behind = g.waitsFor(); behind == "" {
				return "", false
			}
		case slices.Contains(own, g.id):
			seen++
			why := g.waitsFor()
			if why == "" {
				return "", false
			}
			if g.id == own[0] {
				state = why
			}
			if g.id == own[0] && g.inside("Runtime).await") {
				state = ""
			}
		case !before[g.id] && strings.HasSuffix(g.creator, "/rt.(*Runtime).Go"): // begins, or ends
			return "", false
		case !before[g.id] && !strings.HasPrefix(g.creator, "github.com/mcs-notebook/mcs/repl/session") && !strings.HasPrefix(g.creator, "github.com/traefik/yaegi/"):
			return "", false
		}
	}
	if state == "" {
		state = behind
	}
	return state, state != "" && seen == len(own)
}
