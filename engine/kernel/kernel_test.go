package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// compiled skips a test where there is no compiler: the checked path needs one.
func compiled(t *testing.T) {
	t.Helper()
	if err := kernel.Checked(); err != nil {
		t.Skip(err)
	}
}

func TestMain(m *testing.M) { devicetest.Main(m) }

// onCPU runs a test on the devices that run kernels in the checked path.
func onCPU(t *testing.T, f func(t *testing.T)) { on(t, []string{"cpu", "ref"}, f) }

// onMachine runs it on the GPUs of the machine, too, and onEach also on the emulated one.
func onMachine(t *testing.T, f func(t *testing.T)) {
	names := []string{"cpu", "ref"}
	for _, d := range device.List() {
		if strings.HasPrefix(d.Name, "cuda") || strings.HasPrefix(d.Name, "metal") {
			names = append(names, d.Name)
		}
	}
	on(t, names, f)
}

func onEach(t *testing.T, f func(t *testing.T)) {
	devicetest.Register("emulated")
	on(t, []string{"emulated"}, f)
	onMachine(t, f)
}

func on(t *testing.T, names []string, f func(t *testing.T)) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if name == "cpu" || name == "ref" || name == "emulated" {
				compiled(t)
			}
			d, err := device.Lookup(name)
			if err != nil {
				t.Skip(err)
			}
			tensor.Within(device.On(t.Context(), d), func() { f(t) })
		})
	}
}

