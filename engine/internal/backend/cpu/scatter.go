package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// compileScatterWith combines one element for each index with what is there, in the order of the indices.
func compileScatterWith(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	s, err := newScatter(g, in)
	if err != nil {
		return nil, err
	}
	place := alongPlaces(in.Shape, operandShape(g, in.Args[1]), in.Attr.Axis)
	size, combine := s.register.Size(), loopsOf[s.register].combine(ir.Combination(in.Attr.Index))
	return func(l *launch) {
		s.run(l, func(sum unsafe.Pointer, ix []int64) {
			x := s.updates.all(l)
			for n, i := range ix {
				combine(unsafe.Add(sum, place(n, fromStart(i, s.length))*size), unsafe.Add(x, n*size))
			}
		})
	}, nil
}

// combineElement returns what combines one element with an update; the built-in min and max let a NaN win. Bool only knows
// the least (all) and the greatest (any).
func combineElement[T tile.Number](c ir.Combination) func(d, x unsafe.Pointer) {
	switch c {
	case ir.Multiply:
		return func(d, x unsafe.Pointer) { *(*T)(d) *= *(*T)(x) }
	case ir.Least:
		return func(d, x unsafe.Pointer) { *(*T)(d) = min(*(*T)(d), *(*T)(x)) }
	case ir.Greatest:
		return func(d, x unsafe.Pointer) { *(*T)(d) = max(*(*T)(d), *(*T)(x)) }
	}
	return func(d, x unsafe.Pointer) { *(*T)(d) = *(*T)(x) }
}
