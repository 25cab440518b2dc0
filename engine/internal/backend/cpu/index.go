package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// operandShape is the shape of an operand.
func operandShape(g *backend.Group, r backend.Ref) []int { return inputOf(g, r).Layout.Shape }

// checkIndices reports the first index that does not exist. It says whether all do.
func checkIndices(l *launch, op ir.Op, axis, length int, index []int64) bool {
	for n, i := range index {
		if i < -int64(length) || i >= int64(length) {
			l.fail("%v: index %d at position %d is out of range for axis %d of length %d", op, i, n, axis, length)
			return false
		}
	}
	return true
}

// fromStart is the place of a checked index: one below 0 counts from the end.
func fromStart(i int64, length int) int { return int(i) + length&int(i>>63) }

func indexOperand(g *backend.Group, r backend.Ref) (*operand, error) {
	return newOperand(g, r, operandShape(g, r), dtype.I64)
}

// indices returns all elements of an index operand.
func (o *operand) indices(l *launch) []int64 { return unsafe.Slice((*int64)(o.all(l)), o.n) }

// compileGather copies whole slices: r[o, n…, i] = x[o, index[n…], i].
func compileGather(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	shape := operandShape(g, in.Args[0])
	outer, length, inner := around(shape, in.Attr.Axis)
	x, err := newOperand(g, in.Args[0], shape, in.DType)
	if err != nil {
		return nil, err
	}
	index, err := indexOperand(g, in.Args[1])
	if err != nil {
		return nil, err
	}
	out, size := g.Outputs[0].Buf, in.DType.Size()
	op, axis := in.Op, in.Attr.Axis
	return func(l *launch) {
		ix := index.indices(l)
		defer index.release()
		if !checkIndices(l, op, axis, length, ix) || inner == 0 {
			return
		}
		x.bind(l)
		defer x.release()
		to := l.pointer(out)
		l.pool.Range(outer*len(ix), max(1, mapGrain/inner), func(worker, lo, hi int) {
			for c := lo; c < hi; c++ {
				o, n := c/len(ix), c%len(ix)
				x.copyTo(worker, unsafe.Add(to, c*inner*size), (o*length+fromStart(ix[n], length))*inner, inner)
			}
		})
	}, nil
}

// compileGatherAlong picks one element for each index.
func compileGatherAlong(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	shape := operandShape(g, in.Args[0])
	x, err := newOperand(g, in.Args[0], shape, in.DType)
	if err != nil {
		return nil, err
	}
	index, err := indexOperand(g, in.Args[1])
	if err != nil {
		return nil, err
	}
	place := alongPlaces(shape, operandShape(g, in.Args[1]), in.Attr.Axis)
	length := shape[in.Attr.Axis]
	out, size := g.Outputs[0].Buf, in.DType.Size()
	op, axis := in.Op, in.Attr.Axis
	return func(l *launch) {
		ix := index.indices(l)
		defer index.release()
		if !checkIndices(l, op, axis, length, ix) || len(ix) == 0 {
			return
		}
		from, to := x.all(l), l.pointer(out)
		defer x.release()
		l.pool.Range(len(ix), mapGrain, func(_, lo, hi int) {
			for n := lo; n < hi; n++ {
				copyElement(size, to, n, from, place(n, fromStart(ix[n], length)))
			}
		})
	}, nil
}

// alongPlaces returns the linear index in shape of the element that position n of an index of shape points to.
func alongPlaces(shape, index []int, axis int) func(n, i int) int {
	strides := make([]int, len(shape))
	stride := 1
	for a := len(shape) - 1; a >= 0; a-- {
		strides[a] = stride
		stride *= shape[a]
	}
	return func(n, i int) int {
		at := i * strides[axis]
		for a := len(index) - 1; a >= 0; a-- {
			if a != axis {
				at += n % index[a] * strides[a]
			}
			n /= index[a]
		}
		return at
	}
}

func copyElement(size int, d unsafe.Pointer, i int, src unsafe.Pointer, j int) {
	switch size {
	case 1:
		*(*uint8)(unsafe.Add(d, i)) = *(*uint8)(unsafe.Add(src, j))
	case 2:
		*(*uint16)(unsafe.Add(d, 2*i)) = *(*uint16)(unsafe.Add(src, 2*j))
	case 4:
		*(*uint32)(unsafe.Add(d, 4*i)) = *(*uint32)(unsafe.Add(src, 4*j))
	default:
		*(*uint64)(unsafe.Add(d, 8*i)) = *(*uint64)(unsafe.Add(src, 8*j))
	}
}

// A scatter has what both scattering ops share: the base as registers, to which updates are added.
type scatter struct {
	op                   ir.Op
	axis                 int
	base, index, updates *operand
	length               int
	out                  backend.Output
	register             dtype.Type
	n                    int
}

func newScatter(g *backend.Group, in *backend.Inst) (*scatter, error) {
	s := &scatter{
		op: in.Op, axis: in.Attr.Axis, length: in.Shape[in.Attr.Axis], out: g.Outputs[0],
		register: tile.Register(in.DType), n: elementsOf(in.Shape),
	}
	var err error
	if s.base, err = newOperand(g, in.Args[0], in.Shape, s.register); err != nil {
		return nil, err
	}
	if s.index, err = indexOperand(g, in.Args[1]); err != nil {
		return nil, err
	}
	shape := operandShape(g, in.Args[2])
	if len(shape) == 0 { // one number for all
		shape = updatesShape(in, operandShape(g, in.Args[1]))
	}
	s.updates, err = newOperand(g, in.Args[2], shape, s.register)
	return s, err
}

