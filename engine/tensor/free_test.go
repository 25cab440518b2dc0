package tensor

import (
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
)

// Freed memory is the next result's, without a collection.
func TestFreeGivesMemoryBackAtOnce(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	x := Ones(512, 512).Eval()
	held := func() int64 { m := device.Default().Memory(); return m.InUse + m.Kept }
	loop := func(free bool) int64 {
		x.Add(1).Eval().Free() // what the loop needs at least
		before := held()
		for i := range 20 {
			y := x.Add(i).Eval()
			if free {
				y.Free()
			}
		}
		return (held() - before) >> 20
	}
	if grown := loop(true); grown != 0 {
		t.Errorf("20 results that were freed hold %d MiB", grown)
	}
	if grown := loop(false); grown < 5 { // of 20: some take what lay there
		t.Errorf("20 results that were not freed hold %d MiB: the loop measures nothing", grown)
	}
}

// After x = [1 2 3 4] was freed, another tensor that was made of it is read: want is its values, or the
// error.
func TestFree(t *testing.T) {
	none := func(Tensor) {}
	tests := []struct {
		name  string
		other func(x Tensor) Tensor
		then  func(x Tensor)
		want  any
	}{
		{"the tensor", func(x Tensor) Tensor { return x }, none, "got x f32[4], which was freed"},
		{"a copy of the handle, in an operation", func(x Tensor) Tensor { y := x; return y }, func(x Tensor) { x.Add(1) }, "add: got x f32[4], which was freed"},
		{"a result", func(x Tensor) Tensor { return x.Add(1).Eval() }, none, []float32{2, 3, 4, 5}},
		{"a result that waits", func(x Tensor) Tensor { return x.Add(1) }, none, "got x f32[4], which was freed, want its value"},
		{"a view", func(x Tensor) Tensor { return x.Slice(0, 1, 3).Eval() }, none, []float32{2, 3}},
		{"a view that waits", func(x Tensor) Tensor { return x.Slice(0, 1, 3) }, none, "got x f32[4], which was freed, want its value"},
		{"a snapshot", func(x Tensor) Tensor { return x.Snapshot() }, none, []float32{1, 2, 3, 4}},
		{"the same under another type", func(x Tensor) Tensor { return x.Cast(x.DType()) }, none, []float32{1, 2, 3, 4}},
		{"detached", func(x Tensor) Tensor { return x.Detach().Eval() }, none, []float32{1, 2, 3, 4}},
		{"set to it", func(x Tensor) Tensor { y := Zeros(4); y.Set(x); return y }, none, []float32{1, 2, 3, 4}},
		{"freed twice", func(x Tensor) Tensor { return x.Neg().Eval() }, Tensor.Free, []float32{-1, -2, -3, -4}},
		{"Set after that", func(x Tensor) Tensor { return x }, func(x Tensor) { x.Set(Ones(4)) }, "set: got x f32[4], which was freed"},
	}
	for _, test := range tests {
		x := From([]float32{1, 2, 3, 4}).Named("x")
		y := test.other(x)
		x.Free()
		z := Full(9, 4).Eval() // in the memory that came back
		var got []float32
		err := Try(func() { test.then(x); got = y.Floats() })
		switch want := test.want.(type) {
		case string:
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, %v, want the error %q", test.name, got, err, want)
			}
		case []float32:
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: got %v, %v, want %v", test.name, got, err, want)
			}
		}
		if !x.Freed() || y.Freed() != (x == y) || x.Brief() != "x f32[4] freed" {
			t.Errorf("%s: %s, Freed is %v of it and %v of the other", test.name, x.Brief(), x.Freed(), y.Freed())
		}
		if got := z.Floats()[3]; got != 9 {
			t.Errorf("%s: another tensor changed to %v", test.name, got)
		}
	}
	Tensor{}.Free()
	if (Tensor{}).Freed() {
		t.Error("the zero Tensor counts as freed")
	}
}

// A value that was computed from a parameter is computed again when a gradient needs it.
func TestFreeBeforeGrad(t *testing.T) {
	w := From([]float32{1, 2}).Param()
	h := w.Exp()
	loss := h.Mul(h).Sum()
	Eval(h, loss)
	want := Grad(w.Exp().Mul(w.Exp()).Sum(), w)[0].Floats()
	h.Free()
	if got := Grad(loss, w)[0].Floats(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Evaluations that began before a tensor was freed keep its memory until they are done.
func TestFreeWhileItIsRead(t *testing.T) {
	const n = 1 << 16
	for range 20 {
		x := Full(1, n).Eval()
		var readers sync.WaitGroup
		for i := range 4 {
			readers.Go(func() {
				var sum float64
				err := Try(func() { sum = x.Add(i).Sum().Item() })
				if want := float64(n * (1 + i)); err == nil && sum != want {
					t.Errorf("got %v, want %v or an error", sum, want)
				} else if err != nil && !strings.Contains(err.Error(), "which was freed") {
					t.Error(err)
				}
			})
		}
		x.Free()
		for range 4 { // tensors that would take the memory
			Full(7, n).Eval().Free()
		}
		readers.Wait()
	}
}
