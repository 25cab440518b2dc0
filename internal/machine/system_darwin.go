package machine

import (
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"
)

func cpuModel() string {
	name, _ := unix.Sysctl("machdep.cpu.brand_string")
	return name
}

func cachesHere() (list []Cache) {
	for level, names := range [][]string{{"hw.perflevel0.l1dcachesize", "hw.l1dcachesize"}, {"hw.perflevel0.l2cachesize", "hw.l2cachesize"}, {"hw.l3cachesize"}} {
		for _, name := range names {
			if n, err := unix.SysctlUint64(name); err == nil && n > 0 {
				sharing := 1
				if n, err := unix.SysctlUint32("hw.perflevel0.cpusperl2"); err == nil && level == 1 {
					sharing = max(1, int(n))
				}
				if level == 2 {
					sharing = runtime.NumCPU()
				}
				list = append(list, Cache{int64(n), sharing})
				break
			}
		}
	}
	return list
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
