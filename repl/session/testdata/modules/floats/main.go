package main

import (
	"fmt"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
)

func main() {

	s1 := []float64{1, 2, 3, 4}
	s2 := []float64{5, 6, 7, 8}
	floats.Add(s1, s2)
	fmt.Println("s1 =", s1, floats.Sum(s1), floats.Dot(s1, s2), floats.Norm(s1, 2), floats.MaxIdx(s2))
	fmt.Println(floats.CumSum(make([]float64, 4), s1), floats.Span(make([]float64, 5), 0, 1))
	fmt.Println(scalar.EqualWithinAbs(1, 1.001, 0.01), floats.EqualApprox(s1, s2, 5))
}
