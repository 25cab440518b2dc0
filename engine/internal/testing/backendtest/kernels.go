package backendtest

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// rowSums is a kernel as package engine/kernel makes them: sums of rows, with a shuffle in a simdgroup, and
// how many elements are positive, counted in memory that begins as zeros.
const rowSums = `#include <metal_stdlib>
using namespace metal;
struct row_sums_args { uint n; device const float* x; float scale; device float* y; device atomic_uint* positive; };
kernel void row_sums(constant row_sums_args* a [[buffer(0)]], uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  float s = 0.0f;
  for (uint i = lane; i < a->n; i += 32) {
    const float v = a->x[row * a->n + i];
    s += v;
    if (v > 0.0f) atomic_fetch_add_explicit(&a->positive[0], 1u, memory_order_relaxed);
  }
  s = simd_sum(s);
  if (lane == 0) a->y[row] = s * a->scale;
}
`

// kernels runs a kernel that a person wrote, beside the ops that compute the same: over a contiguous operand
// and over a view, with all results read and with one.
func (s *suite) kernels(t *testing.T) {
	const rows, n = 5, 70
	call := func(b *B, x *ir.Node) []*ir.Node {
		k := &ir.Kernel{
			Name: "row_sums", Function: "row_sums", Text: rowSums, Groups: [3]int{rows, 1, 1}, Threads: [3]int{32, 1, 1}, Flops: -1,
			Args: []ir.KernelArg{
				{Kind: ir.KernelNumber, Size: 4, Bits: n}, {Kind: ir.KernelSource}, {Kind: ir.KernelNumber, Size: 4, Bits: 0x40000000},
				{Kind: ir.KernelResult}, {Kind: ir.KernelResult, Index: 1, Zero: true},
			},
			Outs: []ir.Type{{DType: dtype.F32, Shape: []int{rows, 1}}, {DType: dtype.U32, Shape: []int{1, 1}}},
		}
		k.SetKey()
		return b.Picks(b.New(ir.UserKernel, ir.Attr{Kernel: k}, x))
	}
	same := func(b *B, x *ir.Node) []*ir.Node {
		sum := b.New(ir.Sum, ir.Attr{Axes: []int{1}}, x)
		positive := b.New(ir.Cast, ir.Attr{DType: dtype.I64}, b.New(ir.Gt, ir.Attr{}, x, b.Number(dtype.F32, 0)))
		count := b.New(ir.Cast, ir.Attr{DType: dtype.U32}, b.New(ir.Sum, ir.Attr{Axes: []int{0, 1}}, positive))
		return []*ir.Node{b.New(ir.Mul, ir.Attr{}, sum, b.Number(dtype.F32, 2)), count}
	}
	contiguous := func(b *B) *ir.Node { return b.Normal(dtype.F32, rows, n) }
	for _, c := range []struct {
		name    string
		x       func(b *B) *ir.Node
		results int
	}{
		{"contiguous", contiguous, 2},
		{"transposed", func(b *B) *ir.Node { return b.Transposed(dtype.F32, rows, n) }, 2},
		{"computed before", func(b *B) *ir.Node { return b.New(ir.Exp, ir.Attr{}, contiguous(b)) }, 2},
		{"at an odd place", func(b *B) *ir.Node {
			return b.New(ir.Slice, ir.Attr{Ints: []int{1, rows + 1, 1, 0, n, 1}}, b.Normal(dtype.F32, rows+1, n))
		}, 2},
		{"one result of two", contiguous, 1},
	} {
		build := func(f func(*B, *ir.Node) []*ir.Node) Case {
			return Case{Name: c.name, Build: func(b *B, _ dtype.Type) []*ir.Node { return f(b, c.x(b))[:c.results] }}
		}
		want, err := Evaluate(s.exact, c.name, dtype.F32, build(same))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Evaluate(s.dev, c.name, dtype.F32, build(call))
		if err != nil && strings.Contains(err.Error(), "clang") {
			t.Skip(err)
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for i := range want {
			if err := got[i].compare(&want[i], 1e-5, false); err != nil {
				t.Errorf("%s: result %d: %v", c.name, i, err)
			}
		}
	}
}
