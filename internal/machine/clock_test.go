package machine

import (
	"slices"
	"testing"
	"time"
)

// The clock ticks often enough to time a small op, also on Windows, where time.Now does not.
func TestNow(t *testing.T) {
	begin := Now()
	var ticks []time.Duration
	for range 100 {
		at := Now()
		next := Now()
		for next == at {
			next = Now()
		}
		if next < at {
			t.Fatalf("got %v after %v", next, at)
		}
		ticks = append(ticks, next-at)
	}
	slices.Sort(ticks)
	if usual := ticks[len(ticks)/2]; usual > 50*time.Microsecond {
		t.Errorf("the clock ticks every %v, want less than 50 µs", usual)
	}
	start := time.Now()
	time.Sleep(50 * time.Millisecond)
	passed, want := Now()-begin, time.Since(start)
	if passed < want/2 {
		t.Errorf("got %v where at least %v have passed", passed, want)
	}
}
