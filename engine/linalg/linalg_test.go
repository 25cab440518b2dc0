package linalg_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/device/devicetest"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/linalg"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

type Tensor = tensor.Tensor

func normal(shape ...int) Tensor { return tensor.Randn(shape...).Cast(dtype.F64) }

// definite are symmetric positive definite matrices.
func definite(x Tensor) Tensor {
	n := x.Len(-1)
	return x.MatMul(x.Transpose()).Add(tensor.Eye(n).Cast(x.DType()).Mul(float64(n)))
}

// gradients are functions of matrices [… m n] whose gradient is held against finite differences; those with
// vectors are of functions that do not depend on their signs.
var gradients = []struct {
	name  string
	f     func(a, w Tensor) Tensor
	shape []int
}{
	{"solve", func(a, w Tensor) Tensor { return linalg.Solve(a, w) }, []int{4, 4}},
	{"solve batch", func(a, w Tensor) Tensor { return linalg.Solve(a, w.Select(0, 0)) }, []int{3, 4, 4}},
	{"solve of the right", func(a, w Tensor) Tensor { return linalg.Solve(definite(w), a) }, []int{4, 4}},
	{"inv", func(a, _ Tensor) Tensor { return linalg.Inv(a) }, []int{2, 3, 3}},
	{"det", func(a, _ Tensor) Tensor { return linalg.Det(a) }, []int{2, 3, 3}},
	{"slogdet", func(a, _ Tensor) Tensor { _, l := linalg.Slogdet(a); return l }, []int{2, 4, 4}},
	{"lower", func(a, w Tensor) Tensor { return linalg.TriangularSolve(a, w, linalg.Triangle{}) }, []int{4, 4}},
	{"upper", func(a, w Tensor) Tensor {
		return linalg.TriangularSolve(a, w, linalg.Triangle{Upper: true, Unit: true})
	}, []int{4, 4}},
	{"transposed", func(a, w Tensor) Tensor { return linalg.TriangularSolve(a, w, linalg.Triangle{Transposed: true}) }, []int{4, 4}},
	{"cholesky", func(a, _ Tensor) Tensor { return linalg.Cholesky(definite(a)) }, []int{2, 4, 4}},
	{"cholesky_solve", func(a, w Tensor) Tensor { return linalg.CholeskySolve(linalg.Cholesky(definite(a)), w) }, []int{4, 4}},
	{"qr", func(a, _ Tensor) Tensor { q, r := linalg.QR(a); return both(q, r) }, []int{4, 4}},
	{"qr tall", func(a, _ Tensor) Tensor { q, r := linalg.QR(a); return both(q, r) }, []int{2, 5, 3}},
	{"qr wide", func(a, _ Tensor) Tensor { q, r := linalg.QR(a); return both(q, r) }, []int{3, 5}},
	{"lu", func(a, _ Tensor) Tensor { f := linalg.LU(a); return both(f.L, f.U) }, []int{4, 4}},
	{"lu tall", func(a, _ Tensor) Tensor { f := linalg.LU(a); return both(f.L, f.U) }, []int{2, 5, 3}},
	{"lu wide", func(a, _ Tensor) Tensor { f := linalg.LU(a); return both(f.L, f.U) }, []int{3, 5}},
	{"svd", func(a, w Tensor) Tensor { u, s, vt := linalg.SVD(a); return both(u.Mul(vt.Sum(-1).Unsqueeze(-2)), s) }, []int{4, 4}},
	{"svd tall", func(a, w Tensor) Tensor { u, s, vt := linalg.SVD(a); return both(u.Mul(vt.Sum(-1).Unsqueeze(-2)), s) }, []int{2, 5, 3}},
	{"svd wide", func(a, w Tensor) Tensor {
		u, s, vt := linalg.SVD(a)
		return both(u.Square().Mul(vt.Sum(-1).Square().Unsqueeze(-2)), s.Square())
	}, []int{3, 5}},
	{"eigh", func(a, w Tensor) Tensor { v, q := linalg.Eigh(a.Add(a.Transpose())); return both(q.Square(), v) }, []int{2, 4, 4}},
	{"pinv", func(a, _ Tensor) Tensor { return linalg.Pinv(a, linalg.Default) }, []int{2, 4, 3}},
	{"pinv wide", func(a, _ Tensor) Tensor { return linalg.Pinv(a, linalg.Default) }, []int{3, 4}},
	{"lstsq", func(a, w Tensor) Tensor { return linalg.Lstsq(a, w, linalg.Default) }, []int{5, 3}},
	{"lstsq of the right", func(a, w Tensor) Tensor { return linalg.Lstsq(w, a, linalg.Default) }, []int{5, 3}},
	{"norm 3", func(a, _ Tensor) Tensor { return linalg.Norm(a, 3, -1) }, []int{2, 4}},
	{"matrix_norm", func(a, _ Tensor) Tensor { return linalg.MatrixNorm(a, 2).Add(linalg.MatrixNorm(a, 1)) }, []int{3, 4}},
	{"nuclear", func(a, _ Tensor) Tensor { return linalg.NuclearNorm(a) }, []int{3, 4}},
	{"cond", func(a, _ Tensor) Tensor { return linalg.Cond(a, 2).Add(linalg.Cond(a, 1)) }, []int{3, 3}},
	{"matrix_power", func(a, _ Tensor) Tensor { return linalg.MatrixPower(a, 5).Add(linalg.MatrixPower(a, -2)) }, []int{3, 3}},
	{"expm", func(a, _ Tensor) Tensor { return linalg.Expm(a.Mul(3)) }, []int{2, 3, 3}},
	{"cross", func(a, w Tensor) Tensor { return linalg.Cross(a, w) }, []int{4, 3}},
}

