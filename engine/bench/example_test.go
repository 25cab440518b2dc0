package bench_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Two ways to the same result take turns, so that a machine that slows down slows both down. A function
// evaluates what it makes: tensors are lazy.
func ExampleCompare() {
	x := tensor.Randn(64, 256).Eval()
	work := func(f func() tensor.Tensor) func(n int) error {
		return func(n int) error {
			for range n {
				tensor.Eval(f())
			}
			return nil
		}
	}
	result, err := bench.Compare(context.Background(), []bench.Case{
		{Name: "one sum", Run: work(func() tensor.Tensor { return x.Sum() })},
		{Name: "a hundred", Run: work(func() tensor.Tensor {
			sum := x.Sum()
			for range 99 {
				sum = sum.Add(x.Mul(sum).Sum())
			}
			return sum
		})},
	}, bench.Options{Time: 50 * time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Lines[1].Name, "take longer:", result.Lines[1].Ratio > 2)
	// Output: a hundred take longer: true
}

// A figure above what the machine was seen to reach is no measurement.
func ExampleShare() {
	fmt.Println(bench.Share(40e9, 50e9))
	_, ok := bench.Share(90e9, 50e9)
	fmt.Println(ok)
	// Output:
	// 0.8 true
	// false
}
