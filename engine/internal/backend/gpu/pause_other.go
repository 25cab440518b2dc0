//go:build !linux

package gpu

import "time"

func pause(d time.Duration) { time.Sleep(d) }
