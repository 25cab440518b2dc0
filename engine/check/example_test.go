package check_test

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/check"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// An answer that is nearly right, and what a learner is told.
func Example() {
	dot := func(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y) }

	t := check.New()
	check.Close(t, dot(tensor.Ones(3), tensor.Ones(3)), 3)
	check.Launches(t, func() { dot(tensor.Ones(3), tensor.Ones(3)) }, 1)
	fmt.Println(t.Done())
	// Output: got shape [3], want [] (a sum over all elements has no axis)
}
