package linalg

import (
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/blas"

	"github.com/mcs-notebook/mcs/engine/internal/host"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// MatrixPower returns matrices a [… n n] to a whole power, by squaring; a power below 0 is that of the
// inverse.
func MatrixPower(a Tensor, power int) Tensor {
	x, batch, n := square("matrix_power", a)
	if power < 0 {
		x, power = Inv(x), -power
	}
	if power == 0 {
		return eye(x, n).Expand(join(batch, n, n)...)
	}
	var y Tensor
	for i := range bits.Len(uint(power)) {
		if i > 0 {
			x = x.MatMul(x)
		}
		switch {
		case power>>i&1 == 0:
		case y.IsNone():
			y = x
		default:
			y = y.MatMul(x)
		}
	}
	return y
}

// Expm returns the exponentials of matrices a [… n n]: I + a + a²/2! + …. NaN and infinities give NaN. It is
// scipy.linalg.expm. Each gradient is a part of the exponential of a matrix [… 2n 2n] (Van Loan 1978), so
// gradients of any order work.
func Expm(a Tensor) Tensor {
	x, batch, n := square("expm", a)
	return host.Code{Op: "expm", Outs: []ir.Type{{Shape: []int{n, n}}}, Run: expmOf(n).on, Grad: func(in, _, dout []Tensor) []Tensor {
		at, along := in[0].Transpose(), dout[0]
		above, below := tensor.Concat([]Tensor{at, along}, -1), tensor.Concat([]Tensor{tensor.ZerosLike(at), at}, -1)
		return []Tensor{Expm(tensor.Concat([]Tensor{above, below}, -2)).Slice(-2, 0, n).Slice(-1, n, 2*n)}
	}}.Call(batch, x)(0)
}

// expmOf is the Padé approximant of order 13 of a/2ˢ, squared s times (Higham 2005).
func expmOf(n int) routine {
	const radius = 5.371920351148152 // of the 1-norm, within which the approximant is exact to 53 bits
	b := [...]float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
		670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}
	return func(t threads, in, out [][]float64) error {
		sums, norm := make([]float64, n), 0.
		for i := range n {
			for j, x := range in[0][i*n : (i+1)*n] {
				sums[j] += math.Abs(x)
			}
		}
		if norm = largest(sums); norm-norm != 0 {
			for i := range out[0] {
				out[0][i] = math.NaN()
			}
			return nil
		}
		squarings := max(0, int(math.Ceil(math.Log2(norm/radius))))
		x := slices.Clone(in[0])
		scale(math.Ldexp(1, -squarings), x)
		times := func(x, y []float64) []float64 {
			z := make([]float64, n*n)
			t.gemm(false, false, n, n, n, x, n, y, n, 0, z, n)
			return z
		}
		x2 := times(x, x)
		x4 := times(x2, x2)
		x6 := times(x4, x2)
		half := func(k int) []float64 { // Σ b[k+2j]·x²ʲ
			y := make([]float64, n*n)
			for i := range y {
				y[i] = x6[i]*b[k+12] + x4[i]*b[k+10] + x2[i]*b[k+8]
			}
			y = times(x6, y)
			for i := range y {
				y[i] += x6[i]*b[k+6] + x4[i]*b[k+4] + x2[i]*b[k+2]
			}
			for i := range n {
				y[i*n+i] += b[k]
			}
			return y
		}
		u, y := times(x, half(1)), half(0)
		for i, odd := range u { // (even − odd)·y = even + odd
			u[i], y[i] = y[i]-odd, y[i]+odd
		}
		pivots := make([]int, n)
		t.getrf(n, n, u, n, pivots)
		interchange(pivots, 0, n, y, n)
		t.trsm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, n, n, u, n, y, n)
		t.trsm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, n, n, u, n, y, n)
		for range squarings {
			y = times(y, y)
		}
		copy(out[0], y)
		return nil
	}
}

// Cross returns the cross products [… 3] of vectors a and b [… 3], along their last axes; the axes before
// broadcast.
func Cross(a, b Tensor) Tensor {
	if a.Rank() == 0 || b.Rank() == 0 || a.Len(-1) != 3 || b.Len(-1) != 3 {
		fail("cross", "got %s and %s, want vectors of 3 along the last axes", describe(a), describe(b))
	}
	return a.Roll(-1, -1).Mul(b.Roll(-1, -2)).Sub(a.Roll(-1, -2).Mul(b.Roll(-1, -1)))
}

// Kron is a.Kron(b), the Kronecker product of two matrices.
func Kron(a, b Tensor) Tensor { return a.Kron(b) }

// Tril is a.Tril(diagonal): what stands on and below a diagonal of each matrix.
func Tril(a Tensor, diagonal int) Tensor { return a.Tril(diagonal) }

// Triu is a.Triu(diagonal): what stands on and above a diagonal of each matrix.
func Triu(a Tensor, diagonal int) Tensor { return a.Triu(diagonal) }
