package session

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/kernel"
)

// checkedPath skips a test where kernels cannot run on the CPU.
func checkedPath(t *testing.T) {
	t.Helper()
	if err := kernel.Checked(); err != nil {
		t.Skip(err)
	}
}

// A kernel is typed in a cell, and what is wrong with it is said with the line and column of the cell.
func TestKernels(t *testing.T) {
	checkedPath(t)
	const nothing = "nothing, err := kernel.New(\"nothing\", `kernel void nothing(device const float* x) {}`, kernel.Options{})\nerr"
	const twice = "n := 3; text := `\nkernel void twice(device const float* x, device float* y, constant uint& n,\n                  uint i [[thread_position_in_grid]]) {\n" +
		"  if (i < n) y[i] = 2.0f * x[i];\n}`\n"
	const launch = "kernel.Options{Launch: func(l *kernel.Launch) { l.Set(\"n\", l.Size(\"x\")) }}"
	s, _ := newSession(t, Options{})
	for _, c := range []struct{ name, cell, want string }{
		{"no output", nothing, "In[1]:1:52: got no output, want a pointer to device memory that is not const"},
		{"a kernel runs", twice + "twice := kernel.New(\"twice\", text, " + launch + ")\ntwice.Call(tensor.Range(4).Cast(dtype.F32)).Floats()", "[0 2 4 6]"},
		{"in a function, and as a function of a loop", "f := func(x tensor.Tensor) tensor.Tensor { return twice.Call(x) }\ny := tensor.Ones(2)\nfor range 5 {\n\ty = f(y)\n}\ny.Floats()", "[32 32]"},
		{"a wrong dtype", "twice.Call(tensor.Range(4))", "twice: got i64[4] for x, want f32"},
		{"what Metal refuses", "// a comment\n" + strings.Replace(twice, "2.0f *", "double(2) *", 1) + "bad := kernel.New(\"twice\", text, " + launch + ")", "In[5]:5:21: got double: Metal has no double: write float"},
		{"what a compiler refuses", strings.Replace(twice, "x[i];", "z[i];", 1) + "bad := kernel.New(\"twice\", text, " + launch + ")\nbad.Call(tensor.Ones(4))", "In[6]:4:28: use of undeclared identifier 'z'"},
		{"on the first line of the text", "bad := kernel.New(\"twice\", `kernel void twice(device const float* x, device float* y) { y[0] = z; }`, kernel.Options{})\nbad.Call(tensor.Ones(4))",
			"In[7]:1:96: use of undeclared identifier 'z'"},
		{"behind the end", strings.Replace(twice, "i < n", "i <= n", 1) + "bad := kernel.New(\"twice\", text, " + launch + ")\nbad.Call(tensor.Ones(4))", "heap-buffer-overflow, In[8]:4:"},
		{"the session lives", "twice.Call(tensor.Ones(1)).Item()", "2"},
	} {
		r := s.Run(t.Context(), c.cell)
		var got strings.Builder
		if r.Err != nil {
			got.WriteString(r.Err.Error())
		}
		for _, v := range r.Shown {
			got.WriteString(v.Text(0))
		}
		if !strings.Contains(got.String(), c.want) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got.String(), c.want)
		}
	}
}

// Ctrl-C ends a kernel that would not end, and the next kernel runs.
func TestKernelsStop(t *testing.T) {
	checkedPath(t)
	s, _ := newSession(t, Options{})
	const source = "spin := kernel.New(\"spin\", `kernel void spin(device const int* x, device int* y) { int i = 0; while (x[0] > 0) { i += x[0]; threadgroup_barrier(mem_flags::mem_none); } y[0] = i; }`, kernel.Options{})"
	if r := s.Run(t.Context(), source+"\nspin.Call(tensor.Zeros(1).Cast(dtype.I32)).Ints()"); r.Err != nil {
		t.Fatal(r.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	start := time.Now()
	r := s.Run(ctx, "spin.Call(tensor.Ones(1).Cast(dtype.I32))")
	if r.Err == nil || !strings.Contains(r.Err.Error(), "interrupted") {
		t.Errorf("got %v, want that it was interrupted", r.Err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it was stopped after %v", took)
	}
	if r := s.Run(t.Context(), "spin.Call(tensor.Zeros(1).Cast(dtype.I32)).Ints()"); r.Err != nil {
		t.Errorf("afterwards: %v", r.Err)
	}
}