// both puts the elements of several results side by side.
func both(ts ...Tensor) Tensor {
	for i := range ts {
		ts[i] = ts[i].Flatten()
	}
	return tensor.Concat(ts, 0)
}

// TestGradients holds gradients, and gradients of gradients, against finite differences.
func TestGradients(t *testing.T) {
	tensor.Seed(1)
	for _, c := range gradients {
		t.Run(c.name, func(t *testing.T) {
			m, n := c.shape[len(c.shape)-2], c.shape[len(c.shape)-1]
			diagonal := tensor.Eye(max(m, n)).Cast(dtype.F64).Slice(0, 0, m).Slice(1, 0, n).Mul(3)
			a, w := normal(c.shape...).Add(diagonal).Eval(), normal(c.shape...).Add(diagonal).Eval()
			weights := normal(c.f(a, w).Shape()...).Eval()
			loss := func(a Tensor) Tensor { return c.f(a, w).Mul(weights).Sum() }
			gradient := func(a Tensor) Tensor { return tensor.Grad(loss(a), a)[0] }
			along := normal(c.shape...).Eval()
			near(t, "gradient", gradient(a).Mul(along).Sum(), slope(loss, a, along))
			second := func(a Tensor) Tensor { return gradient(a).Mul(along).Sum() }
			y, back := tensor.VJP(second, a)
			near(t, "second gradient", back(tensor.OnesLike(y)).Mul(along).Sum(), slope(second, a, along))
		})
	}
}

// Vectors of equal values have no gradient: it is NaN, as for PyTorch. That of the values is the identity.
func TestGradientsOfEqualValues(t *testing.T) {
	p := tensor.Eye(3).Cast(dtype.F64).Param()
	w, v := linalg.Eigh(p)
	u, s, vt := linalg.SVD(p)
	for name, y := range map[string]Tensor{"eigh": v, "u": u, "vt": vt, "eigh's function": v.Mul(w.Exp().Unsqueeze(-2)).MatMul(v.Transpose())} {
		if dp := tensor.Grad(y.Sum(), p)[0]; !dp.Ne(dp).All().Bools()[0] {
			t.Errorf("%s: got %v, want NaN", name, dp)
		}
	}
	for name, y := range map[string]Tensor{"w": w, "s": s} {
		near(t, name, tensor.Grad(y.Sum(), p)[0], tensor.Eye(3).Cast(dtype.F64))
	}
	q := tensor.FromAs(dtype.F64, []float64{3, 0, 0, 1}, 2, 2).Param()
	_, v = linalg.Eigh(q)
	if dq := tensor.Grad(v.Square().Select(0, 0).Sum(), q)[0]; dq.Ne(dq).Any().Bools()[0] {
		t.Errorf("got %v, want a gradient", dq)
	}
	if d := linalg.Det(tensor.From([]float32{1, 2, 2, 4}, 2, 2)).Item(); d != 0 || math.Signbit(float64(d)) {
		t.Errorf("got the determinant %v, want 0 as of NumPy", d)
	}
}

