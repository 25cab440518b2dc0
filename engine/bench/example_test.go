package bench_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Two ways to the same result take turns, so that a machine that slows down slows both down.
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

// A function and nothing else: what it makes is computed inside of the clock, and the result is a value.
func ExampleTime() {
	x := tensor.Randn(64, 64).Eval()
	r := bench.Time(func() { x.Add(1) })
	fmt.Println(r.Tally.Launches, "launch, in less than a second:", r.Median < 1)
	// Output: 1 launch, in less than a second: true
}

// An assertion about what was measured is true, false or not known.
func ExampleParseAssertion() {
	fast := &bench.Result{Median: 10e-3, Low: 9.9e-3, High: 10.1e-3, Samples: 100}
	slow := &bench.Result{Median: 20e-3, Low: 19.8e-3, High: 20.2e-3, Samples: 100}
	measured := &bench.Comparison{Lines: []bench.Line{
		{Name: "fused", Result: fast, Ratio: 1, Low: 1, High: 1},
		{Name: "plain", Result: slow, Ratio: 2, Low: 1.98, High: 2.02},
	}}
	for _, text := range []string{"fused <= 0.6*plain", "plain < 15ms", "plain <= 2*fused"} {
		a, err := bench.ParseAssertion(text, []string{"fused", "plain"})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text, "is", a.Judge(measured).Verdict)
	}
	// Output:
	// fused <= 0.6*plain is true
	// plain < 15ms is false
	// plain <= 2*fused is not known
}
