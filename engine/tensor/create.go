package tensor

import (
	"cmp"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/internal/machine"
)

// leafOn copies little-endian elements to a device.
func leafOn(d *backend.Device, dt dtype.Type, shape []int, data []byte, name string) Tensor {
	if dt.Complex() {
		re, im := apart(data, dt.Part().Size())
		return pairOf(leafOn(d, dt.Part(), shape, re, name), leafOn(d, dt.Part(), slices.Clone(shape), im, name))
	}
	b, err := box.Leaf(d, dt, shape, len(data), name, func(buf *backend.Block) error { return d.Upload(buf, 0, data) })
	check("tensor", err)
	return on(b)
}

// hostRoom fails when the host cannot hold so many elements: Go would end the process.
func hostRoom(op string, elements, size int) {
	if elements >= 0 && elements < 1<<20 { // to ask whether there is room for so few costs more than the room
		return
	}
	limit := cmp.Or(machine.Memory(), 1<<38) // 0 is unknown
	if elements < 0 || int64(elements) > limit/int64(size) {
		fail(op, "got %d elements of %d bytes for the host, which has %d bytes", elements, size, limit)
	}
}

func wantShape(op string, shape []int) { check(op, box.CheckShape(op, shape)) }

// Full returns a tensor of f32 in which each element is v, for which f32 must have room.
func Full(v float64, shape ...int) Tensor {
	wantShape("full", shape)
	x := ir.NewConst(backend.Default(), dtype.F32, convert("full", v, dtype.F32, dtype.F32))
	return wrap(expand(x, slices.Clone(shape)))
}

// Zeros returns a tensor of f32 zeros.
func Zeros(shape ...int) Tensor { return Full(0, shape...) }

// Ones returns a tensor of f32 ones.
func Ones(shape ...int) Tensor { return Full(1, shape...) }

// FullLike returns a tensor of t's shape, dtype and device in which each element is v, for which the dtype
// must have room; integers take its whole part.
func FullLike(t Tensor, v float64) Tensor {
	n := t.node("full")
	return wrap(expand(constant(n.Dev, n.DType, convert("full", v, n.DType.Part(), n)), n.Shape))
}

// ZerosLike returns zeros of t's shape, dtype and device.
func ZerosLike(t Tensor) Tensor { return FullLike(t, 0) }

// OnesLike returns ones of t's shape, dtype and device.
func OnesLike(t Tensor) Tensor { return FullLike(t, 1) }

func indices(dt dtype.Type, n int) Tensor {
	wantShape("range", []int{n})
	node, err := ir.NewIota(backend.Default(), dt, []int{n}, 0)
	check("range", err)
	return wrap(node)
}

// Range returns 0, 1, … n−1 as i64.
func Range(n int) Tensor { return indices(dtype.I64, n) }

// Arange returns start, start+step, … below stop (above it for a negative step) as f32.
func Arange(start, stop, step float64) Tensor {
	if step == 0 || math.IsNaN(step) {
		fail("arange", "got step %v, want any number but 0", step)
	}
	n := int(max(0, math.Ceil((stop-start)/step)))
	return indices(dtype.F32, n).Mul(step).Add(start)
}

// Linspace returns n numbers from start to stop, both included, as f32.
func Linspace(start, stop float64, n int) Tensor {
	if n < 2 {
		return Full(start, max(n, 0))
	}
	return indices(dtype.F32, n).Mul((stop - start) / float64(n-1)).Add(start)
}

// Eye returns the identity matrix [n n] of f32.
func Eye(n int) Tensor {
	i := indices(dtype.I64, n)
	return i.Unsqueeze(1).Eq(i.Unsqueeze(0)).Cast(dtype.F32)
}

// Scalar returns one f32 number of shape [].
func Scalar(v float64) Tensor { return Full(v) }

// From copies Go data into a tensor on the default device. It takes numbers, booleans, and slices and nested
// slices of them; nested slices must be even. Go floats, those of a []float64 too, are rounded to f32, which
// must have room for them (FromAs keeps them); int and uint become i64 and u64, other integers the dtype of
// their size, bool bool. A shape may be given for flat data; without one, the nesting says it.
func From(data any, shape ...int) Tensor { return from(backend.Default(), dtype.Invalid, data, shape) }

