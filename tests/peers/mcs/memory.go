package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/device"
)

// forgetPeak gives free memory back, and makes Linux measure the peak anew (man 5 proc, clear_refs). On
// other systems this file is not built, and the peak is left out.
func forgetPeak() {
	debug.FreeOSMemory()
	device.Default().ResetPeak()
	if f, err := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0); err == nil {
		f.WriteString("5")
		f.Close()
	}
}

// peakMemory is the most that was held since forgetPeak, in bytes: in a GPU's memory, or else by the process;
// 0 if the system does not tell.
func peakMemory() int64 {
	if d := device.Default(); !strings.HasPrefix(d.String(), "cpu") {
		return d.Memory().Peak
	}
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