// TestDeterminantsOfSingular: the determinant is a polynomial, whose derivatives there are. They are right to
// half of the digits, and a sum over n² elements of either sign is wrong by n times as much.
func TestDeterminantsOfSingular(t *testing.T) {
	tensor.Seed(2)
	low := normal(5, 3).MatMul(normal(3, 5)).Eval()
	for _, c := range []struct {
		name string
		a    Tensor
	}{
		{"number", tensor.Zeros(1, 1)},
		{"zeros", tensor.Zeros(3, 3)},
		{"zeros of two", tensor.Zeros(2, 2)},
		{"rank 1 of 2", tensor.FromAs(dtype.F64, []float64{1, 2, 2, 4}, 2, 2)},
		{"rank 1 of 3", tensor.Ones(3, 3)},
		{"rank 2 of 3", tensor.Range(9).Reshape(3, 3)},
		{"a row of zeros", tensor.Concat([]Tensor{normal(3, 4), tensor.Zeros(1, 4).Cast(dtype.F64)}, 0)},
		{"a column of zeros", tensor.Concat([]Tensor{tensor.Zeros(4, 1).Cast(dtype.F64), normal(4, 3)}, 1)},
		{"shift", tensor.Concat([]Tensor{tensor.Zeros(30, 1), tensor.Eye(30).Slice(1, 0, 29)}, 1)},
		{"rank 3 of 5", low},
		{"batch", tensor.Stack([]Tensor{tensor.Eye(5).Cast(dtype.F64), low, normal(5, 5)}, 0)},
		{"small", tensor.FromAs(dtype.F64, []float64{1e-9, 2e-9, 2e-9, 4e-9}, 2, 2).Mul(1e3)},
	} {
		a := c.a.Cast(dtype.F64).Eval()
		along := normal(a.Shape()...).Eval()
		loss := func(a Tensor) Tensor { return linalg.Det(a).Sum().Div(float64(a.Len(-1))) }
		gradient := func(a Tensor) Tensor { return tensor.Grad(loss(a), a)[0] }
		near(t, c.name, gradient(a).Mul(along).Sum(), slope(loss, a, along))
		second := func(a Tensor) Tensor { return gradient(a).Mul(along).Sum() }
		y, back := tensor.VJP(second, a)
		near(t, c.name+", second", back(tensor.OnesLike(y)).Mul(along).Sum(), slope(second, a, along))
	}
	p := tensor.From([]float32{1, 2, 2, 4}, 2, 2).Param()
	if d := tensor.Grad(linalg.Det(p), p)[0]; !tensor.AllClose(d, tensor.From([]float32{4, -2, -2, 1}, 2, 2), 1e-6, 1e-6) {
		t.Errorf("got %v, want the cofactors", d)
	}
}

// slope is the derivative of f at a along a direction, by differences of the fourth order.
func slope(f func(Tensor) Tensor, a, along Tensor) Tensor {
	const h = 3e-4
	at := func(k float64) Tensor { return f(a.Add(along.Mul(k * h)).Eval()).Detach().Eval() }
	return at(1).Sub(at(-1)).Mul(8).Sub(at(2).Sub(at(-2))).Div(12 * h)
}