// written returns a kernel.
func written(t *testing.T, name, source string, o kernel.Options) *kernel.Kernel {
	t.Helper()
	k, err := kernel.New(name, source, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const square = `
kernel void square(device const float* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
  if (i < n) y[i] = x[i] * x[i];
}`

func lengths(l *kernel.Launch) { l.Set("n", l.Size("x")) }

// softmax has a row for a threadgroup, whose threads share sums through threadgroup memory.
const softmax = `
#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void softmax(device const T* x, device T* y, constant uint& n,
                    uint row [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                    uint threads [[threads_per_threadgroup]]) {
  threadgroup float parts[32];
  device const T* from = x + row * n;
  float most = -INFINITY;
  for (uint i = t; i < n; i += threads) most = max(most, float(from[i]));
  most = simd_max(most);
  if (lane == 0) parts[t / 32] = most;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < threads / 32; i++) most = max(most, parts[i]);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0.0f;
  for (uint i = t; i < n; i += threads) sum += exp(float(from[i]) - most);
  sum = simd_sum(sum);
  if (lane == 0) parts[t / 32] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sum = 0.0f;
  for (uint i = 0; i < threads / 32; i++) sum += parts[i];
  for (uint i = t; i < n; i += threads) y[row * n + i] = T(exp(float(from[i]) - most) / sum);
}`

func softmaxOptions() kernel.Options {
	return kernel.Options{
		Launch: func(l *kernel.Launch) {
			l.Set("n", l.Len("x", -1))
			l.Groups(l.Size("x") / l.Len("x", -1))
			l.Threads(64)
		},
		Grad: func(in, out, dout []tensor.Tensor) []tensor.Tensor {
			p := out[0].Mul(dout[0])
			return []tensor.Tensor{p.Sub(out[0].Mul(p.Sum(-1).Unsqueeze(-1)))}
		},
	}
}

// A kernel computes what its text says, from operands as they come: computed, transposed, cut out.
func TestCall(t *testing.T) {
	k := written(t, "softmax", softmax, softmaxOptions())
	whole := tensor.Randn(9, 70).To(device.CPU()).Eval()
	onEach(t, func(t *testing.T) {
		for _, c := range []struct {
			name string
			x    func(whole tensor.Tensor) tensor.Tensor
		}{
			{"evaluated", func(whole tensor.Tensor) tensor.Tensor { return whole }},
			{"lazy", func(whole tensor.Tensor) tensor.Tensor { return whole.Mul(3) }},
			{"transposed", func(whole tensor.Tensor) tensor.Tensor { return whole.SwapAxes(0, 1) }},
			{"cut out", func(whole tensor.Tensor) tensor.Tensor { return whole.Slice(0, 1, 5).Slice(1, 3, 50) }},
			{"repeated", func(whole tensor.Tensor) tensor.Tensor { return whole.Slice(0, 2, 3).Expand(3, 70) }},
			{"of three axes", func(whole tensor.Tensor) tensor.Tensor { return whole.Reshape(3, 3, 70) }},
			{"f16", func(whole tensor.Tensor) tensor.Tensor { return whole.Cast(dtype.F16) }},
			{"bf16", func(whole tensor.Tensor) tensor.Tensor { return whole.Cast(dtype.BF16) }},
		} {
			y := k.Call(c.x(whole.To(device.Default()).Eval()))
			if want := c.x(whole).Softmax(-1); y.DType() != want.DType() || !tensor.AllClose(y.To(device.CPU()), want, 1e-2, 1e-6) {
				t.Errorf("%s: got %v, want %v", c.name, y, want)
			}
		}
	})
}

// A kernel reads its operands in C order, also one that a later reader wants in another.
func TestOperandInTwoOrders(t *testing.T) {
	k := written(t, "softmax", softmax, softmaxOptions())
	x := tensor.Randn(2, 4, 5, 8).To(device.CPU()).Eval()
	onEach(t, func(t *testing.T) {
		here := x.To(device.Default()).Eval()
		attend := func() tensor.Tensor { return tensor.Attention(here, here, here, tensor.AttentionOptions{}) }
		o, want := attend(), attend().Softmax(-1).Eval()
		got, rows := k.Call(o), o.Permute(0, 2, 1, 3).Reshape(10, 32)
		tensor.Eval(got, rows.MatMul(tensor.Ones(32, 3)))
		if !tensor.AllClose(got, want, 1e-2, 1e-6) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// Several outputs, of which one need not be read; memory that begins as zeros; atomics; numbers of a
// template.
func TestOutputs(t *testing.T) {
	const source = `
	template <typename T, int STEP = 1>
	kernel void parts(device const T* x, device atomic_uint* count, device T* kept, device const uchar4* four, device int* sums,
	                  constant int& n, constant float& above, constant ulong& large, uint i [[thread_position_in_grid]]) {
	  if (i >= uint(n)) return;
	  if (float(x[i]) > above) atomic_fetch_add_explicit(count, uint(STEP), memory_order_relaxed);
	  kept[i] = float(x[i]) > above ? x[i] : T(0);
	  sums[i] = four[i].x + four[i].y + four[i].z + four[i].w + int(large >> 40);
	}`
	onEach(t, func(t *testing.T) {
		step := 1
		k := written(t, "parts", source, kernel.Options{Launch: func(l *kernel.Launch) {
			l.Out("count")
			l.Zero("count")
			l.Out("kept", l.Shape("x")...)
			l.Out("sums", l.Size("x"))
			l.Set("n", l.Size("x"))
			l.SetFloat("above", 0.5)
			l.Set("large", 3<<40)
			l.Set("STEP", step)
			l.Cover(l.Size("x"))
			l.Threads(32)
		}})
		x := tensor.From([]float32{0, 1, 2, 0.25, 4})
		four := tensor.FromAs(dtype.U8, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 250, 251, 252, 253}, 5, 4)
		for step = range 3 {
			out := k.CallAll(x, four)
			if got := out[0].Item(); got != float64(3*step) || out[0].DType() != dtype.U32 {
				t.Errorf("got count %v of %v, want %d", got, out[0].DType(), 3*step)
			}
			if got := out[2].Ints(); got[0] != 13 || got[4] != 1009 {
				t.Errorf("got sums %v, want 13 … 1009", got)
			}
			if step == 1 {
				if got := out[1].Floats(); got[0] != 0 || got[2] != 2 || got[3] != 0 {
					t.Errorf("got %v, want only what is above 0.5", got)
				}
			}
		}
	})
}

// What New refuses, with the line and the column in the text.
func TestNewRefuses(t *testing.T) {
	head := func(arguments string) string { return "kernel void f(" + arguments + ") {\n}\n" }
	const x, y = "device const float* x", "device float* y"
	for _, c := range []struct{ name, source, want string }{
		{"no kernel of that name", "kernel void g(" + x + ", " + y + ") {}", `kernel: f: got a text with the kernels ["g"], want one of that name: kernel void f(…)`},
		{"a bracket", "kernel void f(" + x + ", " + y + ") {\n  y[0] = x[0;\n}", `kernel: f: f:3:1: got "}", want "]" for the "[" in line 2`},
		{"no input", head(y), "kernel: f: f:1:13: got no input, want a pointer to const: device const float* x"},
		{"no output", head(x), "kernel: f: f:1:13: got no output, want a pointer to device memory that is not const: device float* y"},
		{"a struct", head("device const Pair* p, " + y), "kernel: f: f:1:34: argument p: got device const Pair*, want a pointer to bool, an integer, half, bfloat or float, or to a vector of these"},
		{"a short constant", head(x + ", " + y + ", constant half& h"), "kernel: f: f:1:70: argument h: got constant half&, want constant int&, uint&, long&, ulong& or float&"},
		{"threadgroup memory of a launch", head(x + ", " + y + ", threadgroup float* s"), "kernel: f: f:1:74: argument s: declare threadgroup memory in the kernel: threadgroup float s[32];"},
		{"a word that Metal lacks", "kernel void f(" + x + ",\n  " + y + ") {\n  double s = 0;\n  y[0] = s;\n}", "kernel: f: f:3:3: got double: Metal has no double: write float"},
		{"too much threadgroup memory", "kernel void f(" + x + ", " + y + ") {\n  threadgroup float s[9000];\n y[0] = x[0] + s[0]; }", "kernel: f: f:1:13: kernel f declares 36000 bytes of threadgroup memory, want at most 32768"},
		{"an instance", "template <typename T> kernel void f(device const T* x, device T* y) { y[0] = x[0]; }\n" +
			`template [[host_name("f_f32")]] kernel decltype(f<float>) f<float>;`,
			"kernel: f: f:2:1: got an instance of f: leave it out, each call makes the one that it needs"},
		{"a function constant", "constant int n [[function_constant(0)]];\n" + head(x+", "+y), "kernel: f: f:1:14: got the function constant n: write a parameter of a template, template <int n>"},
	} {
		_, err := kernel.New("f", c.source, kernel.Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
		}
	}
}

// What a call refuses: an *Error with the kernel's name.
func TestCallRefuses(t *testing.T) {
	x := tensor.Ones(4, 3)
	cpu, err := device.Lookup("cpu")
	if err != nil {
		t.Fatal(err)
	}
	wide := x.To(cpu).Cast(dtype.F64) // which the device of the tests may lack
	call := func(source string, launch func(l *kernel.Launch), in ...tensor.Tensor) func() {
		return func() { written(t, "square", source, kernel.Options{Launch: launch}).Call(in...) }
	}
	with := func(f func(l *kernel.Launch)) func(l *kernel.Launch) {
		return func(l *kernel.Launch) {
			lengths(l)
			f(l)
		}
	}
	const template = "template <typename T, typename U, int N> kernel void square(device const T* x, device U* y, device const T* z) { y[0] = U(x[0] + z[N]); }"
	for _, c := range []struct {
		name string
		f    func()
		want string
	}{
		{"the number of inputs", call(square, lengths), "square: got 0 tensors, want 1: x"},
		{"a dtype", call(square, lengths, x.Cast(dtype.F16)), "square: got f16[4 3] for x, want f32"},
		{"two dtypes for one", call(template, nil, x, x.Cast(dtype.F16)), "square: got f16[4 3] for z, want f32"},
		{"a dtype that Metal lacks", call(template, nil, wide, wide), "square: got f64[4 3] for x, want a dtype that Metal has (f64 is none)"},
		{"a typename", call(template, nil, x, x), `square: typename U has no type: call SetType("U", dtype.F32) in Options.Launch`},
		{"a template's number", call(template, func(l *kernel.Launch) { l.SetType("U", dtype.I32) }, x, x), `square: N has no value: call Set("N", …) in Options.Launch`},
		{"nothing", call(square, lengths, tensor.Ones(0, 3)), "square: got f32[0 3] for x, want elements"},
		{"a constant", call(square, func(*kernel.Launch) {}, x), `square: constant n has no value: call Set("n", …) in Options.Launch`},
		{"a fraction", call(square, func(l *kernel.Launch) { l.SetFloat("n", 1.5) }, x), "square: got 1.5 for n, want an integer: call Set"},
		{"a large number", call(square, func(l *kernel.Launch) { l.Set("n", -1) }, x), "square: got -1 for n, want a number that fits into uint"},
		{"an unknown name", call(square, func(l *kernel.Launch) { l.Set("m", 1) }, x), `square: got the constant "m", want one of ["n"]`},
		{"an unknown output", call(square, func(l *kernel.Launch) { l.Out("x", 1) }, x), `square: got the output "x", want one of ["y"]`},
		{"an unknown input", call(square, func(l *kernel.Launch) { l.Size("y") }, x), `square: got the input "y", want one of x`},
		{"an axis", call(square, func(l *kernel.Launch) { l.Len("x", 2) }, x), "square: got f32[4 3], want an axis 2"},
		{"a shape", call(square, with(func(l *kernel.Launch) { l.Out("y", 4, 0) }), x), "square: got the shape [4 0] for y, want lengths of 1 at least"},
		{"threads", call(square, with(func(l *kernel.Launch) { l.Threads(64, 32) }), x), "square: got 2048 threads in a threadgroup, want at most 1024"},
		{"no threads", call(square, with(func(l *kernel.Launch) { l.Threads() }), x), "square: got [] threads, want one to three numbers of 1 at least"},
		{"two grids", call(square, with(func(l *kernel.Launch) { l.Groups(1); l.Cover(1) }), x), "square: got Groups and Cover, want one of them"},
		{"lanes", func() {
			o := softmaxOptions()
			launch := o.Launch
			o.Launch = func(l *kernel.Launch) { launch(l); l.Threads(48) }
			written(t, "softmax", softmax, o).Call(x)
		}, "softmax: got 48 threads in a threadgroup, want a multiple of 32: the kernel has operations of simdgroups"},
	} {
		err := tensor.Try(c.f)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
		}
	}
}

// What goes wrong while a kernel runs or is compiled is an error of the evaluation that says where, and the
// next kernel runs as before.
func TestFaults(t *testing.T) {
	instead := func(old, new string) string {
		if !strings.Contains(softmax, old) {
			t.Fatalf("there is no %q", old)
		}
		return strings.Replace(softmax, old, new, 1)
	}
	const barrier = "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
	onCPU(t, func(t *testing.T) {
		x := tensor.Randn(3, 70).Eval()
		for _, c := range []struct{ name, source, want string }{
			{"a name", instead("= max(most, parts[i])", "= max(most, part[i])"), "softmax:16:60: use of undeclared identifier 'part'; did you mean 'parts'?"},
			{"behind the end", instead("i < n; i += threads) y", "i < n + 3; i += threads) y"), "softmax: heap-buffer-overflow, softmax:25:74"},
			{"a barrier in a branch", instead(barrier, "  if (t < 32) threadgroup_barrier(mem_flags::mem_threadgroup);\n"),
				"softmax: threads of one threadgroup wait at different places: thread 31 at threadgroup_barrier in softmax:15, thread 63 at threadgroup_barrier in softmax:17"},
			{"a division by zero", instead("float sum = 0.0f;", "float sum = 0.0f * float(int(n) / int(n / 1000));"), "softmax: division by zero, softmax:18:"},
			{"no barrier", instead("sum;\n"+barrier, "sum;\n"), "softmax: the results depend on the order in which the threads run: a barrier is missing, or two threads write to one place: softmax: data race, softmax:"},
		} {
			k := written(t, "softmax", c.source, softmaxOptions())
			err := tensor.Try(func() { k.Call(x).Eval() })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
			}
		}
		if y := written(t, "softmax", softmax, softmaxOptions()).Call(x); !tensor.AllClose(y, x.Softmax(-1), 1e-5, 1e-7) {
			t.Errorf("after the faults: got %v", y)
		}
	})
}

// On a GPU a text that does not compile is the person's mistake, too, and its lines are named.
func TestRefusedByGPU(t *testing.T) {
	compiled(t)
	devicetest.Register("emulated")
	d, err := device.Lookup("emulated")
	if err != nil {
		t.Skip(err)
	}
	k := written(t, "square", strings.Replace(square, "* x[i]", "* z[i]", 1), kernel.Options{Launch: lengths})
	err = tensor.Try(func() { k.Call(tensor.Ones(4).To(d)).Eval() })
	if want := "eval: compile square: emulated: square: square:3:28: use of undeclared identifier 'z'"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Without a compiler the CPU says what to install. A device of its own has looked for none before.
func TestWithoutCompiler(t *testing.T) {
	d, err := device.Lookup("cpu:3")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	k := written(t, "square", square, kernel.Options{Launch: lengths})
	x := tensor.Ones(4).To(d).Eval()
	t.Setenv("PATH", t.TempDir())
	err = tensor.Try(func() { k.Call(x).Eval() })
	if err == nil || !strings.Contains(err.Error(), "square: a kernel in Metal's language runs on the CPU by way of clang: ") {
		t.Errorf("got %v, want what to install", err)
	}
}

// A kernel that does not end is stopped with its context, and the next one runs.
func TestStops(t *testing.T) {
	onCPU(t, func(t *testing.T) {
		x := tensor.Ones(8).Eval()
		endless := written(t, "square", strings.Replace(square, "if (i < n)", "for (uint j = 0; j < n; j += 0)", 1), kernel.Options{Launch: lengths})
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(300*time.Millisecond, func() { cancel(errors.New("enough")) })
		start := time.Now()
		err := tensor.EvalContext(ctx, endless.Call(x))
		if err == nil || !strings.Contains(err.Error(), "enough") && !strings.Contains(err.Error(), "interrupted") {
			t.Errorf("got %v, want that it was stopped", err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("stopped after %v", took)
		}
		if got := written(t, "square", square, kernel.Options{Launch: lengths}).Call(x.Mul(3)).Floats(); got[7] != 9 {
			t.Errorf("afterwards: got %v, want 9", got)
		}
	})
}
