package supervise

import "testing"

// Only what another goroutine of the program ends is a wait for it.
func TestWaitsFor(t *testing.T) {
	for state, want := range map[string]string{
		"running": "", "runnable": "", "semacquire": "", "GC assist wait": "", "IO wait": "", "sleep": "",
		"chan receive": "chan receive", "select": "select", "sync.WaitGroup.Wait": "sync.WaitGroup.Wait", "sync.Mutex.Lock": "sync.Mutex.Lock",
	} {
		if got := (goroutineState{state: state}).waitsFor(); got != want {
			t.Errorf("%q waits for %q, want %q", state, got, want)
		}
	}
}
