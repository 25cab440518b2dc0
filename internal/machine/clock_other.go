//go:build !windows

package machine

import "time"

// epoch is when the process began. Times count from it, because to read how much time has passed costs less
// than to read the time of day, too.
var epoch = time.Now()

// Now is the time since the process began, by the machine's finest clock.
func Now() time.Duration { return time.Since(epoch) }
