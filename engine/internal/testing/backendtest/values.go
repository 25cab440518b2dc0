package backendtest

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Values are a tensor's elements on the host, in C order: floats in F, integers and Bool in I.
type Values struct {
	DType dtype.Type
	Shape []int
	F     []float64
	I     []int64
}

// encode returns little-endian elements.
func (v *Values) encode() []byte {
	b := make([]byte, 0, (len(v.F)+len(v.I))*v.DType.Size())
	for _, x := range v.F {
		b = ir.Append(v.DType, b, ir.Scalar{F: x})
	}
	for _, x := range v.I {
		b = ir.Append(v.DType, b, ir.Scalar{F: float64(x), I: x})
	}
	return b
}

// read copies an evaluated node from its device.
func read(n *ir.Node) (Values, error) {
	d := n.Value()
	v := Values{DType: n.DType, Shape: n.Shape}
	mem := make([]byte, d.Buf.Bytes())
	if err := n.Dev.(*backend.Device).Download(context.Background(), mem, d, 0); err != nil {
		return v, err
	}
	if !slices.Equal(d.Layout.Shape, n.Shape) {
		return v, fmt.Errorf("got a layout of shape %v, want %v", d.Layout.Shape, n.Shape)
	}
	if n := ir.Size(v.Shape); v.DType.Float() {
		v.F = make([]float64, 0, n)
	} else {
		v.I = make([]int64, 0, n)
	}
	v.gather(mem, *d.Layout, 0, d.Layout.Offset)
	return v, nil
}

// gather appends the elements from an axis on.
func (v *Values) gather(mem []byte, l ir.Layout, axis, at int) {
	if axis < len(l.Shape) {
		for i := range l.Shape[axis] {
			v.gather(mem, l, axis+1, at+i*l.Stride[axis])
		}
		return
	}
	e := ir.Load(v.DType, mem[at*v.DType.Size():])
	if v.DType.Float() {
		v.F = append(v.F, e.F)
	} else {
		v.I = append(v.I, e.I)
	}
}

// ulp is the relative distance of neighbours of a floating-point type.
func ulp(dt dtype.Type) float64 {
	switch dt {
	case dtype.F16:
		return 1.0 / (1 << 10)
	case dtype.BF16:
		return 1.0 / (1 << 7)
	case dtype.F32:
		return 1.0 / (1 << 23)
	}
	return 1.0 / (1 << 52)
}

// least is the distance of the smallest numbers of a floating-point type.
func least(dt dtype.Type) float64 {
	switch dt {
	case dtype.F16:
		return 1.0 / (1 << 24)
	case dtype.F64:
		return math.SmallestNonzeroFloat64
	}
	return 1e-38 // subnormal results may be flushed
}

// compare compares v with the values that are right. Integers must be equal; floats may differ by the
// tolerance times the largest magnitude of all elements (or, elementwise, times the greater of the element's
// own and 1), and by one step of the type unless the tolerance is 0. NaN and infinities must be where they
// should be.
func (v *Values) compare(want *Values, tolerance float64, elementwise bool) error {
	if v.DType != want.DType || !slices.Equal(v.Shape, want.Shape) || len(v.F) != len(want.F) || len(v.I) != len(want.I) {
		return fmt.Errorf("got %v%v, want %v%v", v.DType, v.Shape, want.DType, want.Shape)
	}
	for i, x := range want.I {
		if v.I[i] != x {
			return fmt.Errorf("element %d of %v%v: got %d, want %d", i, v.DType, v.Shape, v.I[i], x)
		}
	}
	scale := want.scale()
	for i, x := range want.F {
		got := v.F[i]
		if got == x || got != got && x != x {
			continue
		}
		size := scale
		if elementwise {
			size = max(1, math.Abs(x))
		}
		allowed := tolerance * size
		if tolerance > 0 {
			allowed += ulp(v.DType)*math.Abs(x) + least(v.DType)
			if v.DType.Size() == 2 { // operands that were rounded to half precision on the way
				allowed += ulp(v.DType) / 4 * size
			}
		}
		if !(math.Abs(got-x) <= allowed) || math.IsInf(x, 0) || math.IsInf(got, 0) {
			return fmt.Errorf("element %d of %v%v: got %g, want %g (±%.2g)", i, v.DType, v.Shape, got, x, allowed)
		}
	}
	return nil
}

// round makes integers that differ by one from those that are right equal to them, if they are few: a number
// in the middle between two goes either way.
func (v *Values) round(want *Values) {
	few := 1 + len(want.I)/1000
	for i := range min(len(v.I), len(want.I)) {
		if d := v.I[i] - want.I[i]; (d == 1 || d == -1) && few > 0 {
			v.I[i], few = want.I[i], few-1
		}
	}
}

// scale is the largest magnitude of the finite elements.
func (v *Values) scale() float64 {
	scale := 0.0
	for _, x := range v.F {
		if x-x == 0 {
			scale = max(scale, math.Abs(x))
		}
	}
	return scale
}
