package cpu

import (
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A scatter has what the scattering ops share: the base as registers, with which updates are combined. The
// updates are slices, each of which has one index, or elements with an index each.
type scatter struct {
	op                   ir.Op
	axis                 int
	base, index, updates *operand
	outer, length, inner int // around the axis
	count                int // of updates along the axis
	slices               bool
	out                  backend.Output
	register             dtype.Type
	combine              func(d, x unsafe.Pointer, n int)
}

// compileScatter compiles all scatters that leave their base as it is: every one but Overwrite.
func compileScatter(c *standalone) func(*launch) {
	in := c.in
	s := &scatter{op: in.Op, axis: in.Attr.Axis, out: c.g.Outputs[0], register: tile.Register(in.DType)}
	s.outer, s.length, s.inner = ir.Around(in.Shape, in.Attr.Axis)
	s.base = c.operand(0, in.Shape, s.register)
	shape := c.shape(2)
	if len(shape) == 0 { // one number for all
		shape = updatesShape(in, c.shape(1))
	}
	s.updates = c.operand(2, shape, s.register)
	if s.slices = in.Op == ir.ScatterAdd; !s.slices {
		s.count = shape[s.axis]
		c.g, s.slices = oneForSlices(c.g, in.Args[1], s.axis)
	}
	if s.slices {
		s.updates.reserve(s.inner)
	}
	switch {
	case in.Op == ir.ScatterWith:
		s.combine = loopsOf[s.register].combine(ir.Combination(in.Attr.Index))
	case s.register == dtype.F32 && s.slices:
		s.combine = func(d, x unsafe.Pointer, n int) { vec.Of(vec.Add)(d, d, x, nil, n) }
	default:
		s.combine = loopsOf[s.register].add
	}
	s.index = c.index(1)
	return s.run
}

// oneForSlices returns the group with the index only along its axis, if it is the same everywhere else.
func oneForSlices(g *backend.Group, index backend.Ref, axis int) (*backend.Group, bool) {
	i, _ := index.Input()
	l := g.Inputs[i].Layout
	for a, stride := range l.Stride {
		if a != axis && (l.Shape[a] == 0 || l.Shape[a] > 1 && stride != 0) {
			return g, false
		}
	}
	alone := *g
	alone.Inputs = slices.Clone(g.Inputs)
	alone.Inputs[i].Layout = ir.Layout{Shape: l.Shape[axis : axis+1], Stride: l.Stride[axis : axis+1], Offset: l.Offset}
	return &alone, true
}

// run copies the base to where the result is stored and combines it with the updates there. A result that has
// to be rounded is made in scratch memory.
func (s *scatter) run(l *launch) {
	n := s.outer * s.length * s.inner
	ix := s.index.indices(l)
	if n == 0 || !checkIndices(l, s.op, s.axis, s.length, ix) {
		return
	}
	size, to := s.register.Size(), l.pointer(s.out.Buf)
	result := to
	if s.out.DType != s.register {
		result = unsafe.Pointer(unsafe.SliceData(l.scratch.bytes(n * size)))
	}
	s.base.copyAll(l, result)
	switch {
	case len(ix) == 0 || s.updates.n == 0:
	case s.slices:
		s.combineSlices(l, result, ix)
	default:
		s.combineElements(l, result, ix)
	}
	if s.out.DType != s.register {
		l.narrowAll(&s.out, result, n)
	}
}

// combineSlices gives each worker a range of the base's slices. The worker goes through all indices, so that
// it combines each slice with its updates in the order of the indices.
func (s *scatter) combineSlices(l *launch, result unsafe.Pointer, ix []int64) {
	ranges := min(s.length, 4*l.pool.Threads())
	if s.updates.n < mapGrain {
		ranges = 1
	}
	size := s.register.Size()
	l.pool.For(s.outer*ranges, func(worker, c int) {
		o, r := c/ranges, c%ranges
		lo, hi := s.length*r/ranges, s.length*(r+1)/ranges
		for n := range ix {
			if l.stopped(n) {
				return
			}
			i := fromStart(ix[n], s.length)
			if i < lo || i >= hi {
				continue
			}
			x := s.updates.fetch(worker, (o*len(ix)+n)*s.inner, s.inner)
			s.combine(unsafe.Add(result, (o*s.length+i)*s.inner*size), x, s.inner)
		}
	})
}

// combineElements gives each worker some of the columns along the axis. The worker goes through the updates
// of each column in their order.
func (s *scatter) combineElements(l *launch, result unsafe.Pointer, ix []int64) {
	x, size := s.updates.all(l), s.register.Size()
	l.pool.Range(s.outer*s.inner, 1+mapGrain/s.count, func(_, lo, hi int) {
		for lo < hi {
			o, first := lo/s.inner, lo%s.inner
			end := min(s.inner, first+hi-lo)
			for n := range s.count {
				if l.stopped(n) {
					return
				}
				row := (o*s.count + n) * s.inner
				for j := first; j < end; j++ {
					to := (o*s.length+fromStart(ix[row+j], s.length))*s.inner + j
					s.combine(unsafe.Add(result, to*size), unsafe.Add(x, (row+j)*size), 1)
				}
			}
			lo += end - first
		}
	})
}

// combineElements returns what combines elements with updates; the built-in min and max let a NaN win. Bool
// only knows the least (all) and the greatest (any).
func combineElements[T tile.Number](c ir.Combination) func(d, x unsafe.Pointer, n int) {
	loop := func(f func(a, b T) T) func(d, x unsafe.Pointer, n int) {
		return func(d, x unsafe.Pointer, n int) {
			out := unsafe.Slice((*T)(d), n)
			for i, v := range unsafe.Slice((*T)(x), n) {
				out[i] = f(out[i], v)
			}
		}
	}
	switch c {
	case ir.Multiply:
		return loop(func(a, b T) T { return a * b })
	case ir.Least:
		return loop(func(a, b T) T { return min(a, b) })
	case ir.Greatest:
		return loop(func(a, b T) T { return max(a, b) })
	}
	return func(d, x unsafe.Pointer, n int) { copy(unsafe.Slice((*T)(d), n), unsafe.Slice((*T)(x), n)) }
}

func addElements[T tile.Number](d, x unsafe.Pointer, n int) {
	out := unsafe.Slice((*T)(d), n)
	for i, v := range unsafe.Slice((*T)(x), n) {
		out[i] += v
	}
}
