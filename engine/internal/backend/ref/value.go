package ref

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A value is a dense array in C order. Floating-point types use f; integers and Bool use i, in which a U64
// has its 64 bits.
type value struct {
	dtype dtype.Type
	shape []int
	f     []float64
	i     []int64
}

// newValue returns zeros.
func newValue(dt dtype.Type, shape []int) value {
	v := value{dtype: dt, shape: shape}
	if bytes := 8 * int64(ir.Size(shape)); bytes > most { // as a value between instructions, which is no buffer
		panic(failure{&backend.OutOfMemory{Device: "ref", Want: bytes, Free: -1, Held: "the reference is for small tensors"}})
	}
	if dt.Float() {
		v.f = make([]float64, ir.Size(shape))
	} else {
		v.i = make([]int64, ir.Size(shape))
	}
	return v
}

// results are zeros for the results of an instruction that has several.
func results(in *backend.Inst) []value {
	list := make([]value, len(in.Outs))
	for i, o := range in.Outs {
		list[i] = newValue(o.DType, o.Shape)
	}
	return list
}

// put sets element i.
func (v value) put(i int, s ir.Scalar) {
	switch {
	case v.f != nil:
		v.f[i] = s.F
	case v.dtype == dtype.Bool:
		v.i[i] = boolean(s.F != 0)
	default:
		v.i[i] = s.I
	}
}

// get returns element i.
func (v value) get(i int) ir.Scalar {
	switch {
	case v.f != nil:
		return ir.Scalar{F: v.f[i]}
	case v.dtype == dtype.Bool:
		return ir.Scalar{F: float64(v.i[i])}
	}
	return ir.Scalar{I: v.i[i]}
}

func (v value) len() int { return ir.Size(v.shape) }

// at returns element i as a float64, whatever the type.
func (v value) at(i int) float64 {
	if v.f != nil {
		return v.f[i]
	}
	return ir.FloatOf(v.dtype, v.i[i])
}

// round brings every element into the range of the type: integers wrap, Bool becomes 0 or 1, floats narrower
// than F64 are rounded to float32 (F16 and BF16 are narrowed further only when they are stored).
func (v value) round() {
	if v.dtype != dtype.F64 {
		for i, x := range v.f {
			v.f[i] = float64(float32(x))
		}
	}
	for i, x := range v.i {
		if v.dtype == dtype.Bool {
			v.i[i] = boolean(x != 0)
		} else {
			v.i[i] = ir.Wrap(v.dtype, x)
		}
	}
}

func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// strides returns the C-order strides of a shape, in elements.
func strides(shape []int) []int { return ir.Contiguous(shape).Stride }

// each calls f for every index of shape in C order, with the position that strides give it. f must not keep
// index.
func each(shape, stride []int, offset int, f func(n, pos int, index []int)) {
	index, pos := make([]int, len(shape)), offset
	for n := range ir.Size(shape) {
		f(n, pos, index)
		for a := len(shape) - 1; a >= 0; a-- {
			pos += stride[a]
			if index[a]++; index[a] < shape[a] {
				break
			}
			pos -= index[a] * stride[a]
			index[a] = 0
		}
	}
}

// load reads the elements of a layout.
func load(s backend.Slice, dt dtype.Type, l ir.Layout) value {
	v := newValue(dt, l.Shape)
	mem := s.Buf.(*buffer).bytes[s.Offset:]
	each(l.Shape, l.Stride, l.Offset, func(n, pos int, _ []int) { v.put(n, ir.Load(dt, mem[pos*dt.Size():])) })
	return v
}

// store writes a value; one element fills the whole output.
func store(s backend.Slice, o backend.Output, v value) {
	if v.len() != ir.Size(o.Shape) && len(v.shape) > 0 {
		panic(fmt.Sprintf("ref: store: got a value %v%v, want %v", v.dtype, v.shape, o.Shape))
	}
	if v.dtype != o.DType {
		panic(fmt.Sprintf("ref: store: got a value of %v, want %v", v.dtype, o.DType))
	}
	mem := s.Buf.(*buffer).bytes[s.Offset:]
	width := o.DType.Size()
	each(o.Shape, o.Layout().Stride, o.Offset, func(n, pos int, _ []int) {
		if len(v.shape) == 0 {
			n = 0
		}
		ir.Append(o.DType, mem[pos*width:pos*width], v.get(n))
	})
}

// broadcast returns the strides by which v is read in a loop over shape: 0 along axes where v has length 1.
func broadcast(v value, shape []int) []int {
	s := make([]int, len(shape))
	if len(v.shape) == 0 {
		return s
	}
	if len(v.shape) != len(shape) {
		panic(fmt.Sprintf("ref: broadcast: got %v, want the rank of %v", v.shape, shape))
	}
	own := strides(v.shape)
	for a := range shape {
		switch v.shape[a] {
		case shape[a]:
			s[a] = own[a]
		case 1:
		default:
			panic(fmt.Sprintf("ref: broadcast: got %v, want %v or length 1", v.shape, shape))
		}
	}
	return s
}

// expand returns v with exactly that shape.
func expand(v value, shape []int) value {
	if slices.Equal(v.shape, shape) {
		return v
	}
	r := newValue(v.dtype, shape)
	each(shape, broadcast(v, shape), 0, func(n, pos int, _ []int) { copyElement(r, n, v, pos) })
	return r
}

// rows splits a shape into rows along the last axis: how many, and how long.
func rows(shape []int) (n, width int) {
	width = shape[len(shape)-1]
	return ir.Size(shape[:len(shape)-1]), width
}
