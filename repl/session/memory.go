package session

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"sync"
)

// memoryLimit is how much of the heap cells may use: half of the machine's memory: what doubles is twice as
// much before it can be stopped, or 8 GiB where that is not known.
var memoryLimit = sync.OnceValue(func() uint64 {
	const unknown = 8 << 30
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return unknown
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if kib, ok := strings.CutPrefix(sc.Text(), "MemTotal:"); ok {
			n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 10, 64)
			if err == nil {
				return n * 1024 / 2
			}
		}
	}
	return unknown
})
