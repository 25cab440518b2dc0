package check

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A value is numbers of a shape: a tensor, a Go number, or slices of numbers in each other.
type value struct {
	shape   []int
	dt      dtype.Type
	tensor  tensor.Tensor // none for Go's numbers
	numbers []complex128  // those of Go
}

// isNumbers says whether v is what a value can be made of.
func isNumbers(v any) bool {
	if _, ok := v.(tensor.Tensor); ok {
		return true
	}
	if v == nil {
		return false
	}
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return dtypeOf(t) != dtype.Invalid
}

// valueOf is the value of a tensor or of Go's numbers; wrong says why it is none. It computes nothing.
func valueOf(v any) (x value, wrong string) {
	if t, ok := v.(tensor.Tensor); ok {
		switch {
		case t.IsNone():
			return x, "no tensor (is there a return without a value?)"
		case t.Freed():
			return x, "a tensor that was freed"
		}
		return value{shape: t.Shape(), dt: t.DType(), tensor: t}, ""
	}
	if !isNumbers(v) {
		return x, typeName(v) + ", which is no number"
	}
	rv := reflect.ValueOf(v)
	inner := rv.Type()
	for first := rv; inner.Kind() == reflect.Slice || inner.Kind() == reflect.Array; inner = inner.Elem() {
		n := first.Len()
		if x.shape = append(x.shape, n); n > 0 {
			first = first.Index(0)
		} else {
			first = reflect.Zero(reflect.SliceOf(inner)) // the axes within nothing are as short
		}
	}
	x.dt = dtypeOf(inner)
	if !x.add(rv, 0) {
		return x, "slices of different lengths"
	}
	wide := func(c complex128) bool { return float64(float32(real(c))) != real(c) && real(c) == real(c) }
	if x.dt == dtype.F64 && !slices.ContainsFunc(x.numbers, wide) { // an item of a tensor of f32 is a float64 that is no more precise
		x.dt = dtype.F32
	}
	return x, ""
}

// add appends the numbers in v, which lies at an axis; false: they are not even.
func (x *value) add(v reflect.Value, axis int) bool {
	if axis == len(x.shape) {
		x.numbers = append(x.numbers, number(v))
		return true
	}
	if v.Len() != x.shape[axis] {
		return false
	}
	for i := range v.Len() {
		if !x.add(v.Index(i), axis+1) {
			return false
		}
	}
	return true
}

// read returns the numbers in C order; of a tensor it computes them.
func (x *value) read() []complex128 {
	switch {
	case x.tensor.IsNone():
		return x.numbers
	case x.dt.Complex():
		return x.tensor.Complex128s()
	}
	list := make([]complex128, 0, x.tensor.Size())
	for _, r := range x.tensor.Float64s() {
		list = append(list, complex(r, 0))
	}
	return list
}

// dtypeOf is the dtype that holds a Go number; Invalid: it is none.
func dtypeOf(t reflect.Type) dtype.Type {
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return dtype.Bool
	case k >= reflect.Int && k <= reflect.Int64:
		return dtype.I64
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return dtype.U64
	case k == reflect.Float32:
		return dtype.F32
	case k == reflect.Float64:
		return dtype.F64
	case k == reflect.Complex64:
		return dtype.C64
	case k == reflect.Complex128:
		return dtype.C128
	}
	return dtype.Invalid
}

func number(v reflect.Value) complex128 {
	switch {
	case v.CanInt():
		return complex(float64(v.Int()), 0)
	case v.CanUint():
		return complex(float64(v.Uint()), 0)
	case v.CanFloat():
		return complex(v.Float(), 0)
	case v.CanComplex():
		return v.Complex()
	case v.Bool():
		return 1
	}
	return 0
}

// text is a number as its type writes it, in as many digits as tell it from its neighbours.
func text(c complex128, dt dtype.Type) string {
	bits := 32
	if dt == dtype.F64 || dt == dtype.C128 {
		bits = 64
	}
	switch {
	case dt == dtype.Bool:
		return strconv.FormatBool(c != 0)
	case dt.Complex():
		return strconv.FormatComplex(c, 'g', -1, 2*bits)
	case dt.Int():
		return fmt.Sprintf("%.0f", real(c))
	}
	return strconv.FormatFloat(real(c), 'g', -1, bits)
}