func near(t *testing.T, what string, got, want Tensor) {
	t.Helper()
	if !tensor.AllClose(got, want, 2e-6, 2e-6) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// TestRefuses: what is wrong with a matrix is said, and which one of a batch it is.
func TestRefuses(t *testing.T) {
	singular := tensor.From([]float32{1, 2, 2, 4}, 2, 2)
	pair := tensor.Stack([]Tensor{tensor.Eye(2), singular}, 0)
	indefinite := tensor.From([]float32{1, 0, 0, 0, 1, 0, 0, 0, -1}, 3, 3)
	param := tensor.Ones(3, 2).Param()
	for _, c := range []struct {
		f    func() Tensor
		want string
	}{
		{func() Tensor { return linalg.Inv(tensor.Ones(2, 3)) }, "inv: got f32[2 3], want square matrices"},
		{func() Tensor { return linalg.Inv(tensor.Ones(2)) }, "inv: got f32[2], want a matrix: two axes at least"},
		{func() Tensor { return linalg.Solve(tensor.Eye(2), tensor.Ones(3)) }, "solve: got f32[2 2] and f32[3], want right-hand sides with 2 rows"},
		{func() Tensor { return linalg.Solve(tensor.Ones(2, 2, 2), tensor.Ones(3, 2, 1)) }, "solve: got f32[2 2 2] and f32[3 2 1], want batches that broadcast"},
		{func() Tensor { return linalg.Solve(singular, tensor.Ones(2)) }, "solve: got a singular matrix: pivot 2 is 0"},
		{func() Tensor { return linalg.Inv(pair) }, "inv: got a singular matrix: pivot 2 is 0, matrix [1] of the batch"},
		{func() Tensor { return linalg.Cholesky(indefinite) }, "cholesky: got a matrix that is not positive definite: its leading minor of order 3 is not above 0"},
		{func() Tensor { return linalg.SingularValues(tensor.Ones(2, 2).Log().Sub(1).Sqrt()) }, "svd: got NaN or an infinity, want finite elements"},
		{func() Tensor { return linalg.Cross(tensor.Ones(2), tensor.Ones(3)) }, "cross: got f32[2] and f32[3], want vectors of 3"},
		{func() Tensor { return linalg.MatrixNorm(pair, 3) }, "matrix_norm: got the order 3, want 1, -1, 2, -2, +Inf or -Inf"},
		{func() Tensor { q, _ := linalg.FullQR(param); return tensor.Grad(q.Sum(), param)[0] }, "full_qr: it has none: the 1 columns of Q beyond R's"},
	} {
		if err := tensor.Try(func() { c.f().Eval() }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// TestFactors: factors multiply to the matrix and are what they are called, whatever the shape, also beside
// the BLAS's blocks; on each dtype.
func TestFactors(t *testing.T) {
	tensor.Seed(2)
	for _, shape := range [][]int{{1, 1}, {5, 3}, {3, 5}, {2, 3, 4, 4}, {130, 130}, {200, 90}, {70, 210}, {0, 0}, {0, 3}, {3, 0}, {2, 0, 3, 3}, {2, 3, 0}} {
		for _, dt := range []dtype.Type{dtype.F64, dtype.F32, dtype.BF16} {
			t.Run(fmt.Sprint(shape, dt), func(t *testing.T) {
				a := normal(shape...).Cast(dt)
				limit := map[dtype.Type]float64{dtype.F64: 1e-11, dtype.F32: 1e-3, dtype.BF16: 0.5}[dt]
				same := func(what string, got, want Tensor) {
					t.Helper()
					if got.DType() != dt || !tensor.AllClose(got.Cast(dtype.F64), want.Cast(dtype.F64), 0, limit) {
						t.Errorf("%s: got %v, want %v", what, got, want)
					}
				}
				orthonormal := func(what string, q Tensor) {
					t.Helper()
					n := q.Len(-1)
					same(what, q.Transpose().MatMul(q), tensor.Eye(n).Expand(append(shape[:len(shape)-2:len(shape)-2], n, n)...))
				}
				f := linalg.LU(a)
				same("P·L·U", f.P().MatMul(f.L).MatMul(f.U), a)
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
				k := s.Len(-1)
				same("FullSVD", fu.Slice(-1, 0, k).Mul(fs.Unsqueeze(-2)).MatMul(fvt.Slice(-2, 0, k)), a)
				if dt == dtype.BF16 || a.Len(-1) != a.Len(-2) {
					return
				}
				h := definite(a)
				l := linalg.Cholesky(h)
				same("Cholesky", l.MatMul(l.Transpose()), h)
				w, v := linalg.Eigh(h)
				same("Eigh", v.Mul(w.Unsqueeze(-2)).MatMul(v.Transpose()), h)
				orthonormal("Eigh", v)
				same("Inv", linalg.Inv(h).MatMul(h), tensor.Eye(a.Len(-1)).Expand(shape...))
				_, logDet := linalg.Slogdet(h)
				same("Slogdet", logDet, w.Log().Sum(-1))
				sum := linalg.EigVals(a).Sum(-1)
				same("EigVals", sum.Real(), a.Trace())
				same("EigVals", sum.Imag(), a.Trace().Mul(0))
			})
		}
	}
}

// TestDevices: another device computes by way of the processor, and has the results and the gradients; a
// replayed step factorises again.
func TestDevices(t *testing.T) {
	devicetest.Register("late64")
	for _, name := range []string{"cpu", "ref", "late64"} {
		d, err := device.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		tensor.Within(device.On(t.Context(), d), func() {
			step := tensor.Compile(func(x ...Tensor) []Tensor {
				inverse := linalg.Inv(definite(x[0]))
				return append(tensor.Grad(inverse.Sum(), x[0]), inverse, linalg.Expm(x[0]))
			})
			for i := range 6 {
				a := tensor.FromAs(dtype.F64, []float64{1, 2, 3, float64(i)}, 2, 2)
				got := step(a)
				if got[1].Device() != d {
					t.Errorf("%s: got a result on %v", name, got[1].Device())
				}
				near(t, name, got[1].MatMul(definite(a)), tensor.Eye(2).Cast(dtype.F64))
				near(t, name, got[2].MatMul(linalg.Expm(a.Neg())), tensor.Eye(2).Cast(dtype.F64))
				y, back := tensor.VJP(func(a Tensor) Tensor { return linalg.Inv(definite(a)).Sum() }, a)
				near(t, name, got[0], back(tensor.OnesLike(y)))
			}
		})
	}
}
