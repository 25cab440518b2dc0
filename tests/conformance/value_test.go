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

// A machine is a device. ONNX's kinds are dtypes there, but for doubles on a GPU, and for those of fewer than
// 8 bits and floats of 8, which the engine does not have: they travel in another dtype, their carrier, and
// are counted apart in the summary.
//
//   - Integers of 4 and 2 bits are in i8 or u8, cut back to their width after each operation;
//   - doubles are floats where the device has no f64;
//   - floats of 8 and 4 bits are codes in u8, which [decode] and [encode] turn into floats and back on the
//     device.
type machine struct {
	device device.Device
}

func newMachine(name string) (machine, error) {
	if err := device.Use(name); err != nil {
		return machine{}, err
	}
	return machine{device.Default()}, nil
}

var native = map[kind]dtype.Type{
	kFloat: dtype.F32, kFloat16: dtype.F16, kBFloat16: dtype.BF16, kDouble: dtype.F64, kBool: dtype.Bool,
	kUint8: dtype.U8, kUint16: dtype.U16, kUint32: dtype.U32, kUint64: dtype.U64,
	kInt8: dtype.I8, kInt16: dtype.I16, kInt32: dtype.I32, kInt64: dtype.I64,
}

// carrier is the dtype in which a kind travels; widened says that it is not the kind itself.
func (m machine) carrier(k kind) (dt dtype.Type, another bool) {
	if dt, ok := native[k]; ok {
		if dt == dtype.F64 && !slices.Contains(m.device.Info().DTypes, dt) {
			return dtype.F32, true
		}
		return dt, false
	}
	if _, signed, ok := k.integer(); ok && signed {
		return dtype.I8, true
	} else if ok || k.coded() {
		return dtype.U8, true
	}
	panic(refusal{reason: fmt.Sprintf("got elements of type %v, want numbers or booleans", k)})
}

// A value is a tensor in the carrier of its kind. The zero value is an input that is left out.
type value struct {
	tensor.Tensor
	kind kind
}

// A refusal is a feature that a case needs and its operator does not have here; it is the value of a
// panic.
type refusal struct {
	reason string
	out    bool // of scope
}

func refuse(format string, args ...any) { panic(refusal{reason: fmt.Sprintf(format, args...)}) }

// upload puts a tensor of a file on the device.
func (m machine) upload(t *tensorProto) value {
	dt, _ := m.carrier(t.kind)
	var b []byte
	for _, u := range t.bits {
		if t.kind == kDouble && dt == dtype.F32 {
			u = uint64(math.Float32bits(float32(math.Float64frombits(u))))
		}
		switch dt.Size() {
		case 1:
			b = append(b, byte(u))
		case 2:
			b = binary.LittleEndian.AppendUint16(b, uint16(u))
		case 4:
			b = binary.LittleEndian.AppendUint32(b, uint32(u))
		default:
			b = binary.LittleEndian.AppendUint64(b, u)
		}
	}
	return value{tensor.FromBytes(dt, b, t.shape...), t.kind}
}

// fit brings a result into the dtype of a kind: integers wrap to its width, floats are rounded.
func (m machine) fit(t tensor.Tensor, k kind) value {
	dt, _ := m.carrier(k)
	if bits, signed, integer := k.integer(); integer && bits < 8 {
		t = t.Cast(dtype.I64).And(1<<bits - 1)
		if signed {
			t = t.Xor(1 << (bits - 1)).Sub(1 << (bits - 1))
		}
	}
	return value{t.Cast(dt), k}
}

// The tolerances of ONNX's own runner, but for types of 16 bits: there the expectations are computed in that
// type, and differ from the exact results by up to a step and a half. Two steps are allowed.
const (
	relative     = 1e-3
	absolute     = 1e-7
	relativeF16  = 1. / 512
	relativeBF16 = 1. / 64
)

// compare describes the difference between a result and the expectation of a case, "" if there is none.
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
		switch want.kind {
		case kFloat16:
			tolerance = relativeF16
		case kBFloat16:
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
	for i, g := range integersOf(got.Tensor) {
		w := want.bits[i]
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

// integersOf are the 64 bits of each element.
func integersOf(t tensor.Tensor) []uint64 {
	if t.DType() == dtype.U64 {
		return t.Uint64s()
	}
	var bits []uint64
	for _, i := range t.Ints() {
		bits = append(bits, uint64(i))
	}
	return bits
}