// FromAs is From with the dtype chosen: FromAs(dtype.F64, x) keeps all digits of a []float64. Numbers are
// converted as Cast does.
func FromAs(dt dtype.Type, data any, shape ...int) Tensor {
	check("from", box.CheckDType(dt.Part()))
	return from(backend.Default(), dt, data, shape)
}

// fromBeside is From on the device of t.
func fromBeside(t Tensor, data any, shape ...int) Tensor {
	return from(t.node("from").Dev.(*backend.Device), dtype.Invalid, data, shape)
}

// from is FromAs; the dtype Invalid stands for that of the data.
func from(dev *backend.Device, dt dtype.Type, data any, shape []int) Tensor {
	v := reflect.ValueOf(data)
	own := []int{}
	for x := v; x.Kind() == reflect.Slice || x.Kind() == reflect.Array; {
		own = append(own, x.Len())
		if x.Len() == 0 {
			break
		}
		x = x.Index(0)
	}
	natural, ok := dtypeOf(v)
	if !ok {
		fail("from", "got %T, want numbers, booleans or slices of them", data)
	}
	chosen := dt != dtype.Invalid
	if !chosen {
		dt = natural
	}
	if natural.Complex() && chosen && !dt.Complex() {
		fail("from", "got %T for %v, want real numbers", data, dt)
	}
	bytes := appendValues(nil, v, own, dt)
	if !chosen && dt == dtype.F32 {
		wantRoom(v)
	}
	if len(shape) == 0 {
		shape = own
	}
	shape = fillShape("from", shape, len(bytes)/dt.Size())
	return leafOn(dev, dt, shape, bytes, "")
}

// dtypes are those of Go's types.
var dtypes = map[reflect.Kind]dtype.Type{
	reflect.Complex64: dtype.C64, reflect.Complex128: dtype.C64, reflect.Bool: dtype.Bool, reflect.Float32: dtype.F32, reflect.Float64: dtype.F32,
	reflect.Int: dtype.I64, reflect.Int8: dtype.I8, reflect.Int16: dtype.I16, reflect.Int32: dtype.I32, reflect.Int64: dtype.I64,
	reflect.Uint: dtype.U64, reflect.Uint8: dtype.U8, reflect.Uint16: dtype.U16, reflect.Uint32: dtype.U32, reflect.Uint64: dtype.U64,
}

// dtypeOf returns the dtype of a number, or of those in a slice.
func dtypeOf(v reflect.Value) (dtype.Type, bool) {
	if !v.IsValid() {
		return dtype.Invalid, false
	}
	t := v.Type()
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	dt, ok := dtypes[t.Kind()]
	return dt, ok
}

// appendValues appends what is in v, of a nesting of that shape, as elements.
func appendValues(b []byte, v reflect.Value, shape []int, dt dtype.Type) []byte {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		if v.Len() != shape[0] {
			fail("from", "got a row of %d elements beside one of %d, want even rows", v.Len(), shape[0])
		}
		if fast, ok := appendSlice(b, v.Interface(), dt); ok {
			return fast
		}
		for i := range v.Len() {
			b = appendValues(b, v.Index(i), shape[1:], dt)
		}
		return b
	}
	if dt.Complex() {
		return appendComplex(b, v, dt)
	}
	if v.Kind() == reflect.Bool {
		var s ir.Scalar
		if v.Bool() {
			s.F = 1
		}
		return ir.Append(dt, b, ir.Convert(s, dtype.Bool, dt))
	}
	s, from, _ := numberOf(v)
	return ir.Append(dt, b, ir.Convert(s, from, dt))
}

// appendSlice appends slices of the most frequent types.
func appendSlice(b []byte, data any, dt dtype.Type) ([]byte, bool) {
	switch s := data.(type) {
	case []uint8:
		if dt == dtype.U8 {
			return append(b, s...), true
		}
	case []float32:
		if dt == dtype.F32 {
			for _, f := range s {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
			}
			return b, true
		}
	case []float64:
		switch dt {
		case dtype.F32:
			for _, f := range s {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
			}
			return b, true
		case dtype.F64:
			for _, f := range s {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
			}
			return b, true
		}
	case []int:
		if dt == dtype.I64 {
			for _, i := range s {
				b = binary.LittleEndian.AppendUint64(b, uint64(i))
			}
			return b, true
		}
	}
	return b, false
}

