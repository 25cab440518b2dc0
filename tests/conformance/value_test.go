package conformance

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A machine is a device and what ONNX's kinds are there. The engine has eight dtypes; the other kinds travel in one of
// them, their carrier:
//
//   - int8, int16, uint16, uint32, uint64 and integers of 4 and 2 bits in i64, cut back to their width after each operation
//     (a uint64 of 2⁶³ or more is refused);
//   - floats of 8 and 4 bits as codes in u8, which [decode] and [encode] turn into floats and back on the device;
//   - double in f32 where the device has no f64.
//
// Cases that need a carrier are counted apart in the summary.
type machine struct {
	device device.Device
	f64    bool
}

func newMachine(name string) (machine, error) {
	if err := device.Use(name); err != nil {
		return machine{}, err
	}
	d := device.Default()
	return machine{d, slices.Contains(d.Info().DTypes, dtype.F64)}, nil
}

var native = map[kind]dtype.Type{
	kFloat: dtype.F32, kFloat16: dtype.F16, kBFloat16: dtype.BF16, kDouble: dtype.F64,
	kBool: dtype.Bool, kUint8: dtype.U8, kInt32: dtype.I32, kInt64: dtype.I64,
}

// carrier is the dtype in which a kind travels; widened says that it is not the kind itself.
func (m machine) carrier(k kind) (dt dtype.Type, widened bool) {
	if k == kDouble && !m.f64 {
		return dtype.F32, true
	}
	if dt, ok := native[k]; ok {
		return dt, false
	}
	if k.coded() {
		return dtype.U8, true
	}
	if _, _, ok := k.integer(); ok {
		return dtype.I64, true
	}
	panic(refusal{reason: fmt.Sprintf("got elements of type %v, want numbers or booleans", k)})
}

// A value is a tensor in the carrier of its kind. The zero value is an input that is left out.
type value struct {
	tensor.Tensor
	kind kind
}

// A refusal is what a case asks that its operator does not do here; it is the value of a panic.
type refusal struct {
	reason string
	out    bool // of scope
}

func refuse(format string, args ...any) { panic(refusal{reason: fmt.Sprintf(format, args...)}) }

// upload puts a tensor of a file on the device.
func (m machine) upload(t *tensorProto) value {
	dt, _ := m.carrier(t.kind)
	var b []byte
	for i, u := range t.bits {
		if t.kind == kUint64 && u > math.MaxInt64 {
			refuse("got %d in uint64, want less than 2⁶³ (it travels in i64)", u)
		}
		switch {
		case dt == dtype.F32 && t.kind == kDouble:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(t.number(i))))
		case dt.Size() == 1:
			b = append(b, byte(u))
		case dt.Size() == 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(u))
		case dt.Size() == 4:
			b = binary.LittleEndian.AppendUint32(b, uint32(u))
		default:
			b = binary.LittleEndian.AppendUint64(b, u)
		}
	}
	return value{tensor.FromBytes(dt, b, t.shape...), t.kind}
}

// fit brings a result into the carrier of a kind: integers wrap to its width, floats are rounded.
func (m machine) fit(t tensor.Tensor, k kind) value {
	dt, widened := m.carrier(k)
	if t.DType() != dt {
		if t.DType() == dtype.F64 && !m.f64 {
			refuse("got f64 on %v", m.device)
		}
		t = t.Cast(dt)
	}
	bits, signed, integer := k.integer()
	if !widened || !integer || bits == 64 {
		return value{t, k}
	}
	t = t.And(1<<bits - 1)
	if signed {
		t = t.Xor(1 << (bits - 1)).Sub(1 << (bits - 1))
	}
	return value{t, k}
}

// The tolerances of ONNX's own runner.
const (
	relative     = 1e-3
	absolute     = 1e-7
	relativeBF16 = 1. / 64 // two steps of bfloat16
)

// compare says how a result differs from what a case expects; "" if it does not.
func (m machine) compare(got value, want *tensorProto) string {
	dt, _ := m.carrier(want.kind)
	switch {
	case got.IsNone():
		return fmt.Sprintf("got nothing, want %v%v", want.kind, want.shape)
	case got.kind != want.kind || got.DType() != dt:
		return fmt.Sprintf("got %v in %v, want %v in %v", got.kind, got.DType(), want.kind, dt)
	case !slices.Equal(got.Shape(), want.shape):
		return fmt.Sprintf("got shape %v, want %v", got.Shape(), want.shape)
	}
	if want.kind.float() {
		tolerance := relative
		if want.kind == kBFloat16 {
			tolerance = relativeBF16
		}
		for i, g := range got.Float64s() {
			if w := want.number(i); !near(g, w, tolerance) {
				return fmt.Sprintf("element %d: got %v, want %v", i, g, w)
			}
		}
		return ""
	}
	var table []float64
	if want.kind.coded() {
		table = smallFloats[want.kind].table()
	}
	for i, g := range got.Ints() {
		w := int(want.bits[i])
		if g != w && !(table != nil && math.IsNaN(table[g]) && math.IsNaN(table[w])) {
			return fmt.Sprintf("element %d: got %d, want %d", i, g, w)
		}
	}
	return ""
}

func near(g, w, tolerance float64) bool {
	if g == w || math.IsNaN(g) && math.IsNaN(w) {
		return true
	}
	return !math.IsInf(g, 0) && !math.IsInf(w, 0) && math.Abs(g-w) <= absolute+tolerance*math.Abs(w)
}
