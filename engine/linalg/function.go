package linalg

import (
	"math"
	"math/bits"

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

// Expm returns the exponentials of matrices a [… n n]: I + a + a²/2! + …, by the Padé approximant of order 13
// of a/2ˢ, squared s times (Higham 2005). s is decided for each matrix, by its values.
func Expm(a Tensor) Tensor {
	x, batch, n := square("expm", a)
	if n == 0 {
		return x
	}
	const radius = 5.371920351148152 // of the 1-norm, within which the approximant is exact to 53 bits
	const most = 40                  // squarings: a norm of 10¹²
	norm := MatrixNorm(x.Detach(), 1).Reshape(join(batch, 1, 1)...)
	times := norm.Div(radius).Maximum(1).Log2().Ceil().Minimum(most)
	x = x.Mul(times.Neg().Exp2())
	b := [...]float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
		670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}
	for i := range b { // so that f32 holds them, too
		b[i] /= 64764752532480000
	}
	one := eye(x, n).Expand(join(batch, n, n)...)
	x2 := x.MatMul(x)
	x4 := x2.MatMul(x2)
	x6 := x4.MatMul(x2)
	sum := func(k int) Tensor { // of b[k], b[k+2] … b[k+12]
		if k == 1 {
			high := x6.Mul(b[13]).Add(x4.Mul(b[11])).Add(x2.Mul(b[9]))
			return x6.MatMul(high).Add(x6.Mul(b[7])).Add(x4.Mul(b[5])).Add(x2.Mul(b[3])).Add(one.Mul(b[1]))
		}
		high := x6.Mul(b[12]).Add(x4.Mul(b[10])).Add(x2.Mul(b[8]))
		return x6.MatMul(high).Add(x6.Mul(b[6])).Add(x4.Mul(b[4])).Add(x2.Mul(b[2])).Add(one.Mul(b[0]))
	}
	u, v := x.MatMul(sum(1)), sum(0)
	y := solve("expm", v.Sub(u), v.Add(u))
	return squared(y, times)
}

// squared squares matrices y [… n n] as many times as times [… 1 1] says. How many that is at most, the
// values tell, so they are evaluated.
func squared(y, times Tensor) Tensor {
	if times.Size() == 0 {
		return y
	}
	for i := range int(math.Max(0, times.Max().Item())) {
		y = tensor.Where(times.Gt(i), y.MatMul(y), y)
	}
	return y
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
