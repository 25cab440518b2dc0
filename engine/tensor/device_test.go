package tensor

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/profile"
)

// lookup opens a device for a test.
func lookup(t *testing.T, name string) device.Device {
	t.Helper()
	d, err := device.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A tensor of a device that was closed says so wherever its value is needed, and a device of the same name
// that is opened later is another one.
func TestClosedDevice(t *testing.T) {
	old := lookup(t, "cpu:2")
	x := From([]float64{1, 2, 3}).To(old)
	waiting := x.Mul(2)
	if got := x.Add(1).Floats(); got[2] != 4 {
		t.Fatalf("got %v", got)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	again := lookup(t, "cpu:2")
	if again == old || x.Device() != old || old.Sync() == nil || again.Sync() != nil {
		t.Errorf("the device of x is %v, want the one that was closed", x.Device())
	}
	for what, f := range map[string]func(){
		"read": func() { x.Floats() }, "eval": func() { waiting.Eval() }, "to": func() { x.To(device.CPU()).Eval() },
		"mixed": func() { x.Add(From([]float64{1, 2, 3}).To(again)) },
	} {
		err := Try(f)
		if err == nil || what == "mixed" && !strings.Contains(err.Error(), "closed or lost") || what != "mixed" && (!errors.Is(err, device.ErrLost) || !strings.Contains(err.Error(), "cpu:2: the device was lost: it was closed")) {
			t.Errorf("%s: got %v, want an error that says that the device was lost", what, err)
		}
	}
	if got := From([]float64{1, 2, 3}).To(again).Mul(2).Floats(); got[2] != 6 {
		t.Errorf("on the device that was opened again: got %v", got)
	}
}

// To copies whatever layout a tensor has, and gradients flow back through it.
func TestToCopies(t *testing.T) {
	ref := lookup(t, "ref")
	x := From([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	for _, c := range []struct {
		name   string
		x      Tensor
		copies bool // and not made of numbers over there
	}{
		{"stored", x, true}, {"turned, stored", x.Transpose().Eval(), true}, {"computed", x.Mul(2).Add(1), true}, {"turned", x.Transpose(), true}, {"a part", x.Slice(1, 1, 3), true},
		{"backwards", x.Flip(0).Eval(), true}, {"repeated", x.Unsqueeze(0).Expand(4, 2, 3), true}, {"integers", x.Cast(dtype.I64), true},
		{"nothing", From([]float64{}, 0, 3), true}, {"one number", From(7.0), true}, {"random", Rand(5), true},
		{"zeros", Zeros(3, 4), false}, {"indices", Range(9).Cast(dtype.F16).Reshape(3, 3), false}, {"numbers, evaluated", Full(3, 2).Eval(), true},
	} {
		var y Tensor
		rec := profile.Record(t.Context(), func(context.Context) { y = c.x.To(ref).Eval() })
		if y.Device() != ref || y.DType() != c.x.DType() || !slices.Equal(y.Shape(), c.x.Shape()) || !bytes.Equal(y.Bytes(), c.x.Bytes()) {
			t.Errorf("%s: got %v, want what %v is", c.name, y, c.x)
		}
		if want := int64(2 * len(c.x.Bytes())); c.copies && rec.CopiedBytes != want || !c.copies && rec.CopiedBytes != 0 {
			t.Errorf("%s: %d bytes were copied, want copies: %v", c.name, rec.CopiedBytes, c.copies)
		}
	}
	rec := profile.Record(t.Context(), func(context.Context) {
		x.Transpose().To(ref).Eval()
		x.Transpose().Eval().To(ref).Eval()
	})
	if rec.Launches != 0 || rec.CopiedBytes != 4*24 {
		t.Errorf("a matrix that is turned took %v, want it copied as it lies", rec.Summary())
	}
	w := From([]float64{1, 2, 3}).Named("w").Param()
	there := w.Mul(w).To(ref)
	loss := there.Mul(there).To(w.Device()).Mul(w).Sum() // Σ w⁵
	g := Grad(loss, w)[0]
	if got := g.Floats(); g.Device() != w.Device() || !slices.Equal(got, []float32{5, 80, 405}) {
		t.Errorf("the gradient is %v on %v, want 5w⁴ on %v", got, g.Device(), w.Device())
	}
	if s := Grad(g.Sum(), w)[0].Floats(); !slices.Equal(s, []float32{20, 160, 540}) {
		t.Errorf("the second derivative is %v, want 20w³", s)
	}
	plan := From([]float64{1, 2}).Add(1).To(ref).Exp().Plan()
	for _, want := range []string{"1 launch on cpu", "copy f32[2] from cpu to ref, 8 B", "1 launch on ref"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan is\n%s\nwant %q in it", plan, want)
		}
	}
	if err := Try(func() { x.To(device.Device{}) }); err == nil || !strings.Contains(err.Error(), "to: got no device") {
		t.Errorf("got %v", err)
	}
	if err := Try(func() { x.Add(x.To(ref)) }); err == nil || !strings.Contains(err.Error(), "got tensors on cpu and ref, want one device (To copies)") {
		t.Errorf("got %v, want an error that names both devices", err)
	}
}

// A large tensor is copied in pieces, which stop with the context.
func TestToIsBoundedAndStops(t *testing.T) {
	other := lookup(t, "cpu:1")
	x := Rand(1 << 22).Eval()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	y := x.To(other).Eval()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 6<<20 {
		t.Errorf("copying 16 MiB took %d bytes of Go's heap, want a piece", n)
	}
	if !bytes.Equal(x.Bytes(), y.Bytes()) {
		t.Error("the copy differs")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	z := x.To(other)
	Within(ctx, func() {
		if err := Try(func() { z.Eval() }); err == nil || z.Evaluated() {
			t.Errorf("with a context that is done: got %v", err)
		}
	})
	if !bytes.Equal(x.Bytes(), z.Bytes()) {
		t.Error("afterwards the copy differs")
	}
}

// Random numbers are drawn on the device of the tensor that they are for, with the same bits on each.
func TestRandomOnOtherDevices(t *testing.T) {
	ref := lookup(t, "ref")
	x := From([]float64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4)
	for _, c := range []struct {
		name string
		f    func(r *RNG, x Tensor) Tensor
	}{
		{"dropout", func(r *RNG, x Tensor) Tensor { return r.Dropout(x, 0.5) }},
		{"categorical", func(r *RNG, x Tensor) Tensor { return r.Categorical(x, 5) }},
	} {
		var there Tensor
		here := c.f(NewRNG(7), x).Bytes()
		y := x.To(ref).Eval()
		rec := profile.Record(t.Context(), func(context.Context) { there = c.f(NewRNG(7), y).Eval() })
		if there.Device() != ref || !bytes.Equal(there.Bytes(), here) || rec.Copies != 0 {
			t.Errorf("%s: got %v on %v with %d copies, want what cpu draws", c.name, there, there.Device(), rec.Copies)
		}
	}
}

// A compiled function may compute on several devices: it gives what it gives uncompiled, sets tensors where
// they live, and holds no memory after a call.
func TestCompileOnSeveralDevices(t *testing.T) {
	other := lookup(t, "cpu:1")
	w := From([]float64{1, 2, 3, 4}, 2, 2).Param()
	there := From([]float64{10, 20}).To(other).Eval()
	for _, c := range []struct {
		name string
		f    func(args ...Tensor) []Tensor
	}{
		{"there and back", func(args ...Tensor) []Tensor {
			h := args[0].MatMul(w).To(other).Add(there).Exp()
			return []Tensor{h.To(w.Device()).Sum(), h}
		}},
		{"gradients", func(args ...Tensor) []Tensor {
			h := args[0].MatMul(w).Tanh().To(other)
			return append(Grad(h.Mul(there).To(w.Device()).Sum(), w), h.Transpose())
		}},
		{"what is stored, turned", func(args ...Tensor) []Tensor {
			return []Tensor{args[0].Transpose().To(other), w.To(other).Mul(2), args[0]}
		}},
		{"random", func(args ...Tensor) []Tensor {
			return []Tensor{Dropout(args[0].To(other), 0.5), Dropout(args[0], 0.5), Rand(3).To(other), Rand(2)}
		}},
		{"three hops", func(args ...Tensor) []Tensor {
			ref := lookup(t, "ref")
			return []Tensor{args[0].Add(1).To(ref).Mul(2).To(other).Add(3).To(w.Device()).Mul(4)}
		}},
		{"numbers", func(args ...Tensor) []Tensor {
			return []Tensor{Varying(func() float64 { return float64(args[0].Rank()) }).To(other).Add(there), Arange(0, 2, 1).To(other).Mul(there)}
		}},
	} {
		compiled := Compile(c.f)
		for call := range 5 {
			x := From([]float64{0.1, 0.2, 0.3, float64(call)}, 2, 2)
			Seed(uint64(call))
			want := c.f(x)
			Seed(uint64(call))
			for i, got := range compiled(x) {
				if got.Device() != want[i].Device() || !slices.Equal(got.Shape(), want[i].Shape()) || !bytes.Equal(got.Bytes(), want[i].Bytes()) {
					t.Errorf("%s: call %d: result %d is %v on %v, want %v on %v", c.name, call, i, got, got.Device(), want[i], want[i].Device())
				}
			}
		}
	}
	a, b := From([]float64{1, 1}).Eval(), From([]float64{1, 1}).To(other).Eval()
	step := Compile(func(...Tensor) []Tensor {
		a.Set(a.Add(b.To(a.Device())))
		b.Set(b.Add(a.To(other)))
		return nil
	})
	for range 4 {
		step()
	}
	if !slices.Equal(a.Floats(), []float32{34, 34}) || !slices.Equal(b.Floats(), []float32{55, 55}) || b.Device() != other {
		t.Errorf("after four steps: %v and %v on %v, want 34 and 55", a.Floats(), b.Floats(), b.Device())
	}
	// Memory: large values, of which none may stay behind, without the collector's help.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	big := Rand(1 << 16).Eval()
	f := Compile(func(args ...Tensor) []Tensor { return []Tensor{args[0].Exp().To(other).Mul(2).Sum()} })
	var first int64
	for i := range 6 {
		Free(f(big)...)
		if used := device.InUse(); i == 2 {
			first = used
		} else if i > 2 && used > first {
			t.Errorf("call %d: %d bytes are in use, %d after the third", i, used, first)
		}
	}
}

// A device may be closed while others compute on it: they get their results, or are told.
func TestCloseWhileComputing(t *testing.T) {
	for range 20 {
		d := lookup(t, "cpu:2")
		x := Rand(200, 200).To(d).Eval()
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 50 {
					if err := Try(func() { x.MatMul(x).Eval() }); err != nil {
						if !errors.Is(err, device.ErrLost) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		group.Wait()
		if err := Try(func() { x.Floats() }); !errors.Is(err, device.ErrLost) {
			t.Errorf("got %v, want an error that says that the device was lost", err)
		}
	}
}

// tensorsOf lists a result that is a tensor, or those in its fields.
func tensorsOf(v reflect.Value) (list []Tensor) {
	if y, ok := v.Interface().(Tensor); ok {
		if y.IsNone() {
			return nil
		}
		return []Tensor{y}
	}
	for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
		if f := v.Field(i); f.CanInterface() {
			list = append(list, tensorsOf(f)...)
		}
	}
	return list
}

// Every method of a tensor works on the tensor's device, whatever the default one is, and gives tensors
// there.
func TestMethodsStayOnTheDevice(t *testing.T) {
	other := lookup(t, "cpu:1")
	arguments := map[reflect.Type][]any{
		reflect.TypeFor[int]():        {0, 1},
		reflect.TypeFor[float64]():    {0.5, 2.0},
		reflect.TypeFor[bool]():       {false, true},
		reflect.TypeFor[[]int]():      {[]int{0}, []int{1, 0}, []int{3, 3}},
		reflect.TypeFor[any]():        {2.0, From([]float64{1, 2, 3}).To(other)},
		reflect.TypeFor[dtype.Type](): {dtype.F32, dtype.I64},
		reflect.TypeFor[Tensor](): {Rand(3, 3).To(other), From([]int{0, 2, 1}).To(other), Rand(3).Gt(0.5).To(other), Rand(3, 3).Gt(0.5).To(other),
			From([][]int{{0, 1, 2}, {2, 1, 0}, {1, 1, 1}}).To(other)},
		reflect.TypeFor[device.Device](): {other},
		reflect.TypeFor[string]():        {"name"},
	}
	worked := 0
	methods := reflect.TypeFor[Tensor]()
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		ok, called := false, 0
		for _, x := range []Tensor{Rand(3, 3).To(other), From([]int{1, 0, 2, 1, 0, 1, 2, 2, 1}, 3, 3).To(other)} {
			for pick := range 5 {
				in := []reflect.Value{reflect.ValueOf(x.Mul(1).Eval())}
				for a := 1; a < m.Type.NumIn(); a++ {
					typ := m.Type.In(a)
					list := arguments[typ]
					if len(list) == 0 {
						in = nil
						break
					}
					v := reflect.New(typ).Elem()
					v.Set(reflect.ValueOf(list[pick%len(list)]))
					in = append(in, v)
				}
				if in == nil {
					continue
				}
				called++
				err := Try(func() {
					call := m.Func.Call
					if m.Type.IsVariadic() {
						call = m.Func.CallSlice
					}
					for _, out := range call(in) {
						for _, y := range tensorsOf(out) {
							if y.Eval(); y.Device() != other {
								t.Errorf("%s: the result is on %v, want %v", m.Name, y.Device(), other)
							}
							ok = true
						}
					}
				})
				if err != nil && strings.Contains(err.Error(), "got tensors on") {
					t.Errorf("%s: %v", m.Name, err)
				}
			}
		}
		if ok {
			worked++
		} else if called > 0 && m.Type.NumOut() > 0 && m.Type.Out(0) == methods {
			t.Logf("%s refused all arguments", m.Name)
		}
	}
	t.Logf("%d methods gave tensors", worked)
	if worked < 80 {
		t.Errorf("%d methods gave tensors, want most of those that there are", worked)
	}
}

// So do the functions of the package.
func TestFunctionsStayOnTheDevice(t *testing.T) {
	other := lookup(t, "cpu:1")
	x, v, q := Rand(4, 4).To(other).Eval(), Rand(4).To(other).Eval(), Rand(1, 2, 4, 8).To(other).Eval()
	ids, w := From([]int{0, 1, 2, 3}).To(other).Eval(), Rand(4, 4).To(other).Param()
	for name, f := range map[string]func() Tensor{
		"where":       func() Tensor { return Where(x.Gt(0.5), x, 0) },
		"where, only": func() Tensor { return Where(x.Gt(0.5), 1, 0) },
		"concat":      func() Tensor { return Concat([]Tensor{x, x}, 0) },
		"stack":       func() Tensor { return Stack([]Tensor{x, x}, 0) },
		"einsum":      func() Tensor { return Einsum("ij,jk->ik", []Tensor{x, x}) },
		"diagonal":    func() Tensor { return Einsum("ii->i", []Tensor{x}) },
		"diag":        func() Tensor { return Diag(v) },
		"meshgrid":    func() Tensor { return Meshgrid(v, v)[0] },
		"cross entropy": func() Tensor {
			return Grad(CrossEntropy(w, ids, CrossEntropyOptions{Smoothing: 0.1}), w)[0]
		},
		"attention":            func() Tensor { return Attention(q, q, q, AttentionOptions{Causal: true}) },
		"lora":                 func() Tensor { return LoRALinear(x, x, x, x, 2) },
		"linear":               func() Tensor { return Linear(x, x, v) },
		"losses":               func() Tensor { return MeanSquares(x, x).Add(BinaryCrossEntropy(x, x)).Add(KLDivergence(x, x).Sum()) },
		"cosine":               func() Tensor { return CosineSimilarity(x, x, 0) },
		"norm of all":          func() Tensor { return SumSquares([]Tensor{x, v}) },
		"gradient of a sum":    func() Tensor { return Grad(w.Mul(2).Sum(), w)[0] },
		"gradient of a median": func() Tensor { return Grad(w.Median(0).Sum(), w)[0] },
		"checkpoint, by way of the default": func() Tensor {
			f := func(x Tensor) Tensor { return x.Tanh().MatMul(w).To(device.Default()).Exp().To(other) }
			return Grad(Checkpoint(f, x.MatMul(w)).Sum(), w)[0]
		},
	} {
		if err := Try(func() {
			if y := f().Eval(); y.Device() != other {
				t.Errorf("%s: the result is on %v, want %v", name, y.Device(), other)
			}
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !AllClose(x, x, 0, 0) || MaxAbsDiff(x, x) != 0 {
		t.Error("a tensor differs from itself")
	}
	bad := x.Sub(2).To(device.Default()).Log()
	if got := FirstNonFinite(bad.To(other).Mul(w).Sum()); !strings.Contains(got, "16 NaN of 16") {
		t.Errorf("the first that is not finite: got %q, want the logarithm, 16 NaN of 16", got)
	}
	err := Try(func() { Checkpoint(func(x Tensor) Tensor { return x.To(device.Default()) }, x) })
	if err == nil || !strings.Contains(err.Error(), "checkpoint: got tensors on cpu and cpu:1") {
		t.Errorf("a checkpoint that ends elsewhere: got %v", err)
	}
}
