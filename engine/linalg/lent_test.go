package linalg_test

import (
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/linalg"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

func TestMain(m *testing.M) { devicetest.Main(m) }

// onLibrary runs f on the device of the flag -device, as cuda:0, or else on one whose library is Go code.
func onLibrary(t *testing.T, f func(d device.Device)) {
	t.Helper()
	devicetest.OnLibrary(t, "rehearsal", ir.CholeskyRoutine, f)
}

// TestLentFactors: a library's factors multiply to the matrix and are what they are called.
func TestLentFactors(t *testing.T) {
	for _, shape := range [][]int{{1, 1}, {5, 3}, {3, 5}, {2, 3, 4, 4}, {600, 4, 4}, {12, 40, 40}, {130, 130}, {200, 90}, {70, 210}, {0, 3}, {2, 0, 3, 3}} {
		host := devicetest.OnProcessor(t, func() Tensor { tensor.Seed(2); return tensor.Randn(shape...) })
		onLibrary(t, func(d device.Device) {
			a := host.To(d)
			same := func(what string, got, want Tensor) {
				t.Helper()
				if got.Device() != a.Device() {
					t.Errorf("%s: got a result on %v", what, got.Device())
				}
				if err := tensor.Try(func() { devicetest.Near(t, what, got, want, 2e-4) }); err != nil {
					t.Errorf("%s of %v: %v", what, shape, err)
				}
			}
			orthonormal := func(what string, q Tensor) {
				t.Helper()
				n := q.Len(-1)
				same(what, q.Transpose().MatMul(q), tensor.Eye(n).Expand(append(shape[:len(shape)-2:len(shape)-2], n, n)...))
			}
			f := linalg.LU(a)
			same("P·L·U", f.P().MatMul(f.L).MatMul(f.U), a)
			same("L", f.L.Tril(0), f.L)
			same("U", f.U.Triu(0), f.U)
			for name, qr := range map[string]func(Tensor) (Tensor, Tensor){"QR": linalg.QR, "FullQR": linalg.FullQR} {
				q, r := qr(a)
				same(name, q.MatMul(r), a)
				same(name+"'s R", r.Triu(0), r)
				orthonormal(name, q)
			}
			u, s, vt := linalg.SVD(a)
			same("SVD", u.Mul(s.Unsqueeze(-2)).MatMul(vt), a)
			orthonormal("SVD's U", u)
			orthonormal("SVD's V", vt.Transpose())
			fu, fs, fvt := linalg.FullSVD(a)
			orthonormal("FullSVD's U", fu)
			orthonormal("FullSVD's V", fvt.Transpose())
			same("FullSVD's s", fs, linalg.SingularValues(a))
			same("singular values", fs, devicetest.OnProcessor(t, func() Tensor { return linalg.SingularValues(host) }))
			k := s.Len(-1)
			same("FullSVD", fu.Slice(-1, 0, k).Mul(fs.Unsqueeze(-2)).MatMul(fvt.Slice(-2, 0, k)), a)
			if a.Len(-1) != a.Len(-2) || a.Size() == 0 {
				return
			}
			h := definite(a)
			l := linalg.Cholesky(h)
			same("Cholesky", l.MatMul(l.Transpose()), h)
			same("L", l.Tril(0), l)
			w, v := linalg.Eigh(h)
			same("Eigh", v.Mul(w.Unsqueeze(-2)).MatMul(v.Transpose()), h)
			orthonormal("Eigh", v)
			onlyValues, _ := linalg.Eigh(h)
			same("eigenvalues", onlyValues, w)
			same("Inv", linalg.Inv(h).MatMul(h), tensor.Eye(a.Len(-1)).Expand(shape...))
			for _, o := range []linalg.Triangle{{}, {Upper: true}, {Transposed: true}, {Upper: true, Transposed: true}, {Unit: true}, {Upper: true, Unit: true, Transposed: true}} {
				b := a.Slice(-1, 0, min(3, a.Len(-1)))
				x := devicetest.OnProcessor(t, func() Tensor { return linalg.TriangularSolve(definite(host), host.Slice(-1, 0, b.Len(-1)), o) })
				if !o.Unit {
					same("TriangularSolve", linalg.TriangularSolve(h, b, o), x)
				}
				small := h.Div(h.Abs().Max().Mul(8)) // of which ones on the diagonal are the largest
				x = devicetest.OnProcessor(t, func() Tensor {
					h := definite(host)
					return linalg.TriangularSolve(h.Div(h.Abs().Max().Mul(8)), host.Slice(-1, 0, b.Len(-1)), linalg.Triangle{Upper: o.Upper, Unit: true, Transposed: o.Transposed})
				})
				same("TriangularSolve of ones", linalg.TriangularSolve(small, b, linalg.Triangle{Upper: o.Upper, Unit: true, Transposed: o.Transposed}), x)
			}
			_, logDet := linalg.Slogdet(h)
			same("Slogdet", logDet, w.Log().Sum(-1))
		})
	}
}

// TestLentMany: a library takes more small matrices at once than a grid has rows.
func TestLentMany(t *testing.T) {
	host := devicetest.OnProcessor(t, func() Tensor { tensor.Seed(4); return tensor.Randn(70_000, 3, 3) })
	onLibrary(t, func(d device.Device) {
		a := host.To(d)
		h := definite(a).Eval()
		l := linalg.Cholesky(h)
		w, v := linalg.Eigh(h)
		u, s, vt := linalg.SVD(h)
		for name, product := range map[string]Tensor{"Cholesky": l.MatMul(l.Transpose()), "Solve": h.MatMul(linalg.Solve(h, h)),
			"Eigh": v.Mul(w.Unsqueeze(-2)).MatMul(v.Transpose()), "SVD": u.Mul(s.Unsqueeze(-2)).MatMul(vt)} {
			if err := tensor.Try(func() { devicetest.Near(t, name, product, h, 2e-4) }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestLentGradients: gradients of what a library computes are those of the processor.
func TestLentGradients(t *testing.T) {
	for _, c := range gradients {
		t.Run(c.name, func(t *testing.T) {
			m, n := c.shape[len(c.shape)-2], c.shape[len(c.shape)-1]
			gradient := func(a, w Tensor) Tensor {
				a = a.Param()
				y := c.f(a, w)
				return tensor.Grad(y.Mul(y.Mul(0.1).Add(1)).Sum(), a)[0]
			}
			var a, w Tensor
			want := devicetest.OnProcessor(t, func() Tensor {
				tensor.Seed(3)
				diagonal := tensor.Eye(max(m, n)).Slice(0, 0, m).Slice(1, 0, n).Mul(3)
				a, w = tensor.Randn(c.shape...).Add(diagonal).Eval(), tensor.Randn(c.shape...).Add(diagonal).Eval()
				return gradient(a, w)
			})
			onLibrary(t, func(d device.Device) {
				if err := tensor.Try(func() { devicetest.Near(t, "gradient", gradient(a.To(d), w.To(d)), want, 5e-3) }); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestLentRefuses: what a library says of a matrix is the processor's error.
func TestLentRefuses(t *testing.T) { onLibrary(t, func(device.Device) { lentRefuses(t) }) }

// TestLentRefusesOnEmulated is TestLentRefuses with the texts of a GPU, which look at what the library says.
func TestLentRefusesOnEmulated(t *testing.T) {
	devicetest.Emulated(t)
	devicetest.OnLibrary(t, "emulated-library", ir.CholeskyRoutine, func(device.Device) { lentRefuses(t) })
}

func lentRefuses(t *testing.T) {
	t.Helper()
	singular := tensor.From([]float32{1, 2, 2, 4}, 2, 2)
	pair := tensor.Stack([]Tensor{tensor.Eye(2), singular}, 0)
	indefinite := tensor.From([]float32{1, 0, 0, 0, 1, 0, 0, 0, -1}, 3, 3)
	nan := tensor.From([]float32{1, 2, 2, float32(math.NaN())}, 2, 2)
	for _, c := range []struct {
		f    func() Tensor
		want string
	}{
		{func() Tensor { return linalg.Solve(singular, tensor.Ones(2)) }, "solve: got a singular matrix: pivot 2 is 0"},
		{func() Tensor { return linalg.Inv(pair) }, "inv: got a singular matrix: pivot 2 is 0, matrix [1] of the batch"},
		{func() Tensor { return linalg.Cholesky(indefinite) }, "cholesky: got a matrix that is not positive definite: its leading minor of order 3 is not above 0"},
		{func() Tensor { return linalg.SingularValues(nan) }, "svd: got NaN or an infinity, want finite elements"},
		{func() Tensor { w, _ := linalg.Eigh(nan); return w }, "eigh: got NaN or an infinity, want finite elements"},
		{func() Tensor {
			a := tensor.Ones(3, 2).Param()
			q, _ := linalg.FullQR(a)
			return tensor.Grad(q.Sum(), a)[0]
		}, "full_qr: it has none: the 1 columns of Q beyond R's"},
	} {
		if err := tensor.Try(func() { c.f().Eval().Float64s() }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if x := linalg.Det(tensor.From([]float32{0, 2, 3, 1}, 2, 2)).Item(); math.Abs(float64(x)+6) > 1e-5 {
		t.Errorf("got the determinant %v, want -6", x)
	}
	if x := linalg.Det(singular).Item(); math.Abs(float64(x)) > 1e-6 {
		t.Errorf("got the determinant %v, want 0", x)
	}
	p := singular.Param()
	if d := tensor.Grad(linalg.Det(p), p)[0]; !tensor.AllClose(d, tensor.From([]float32{4, -2, -2, 1}, 2, 2), 5e-3, 5e-3) {
		t.Errorf("got the determinant's gradient %v, want the cofactors", d)
	}
}

// TestLentPeers holds values of f32 against NumPy, of matrices that are far from singular. The pivots of LU
// are left out: where two are equal, libraries choose.
func TestLentPeers(t *testing.T) {
	held := 0
	for i, c := range peerCases(t).Values {
		if i%4 != 0 || c.Op == "lu" || c.Op == "rank" {
			continue
		}
		var host []Tensor
		condition := devicetest.OnProcessor(t, func() Tensor {
			if host = c.tensors(dtype.F64); host[0].Rank() < 2 || host[0].Size() == 0 {
				return tensor.Ones()
			}
			return linalg.Cond(host[0], 2).Max()
		})
		far := condition.Float64s()[0] <= 1e3
		if !far {
			continue
		}
		held++
		onLibrary(t, func(d device.Device) {
			args := make([]Tensor, len(host))
			for k, a := range host {
				args[k] = a.Cast(dtype.F32).To(d)
			}
			if err := tensor.Try(func() {
				got := values[c.Op](args[0], args[1:]...)
				tensor.Eval(got...)
				for k, w := range c.Want {
					if err := agrees(got[k], w, 2e-3); err != nil {
						t.Errorf("case %d, result %d of %s of %v: %v", i, k, c.Op, args[0].Shape(), err)
					}
				}
			}); err != nil {
				t.Errorf("case %d, %s of %v: %v", i, c.Op, args[0].Shape(), err)
			}
		})
	}
	if held < 100 {
		t.Errorf("held %d cases, want 100", held)
	}
}
