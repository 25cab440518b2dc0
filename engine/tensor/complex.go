package tensor

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A complex tensor is two tensors of real numbers, which functions of this package take together. An
// operation on it is made of operations on its parts, as its rule says (complexrules.go); one without a rule
// refuses complex numbers. So the graph, the planner, the backends and gradients know real numbers only, and
// what is made of complex numbers fuses like everything else.

// Complex returns the complex tensor with these parts, which broadcast: c128 if one of them is f64, else c64.
func Complex(re, im Tensor) Tensor {
	a, b := re.real("complex"), im.real("complex")
	dt := dtype.Promote(dtype.ComplexOf(a.DType), dtype.ComplexOf(b.DType)).Part()
	shape := broadcast("complex", a, b)
	return wrap(ir.Pair(expand(cast(a, dt), shape), expand(cast(b, dt), shape)))
}

// Real is the real part; t itself if it is real.
func (t Tensor) Real() Tensor {
	if p := t.parts(); p != nil {
		return p[0].Snapshot()
	}
	return t
}

// Imag is the imaginary part, zeros if t is real.
func (t Tensor) Imag() Tensor {
	if p := t.parts(); p != nil {
		return p[1].Snapshot()
	}
	return ZerosLike(t)
}

// Conj is the complex conjugate; t itself if it is real.
func (t Tensor) Conj() Tensor {
	if p := t.parts(); p != nil {
		return pairOf(p[0].Snapshot(), p[1].Neg())
	}
	return t
}

// Angle is the argument of complex numbers in radians, from −π to π: 0 or π for real ones.
func (t Tensor) Angle() Tensor { return t.Imag().Atan2(t.Real()) }

// Complex64s returns the elements in C order.
func (t Tensor) Complex64s() []complex64 {
	re, im := t.Real(), t.Imag()
	Eval(re, im)
	a, b := re.Floats(), im.Floats()
	out := make([]complex64, len(a))
	for i := range out {
		out[i] = complex(a[i], b[i])
	}
	return out
}

// Complex128s returns the elements in C order.
func (t Tensor) Complex128s() []complex128 {
	re, im := t.Real(), t.Imag()
	Eval(re, im)
	a, b := re.Float64s(), im.Float64s()
	out := make([]complex128, len(a))
	for i := range out {
		out[i] = complex(a[i], b[i])
	}
	return out
}

// parts are the real and the imaginary part of a complex tensor, nil of others.
func (t Tensor) parts() []Tensor {
	var list []Tensor
	for _, b := range box.Of(t).Parts() {
		list = append(list, on(b))
	}
	return list
}

// pairOf is the complex tensor that has these parts for good, as t and its Real have.
func pairOf(re, im Tensor) Tensor { return on(box.Pair(box.Of(re), box.Of(im))) }

// reals are the tensors of real numbers that ts consist of.
func reals(ts ...Tensor) []Tensor {
	if !slices.ContainsFunc(ts, func(t Tensor) bool { return box.Of(t).Parts() != nil }) {
		return ts
	}
	var list []Tensor
	for _, t := range ts {
		if p := t.parts(); p != nil {
			list = append(list, p...)
		} else {
			list = append(list, t)
		}
	}
	return list
}

// real is the node of a tensor of real numbers; of complex ones op refuses.
func (t Tensor) real(op string) *ir.Node {
	n := t.node(op)
	if n.DType.Complex() {
		fail(op, "%s", ir.NotReal(n))
	}
	return n
}

// complexNumber is a Go complex number as a node beside n, of n's precision.
func complexNumber(n *ir.Node, y any) (z *ir.Node, ok bool) {
	r := reflect.ValueOf(y)
	if !r.CanComplex() {
		return nil, false
	}
	part := dtype.ComplexOf(n.DType).Part()
	re, im := ir.Scalar{F: real(r.Complex())}, ir.Scalar{F: imag(r.Complex())}
	return ir.Pair(ir.NewConst(n.Dev, part, re), ir.NewConst(n.Dev, part, im)), true
}

// constant is a number of a dtype, which may be complex.
func constant(dev ir.Device, dt dtype.Type, v ir.Scalar) *ir.Node {
	c := ir.NewConst(dev, dt.Part(), v)
	if dt.Complex() {
		return ir.Pair(c, ir.NewConst(dev, dt.Part(), ir.Scalar{}))
	}
	return c
}

// Files, and people's slices, have the imaginary part of each number behind its real part.

// apart takes so many numbers of size bytes, which alternate, apart.
func apart(b []byte, size int) (re, im []byte) {
	re, im = make([]byte, 0, len(b)/2), make([]byte, 0, len(b)/2)
	for i := 0; i < len(b); i += 2 * size {
		re, im = append(re, b[i:i+size]...), append(im, b[i+size:i+2*size]...)
	}
	return re, im
}

// alternating is the reverse of apart.
func alternating(re, im []byte, size int) []byte {
	b := make([]byte, 0, 2*len(re))
	for i := 0; i < len(re); i += size {
		b = append(append(b, re[i:i+size]...), im[i:i+size]...)
	}
	return b
}

// appendComplex appends what is in v, numbers of any kind, as complex elements.
func appendComplex(b []byte, v reflect.Value, dt dtype.Type) []byte {
	var z complex128
	switch s, _, ok := numberOf(v); {
	case ok:
		z = complex(s.F, 0)
	case v.Kind() == reflect.Bool && v.Bool():
		z = 1
	case v.CanComplex():
		z = v.Complex()
	}
	for _, f := range []float64{real(z), imag(z)} {
		if dt == dtype.C128 {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
		}
	}
	return b
}
