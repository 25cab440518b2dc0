package ir

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// testDevice is a device that nothing runs on.
type testDevice string

func (d testDevice) String() string { return string(d) }

const dev = testDevice("test")

type noBuffer struct{}

func (noBuffer) Bytes() int { return 0 }

// leaf makes a node with data of that type; nobody reads the data.
func leaf(dt dtype.Type, shape ...int) *Node {
	if shape == nil {
		shape = []int{}
	}
	return NewLeaf(dev, dt, &Data{Buf: noBuffer{}, Layout: new(Contiguous(shape))}, "")
}

func f32(shape ...int) *Node { return leaf(dtype.F32, shape...) }
func i64(shape ...int) *Node { return leaf(dtype.I64, shape...) }

// The texts that a person sees when operands do not fit.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		op   Op
		attr Attr
		src  []*Node
		want string
	}{
		{MatMul, Attr{}, []*Node{f32(2, 3), f32(4, 5)}, "matmul: got f32[2 3] and f32[4 5], want inner dimensions equal (3 and 4)"},
		{MatMul, Attr{}, []*Node{f32(2, 3), leaf(dtype.BF16, 3, 5)}, "matmul: got f32[2 3] and bf16[3 5], want one dtype"},
		{MatMul, Attr{}, []*Node{f32(3), f32(3)}, "matmul: got f32[3] and f32[3], want two matrices, with the same axes in front"},
		{MatMul, Attr{}, []*Node{f32(7, 2, 3), f32(8, 3, 2)}, "matmul: got f32[7 2 3] and f32[8 3 2], want the same axes in front ([7] and [8])"},
		{Add, Attr{}, []*Node{f32(2), f32(3)}, "add: got f32[2] and f32[3], want one shape"},
		{Add, Attr{}, []*Node{leaf(dtype.Bool, 2), leaf(dtype.Bool, 2)}, "add: got bool[2] and bool[2], want numbers"},
		{Exp, Attr{}, []*Node{i64(2)}, "exp: got i64[2], want a floating-point dtype"},
		{Where, Attr{}, []*Node{f32(2), f32(2), f32(2)}, "where: got f32[2], f32[2] and f32[2], want a bool condition"},
		{Reshape, Attr{Shape: []int{4}}, []*Node{f32(2, 3)}, "reshape: got f32[2 3], want 6 elements (shape [4] has 4)"},
		{Reshape, Attr{Shape: []int{-2, -3}}, []*Node{f32(2, 3)}, "reshape: got shape [-2 -3], want lengths of 0 or more"},
		{Permute, Attr{Axes: []int{0, 0}}, []*Node{f32(2, 3)}, "permute: got f32[2 3], want each of its 2 axes once (not [0 0])"},
		{Expand, Attr{Shape: []int{4, 3}}, []*Node{f32(2, 3)}, "expand: got f32[2 3], want lengths 1 or those of [4 3]"},
		{Expand, Attr{Shape: []int{1 << 30, 1 << 30}}, []*Node{f32(1)}, fmt.Sprint("expand: got shape [1073741824 1073741824], want fewer elements than 2^", MostElements)},
		{Slice, Attr{Ints: []int{0, 4, 1}}, []*Node{f32(3)}, "slice: got f32[3], want a range inside of axis 0 (not 0 to 4 in steps of 1)"},
		{Concat, Attr{}, []*Node{f32(2, 3), f32(2, 4)}, "concat: got f32[2 3] and f32[2 4], want shapes that differ only along axis 0"},
		{ReduceMax, Attr{Axes: []int{0}}, []*Node{f32(0, 3)}, "reduce_max: got f32[0 3], want at least one element along axis 0"},
		{Sum, Attr{Axes: []int{2}}, []*Node{f32(2, 3)}, "sum: got f32[2 3], want rising axes from 0 to 1 (not [2])"},
		{LayerNorm, Attr{}, []*Node{f32(2, 3), f32(2), f32(3)}, "layer_norm: got f32[2 3], f32[2] and f32[3], want weights of f32[3]"},
		{CrossEntropy, Attr{}, []*Node{f32(2, 3), f32(2)}, "cross_entropy: got f32[2 3] and f32[2], want logits [N V] and targets i64[N]"},
		{Rope, Attr{}, []*Node{f32(5, 3), i64(5)}, "rope: got f32[5 3] and i64[5], want x [… T D] with D even, and i64 positions"},
		{Attention, Attr{}, []*Node{f32(1, 3, 4, 8), f32(1, 2, 4, 8), f32(1, 2, 4, 8)},
			"attention: got f32[1 3 4 8], f32[1 2 4 8] and f32[1 2 4 8], want a multiple of the 2 key heads, not 3 query heads"},
		{Gather, Attr{}, []*Node{f32(2, 3), f32(2)}, "gather: got f32[2 3] and f32[2], want an i64 index"},
		{TopK, Attr{Index: 4}, []*Node{f32(2, 3)}, "top_k: got f32[2 3], want at least 4 elements along the last axis"},
		{Conv, Attr{Ints: []int{3, 1, 0, 0, 1}, Index: 1}, []*Node{f32(1, 2, 2), f32(4, 2, 3)},
			"conv: got f32[1 2 2] and f32[4 2 3], want spatial axis 0, of 2 with 0 around it, at least as long as the kernel (3)"},
		{Conv, Attr{Ints: []int{3, 1, 0, 0, 1}, Index: 1}, []*Node{f32(1, 3, 9), f32(4, 2, 3)},
			"conv: got f32[1 3 9] and f32[4 2 3], want 2 channels (2 in each of 1 groups), not 3"},
		{Conv, Attr{Ints: []int{3, 1, 0, 0, 1}, Index: 2}, []*Node{f32(1, 4, 9), f32(3, 2, 3)},
			"conv: got f32[1 4 9] and f32[3 2 3], want channels (4 in and 3 out) that 2 groups divide"},
		{Conv, Attr{Ints: []int{3, 0, 0, 0, 1}, Index: 1}, []*Node{f32(1, 2, 9), f32(4, 2, 3)},
			"conv: got f32[1 2 9] and f32[4 2 3], want a kernel, stride and dilation of 1 or more and padding of 0 or more along spatial axis 0 (not 3, 0, 1 and 0 before, 0 after)"},
		{Conv, Attr{Index: 1}, []*Node{f32(2, 9), f32(4, 2)}, "conv: got f32[2 9] and f32[4 2], want [N C …] with one to three spatial axes"},
		{ConvTranspose, Attr{Ints: []int{3, 2, 0, 0, 1}, Index: 1, Shape: []int{9}}, []*Node{f32(1, 4, 5), f32(4, 2, 3)},
			"conv_transpose: got f32[1 4 5] and f32[4 2 3], want y[1 4 4], which is what a convolution gives for [1 2 9]"},
		{ConvWeight, Attr{Ints: []int{3, 2, 0, 0, 1}, Index: 1}, []*Node{f32(1, 2, 9), f32(1, 4, 5)},
			"conv_weight: got f32[1 2 9] and f32[1 4 5], want dy[1 4 4], which is what a convolution gives for [1 2 9]"},
		{MaxPool, Attr{Ints: []int{2, 2, 2, 0, 1}}, []*Node{f32(1, 2, 8)},
			"max_pool: got f32[1 2 8], want less around spatial axis 0 than 2 before and 0 after: a window of 2 would hold no element"},
		{GroupedMatMul, Attr{}, []*Node{f32(2, 3), f32(4, 5, 6), i64(2)}, "grouped_matmul: got f32[2 3], f32[4 5 6] and i64[2], want x [M K], w [G K N] of one group or more, and index i64[M]"},
		{GroupedWeight, Attr{Index: 2}, []*Node{f32(2, 3), f32(2, 4), i64(2)}, "grouped_weight: got f32[2 3], f32[2 4] and i64[2], want a floating-point result (not invalid)"},
		{LoRALinear, Attr{}, []*Node{f32(2, 3), f32(3, 4), f32(3, 2), f32(3, 4)},
			"lora_linear: got f32[2 3], f32[3 4], f32[3 2] and f32[3 4], want x[M K], w[K N], a[K R], b[R N]"},
		{Add, Attr{}, []*Node{f32(2), NewConst(testDevice("other"), dtype.F32, Scalar{})},
			"add: got tensors on test and other, want one device (To copies)"},
	} {
		_, err := New(c.op, c.attr, c.src...)
		if err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// Every row is complete: people read it, and the planner and the backends rely on it.
func TestEachOpHasItsRow(t *testing.T) {
	for i, r := range Rows() {
		if r.Name == "" {
			t.Errorf("op %d of op.go, after %v, has no row: want one in a table_*.go", i+1, Op(i))
			continue
		}
		if r.Infer == nil || r.Flops == nil {
			t.Errorf("%s: row lacks infer or flops", r.Name)
		}
		if (r.Family == FamilyRow) != (r.Operands != "") || strings.Trim(r.Operands, "xwn") != "" {
			t.Errorf("%s: operands %q, want x, w or n for each source of an op of FamilyRow, and of no other", r.Name, r.Operands)
		}
		if first, _, _ := strings.Cut(r.Doc, " "); !strings.EqualFold(strings.ReplaceAll(r.Name, "_", ""), first) {
			t.Errorf("%s: doc begins %q, want the op's name", r.Name, first)
		}
		if (r.Grad == nil) == (r.NoGrad == "") && r.Op != Pick {
			t.Errorf("%s: want either a gradient rule or the reason why there is none", r.Name)
		}
		if !strings.HasSuffix(r.Doc, ".") {
			t.Errorf("%s: doc does not end with a full stop", r.Name)
		}
	}
}
