package ir

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// A Routine is what a library of a device computes of each matrix of a batch: a factorisation, the solution
// of triangular equations, or a Fourier transform. All numbers are f32, and the matrices of an operand lie
// side by side.
//
// Libraries of linear algebra have matrices by columns, the engine has them by rows, so each sees the other's
// transposed. Their routines take and give what saves transposing: "ᵀ" says below that an operand, as the
// engine sees it, is that of the name transposed. Equal Routines are the same work.
type Routine struct {
	Name          RoutineName
	Batches       int
	Rows, Columns int // m and n of the matrix a; the lengths of a transform, of which one along one axis has 1 row
	Right         int // k: right-hand sides of Solve, columns of Q of QR
	Upper         bool
	Transposed    bool // of Solve: the equations are those of aᵀ
	Unit          bool // of Solve: the diagonal counts as ones
	Full, Vectors bool // of SVD and Eigh: all vectors, not those of singular values alone; whether any are wanted
}

// A RoutineName says which routine it is.
type RoutineName uint8

// The routines, with their operands: sources → results. Each but Solve and the transforms has one more, info
// i32 []: 0, or which leading minor is not above 0 of Cholesky, which pivot is 0 of LU, above 0 of what did
// not converge. Complex numbers are pairs, and transforms are along rows and columns, and not scaled.
const (
	CholeskyRoutine RoutineName = iota // aᵀ [n n], of which the upper triangle counts → Lᵀ [n n], of which it does
	LURoutine                          // aᵀ [n m] → (L and U)ᵀ [n m], pivots i32 [min(m, n)], counted from 1
	SolveRoutine                       // a [n n], of which a triangle counts, b [n k] → x [n k]
	QRRoutine                          // aᵀ [n m] → (R and reflections)ᵀ [n m], Qᵀ [k m]
	EighRoutine                        // a [n n], of which the lower triangle counts → w [n], Vᵀ [n n]
	SVDRoutine                         // aᵀ [n m], m ≥ n → s [n], Uᵀ [n m], or [m m] if Full, Vᵀ [n n]
	FFTRoutine                         // z [m n 2] → [m n 2]
	IFFTRoutine                        // z [m n 2] → [m n 2]
	RFFTRoutine                        // x [m n] → [m n/2+1 2], the first columns of FFT's
	IRFFTRoutine                       // z [1 n/2+1 2], whose first number is real, and the last of an even n → [1 n]
)

var routineNames = [...]string{"cholesky", "lu", "triangular solve", "qr", "eigh", "svd", "fft", "ifft", "rfft", "irfft"}

// Transforms says whether it is a Fourier transform.
func (r *Routine) Transforms() bool { return r.Name >= FFTRoutine }

// Together says whether the library is called once for all matrices, as it is for many small ones, and not
// for one after the other. The lengths are those up to which PyTorch does so.
func (r *Routine) Together() bool {
	n := max(r.Rows, r.Columns)
	square := r.Rows == r.Columns
	switch {
	case r.Transforms():
		return true
	case r.Batches < 2:
		return false
	case r.Name == LURoutine:
		return square && n < 512
	case r.Name == SolveRoutine:
		return n < 64 || r.Batches > 8
	case r.Name == EighRoutine || r.Name == SVDRoutine:
		return square && n <= 32
	}
	return r.Name == CholeskyRoutine
}

// Addressed are the operands of which the library wants the addresses of all matrices: an operand more for
// each, i64 [].
func (r *Routine) Addressed() []int {
	switch {
	case !r.Together():
	case r.Name == CholeskyRoutine || r.Name == LURoutine:
		return []int{1}
	case r.Name == SolveRoutine:
		return []int{0, 2}
	}
	return nil
}

// Operands returns the types of one matrix's operands: so many sources, then the results, addresses, and
// info, if it has one.
func (r *Routine) Operands() (list []Type, sources int) {
	m, n := r.Rows, r.Columns
	f32 := func(shape ...int) Type { return Type{DType: dtype.F32, Shape: shape} }
	i32 := func(shape ...int) Type { return Type{DType: dtype.I32, Shape: shape} }
	addresses := slices.Repeat([]Type{{DType: dtype.I64}}, len(r.Addressed()))
	sources = 1
	switch r.Name {
	case CholeskyRoutine:
		list = []Type{f32(n, n), f32(n, n)}
	case LURoutine:
		list = []Type{f32(n, m), f32(n, m), i32(min(m, n))}
	case SolveRoutine:
		return append([]Type{f32(n, n), f32(n, r.Right), f32(n, r.Right)}, addresses...), 2
	case QRRoutine:
		list = []Type{f32(n, m), f32(n, m), f32(r.Right, m)}
	case EighRoutine:
		list = []Type{f32(n, n), f32(n), f32(n, n)}
	case SVDRoutine:
		left := n
		if r.Full {
			left = m
		}
		list = []Type{f32(n, m), f32(n), f32(left, m), f32(n, n)}
	case FFTRoutine, IFFTRoutine:
		return []Type{f32(m, n, 2), f32(m, n, 2)}, 1
	case RFFTRoutine:
		return []Type{f32(m, n), f32(m, n/2+1, 2)}, 1
	case IRFFTRoutine:
		return []Type{f32(m, n/2+1, 2), f32(m, n)}, 1
	}
	return append(append(list, addresses...), i32()), sources
}

// Bytes is how long an operand is, with all batches; 0 if there is none.
func (r Routine) Bytes(operand int) int {
	list, _ := r.Operands()
	if operand >= len(list) {
		return 0
	}
	return r.Batches * list[operand].Bytes()
}

// String says what is computed: "svd of 3×4, 8 times".
func (r Routine) String() string {
	s := fmt.Sprintf("%s of %d×%d", routineNames[r.Name], r.Rows, r.Columns)
	if r.Name == SolveRoutine {
		s += fmt.Sprintf(" for %d", r.Right)
	}
	if r.Batches > 1 {
		s += fmt.Sprintf(", %d times", r.Batches)
	}
	return s
}
