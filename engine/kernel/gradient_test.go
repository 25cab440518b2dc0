package kernel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// squareWithGradient has a second kernel for its gradient.
func squareWithGradient(t *testing.T) *kernel.Kernel {
	back := written(t, "square_grad", `
kernel void square_grad(device const float* x, device const float* dy, device float* dx, constant uint& n, uint i [[thread_position_in_grid]]) {
  if (i < n) dx[i] = 2.0f * x[i] * dy[i];
}`, kernel.Options{Launch: lengths})
	return written(t, "square", square, kernel.Options{Launch: lengths, Grad: func(in, _, dout []tensor.Tensor) []tensor.Tensor {
		return []tensor.Tensor{back.Call(in[0], dout[0])}
	}})
}

// A kernel takes part in a gradient: of a parameter, through other operations, twice, through a checkpoint.
func TestGrad(t *testing.T) {
	onMachine(t, func(t *testing.T) {
		own, row := squareWithGradient(t), written(t, "softmax", softmax, softmaxOptions())
		w := tensor.Randn(3, 40).Named("w").Param()
		x := tensor.Randn(3, 40).Eval()
		for _, c := range []struct {
			name      string
			got, want func(w tensor.Tensor) tensor.Tensor
		}{
			{"a second kernel", func(w tensor.Tensor) tensor.Tensor { return own.Call(w.Mul(x)).Sum() }, func(w tensor.Tensor) tensor.Tensor { return w.Mul(x).Square().Sum() }},
			{"operations", func(w tensor.Tensor) tensor.Tensor { return row.Call(w).Mul(x).Sum() }, func(w tensor.Tensor) tensor.Tensor { return w.Softmax(-1).Mul(x).Sum() }},
			{"one on the other", func(w tensor.Tensor) tensor.Tensor { return own.Call(row.Call(w)).Mul(x).Sum() },
				func(w tensor.Tensor) tensor.Tensor { return w.Softmax(-1).Square().Mul(x).Sum() }},
			{"a second derivative", func(w tensor.Tensor) tensor.Tensor { return tensor.Grad(row.Call(w).Mul(x).Sum(), w)[0].Mul(x).Sum() },
				func(w tensor.Tensor) tensor.Tensor { return tensor.Grad(w.Softmax(-1).Mul(x).Sum(), w)[0].Mul(x).Sum() }},
			{"a checkpoint", func(w tensor.Tensor) tensor.Tensor {
				return tensor.Checkpoint(func(w tensor.Tensor) tensor.Tensor { return own.Call(w).Sin() }, w.Mul(2)).Sum()
			}, func(w tensor.Tensor) tensor.Tensor { return w.Mul(2).Square().Sin().Sum() }},
		} {
			got, want := tensor.Grad(c.got(w), w)[0], tensor.Grad(c.want(w), w)[0]
			if !tensor.AllClose(got, want, 1e-4, 1e-5) {
				t.Errorf("%s: got %v, want %v", c.name, got, want)
			}
		}
	})
}

// An output through which nothing flowed back has zeros; a function that reads its tensors reads them.
func TestGradReads(t *testing.T) {
	compiled(t)
	const both = `
kernel void both(device const float* x, device float* a, device float* b, uint i [[thread_position_in_grid]]) {
  a[i] = x[i] + 1.0f;
  b[i] = 2.0f * x[i];
}`
	var read string
	k := written(t, "both", both, kernel.Options{
		Launch: func(l *kernel.Launch) { l.Threads(l.Size("x")) },
		Grad: func(in, out, dout []tensor.Tensor) []tensor.Tensor {
			read = fmt.Sprint(in[0].Floats(), out[1].Floats(), dout[0].Floats(), dout[1].Floats())
			return []tensor.Tensor{dout[0].Add(dout[1].Mul(2))}
		},
	})
	w := tensor.From([]float32{1, 2}).Param()
	if got := tensor.Grad(k.CallAll(w)[1].Sum(), w)[0].Floats(); got[0] != 2 || got[1] != 2 {
		t.Errorf("got %v, want [2 2]", got)
	}
	if want := "[1 2] [2 4] [0 0] [1 1]"; read != want {
		t.Errorf("the function read %s, want %s", read, want)
	}
}

