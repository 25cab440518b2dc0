package nn_test

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A classifier is a module of one's own: it lists what it is made of, and says how it computes.
type classifier struct {
	Hidden, Out *nn.Linear
}

func (c *classifier) Members() []nn.Member {
	return []nn.Member{{Name: "hidden", Part: c.Hidden}, {Name: "out", Part: c.Out}}
}

func (c *classifier) Forward(x tensor.Tensor) tensor.Tensor {
	return c.Out.Forward(c.Hidden.Forward(x).Relu())
}

func Example() {
	c := &classifier{nn.NewLinearBias(4, 8), nn.NewLinear(8, 3)}
	for _, p := range nn.Params(c) {
		fmt.Println(p)
	}
	fmt.Println(c.Forward(tensor.Ones(2, 4)).Shape())
	// Output:
	// hidden.weight f32[4 8], trainable
	// hidden.bias f32[8], trainable
	// out.weight f32[8 3], trainable
	// [2 3]
}

// What is frozen is not trained.
func ExampleFreeze() {
	c := &classifier{nn.NewLinear(4, 8), nn.NewLinear(8, 3)}
	nn.Freeze(c.Hidden)
	fmt.Println(nn.Count(nn.Trainable(c)), "of", nn.Count(nn.Params(c)))
	// Output: 24 of 56
}
