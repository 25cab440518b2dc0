package bench

import (
	"context"
	"time"
)

const (
	surveyTime  = 100 * time.Millisecond
	listenFor   = 20 * time.Millisecond // the system counts what a thread works in ticks of up to 10 ms
	listenEvery = 500 * time.Millisecond
)

// A Watch observes the machine while something is measured: what other processes do, all the time, and what
// other goroutines of this process do, in pauses in which what is measured waits. It needs pauses because
// nobody can tell goroutines apart by the time that processors spend on them.
type Watch struct {
	clock  Clock
	before Machine
	paused time.Duration // when the last pause ended

	busy, passed time.Duration // of all pauses
}

// NewWatch begins to watch; nothing that is to be measured may run yet. A nil clock is the machine's.
func NewWatch(clock Clock) *Watch {
	if clock == nil {
		clock = newDeviceClock()
	}
	w := &Watch{clock: clock, before: clock.Machine()}
	w.pause(listenFor)
	return w
}

func (w *Watch) pause(long time.Duration) {
	if l, ok := w.clock.(Listener); ok {
		busy, passed := l.Listen(long)
		w.busy, w.passed = w.busy+busy, w.passed+passed
	}
	w.paused = w.clock.Now()
}

// Machine says what the machine is, and what it did since the watch began. Nothing that is measured may run
// any more.
func (w *Watch) Machine() Machine {
	w.pause(listenFor)
	m := w.clock.Machine().since(w.before)
	if w.passed > 0 {
		m.Beside = w.busy.Seconds() / w.passed.Seconds()
	}
	return m
}

// Survey looks at the machine for a tenth of a second, in which the caller does nothing: see [Machine.Noise].
func Survey(ctx context.Context) Machine {
	clock := newDeviceClock()
	w := &Watch{clock: clock, before: clock.Machine()}
	for clock.Now()+listenFor < surveyTime && ctx.Err() == nil { // Machine looks once more
		w.pause(listenFor)
	}
	return w.Machine()
}
