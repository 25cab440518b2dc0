package cpu

import "golang.org/x/sys/unix"

// physicalMemory is how many bytes the machine has, 0 if unknown.
func physicalMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
