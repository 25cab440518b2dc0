package tensor

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Wrong operands are refused when the operation is written down, with the shapes that the caller had.
func TestErrors(t *testing.T) {
	x, y := Zeros(4, 1024), Zeros(3, 3)
	ids := From([]int{1, 2, 3})
	tests := []struct {
		name string
		f    func()
		want string
	}{
		{"matmul", func() { x.MatMul(y) }, "matmul: got f32[4 1024] and f32[3 3], want inner dimensions equal (1024 and 3)"},
		{"broadcast", func() { x.Add(y) }, "add: got f32[4 1024] and f32[3 3], want shapes that broadcast (lengths equal or 1, aligned at the end)"},
		{"operand", func() { x.Mul("2") }, "mul: got an operand of type string, want a Tensor or a number"},
		{"none", func() { x.Add(Tensor{}) }, "add: got no tensor (a zero Tensor)"},
		{"axis", func() { x.Sum(2) }, "sum: got axis 2 of f32[4 1024], want one in -2…1"},
		{"axes twice", func() { x.Sum(0, -2) }, "sum: got axes [0 -2] of f32[4 1024], want each axis once"},
		{"reshape", func() { x.Reshape(5, -1) }, "reshape: got 4096 elements for shape [5 -1]"},
		{"at", func() { x.At(4) }, "at: got index 4 on axis 0 of f32[4 1024], want one in -4…3"},
		{"item", func() { x.Item() }, "item: got f32[4 1024], want one element"},
		{"uneven", func() { From([][]float64{{1, 2}, {3}}) }, "from: got a row of 1 elements beside one of 2, want even rows"},
		{"complex order", func() { x.Mul(2i).Sort() }, "sort: got c64[4 1024], want real numbers: Real, Imag, Abs and Angle give some"},
		{"complex slices", func() { FromAs(dtype.F32, [][]complex64{{1}}) }, "from: got [][]complex64 for f32, want real numbers"},
		{"nothing", func() { From(nil) }, "from: got <nil>, want numbers, booleans or slices of them"},
		{"from", func() { From("text") }, "from: got string, want numbers, booleans or slices of them"},
		{"bytes", func() { FromBytes(dtype.F16, make([]byte, 3), 2) }, "from: got 3 bytes for f16[2], want 4"},
		{"targets", func() { CrossEntropy(y, ids.Cast(dtype.F32), CrossEntropyOptions{}) }, "cross_entropy: got logits f32[3 3] and targets f32[3], want [… V] and integers [… ]"},
		{"set", func() { x.Set(y) }, "set: got f32[3 3] on cpu for f32[4 1024] on cpu, want one type, shape and device"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := Try(tt.f); err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// Shapes follow NumPy's rules.
func TestShapes(t *testing.T) {
	x := Zeros(2, 3, 4)
	tests := []struct {
		name string
		got  Tensor
		want string
	}{
		{"broadcast", x.Add(Zeros(3, 1)), "f32[2 3 4]"},
		{"number keeps the dtype", x.Cast(dtype.BF16).Mul(0.5), "bf16[2 3 4]"},
		{"a fraction makes floats of integers", Range(3).Mul(0.5), "f32[3]"},
		{"an integer leaves integers alone", Range(3).Mul(2), "i64[3]"},
		{"division makes floats", Range(3).Div(2), "f32[3]"},
		{"comparison", x.Lt(0), "bool[2 3 4]"},
		{"sum of all", x.Sum(), "f32[]"},
		{"sum of axes", x.Sum(0, -1), "f32[3]"},
		{"sum keeps", x.SumKeep(1), "f32[2 1 4]"},
		{"argmax", x.ArgMax(1), "i64[2 4]"},
		{"reshape", x.Reshape(4, -1), "f32[4 6]"},
		{"permute", x.Permute(2, 0, 1), "f32[4 2 3]"},
		{"slice", x.Slice(-1, 1, -1), "f32[2 3 2]"},
		{"slice backwards", x.SliceStep(2, -1, -5, -2), "f32[2 3 2]"},
		{"slice to nothing", x.Slice(0, 2, 1), "f32[0 3 4]"},
		{"at", x.At(1, -1), "f32[4]"},
		{"squeeze", x.Unsqueeze(1).Squeeze(), "f32[2 3 4]"},
		{"pad", x.Pad(1, 1, 2, 0), "f32[2 6 4]"},
		{"concat", Concat([]Tensor{x, x}, -1), "f32[2 3 8]"},
		{"stack", Stack([]Tensor{x, x}, -1), "f32[2 3 4 2]"},
		{"matmul", x.MatMul(Zeros(4, 5)), "f32[2 3 5]"},
		{"matmul broadcasts", Zeros(7, 1, 3, 4).MatMul(Zeros(2, 4, 5)), "f32[7 2 3 5]"},
		{"matrix by vector", x.MatMul(Zeros(4)), "f32[2 3]"},
		{"vector by matrix", Zeros(3).MatMul(x), "f32[2 4]"},
		{"vector by vector", Zeros(3).MatMul(Zeros(3)), "f32[]"},
		{"softmax of another axis", x.Softmax(0), "f32[2 3 4]"},
		{"take", x.Take(From([][]int{{0, 1}}), 1), "f32[2 1 2 4]"},
		{"where", Where(x.Lt(0), 1, x), "f32[2 3 4]"},
		{"categorical", Categorical(x, 5), "i64[2 3 5]"},
		{"scalar", From(3.5), "f32[]"},
		{"nested", From([][]int{{1, 2, 3}, {4, 5, 6}}), "i64[2 3]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.got.node("test").Type().String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
