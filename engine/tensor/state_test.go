package tensor

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Copies of a handle are one tensor: Set changes what all of them hold, and a parameter stays one.
func TestSet(t *testing.T) {
	w := From([]float64{1, 2}).Param().Named("w")
	other := w
	before := w.Mul(10)
	w.Set(w.Add(1))
	if got := other.Floats(); !slices.Equal(got, []float32{2, 3}) {
		t.Errorf("the other handle holds %v, want [2 3]", got)
	}
	if got := before.Floats(); !slices.Equal(got, []float32{10, 20}) {
		t.Errorf("what was computed before became %v, want [10 20]", got)
	}
	if !w.IsParam() || w.Name() != "w" {
		t.Errorf("after Set: parameter %v, name %q", w.IsParam(), w.Name())
	}
	if g := Grad(w.Square().Sum(), w)[0].Floats(); !slices.Equal(g, []float32{4, 6}) {
		t.Errorf("gradient after Set: %v, want [4 6]", g)
	}
}

// A name that is given late does not cut the tensor off from what was computed with it.
func TestNamedLate(t *testing.T) {
	w := From([]float64{3}).Param()
	loss := w.Square().Sum()
	w.Named("w")
	if g := Grad(loss, w)[0].Item(); g != 6 {
		t.Errorf("got %v, want 6", g)
	}
}

func TestDetach(t *testing.T) {
	w := From([]float64{3}).Param()
	loss := w.Mul(w.Detach()).Sum()
	if g := Grad(loss, w)[0].Item(); g != 3 {
		t.Errorf("got %v, want 3: only one factor counts", g)
	}
	err := Try(func() { Grad(w.Detach().Sum(), w) })
	want := "grad: the loss does not depend on f32[1] but through detach, which has no gradient: it is there to stop gradients"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Printing a loss first does not prevent a gradient afterwards.
func TestGradAfterReading(t *testing.T) {
	w := From([]float64{1, 2, 3}).Param()
	h := w.Mul(2).Exp()
	loss := h.Sum()
	_, _ = h.String(), loss.Item()
	g := Grad(loss, w)[0].Float64s()
	for i, x := range []float64{1, 2, 3} {
		if want := 2 * math.Exp(2*x); math.Abs(g[i]-want) > 1e-5*want {
			t.Errorf("element %d: got %v, want %v", i, g[i], want)
		}
	}
}

func TestTo(t *testing.T) {
	ref, err := device.Lookup("ref")
	if err != nil {
		t.Fatal(err)
	}
	x := From([][]int{{1, 2}, {3, 4}}).Transpose()
	y := x.To(ref)
	if y.Device() != ref || !slices.Equal(y.Ints(), []int{1, 3, 2, 4}) {
		t.Errorf("got %v on %v", y.Ints(), y.Device())
	}
	err = Try(func() { x.Add(y) })
	if want := "add: got tensors on cpu and ref, want one device (To copies)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// An interrupted evaluation says so, and the tensor can be evaluated afterwards.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	cancel(stop)
	x := Ones(64, 64).MatMul(Ones(64, 64)).Sum()
	for name, err := range map[string]error{
		"Within":      Try(func() { Within(ctx, func() { x.Item() }) }),
		"EvalContext": EvalContext(ctx, x),
	} {
		if !errors.Is(err, stop) {
			t.Errorf("%s: got %v, want an error that wraps %q", name, err, stop)
		}
	}
	if got := x.Item(); got != 64*64*64 {
		t.Errorf("afterwards: got %v, want %v", got, 64*64*64)
	}
}

// Goroutines may build on and evaluate the same tensors.
func TestConcurrentUse(t *testing.T) {
	w := Ones(16, 16).Param()
	shared := w.MatMul(w).Add(1) // 17 everywhere, evaluated by whoever comes first
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for range 20 {
				if got := shared.Mul(i).Sum().Item(); got != float64(17*256*i) {
					t.Errorf("got %v, want %v", got, 17*256*i)
					return
				}
			}
		})
	}
	wait.Wait()
}

// The adapter's layer takes rows of any rank and gives what its definition says, forward and backward.
func TestLoRALinear(t *testing.T) {
	r := NewRNG(5)
	x, w := r.Randn(2, 3, 8).Param(), r.Randn(8, 4).Param()
	a, b := r.Randn(8, 2).Param(), r.Randn(2, 4).Param()
	fused := LoRALinear(x, w, a, b, 0.5)
	plain := x.MatMul(w).Add(x.MatMul(a).MatMul(b).Mul(0.5))
	if !AllClose(fused, plain, 1e-5, 1e-5) {
		t.Errorf("forward differs by %v", MaxAbsDiff(fused, plain))
	}
	params := []Tensor{x, w, a, b}
	p, q := Grad(fused.Square().Sum(), params...), Grad(plain.Square().Sum(), params...)
	for i := range p {
		if !AllClose(p[i], q[i], 1e-4, 1e-4) {
			t.Errorf("gradient %d differs by %v", i, MaxAbsDiff(p[i], q[i]))
		}
	}
}

// A number takes the tensor's dtype; of two tensors the wider one wins, floats before integers before
// booleans.
func TestPromotion(t *testing.T) {
	of := func(dt dtype.Type) Tensor { return Ones(2).Cast(dt) }
	for _, c := range []struct {
		got  Tensor
		want dtype.Type
	}{
		{of(dtype.F16).Mul(0.1), dtype.F16},
		{of(dtype.BF16).Add(1), dtype.BF16},
		{of(dtype.F16).Add(of(dtype.BF16)), dtype.F32},
		{of(dtype.BF16).Add(of(dtype.F32)), dtype.F32},
		{of(dtype.I64).Mul(of(dtype.F16)), dtype.F16},
		{of(dtype.U8).Add(of(dtype.I32)), dtype.I32},
		{of(dtype.U8).Add(2), dtype.U8},
		{of(dtype.U8).Add(of(dtype.I8)), dtype.I16},
		{of(dtype.U64).Add(of(dtype.I8)), dtype.F64},
		{of(dtype.U64).Shl(3), dtype.U64},
		{of(dtype.I16).MatMul(of(dtype.I16)), dtype.I16},
		{of(dtype.I8).Sum(), dtype.I64},
		{of(dtype.U32).Prod(), dtype.U64},
		{of(dtype.I32).CumSum(0), dtype.I64},
		{of(dtype.I8).Max(), dtype.I8},
		{of(dtype.U16).Div(of(dtype.U16)), dtype.F32},
		{of(dtype.F64).Mul(of(dtype.I64)), dtype.F64},
		{of(dtype.F64).Mean(), dtype.F64},
		{of(dtype.I32).Mul(0.5), dtype.F32},
		{of(dtype.I32).Mul(2.0), dtype.F32},
		{of(dtype.I32).Mul(2), dtype.I32},
		{of(dtype.Bool).Add(of(dtype.Bool)), dtype.I64},
		{of(dtype.Bool).Mul(of(dtype.F32)), dtype.F32},
		{of(dtype.I64).Div(2), dtype.F32},
		{of(dtype.I64).FloorDiv(2), dtype.I64},
		{of(dtype.I64).Exp(), dtype.F32},
		{of(dtype.BF16).Softmax(-1), dtype.BF16},
		{of(dtype.Bool).Sum(), dtype.I64},
		{of(dtype.I32).Mean(), dtype.F32},
	} {
		if got := c.got.DType(); got != c.want {
			t.Errorf("got %v, want %v", got, c.want)
		}
	}
}