// What is wrong with a gradient is said with the kernel's name.
func TestGradRefuses(t *testing.T) {
	w := tensor.Ones(3).Named("w").Param()
	grad := func(f func(in, out, dout []tensor.Tensor) []tensor.Tensor) func() error {
		k := written(t, "square", square, kernel.Options{Launch: lengths, Grad: f})
		return func() error { return tensor.Try(func() { tensor.Grad(k.Call(w).Sum(), w) }) }
	}
	for _, c := range []struct {
		name string
		f    func() error
		want string
	}{
		{"none", grad(nil), "grad: user_kernel (f32[3]) has no gradient: square was made without Options.Grad"},
		{"too few", grad(func(_, _, _ []tensor.Tensor) []tensor.Tensor { return nil }),
			"grad: user_kernel (f32[3]) has no gradient: square: Options.Grad returned 0 tensors, want one for each of x"},
		{"another shape", grad(func(_, _, dout []tensor.Tensor) []tensor.Tensor { return []tensor.Tensor{dout[0].Sum()} }),
			"grad: user_kernel (f32[3]) has no gradient: square: Options.Grad returned f32[] for x, want f32[3]"},
		{"no gradient of the input", grad(func(_, _, _ []tensor.Tensor) []tensor.Tensor { return make([]tensor.Tensor, 1) }),
			"grad: user_kernel has no gradient for operand 1, w f32[3]"},
		{"a mistake inside", grad(func(in, out, dout []tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{dout[0].Add(tensor.Ones(2))}
		}), "add: got f32[3] and f32[2], want shapes that broadcast"},
	} {
		if err := c.f(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
		}
	}
}

// CheckGrad finds a gradient that is wrong, and names the element.
func TestCheckGrad(t *testing.T) {
	onEach(t, func(t *testing.T) {
		x := tensor.From([]float32{0.5, -1, 2, 3}, 2, 2)
		if err := squareWithGradient(t).CheckGrad(x); err != nil {
			t.Error(err)
		}
		if err := written(t, "softmax", softmax, softmaxOptions()).CheckGrad(tensor.Randn(3, 40)); err != nil {
			t.Error(err)
		}
		wrong := written(t, "square", square, kernel.Options{Launch: lengths, Grad: func(in, out, dout []tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{in[0].Mul(2).Mul(dout[0]).Mul(tensor.From([]float32{1, 1, 1.1, 1}, 2, 2))}
		}})
		const want = "kernel: square: the gradient of x[1 0]: got"
		if err := wrong.CheckGrad(x); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// Check finds what a run does not show.
func TestCheck(t *testing.T) {
	compiled(t)
	x := tensor.Randn(3, 70)
	if err := written(t, "softmax", softmax, softmaxOptions()).Check(x); err != nil {
		t.Error(err)
	}
	const hidden = `
kernel void hidden(device const int* x, device int* y, uint t [[thread_index_in_threadgroup]]) {
  threadgroup int parts[32];
  parts[t] = x[t] << 4;
  if (t == 0) {
    y[0] = parts[0];
    y[1] = x[1] * 65536;
  }
  parts[t / 2] = 1;
}`
	k := written(t, "hidden", hidden, kernel.Options{Launch: func(l *kernel.Launch) { l.Out("y", 2); l.Groups(1); l.Threads(32) }})
	err := k.Check(tensor.Full(40000, 32).Cast(dtype.I32))
	for _, want := range []string{"signed integer overflow: 40000 * 65536 cannot be represented in type 'int', hidden:7:", "data race, hidden:9:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A kernel in a training step is replayed with it, and counted under its name.
func TestReplayed(t *testing.T) {
	compiled(t)
	k := squareWithGradient(t)
	losses := func(compile bool) []float64 {
		w := tensor.From([]float32{3, -2, 1})
		step := func(args ...tensor.Tensor) []tensor.Tensor {
			loss := k.Call(w.Sub(args[0])).Sum()
			w.Set(w.Sub(tensor.Grad(loss, w)[0].Mul(0.1)))
			return []tensor.Tensor{loss}
		}
		if compile {
			step = tensor.Compile(step)
		}
		var list []float64
		for i := range 6 {
			list = append(list, step(tensor.Full(float64(i), 3))[0].Item())
		}
		return list
	}
	if got, want := losses(true), losses(false); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("compiled: got %v, want %v", got, want)
	}
	// Bytes are known; the operations are what the launch says, or else not known.
	x := tensor.Ones(1000).Eval()
	r := profile.Record(t.Context(), func(context.Context) { k.Call(x.Add(1)).Mul(2).Eval() })
	const want = `
kernel  calls    bytes  flops
add         1  7.8 KiB  1.0 k
square      1  7.8 KiB      –
mul         1  7.8 KiB  1.0 k
3 launches · 0 copies · plan built`
	if got := r.Text(0); got != want[1:] {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
}

// Operations are known where the launch says them.
func TestUncounted(t *testing.T) {
	compiled(t)
	silent := written(t, "square", square, kernel.Options{Launch: lengths})
	said := written(t, "square", square, kernel.Options{Launch: func(l *kernel.Launch) { lengths(l); l.Flops(int64(l.Size("x"))) }})
	x := tensor.Ones(500).Eval()
	for _, c := range []struct {
		name  string
		k     *kernel.Kernel
		flops int64
		known bool
	}{{"without Flops", silent, 0, false}, {"with Flops", said, 500, true}} {
		r := profile.Record(t.Context(), func(context.Context) { c.k.Call(x).Eval() })
		if r.Flops() != c.flops || r.Uncounted() == c.known {
			t.Errorf("%s: got %d operations, not counted %v", c.name, r.Flops(), r.Uncounted())
		}
	}
}
