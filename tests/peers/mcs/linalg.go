package main

import (
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/linalg"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// linalg factorises a matrix, or solves equations with it. Of vectors, whose signs are open, the result is
// the sum of absolute values.
func (w *work) linalg() func() []tensor.Tensor {
	dt := dtype.F32
	if w.DType == "f64" {
		dt = dtype.F64
	}
	a, b := values(1, w.N, w.N).Cast(dt).Eval(), values(2, w.N, w.N).Cast(dt).Eval()
	h := a.MatMul(a.Transpose()).Div(float64(w.N)).Add(tensor.Eye(w.N).Cast(dt)).Eval()
	list := func(ts ...tensor.Tensor) []tensor.Tensor { return ts }
	sums := func(ts ...tensor.Tensor) []tensor.Tensor {
		for i := range ts {
			ts[i] = ts[i].Abs().Sum()
		}
		return ts
	}
	return map[string]func() []tensor.Tensor{
		"solve":    func() []tensor.Tensor { return list(linalg.Solve(a, b)) },
		"inv":      func() []tensor.Tensor { return list(linalg.Inv(a)) },
		"slogdet":  func() []tensor.Tensor { return list(linalg.Slogdet(a)) },
		"cholesky": func() []tensor.Tensor { return list(linalg.Cholesky(h)) },
		"qr":       func() []tensor.Tensor { return list(linalg.QR(a)) },
		"svd":      func() []tensor.Tensor { return sums(linalg.SVD(a)) },
		"eigh":     func() []tensor.Tensor { return sums(linalg.Eigh(h)) },
		"svdvals":  func() []tensor.Tensor { return list(linalg.SingularValues(a)) },
		"eigvalsh": func() []tensor.Tensor { w, _ := linalg.Eigh(h); return list(w) },
		"lstsq":    func() []tensor.Tensor { return list(linalg.Lstsq(a, b, linalg.Default)) },
		"eigvals":  func() []tensor.Tensor { return sums(linalg.EigVals(a).Abs()) },
	}[w.Op]
}
