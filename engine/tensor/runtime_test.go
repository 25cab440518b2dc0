package tensor

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// What is wrong can be found only when it is computed: an index out of range, or no memory. That is an
// *Error, from whatever goroutine of the engine, and everything goes on as if it had not been tried.
func TestErrorsOfEvaluation(t *testing.T) {
	for _, dev := range []string{"cpu", "cpu:1", "ref"} {
		if dev != "cpu" && !long.CI() {
			continue
		}
		use(t, dev)
		x := Arange(0, 12, 1).Reshape(3, 4).Eval()
		many := Full(0, 200_000).Add(From([]float64{1e6})).Eval() // indices for all workers
		for _, c := range []struct {
			name string
			f    func() Tensor
			want string
		}{
			{"an index", func() Tensor { return x.Take(From([]int{99}), 0) }, "gather: index 99 at position 0 is out of range for axis 0 of length 3"},
			{"a negative index", func() Tensor { return x.Take(From([]int{0, -9}), 0) }, "gather: index -9 at position 1"},
			{"many indices", func() Tensor { return x.Take(many.Cast(dtype.I64), 0) }, "out of range for axis 0 of length 3"},
			{"among other work", func() Tensor { return x.Exp().Take(From([]int{7}), 1).Softmax(-1).Sum() }, "out of range"},
			{"a class", func() Tensor { return CrossEntropy(x, From([]int{0, 1, 9}), CrossEntropyOptions{}) }, "cross_entropy: target 9 of row 2 is out of range for 4 classes"},
			{"a negative class", func() Tensor { return CrossEntropy(x, From([]int{0, 1, -7}), CrossEntropyOptions{}) }, "target -7 of row 2"},
			{"its gradient", func() Tensor {
				w := x.Mul(1.0).Eval().Param()
				return Grad(CrossEntropy(w, From([]int{0, 1, 9}), CrossEntropyOptions{}), w)[0]
			}, "target 9 of row 2"},
			{"an update", func() Tensor { return x.Overwrite(0, From([]int{5}), Ones(1, 4)) }, "out of range"},
			{"numbers without room", func() Tensor { return Zeros(1 << 40) }, "out of memory: wanted 4398046511104 bytes"},
			{"a chain without room", func() Tensor { return Zeros(1 << 40).Add(1).Exp() }, "out of memory"},
			{"random numbers without room", func() Tensor { return Randn(1 << 40) }, "out of memory"},
			{"a product without room", func() Tensor { return Zeros(1<<20, 1<<20).MatMul(Zeros(1<<20, 1<<20)) }, "out of memory"},
		} {
			var y Tensor
			err := Try(func() { y = c.f().Eval() })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: got %v, want %q", dev, c.name, err, c.want)
			}
			if c.name == "numbers without room" && dev == "ref" { // the reference writes down what lies between its instructions
				if err := Try(func() { x.Sum().Expand(1 << 35).Add(1).Sum().Eval() }); err == nil || !strings.Contains(err.Error(), "out of memory") {
					t.Errorf("%s: a sum of too many numbers: %v", dev, err)
				}
			}
			if !y.IsNone() && y.Evaluated() {
				t.Errorf("%s, %s: it has a value", dev, c.name)
			}
			if got := x.MatMul(x.Transpose()).Add(1).Sum().Item(); got != 1143 {
				t.Errorf("%s, %s: afterwards 1143 is %v", dev, c.name, got)
			}
		}
	}
}
