package optim_test

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/optim"
)

// A schedule says the learning rate of each step: here it rises for 10 steps and falls along a cosine.
func ExampleCosine() {
	rate := optim.Cosine(1e-3, 10, 110)
	for _, step := range []int{0, 4, 9, 60, 109} {
		fmt.Printf("%3d %.6f\n", step, rate.At(step))
	}
	// Output:
	//   0 0.000100
	//   4 0.000500
	//   9 0.001000
	//  60 0.000500
	// 109 0.000000
}

// A rule is a value: its fields are the settings, and what is left out has the usual ones.
func ExampleAdamW() {
	fmt.Println(optim.AdamW{})
	fmt.Println(optim.AdamW{WeightDecay: 0.1})
	fmt.Println(optim.SGD{Momentum: 0.9})
	// Output:
	// AdamW β 0.9 0.999, ε 1e-08, weight decay 0
	// AdamW β 0.9 0.999, ε 1e-08, weight decay 0.1
	// SGD momentum 0.9, weight decay 0
}
