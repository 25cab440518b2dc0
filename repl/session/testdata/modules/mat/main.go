package main

import (
	"fmt"
	"gonum.org/v1/gonum/mat"
)

func main() {

	a := mat.NewDense(3, 3, []float64{4, 1, 2, 1, 3, 0.5, 2, 0.5, 5})
	var inv, c mat.Dense
	if err := inv.Inverse(a); err != nil {
		fmt.Println(err)
	}
	c.Mul(a, &inv)
	fmt.Printf("%.4f\n", mat.Formatted(&inv))
	fmt.Printf("%.3f\n", mat.Formatted(&c))
	var eig mat.EigenSym
	fmt.Println(eig.Factorize(mat.NewSymDense(3, []float64{4, 1, 2, 1, 3, 0.5, 2, 0.5, 5}), true))
	fmt.Printf("%.6f\n", eig.Values(nil))
	var svd mat.SVD
	fmt.Println(svd.Factorize(a, mat.SVDThin))
	fmt.Printf("%.6f\n", svd.Values(nil))
	var qr mat.QR
	qr.Factorize(a)
	x := mat.NewVecDense(3, nil)
	fmt.Println(qr.SolveVecTo(x, false, mat.NewVecDense(3, []float64{1, 2, 3})))
	fmt.Printf("%.6f\n", mat.Formatted(x.T()))
	fmt.Printf("%.6f\n", mat.Det(a))
	defer func() { fmt.Println(recover()) }()
	c.Mul(a, mat.NewDense(2, 2, nil))
}
