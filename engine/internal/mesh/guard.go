package mesh

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// progress is how far a process has come. A process that computes for ever still gives signs of life, which
// have these numbers.
type progress struct {
	moves atomic.Int64 // of numbers between processes, which it has begun
	still atomic.Int64 // beats since it has gone on, in which it has not waited for others
}

func (p *progress) text() []byte { return fmt.Appendf(nil, "%d %d", p.moves.Load(), p.still.Load()) }

func (p *progress) read(text []byte) {
	var moves, still int64
	if _, err := fmt.Sscanf(string(text), "%d %d", &moves, &still); err == nil {
		p.moves.Store(moves)
		p.still.Store(still)
	}
}

// Went says that this process has gone on.
func (l *Link) Went() { l.own.still.Store(0) }

// Moved says that this process has begun to move numbers by another link.
func (l *Link) Moved() {
	l.own.moves.Add(1)
	l.Went()
}

// Pause has the time until resume is called not count: the process waits for others, or for a disk.
func (l *Link) Pause() (resume func()) {
	l.waits.Add(1)
	return func() {
		l.Went()
		l.waits.Add(-1)
	}
}

// Guard ends the run when a process has not gone on for so long, until stop is called: of those that stand
// still, the one that has begun the fewest moves, because the others may wait for it within a device.
func (l *Link) Guard(limit time.Duration) (stop func()) {
	done := make(chan struct{})
	l.Went()
	go func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
			case <-done:
				l.Went()
				return
			case <-l.failed:
				return
			}
			if l.waits.Load() > 0 {
				l.Went()
			} else {
				l.own.still.Add(1)
			}
			if f := l.stalled(limit); f != nil {
				l.fail(f)
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

// stalled says which process does not go on. All are asked some beats after the first has reached the limit.
func (l *Link) stalled(limit time.Duration) *Failed {
	const later = 2 // beats: what others say is of the beat before
	least, late := int64(-1), false
	var ranks []int
	for rank := range l.size {
		p := &l.own
		if rank != l.rank {
			p = &l.peers[rank].progress
		}
		still, moves := p.still.Load(), p.moves.Load()
		if still < max(1, int64(limit/beat)) {
			continue
		}
		late = late || still >= int64(limit/beat)+later
		if moves < least || least < 0 {
			least, ranks = moves, nil
		}
		if moves == least {
			ranks = append(ranks, rank)
		}
	}
	if !late {
		return nil
	}
	text := fmt.Sprintf("it has not gone on for %v", limit)
	if len(ranks) > 1 {
		text += fmt.Sprintf(", nor have all of %v", ranks)
	}
	return &Failed{ranks[0], text, Lost}
}
