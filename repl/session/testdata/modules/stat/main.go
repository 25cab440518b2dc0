package main

import (
	"fmt"
	"gonum.org/v1/gonum/stat"
	"math"
)

func main() {

	xs := []float64{32.32, 56.98, 21.52, 44.32, 55.63, 13.75, 43.47, 43.34, 12.34}
	fmt.Printf("data: %v\n", xs)
	mean := stat.Mean(xs, nil)
	variance := stat.Variance(xs, nil)
	fmt.Printf("mean=     %v\n", mean)
	fmt.Printf("variance= %v\n", variance)
	fmt.Printf("std-dev=  %v\n", math.Sqrt(variance))
	a, b := stat.LinearRegression(xs, xs, nil, false)
	fmt.Println(a, b, stat.Correlation(xs, xs, nil), stat.Entropy([]float64{0.5, 0.5}))
}
