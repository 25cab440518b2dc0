package supervise

import (
	"time"

	"github.com/mcs-notebook/mcs/internal/machine"
)

// Limits bound the memory of cells, and the time that they take to stop.
type Limits struct {
	// Memory is the largest heap of cells in bytes, Whole the largest heap with tensors.
	Memory, Whole uint64
	// Grace is the time that an interrupted cell has to end: compiled code that does not look at ctx
	// cannot be stopped.
	Grace time.Duration
}

// Or returns l with the limits of other where l's are 0.
func (l Limits) Or(other Limits) Limits {
	if l.Memory == 0 {
		l.Memory = other.Memory
	}
	if l.Whole == 0 {
		l.Whole = other.Whole
	}
	if l.Grace == 0 {
		l.Grace = other.Grace
	}
	return l
}

// MachineLimits returns the limits for this machine: half of its memory for the heap, because a value may
// double before its cell is stopped, and most of the memory for everything together.
func MachineLimits() Limits {
	memory := uint64(16 << 30) // an ordinary machine's, where that is not known
	if n := machine.Memory(); n > 0 {
		memory = uint64(n)
	}
	return LimitsOf(memory)
}

// LimitsOf are the limits for so many bytes of memory.
func LimitsOf(memory uint64) Limits {
	return Limits{Memory: memory / 2, Whole: memory / 8 * 7, Grace: time.Second}
}
