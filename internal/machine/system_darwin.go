package machine

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

func cpuModel() string {
	name, _ := unix.Sysctl("machdep.cpu.brand_string")
	return name
}

func cacheSizes() (sizes []int64) {
	for _, names := range [][]string{{"hw.perflevel0.l1dcachesize", "hw.l1dcachesize"}, {"hw.perflevel0.l2cachesize", "hw.l2cachesize"}, {"hw.l3cachesize"}} {
		for _, name := range names {
			if n, err := unix.SysctlUint64(name); err == nil && n > 0 {
				sizes = append(sizes, int64(n))
				break
			}
		}
	}
	return sizes
}

// load reads struct loadavg: three numbers of 32 bits and, after a gap, the scale that they are multiplied
// by.
func load() float64 {
	raw, err := unix.SysctlRaw("vm.loadavg")
	if err != nil || len(raw) < 24 {
		return -1
	}
	scale := binary.LittleEndian.Uint64(raw[16:])
	if scale == 0 {
		return -1
	}
	return float64(binary.LittleEndian.Uint32(raw)) / float64(scale)
}

// The rest needs system calls that only C programs can make.

func megahertz() float64 { return 0 }
func power() string      { return "" }
func used() Usage        { return Usage{} }
