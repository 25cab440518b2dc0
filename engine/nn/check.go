package nn

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A length is an argument of a constructor.
type length struct {
	name string
	n    int
}

// positive panics with a *tensor.Error unless all lengths are at least 1.
func positive(op string, lengths ...length) {
	for _, l := range lengths {
		if l.n < 1 {
			panic(&tensor.Error{Op: op, Msg: fmt.Sprintf("got %s %d, want at least 1", l.name, l.n)})
		}
	}
}

// notNegative panics with a *tensor.Error unless x is a finite number of at least 0.
func notNegative(op, name string, x float64) {
	if !(x >= 0) || math.IsInf(x, 0) {
		panic(&tensor.Error{Op: op, Msg: fmt.Sprintf("got %s %v, want a finite number of at least 0", name, x)})
	}
}
