//go:build (amd64 || arm64) && !mcs_portable

package vec

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

//go:generate go run ./gen

// A table holds the functions of a set: those for Of, and a function that sets the variables of row.go.
type table struct {
	funcs map[ID]Func
	use   func()
}

func init() { use(isa.Level()) }

// use makes Of and the variables of row.go use the functions of a set.
func use(set isa.Set) {
	t, ok := tables[set]
	if !ok {
		return
	}
	t.use()
	for id, f := range t.funcs {
		best[id] = f
	}
	best[Sin] = withinRange(best[Sin], portable[Sin])
	best[Cos] = withinRange(best[Cos], portable[Cos])
	StreamTo = func(d, x unsafe.Pointer, n int) {
		if skip := int(-uintptr(d)&63) / 4; skip > 0 { // up to the start of a line
			skip = min(skip, n)
			ScaleTo(d, x, 1, skip)
			if skip == n {
				return
			}
			d, x, n = unsafe.Add(d, 4*skip), unsafe.Add(x, 4*skip), n-skip
		}
		stream(d, x, n)
	}
	AdamWTo = func(p2, m2, v2, p, g, m, v unsafe.Pointer, s *AdamWStep[float32], n int) {
		adamW(p2, m2, v2, p, g, m, v, s.Scale, s.OneMinusBeta1, s.OneMinusBeta2, s.Decay, s.Rate, s.Root, s.Eps, n)
	}
}

// sinCosRange is the largest argument that the vector functions reduce accurately.
const sinCosRange = 1 << 15

// withinRange calls slow for a run with an element that is infinite or beyond sinCosRange.
func withinRange(fast, slow Func) Func {
	return func(d, a, b, c unsafe.Pointer, n int) {
		if MaxOf(a, n) <= sinCosRange && MinOf(a, n) >= -sinCosRange {
			fast(d, a, b, c, n)
			return
		}
		slow(d, a, b, c, n)
	}
}