// updatesShape is the shape that updates have.
func updatesShape(in *backend.Inst, index []int) []int {
	if in.Op == ir.ScatterAlong || in.Op == ir.ScatterWith {
		return index
	}
	shape := append([]int(nil), in.Shape[:in.Attr.Axis]...)
	return append(append(shape, index...), in.Shape[in.Attr.Axis+1:]...)
}

// run copies the base, lets add put the updates on top, and stores the sum. The sum is made where it is stored unless
// it has to be rounded.
func (s *scatter) run(l *launch, add func(sum unsafe.Pointer, ix []int64)) {
	ix := s.index.indices(l)
	defer s.index.release()
	if s.n == 0 || !checkIndices(l, s.op, s.axis, s.length, ix) {
		return
	}
	s.base.bind(l)
	s.updates.bind(l)
	defer s.base.release()
	defer s.updates.release()
	size := s.register.Size()
	sum := l.pointer(s.out.Buf)
	if s.out.DType != s.register {
		sum = unsafe.Pointer(unsafe.SliceData(l.scratch.bytes(s.n * size)))
	}
	l.pool.Range(s.n, mapGrain, func(worker, lo, hi int) { s.base.copyTo(worker, unsafe.Add(sum, lo*size), lo, hi-lo) })
	if len(ix) > 0 && s.updates.n > 0 {
		add(sum, ix)
	}
	if s.out.DType != s.register {
		to := l.pointer(s.out.Buf)
		l.pool.Range(s.n, mapGrain, func(_, lo, hi int) {
			narrowTo(s.out.DType, unsafe.Add(to, lo*s.out.DType.Size()), unsafe.Add(sum, lo*size), hi-lo)
		})
	}
}

// compileScatterAdd adds slices of the updates to slices of the base. Each worker owns a range of the base's slices and
// goes through all indices, so every sum is made in the order of the indices.
func compileScatterAdd(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	s, err := newScatter(g, in)
	if err != nil {
		return nil, err
	}
	outer, length, inner := around(in.Shape, in.Attr.Axis)
	s.updates.reserve(inner)
	size := s.register.Size()
	return func(l *launch) {
		s.run(l, func(sum unsafe.Pointer, ix []int64) {
			ranges := min(length, 4*l.pool.Threads())
			if s.updates.n < mapGrain {
				ranges = 1
			}
			l.pool.For(outer*ranges, func(worker, c int) {
				o, r := c/ranges, c%ranges
				lo, hi := length*r/ranges, length*(r+1)/ranges
				for n := range ix {
					i := fromStart(ix[n], length)
					if i < lo || i >= hi {
						continue
					}
					x := s.updates.fetch(worker, (o*len(ix)+n)*inner, inner)
					addTo(s.register, unsafe.Add(sum, (o*length+i)*inner*size), x, inner)
				}
			})
		})
	}, nil
}

// compileOverwrite copies the base, unless the result is to lie in its memory, and the updates over it.
func compileOverwrite(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	base, err := newOperand(g, in.Args[0], in.Shape, in.DType)
	if err != nil {
		return nil, err
	}
	index, err := indexOperand(g, in.Args[1])
	if err != nil {
		return nil, err
	}
	updates, err := newOperand(g, in.Args[2], updatesShape(in, operandShape(g, in.Args[1])), in.DType)
	if err != nil {
		return nil, err
	}
	outer, length, inner := around(in.Shape, in.Attr.Axis)
	from, out, size := inputOf(g, in.Args[0]), g.Outputs[0].Buf, in.DType.Size()
	return func(l *launch) {
		ix := index.indices(l)
		defer index.release()
		if base.n == 0 || !checkIndices(l, in.Op, in.Attr.Axis, length, ix) {
			return
		}
		to := l.pointer(out)
		if from.Buf < 0 || unsafe.Add(l.pointer(from.Buf), from.Layout.Offset*size) != to {
			base.bind(l)
			defer base.release()
			l.pool.Range(base.n, mapGrain, func(worker, lo, hi int) { base.copyTo(worker, unsafe.Add(to, lo*size), lo, hi-lo) })
		}
		updates.bind(l)
		defer updates.release()
		l.pool.Range(outer, 1+mapGrain/max(1, len(ix)*inner), func(worker, lo, hi int) {
			for c := lo * len(ix); c < hi*len(ix); c++ {
				at := c/len(ix)*length + fromStart(ix[c%len(ix)], length)
				updates.copyTo(worker, unsafe.Add(to, at*inner*size), c*inner, inner)
			}
		})
	}, nil
}

// addTo adds n elements; Bool has no sums.
func addTo(t dtype.Type, d, x unsafe.Pointer, n int) {
	if t == dtype.F32 {
		vec.Of(vec.Add)(d, d, x, nil, n)
		return
	}
	loopsOf[t].add(d, x, n)
}

func addElements[T tile.Number](d, x unsafe.Pointer, n int) {
	out := unsafe.Slice((*T)(d), n)
	for i, v := range unsafe.Slice((*T)(x), n) {
		out[i] += v
	}
}

// compileScatterAlong adds one element for each index, in the order of the indices.
func compileScatterAlong(g *backend.Group, in *backend.Inst) (func(*launch), error) {
	s, err := newScatter(g, in)
	if err != nil {
		return nil, err
	}
	place := alongPlaces(in.Shape, operandShape(g, in.Args[1]), in.Attr.Axis)
	size := s.register.Size()
	return func(l *launch) {
		s.run(l, func(sum unsafe.Pointer, ix []int64) {
			x, add := s.updates.all(l), loopsOf[s.register].add
			for n, i := range ix {
				add(unsafe.Add(sum, place(n, fromStart(i, s.length))*size), unsafe.Add(x, n*size), 1)
			}
		})
	}, nil
}
