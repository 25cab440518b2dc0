package linalg_test

import (
	"fmt"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/linalg"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// BenchmarkDevice times functions of matrices of f32 on the device of the flag -device, until their results
// are there: of one matrix, or of as many small ones as have 2²⁰ elements. tests/peers/linalg_speed.py runs
// it beside PyTorch.
func BenchmarkDevice(b *testing.B) {
	for _, n := range []int{8, 32, 128, 512, 1024, 4096} {
		tensor.Seed(1)
		shape := []int{n, n}
		if n < 512 {
			shape = []int{1 << 20 / n / n, n, n}
		}
		a := tensor.Randn(shape...).Eval()
		h := a.MatMul(a.Transpose()).Div(float64(n)).Add(tensor.Eye(n)).Eval()
		for _, c := range []struct {
			name string
			f    func() []Tensor
		}{
			{"solve", func() []Tensor { return []Tensor{linalg.Solve(h, a)} }},
			{"inv", func() []Tensor { return []Tensor{linalg.Inv(h)} }},
			{"cholesky", func() []Tensor { return []Tensor{linalg.Cholesky(h)} }},
			{"lu", func() []Tensor { f := linalg.LU(a); return []Tensor{f.Perm, f.L, f.U} }},
			{"qr", func() []Tensor { q, r := linalg.QR(a); return []Tensor{q, r} }},
			{"eigh", func() []Tensor { w, v := linalg.Eigh(h); return []Tensor{w, v} }},
			{"svd", func() []Tensor { u, s, vt := linalg.SVD(a); return []Tensor{u, s, vt} }},
		} {
			b.Run(fmt.Sprint(c.name, "/", n), func(b *testing.B) {
				run := func() {
					tensor.Eval(c.f()...)
					if err := device.Sync(); err != nil {
						b.Fatal(err)
					}
				}
				if c.name != "svd" || n < 4096 {
					run() // which compiles
				}
				for b.Loop() {
					run()
				}
			})
		}
	}
}
