//go:build linux || darwin

package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

func spent() (time.Duration, bool) {
	var own unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &own) != nil {
		return 0, false
	}
	return time.Duration(own.Utime.Nano() + own.Stime.Nano()), true
}
