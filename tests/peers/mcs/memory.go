package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// forgetPeak gives free memory back, and makes Linux measure the peak anew (man 5 proc, clear_refs). On
// other systems this file is not built, and the peak is left out.
func forgetPeak() {
	debug.FreeOSMemory()
	if f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0); err == nil {
		f.WriteString("5")
		f.Close()
	}
}

// peakMemory is the most that the process held since forgetPeak, in bytes, or 0 if the system does not tell.
func peakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}
