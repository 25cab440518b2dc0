package presses

import (
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Each row is what happens between signals: a person waits, or the process is kept from looking at them. The
// first signal is always one of its own.
func TestWatch(t *testing.T) {
	const wait, stall = false, true
	type step struct {
		stall bool
		took  time.Duration
	}
	held := step{wait, 33 * time.Millisecond}
	for _, c := range []struct {
		name  string
		steps []step
		want  []bool // for each signal, whether there was a pause before it
	}{
		{"one press", nil, []bool{true}},
		{"a second press", []step{{wait, time.Second}}, []bool{true, true}},
		{"a key that begins to repeat late", []step{{wait, 660 * time.Millisecond}}, []bool{true, false}},
		{"a held key", []step{{wait, 500 * time.Millisecond}, held, held, held}, []bool{true, false, false, false, false}},
		{"a held key, and a press after it", []step{held, held, {wait, time.Second}}, []bool{true, false, false, true}},
		{"a held key while the process stands still", []step{held, {stall, time.Minute}, held}, []bool{true, false, false, false, false}},
		{"a press after the process stood still", []step{held, {stall, time.Minute}, {wait, time.Second}}, []bool{true, false, false, false, true}},
		{"it stands still again and again", []step{{stall, time.Second}, {stall, time.Second}, {stall, time.Second}}, []bool{true, false, false, false, false, false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals := make(chan os.Signal, 1)
				var got []bool
				var busy time.Duration
				go Watch(signals, nil, func(_ os.Signal, again bool) {
					got = append(got, again)
					once := busy
					busy = 0
					time.Sleep(once)
				})
				for _, s := range append(c.steps, step{}) {
					synctest.Wait() // the answer to the press before has begun
					if busy = 0; s.stall {
						busy = s.took
					}
					signals <- os.Interrupt
					if s.stall {
						time.Sleep(s.took / 2)
						signals <- os.Interrupt // it waits until the process looks at it
						s.took -= s.took / 2
					}
					time.Sleep(s.took)
				}
				time.Sleep(time.Hour)
				close(signals)
				synctest.Wait()
				if !slices.Equal(got, c.want) {
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		close(done)
		Watch(nil, done, nil)
	})
}
