package check

import (
	"bytes"
	"fmt"
	"math"
	"math/cmplx"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// Close fails unless got is what want is, up to rounding. Both are tensors, numbers, slices of numbers, or
// lists of tensors. First their shapes are compared, which a number in Go has, too: []. Two tensors must have
// one dtype. Then each element may differ by what the coarser of the two dtypes rounds: by 1e-5 (f32), 1e-9
// (f64), 4e-3 (f16) or 3e-2 (bf16) of the wanted element or, if that is more, of the largest one up to 1.
// Integers and booleans must be equal. A NaN equals a NaN only, an infinity itself only.
func Close(t *T, got, want any) { compare(t, got, want, -1) }

// CloseTo is Close with another tolerance.
func CloseTo(t *T, got, want any, tolerance float64) { compare(t, got, want, max(tolerance, 0)) }

// rounding is how far two ways to compute the same are apart in a type.
var rounding = map[dtype.Type]float64{dtype.F64: 1e-9, dtype.C128: 1e-9, dtype.F32: 1e-5, dtype.C64: 1e-5, dtype.F16: 4e-3, dtype.BF16: 3e-2}

// compare is Close with a tolerance; below 0: that of the dtypes.
func compare(t *T, got, want any, tolerance float64) {
	a, ok := got.([]tensor.Tensor)
	b, both := want.([]tensor.Tensor)
	if ok && both {
		if len(a) != len(b) {
			t.fail("got %s, want %d", units.Plural(int64(len(a)), "tensor"), len(b))
			return
		}
		label := t.label
		for i := range a {
			t.label = fmt.Sprintf("%s[%d]", label, i)
			compare(t, a[i], b[i], tolerance)
		}
		t.label = label
		return
	}
	t.try(func() { compareOne(t, got, want, tolerance) })
}

func compareOne(t *T, got, want any, tolerance float64) {
	x, wrong := valueOf(got)
	if wrong != "" {
		t.fail("got %s", wrong)
		return
	}
	y, wrong := valueOf(want)
	switch {
	case wrong != "":
		t.fail("the check wants %s: a mistake of the check", wrong)
	case !slices.Equal(x.shape, y.shape):
		t.fail("got shape %v, want %v%s", x.shape, y.shape, inBrackets(aboutShapes(x.shape, y.shape)))
	case !x.tensor.IsNone() && !y.tensor.IsNone() && x.dt != y.dt:
		t.fail("got %v, want %v", x.dt, y.dt)
	default:
		if tolerance < 0 {
			tolerance = max(rounding[x.dt], rounding[y.dt])
		}
		if text := differ(&x, &y, tolerance); text != "" {
			t.fail("%s", text)
		}
	}
}

// differ says where the numbers of two values of one shape differ most; "" if they are near enough.
func differ(x, y *value, tolerance float64) string {
	p, q := x.read(), y.read()
	least := 0.0 // the part of a difference that does not depend on the element
	for _, c := range q {
		if m := cmplx.Abs(c); !math.IsInf(m, 0) && !math.IsNaN(m) {
			least = max(least, m)
		}
	}
	if least > 1 || least == 0 {
		least = 1
	}
	exact := x.exactly(y)
	worst, at, n := 0.0, -1, 0
	for i := range p {
		d := distance(p[i], q[i])
		if d == 0 && exact != nil && !exact(i) {
			d = math.SmallestNonzeroFloat64 // integers beyond what a float64 holds
		}
		if d == 0 || d <= tolerance*max(cmplx.Abs(q[i]), least) {
			continue
		}
		if n++; d > worst {
			worst, at = d, i
		}
	}
	if at < 0 {
		return ""
	}
	place, many := "", ""
	if len(p) > 1 {
		place, many = fmt.Sprintf(" at %v", ir.IndexOf(at, x.shape)), fmt.Sprintf("%d of %d elements differ", n, len(p))
		if f, ok := factor(p, q); ok {
			many = fmt.Sprintf("each is %.3g times what is wanted", f)
		}
	}
	wanted := y.dt
	if wanted.Int() && x.dt.Float() { // an integer is written as such if both are
		wanted = x.dt
	}
	return fmt.Sprintf("got %s%s, want %s%s", text(p[at], x.dt), place, text(q[at], wanted), inBrackets(many))
}

// distance is |a − b|: 0 for two NaN and for equal infinities, infinite where only one is not a number.
func distance(a, b complex128) float64 {
	switch d := cmplx.Abs(a - b); {
	case a == b || cmplx.IsNaN(a) && cmplx.IsNaN(b):
		return 0
	case math.IsNaN(d):
		return math.Inf(1)
	default:
		return d
	}
}

// exactly compares elements of 64-bit integers by their bytes; nil: float64 holds all elements.
func (x *value) exactly(y *value) func(i int) bool {
	if x.dt != y.dt || x.dt != dtype.I64 && x.dt != dtype.U64 || x.tensor.IsNone() || y.tensor.IsNone() {
		return nil
	}
	a, b, size := x.tensor.Bytes(), y.tensor.Bytes(), x.dt.Size()
	return func(i int) bool { return bytes.Equal(a[i*size:(i+1)*size], b[i*size:(i+1)*size]) }
}

// factor is what all elements of p are times those of q, if it is one number.
func factor(p, q []complex128) (f float64, ok bool) {
	for i := range p {
		switch r := real(p[i] / q[i]); {
		case p[i] == 0 && q[i] == 0:
		case math.IsNaN(r) || math.IsInf(r, 0) || r == 0 || imag(p[i]) != 0 || imag(q[i]) != 0:
			return 0, false
		case !ok:
			f, ok = r, true
		case math.Abs(r-f) > 1e-4*math.Abs(f):
			return 0, false
		}
	}
	return f, ok
}

// aboutShapes says how one shape becomes another, where there is a word for it.
func aboutShapes(got, want []int) string {
	ones := func(n int) bool { return n == 1 }
	size := func(shape []int) int {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return n
	}
	switch without := slices.DeleteFunc(slices.Clone(got), ones); {
	case slices.Equal(without, slices.DeleteFunc(slices.Clone(want), ones)) && len(got) > len(want):
		return "an axis of length 1 too many: Squeeze removes it"
	case slices.Equal(without, slices.DeleteFunc(slices.Clone(want), ones)) && len(got) < len(want):
		return "an axis of length 1 is missing: Unsqueeze inserts one, and SumKeep, MeanKeep keep it"
	case len(want) == 0:
		return "a sum over all elements has no axis"
	case len(got) == 0:
		return "a sum over one axis keeps the others"
	case slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))):
		return "the axes are in another order"
	case size(got) == size(want):
		return "as many elements, arranged otherwise"
	}
	if axis := removed(got, want); axis >= 0 {
		return fmt.Sprintf("axis %d is too many", axis)
	}
	if axis := removed(want, got); axis >= 0 {
		return fmt.Sprintf("axis %d of the wanted shape is missing", axis)
	}
	return ""
}

// removed is the axis without which a shape is another one; -1: there is none.
func removed(shape, other []int) int {
	for axis := range shape {
		if slices.Equal(slices.Delete(slices.Clone(shape), axis, axis+1), other) {
			return axis
		}
	}
	return -1
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
