package session

import "github.com/mcs-notebook/mcs/internal/machine"

// machineMemory is what the process may have, or an ordinary machine's where that is not known.
func machineMemory() uint64 {
	if n := machine.Memory(); n > 0 {
		return uint64(n)
	}
	return 16 << 30
}

// memoryLimit is how much of the heap cells may use: half of the memory, because what doubles is twice as
// much before it can be stopped.
var memoryLimit = func() uint64 { return machineMemory() / 2 }

// wholeLimit is how much heap and tensors may be together.
var wholeLimit = func() uint64 { return machineMemory() / 8 * 7 }