// wantRoom fails for Go data with a number that would be infinite as f32, and is not.
func wantRoom(v reflect.Value) {
	if list, ok := v.Interface().([]float64); ok {
		for _, f := range list {
			if math.Abs(f) > math.MaxFloat32 && !fits(ir.Scalar{F: f}, dtype.F64, dtype.F32) {
				fail("from", "got %v, which f32 has no room for; FromAs(dtype.F64, …) keeps it", f)
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && v.Type().Elem().Kind() != reflect.Float32; i++ {
			wantRoom(v.Index(i))
		}
	case reflect.Float64:
		wantRoom(reflect.ValueOf([]float64{v.Float()}))
	}
}

// FromBytes copies little-endian elements into a tensor on the default device.
func FromBytes(dt dtype.Type, data []byte, shape ...int) Tensor {
	wantShape("from", shape)
	check("from", box.CheckDType(dt.Part()))
	if len(data) != ir.Size(shape)*dt.Size() {
		fail("from", "got %d bytes for %v%v, want %d", len(data), dt, shape, ir.Size(shape)*dt.Size())
	}
	return leafOn(backend.Default(), dt, slices.Clone(shape), data, "")
}

// hold returns n's value, whose memory stays until end.
func hold(op string, n *ir.Node) (d *ir.Data, end func()) {
	if d = backend.Hold(n); d == nil {
		fail(op, "got %v, which was freed", n)
	}
	return d, d.Buf.(*backend.Block).Release
}

// hostBytes reads an evaluated node as contiguous little-endian elements.
func hostBytes(n *ir.Node) []byte {
	outsideOnly("read")
	d, end := hold("read", n)
	defer end()
	l, size := d.Layout, n.DType.Size()
	hostRoom("read", l.Size(), size)
	out := make([]byte, l.Size()*size)
	if len(out) == 0 {
		return out
	}
	dev := n.Dev.(*backend.Device)
	if l.IsContiguous() {
		check("read", dev.Download(scope.Context(), out, d, l.Offset*size))
		return out
	}
	first, last := span(*l)
	raw := make([]byte, (last-first+1)*size)
	check("read", dev.Download(scope.Context(), raw, d, first*size))
	shape, stride := append([]int{1, 1}, l.Shape...), append([]int{0, 0}, l.Stride...)
	switch at := l.Offset - first; size {
	case 1:
		gather(out, raw, shape, stride, at)
	case 2:
		gather(words[uint16](out), words[uint16](raw), shape, stride, at)
	case 4:
		gather(words[uint32](out), words[uint32](raw), shape, stride, at)
	case 8:
		gather(words[uint64](out), words[uint64](raw), shape, stride, at)
	}
	return out
}

func words[T any](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
}

// gather writes elements in C order that lie with strides from at on, in two dimensions or more. A transposed
// matrix is read and written by tiles, so that a line of the cache is needed once.
func gather[T any](out, from []T, shape, stride []int, at int) {
	if len(shape) > 2 {
		part := len(out) / shape[0]
		for i := range shape[0] {
			gather(out[i*part:(i+1)*part], from, shape[1:], stride[1:], at+i*stride[0])
		}
		return
	}
	const side = 32
	var tile [side * side]T
	rows, cols, down, across := shape[0], shape[1], stride[0], stride[1]
	for left := 0; left < cols; left += side {
		wide := min(side, cols-left)
		for top := 0; top < rows; top += side {
			high := min(side, rows-top)
			for j := range wide {
				x := at + top*down + (left+j)*across
				for i := j; i < high*side; i += side {
					tile[i] = from[x]
					x += down
				}
			}
			for i := range high {
				copy(out[(top+i)*cols+left:][:wide], tile[i*side:])
			}
		}
	}
}

// span returns the first and last element of the buffer that a layout touches.
func span(l ir.Layout) (first, last int) {
	first, last = l.Offset, l.Offset
	for i, d := range l.Shape {
		if reach := (d - 1) * l.Stride[i]; reach > 0 {
			last += reach
		} else {
			first += reach
		}
	}
	return first, last
}
