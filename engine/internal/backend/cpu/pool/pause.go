package pool

import "runtime"

// pause waits a little inside a spinning loop; every few turns it lets other goroutines run, because on a busy machine
// the one that is waited for may be among them.
func pause(turn int) {
	if turn%16 == 15 {
		runtime.Gosched()
		return
	}
	for range 40 {
		relax()
	}
}

//go:noinline
func relax() {}
