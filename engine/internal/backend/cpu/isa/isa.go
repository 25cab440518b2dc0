// Package isa detects the vector instructions of the processor.
//
// [Level] is the widest set that the machine runs. The Has functions report abilities that only some
// processors of a set have. Callers ask once, when they choose their functions, never in a loop. With the
// build tag mcs_portable every machine has plain Go only.
package isa

// A Set is a set of instructions that kernels are generated for. Of two sets of one processor the wider is
// larger.
type Set uint8

const (
	Portable Set = iota // plain Go
	AVX2                // 256 bits, FMA, F16C
	AVX512              // 512 bits: F, BW, DQ, VL
	NEON                // 128 bits of arm64
	NumSets
)

var setNames = [...]string{"portable", "avx2", "avx512", "neon"}

// String returns the set's name in lower case.
func (s Set) String() string { return setNames[s] }

var level = detect()

// Level returns the widest set that this processor and system run.
func Level() Set { return level }

// Sets returns the sets that may be used, in order: Portable first, the widest last.
func Sets() []Set {
	sets := []Set{Portable}
	for _, s := range vectorSets {
		if s <= level {
			sets = append(sets, s)
		}
	}
	return sets
}

// Limit makes the process use no set wider than s until restore is called. Tests use it to run the code of
// other machines. No computation may run during the call.
func Limit(s Set) (restore func()) {
	old := level
	level = min(level, s)
	return func() { level = old }
}
