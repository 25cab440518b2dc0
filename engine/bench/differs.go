package bench

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A difference is how one work is another than the first.
type difference struct {
	texts []string
	apart float64 // the largest difference of values, as a share of the first's largest value; below 0: not known
}

// sameFlops is the share by which arithmetic may differ that is counted for the same mathematics.
const sameFlops = 0.01

// differences compares what a run of a work did with what one of the first did. Values are looked at unless
// that is not wanted.
func differences(name string, first, other Tally, unchecked bool) (d difference) {
	d.apart = -1
	say := func(format string, args ...any) { d.texts = append(d.texts, fmt.Sprintf(format, args...)) }
	if !slices.Equal(first.Shapes, other.Shapes) {
		say("gives %s, and %s %s", list(other.Shapes), name, list(first.Shapes))
	} else if !unchecked && len(first.Results) == len(other.Results) {
		var text string
		if d.apart, text = apart(name, first.Results, other.Results); text != "" {
			say("%s", text)
		}
	}
	if first.DType != other.DType && first.DType != dtype.Invalid && other.DType != dtype.Invalid {
		say("computes in %s, and %s in %s", other.DType, name, first.DType)
	}
	known := !first.Uncounted && !other.Uncounted
	if a, b := float64(first.Flops), float64(other.Flops); known && math.Abs(a-b) > sameFlops*max(a, b) {
		say("does %s of arithmetic, and %s %s", units.Rate(b, "FLOP"), name, units.Rate(a, "FLOP"))
	}
	if first.Launches != other.Launches {
		say("makes %s, and %s %d", units.Plural(int64(other.Launches), "launch"), name, first.Launches)
	}
	return d
}

func list(shapes []string) string {
	switch len(shapes) {
	case 0:
		return "nothing"
	case 1:
		return shapes[0]
	}
	return fmt.Sprint(shapes)
}

// shapes names the element types and shapes of results: "f32[2 3]", "int", "[]float64 of 3".
func shapes(results []any) []string {
	var names []string
	for _, v := range results {
		names = append(names, shapeOf(v))
	}
	return names
}

func shapeOf(v any) string {
	if t, ok := v.(tensor.Tensor); ok {
		if t.IsNone() || t.Freed() {
			return "no tensor"
		}
		return t.DType().String() + fmt.Sprint(t.Shape())
	}
	if v == nil {
		return "nil"
	}
	if rv := reflect.ValueOf(v); rv.Kind() == reflect.Slice {
		return fmt.Sprintf("%T of %d", v, rv.Len())
	}
	return fmt.Sprintf("%T", v)
}

// apart is the largest difference of values as a share of the largest value, and what is to be said about it:
// nothing as long as it is what rounding makes. It is -1 where they differ otherwise than by a share. Name is
// that of the first.
func apart(name string, first, other []any) (share float64, text string) {
	rounding := 0.0
	for i := range first {
		x, ok := numbers(first[i])
		y, fine := numbers(other[i])
		if !ok || !fine {
			if !same(first[i], other[i]) {
				return -1, "gives other values than " + name
			}
			continue
		}
		if len(x) != len(y) {
			return -1, "gives other shapes than " + name
		}
		largest, difference, nan := 0.0, 0.0, 0
		for j := range x {
			switch a, b := x[j], y[j]; {
			case math.IsNaN(a) != math.IsNaN(b):
				nan++
			case a != b && !math.IsNaN(a):
				difference = max(difference, math.Abs(a-b))
			}
			if !math.IsInf(x[j], 0) {
				largest = max(largest, math.Abs(x[j]))
			}
		}
		if nan > 0 {
			return -1, fmt.Sprintf("gives NaN in %s where %s does not, or the other way round", units.Plural(int64(nan), "place"), name)
		}
		if math.IsInf(difference, 0) || largest == 0 && difference > 0 {
			return -1, "gives other values than " + name
		}
		if difference > 0 {
			share = max(share, difference/largest)
		}
		rounding = max(rounding, roundingOf(first[i], x), roundingOf(other[i], y))
	}
	if share > rounding {
		size := units.Percent(share)
		if share < 0.001 { // which it would write as 0.0 %
			size = fmt.Sprintf("%.2g %%", 100*share)
		}
		return share, fmt.Sprintf("differs from %s by up to %s of the largest value, more than by rounding", name, size)
	}
	return share, ""
}

func same(a, b any) (same bool) {
	defer func() {
		if recover() != nil { // a value whose type does not let it be compared
			same = false
		}
	}()
	return reflect.DeepEqual(a, b)
}

// roundingOf is the largest share by which values of a type differ if the same was computed in another order.
// The numbers are those of v. Go's that f32 can hold are taken for such: an item of a tensor is a float64.
func roundingOf(v any, numbers []float64) float64 {
	dt := dtype.F64
	if t, ok := v.(tensor.Tensor); ok {
		dt = t.DType()
	} else if whole(reflect.TypeOf(v)) {
		dt = dtype.I64
	} else if !slices.ContainsFunc(numbers, func(x float64) bool { return float64(float32(x)) != x && !math.IsNaN(x) }) {
		dt = dtype.F32
	}
	return map[dtype.Type]float64{dtype.F64: 1e-12, dtype.F32: 2e-5, dtype.F16: 4e-3, dtype.BF16: 3e-2}[dt]
}

// whole says whether a type has integers.
func whole(t reflect.Type) bool {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		return whole(t.Elem())
	}
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr
}

// numbers are the values of a tensor, a number, or a slice or array of numbers.
func numbers(v any) (list []float64, ok bool) {
	if t, ok := v.(tensor.Tensor); ok {
		if t.IsNone() || t.Freed() {
			return nil, false
		}
		return t.Float64s(), true
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Slice, reflect.Array:
		for i := range rv.Len() {
			x, ok := number(rv.Index(i))
			if !ok {
				return nil, false
			}
			list = append(list, x)
		}
		return list, true
	}
	x, ok := number(rv)
	return []float64{x}, ok
}

func number(v reflect.Value) (float64, bool) {
	switch {
	case !v.IsValid():
		return 0, false
	case v.CanInt():
		return float64(v.Int()), true
	case v.CanUint():
		return float64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return 0, false
}
