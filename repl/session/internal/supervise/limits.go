package supervise

import (
	"time"

	"github.com/mcs-notebook/mcs/internal/machine"
)

// Limits are what cells may use.
type Limits struct {
	// Memory is how many bytes of the heap cells may use, Whole how many heap and tensors together.
	Memory, Whole uint64
	// Grace is how long an interrupted cell may take to end: compiled code that does not look at ctx cannot
	// be stopped.
	Grace time.Duration
}

// Or has the limits of another where these have none.
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

// MachineLimits are those of this machine: half of its memory for the heap, because what doubles is twice as
// much before it can be stopped, and most of it for all together.
func MachineLimits() Limits {
	memory := uint64(16 << 30) // an ordinary machine's, where that is not known
	if n := machine.Memory(); n > 0 {
		memory = uint64(n)
	}
	return Limits{Memory: memory / 2, Whole: memory / 8 * 7, Grace: time.Second}
}
