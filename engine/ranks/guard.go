package ranks

import (
	"fmt"
	"time"
)

// limited is a variable that says for how long a rank may stand still: "30m"; 0 for ever.
const limited = "MCS_RANK_LIMIT"

// limitOf reads that variable.
func limitOf(text string) (time.Duration, error) {
	switch text {
	case "":
		return 10 * time.Minute, nil
	case "0":
		return 0, nil
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit < time.Second {
		return 0, fmt.Errorf("ranks: got %s=%q, want a time from 1s on such as 30m, or 0 for no limit", limited, text)
	}
	return limit, nil
}

// Guard ends the group when a rank stands still for ten minutes, or as long as MCS_RANK_LIMIT says, until
// stop is called: it neither calls Went, nor moves numbers, nor waits for other ranks. All ranks call it. MPI
// knows no such limit.
func (g *Group) Guard() (stop func()) {
	if l, ok := g.meshed(); ok && g.limit > 0 {
		return l.Guard(g.limit)
	}
	return func() {}
}

// Went says that this rank goes on: see Guard.
func (g *Group) Went() {
	if l, ok := g.meshed(); ok {
		l.Went()
	}
}

// pause has the time until resume is called not count for Guard.
func (g *Group) pause() (resume func()) {
	if l, ok := g.meshed(); ok {
		return l.Pause()
	}
	return func() {}
}
