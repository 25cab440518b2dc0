package gpu

import (
	"syscall"
	"time"
)

// pause sleeps. time.Sleep sleeps a millisecond at least where nothing else runs, because the runtime then
// waits by epoll, which counts in milliseconds.
func pause(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&t, nil) // a signal ends it early, which does no harm
}
