package ref

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A value is a dense array in C order. Floating-point types use f; integers and Bool use i.
type value struct {
	dtype dtype.Type
	shape []int
	f     []float64
	i     []int64
}

// newValue returns zeros.
func newValue(dt dtype.Type, shape []int) value {
	v := value{dtype: dt, shape: shape}
	if dt.Float() {
		v.f = make([]float64, size(shape))
	} else {
		v.i = make([]int64, size(shape))
	}
	return v
}

func scalar(dt dtype.Type, s ir.Scalar) value {
	v := newValue(dt, nil)
	switch {
	case dt.Float():
		v.f[0] = s.F
	case dt == dtype.Bool:
		v.i[0] = boolean(s.F != 0)
	default:
		v.i[0] = s.I
	}
	v.round()
	return v
}

func (v value) len() int { return size(v.shape) }

// at returns element i as a float64, whatever the type.
func (v value) at(i int) float64 {
	if v.f != nil {
		return v.f[i]
	}
	return float64(v.i[i])
}

// round brings every element into the range of the type: integers wrap, Bool becomes 0 or 1, floats narrower than F64
// are rounded to float32 (F16 and BF16 are narrowed further only when they are stored).
func (v value) round() {
	switch v.dtype {
	case dtype.F16, dtype.BF16, dtype.F32:
		for i, x := range v.f {
			v.f[i] = float64(float32(x))
		}
	case dtype.U8:
		for i, x := range v.i {
			v.i[i] = int64(uint8(x))
		}
	case dtype.I32:
		for i, x := range v.i {
			v.i[i] = int64(int32(x))
		}
	case dtype.Bool:
		for i, x := range v.i {
			v.i[i] = boolean(x != 0)
		}
	}
}

// narrow rounds x to the nearest value of a floating-point type.
func narrow(dt dtype.Type, x float64) float64 {
	switch dt {
	case dtype.F16:
		return float64(dtype.F16ToFloat32(dtype.Float32ToF16(float32(x))))
	case dtype.BF16:
		return float64(dtype.BF16ToFloat32(dtype.Float32ToBF16(float32(x))))
	case dtype.F32:
		return float64(float32(x))
	}
	return x
}

func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// strides returns the C-order strides of a shape, in elements.
func strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i], n = n, n*shape[i]
	}
	return s
}

// each calls f for every index of shape in C order, with the position that strides give it. f must not keep index.
func each(shape, stride []int, offset int, f func(n, pos int, index []int)) {
	total := size(shape)
	index := make([]int, len(shape))
	for n := range total {
		pos := offset
		for a, i := range index {
			pos += i * stride[a]
		}
		f(n, pos, index)
		for a := len(shape) - 1; a >= 0; a-- {
			if index[a]++; index[a] < shape[a] {
				break
			}
			index[a] = 0
		}
	}
}

// load reads the elements of a layout.
func load(s backend.Slice, dt dtype.Type, l ir.Layout) value {
	v := newValue(dt, l.Shape)
	mem := s.Buf.(*buffer).bytes[s.Offset:]
	each(l.Shape, l.Stride, l.Offset, func(n, pos int, _ []int) {
		b := mem[pos*dt.Size():]
		switch dt {
		case dtype.Bool, dtype.U8:
			v.i[n] = int64(b[0])
		case dtype.I32:
			v.i[n] = int64(int32(binary.LittleEndian.Uint32(b)))
		case dtype.I64:
			v.i[n] = int64(binary.LittleEndian.Uint64(b))
		case dtype.F16:
			v.f[n] = float64(dtype.F16ToFloat32(binary.LittleEndian.Uint16(b)))
		case dtype.BF16:
			v.f[n] = float64(dtype.BF16ToFloat32(binary.LittleEndian.Uint16(b)))
		case dtype.F32:
			v.f[n] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
		case dtype.F64:
			v.f[n] = math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
	})
	return v
}

// store writes a value; one element fills the whole output.
func store(s backend.Slice, o backend.Output, v value) {
	if v.len() != size(o.Shape) && len(v.shape) > 0 {
		panic(fmt.Sprintf("ref: store: got a value %v%v, want %v", v.dtype, v.shape, o.Shape))
	}
	if v.dtype != o.DType {
		panic(fmt.Sprintf("ref: store: got a value of %v, want %v", v.dtype, o.DType))
	}
	mem := s.Buf.(*buffer).bytes[s.Offset:]
	width := o.DType.Size()
	for n := range size(o.Shape) {
		b := mem[n*width:]
		k := n
		if len(v.shape) == 0 {
			k = 0
		}
		switch o.DType {
		case dtype.Bool, dtype.U8:
			b[0] = byte(v.i[k])
		case dtype.I32:
			binary.LittleEndian.PutUint32(b, uint32(v.i[k]))
		case dtype.I64:
			binary.LittleEndian.PutUint64(b, uint64(v.i[k]))
		case dtype.F16:
			binary.LittleEndian.PutUint16(b, dtype.Float32ToF16(float32(v.f[k])))
		case dtype.BF16:
			binary.LittleEndian.PutUint16(b, dtype.Float32ToBF16(float32(v.f[k])))
		case dtype.F32:
			binary.LittleEndian.PutUint32(b, math.Float32bits(float32(v.f[k])))
		case dtype.F64:
			binary.LittleEndian.PutUint64(b, math.Float64bits(v.f[k]))
		}
	}
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
	each(shape, broadcast(v, shape), 0, func(n, pos int, _ []int) {
		if v.f != nil {
			r.f[n] = v.f[pos]
		} else {
			r.i[n] = v.i[pos]
		}
	})
	return r
}

// rows splits a shape into rows along the last axis: how many, and how long.
func rows(shape []int) (n, width int) {
	width = shape[len(shape)-1]
	return size(shape[:len(shape)-1]), width
}

// around splits a shape at an axis: the product of the lengths before it, its length, and the product of those after.
func around(shape []int, axis int) (outer, length, inner int) {
	return size(shape[:axis]), shape[axis], size(shape[axis+1:])
}
