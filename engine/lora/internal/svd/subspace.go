package svd

import (
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// subspace finds about the k largest singular values of w: it multiplies some random vectors by w and its
// transpose, again and again, and makes them orthogonal each time. With 0 iterations it goes on until the
// values stand still.
func subspace(w tensor.Tensor, k, iterations int) Factors {
	const most, still = 200, 1e-7
	m, n := w.Len(0), w.Len(1)
	width := min(2*k+16, m, n) // more vectors than are wanted: those behind them decide how fast it goes
	w = w.Cast(dtype.F32).Detach().Eval()
	up := tensor.NewRNG(1).Randn(n, width).To(w.Device())
	var before []float64
	for i := 0; ; i++ {
		left := orthogonal(w.MatMul(up).Float64s(), m, width)
		back := w.Transpose().MatMul(matrix(left, w, m, width)).Float64s() // [n width]: Wᵀ·Q
		if last := i+1 == iterations || iterations == 0 && i+1 == most; !last {
			right, lengths := orthogonalWith(back, n, width)
			done := iterations == 0 && before != nil && same(before, lengths[:k], still)
			before = slices.Clone(lengths[:k])
			if !done {
				up = matrix(right, w, n, width)
				continue
			}
		}
		return finish(left, back, m, n, width).top(k, m, n)
	}
}

// finish makes the factors of W from Q [m width], whose columns are orthogonal, and Wᵀ·Q [n width].
func finish(q, back []float64, m, n, width int) Factors {
	small := whole(transpose(back, n, width), width, n) // of Qᵀ·W [width n]
	u := make([]float64, m*small.K)
	for i := range m {
		for j, x := range q[i*width : (i+1)*width] {
			for c := range small.K {
				u[i*small.K+c] += x * small.U[j*small.K+c]
			}
		}
	}
	return Factors{U: u, S: small.S, V: small.V, K: small.K}
}

func matrix(a []float64, like tensor.Tensor, m, n int) tensor.Tensor {
	return tensor.From(a, m, n).Cast(dtype.F32).To(like.Device())
}

func same(a, b []float64, relative float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > relative*math.Abs(a[0]) {
			return false
		}
	}
	return true
}

// orthogonal makes the columns of a matrix [m n] orthogonal and of length 1.
func orthogonal(a []float64, m, n int) []float64 {
	q, _ := orthogonalWith(a, m, n)
	return q
}

// orthogonalWith is orthogonal, and returns how long each column was at a right angle to those before it.
func orthogonalWith(a []float64, m, n int) (q, lengths []float64) {
	columns := split(transpose(a, m, n), n, m)
	lengths = make([]float64, n)
	for j, c := range columns {
		for range 2 { // twice is enough (Giraud et al. 2005)
			for _, before := range columns[:j] {
				d := dot(before, c)
				for i := range c {
					c[i] -= d * before[i]
				}
			}
		}
		if lengths[j] = math.Sqrt(dot(c, c)); lengths[j] > 0 {
			for i := range c {
				c[i] /= lengths[j]
			}
		}
	}
	return transpose(slices.Concat(columns...), n, m), lengths
}

// QR returns orthogonal columns Q [m k] and R [k n] with Q·R = a [m n], k the shorter side. The diagonal of R
// is not negative; LAPACK has other signs, but the same products of a column of Q and its row of R.
func QR(a []float64, m, n int) (q, r []float64) {
	k := min(m, n)
	head := make([]float64, 0, m*k)
	for i := range m {
		head = append(head, a[i*n:i*n+k]...)
	}
	q = orthogonal(head, m, k)
	r = make([]float64, k*n)
	for i := range m {
		for j := range k {
			for c := range n {
				r[j*n+c] += q[i*k+j] * a[i*n+c]
			}
		}
	}
	return q, r
}
