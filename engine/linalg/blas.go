package linalg

import (
	"math"
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// threads computes on at most so many threads. All matrices are in rows, which are ld elements apart; those
// of its methods that are called as in BLAS or LAPACK compute what is said there.
type threads int

var plain gonum.Implementation // for what is small

const (
	few   = 16      // rows and columns up to which equations are left to plain loops
	small = 1 << 13 // multiplications up to which a product is
	work  = 1 << 20 // and from which it is divided among threads
)

// padded copies a [m n] to rows of length ld: columns whose elements lie a power of 2 apart share one line of
// a cache.
func padded(m, n int, a []float64) (x []float64, ld int) {
	if ld = n; n >= 128 && n%32 == 0 {
		ld += 8
	}
	x = make([]float64, m*ld)
	for i := range m {
		copy(x[i*ld:], a[i*n:(i+1)*n])
	}
	return x, ld
}

// apart runs work on the pieces of n lines, some of which a thread takes at once.
func (t threads) apart(n, least int, work func(lo, hi int)) {
	parts := max(1, min(int(t), n/least))
	pool.Apart(parts, func(i int) { work(i*n/parts, (i+1)*n/parts) })
}

// rooms keep memory: a factorisation makes hundreds of products.
var rooms sync.Pool // *[]float64

// room is memory that holds anything, until done is called.
func room(n int) (x []float64, done func()) {
	kept, _ := rooms.Get().(*[]float64)
	if kept == nil || len(*kept) < n {
		kept = new(make([]float64, n))
	}
	return (*kept)[:n], func() { rooms.Put(kept) }
}

// gemm computes c [m n] = op(a)·op(b), or with onto 1 or −1 c plus or minus that; ta and tb transpose.
func (t threads) gemm(ta, tb bool, m, n, k int, a []float64, lda int, b []float64, ldb int, onto int, c []float64, ldc int) {
	if m == 0 || n == 0 || k == 0 && onto != 0 {
		return
	}
	if m*n*k <= small {
		alpha, beta := 1., math.Abs(float64(onto))
		if onto < 0 {
			alpha = -1
		}
		plain.Dgemm(transpose(ta), transpose(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
		return
	}
	term := gemm.Term{K: k, A: gemm.Operand{Line: lda, Step: 1}, B: gemm.Operand{Line: 1, Step: ldb}}
	if ta {
		term.A = gemm.Operand{Line: 1, Step: lda}
	}
	if tb {
		term.B = gemm.Operand{Line: ldb, Step: 1}
	}
	part := func(m, n int, a, b, c []float64) {
		d := gemm.NewDouble(m, n, 1, []gemm.Term{term}, 1)
		scratch, done := room(d.ScratchLen(1))
		defer done()
		d.Run(pool.Serial(1), &gemm.DoubleCall{
			A: []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(a))}, B: []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(b))},
			C: unsafe.Pointer(unsafe.SliceData(c)), LDC: ldc, Onto: onto, Scratch: scratch,
		})
	}
	if m*n*k < work {
		t = 1
	}
	if n > m { // a wide result is divided by columns
		t.apart(n, 16, func(lo, hi int) { part(m, hi-lo, a, b[lo*term.B.Line:], c[lo:]) })
		return
	}
	t.apart(m, 16, func(lo, hi int) { part(hi-lo, n, a[lo*term.A.Line:], b, c[lo*ldc:]) })
}

func transpose(is bool) blas.Transpose {
	if is {
		return blas.Trans
	}
	return blas.NoTrans
}

// halfOf is where a triangle of n rows is divided: at a multiple of 16.
func halfOf(n int) int { return (n/2 + 15) / 16 * 16 }

// trsm solves op(a)·x = b in b [m n] for a triangle a [m m], or x·op(a) = b for a [n n] on the right: a
// triangle is two triangles and a square, with one product between the two halves.
func (t threads) trsm(s blas.Side, ul blas.Uplo, ta blas.Transpose, d blas.Diag, m, n int, a []float64, lda int, b []float64, ldb int) {
	if m == 0 || n == 0 {
		return
	}
	if t > 1 { // systems are independent
		if s == blas.Left {
			t.apart(n, 32, func(lo, hi int) { threads(1).trsm(s, ul, ta, d, m, hi-lo, a, lda, b[lo:], ldb) })
		} else {
			t.apart(m, 32, func(lo, hi int) { threads(1).trsm(s, ul, ta, d, hi-lo, n, a, lda, b[lo*ldb:], ldb) })
		}
		return
	}
	size := m
	if s == blas.Right {
		size = n
	}
	if size <= few {
		plain.Dtrsm(s, ul, ta, d, m, n, 1, a, lda, b, ldb)
		return
	}
	h := halfOf(size)
	first, last, square := a, a[h*lda+h:], a[h*lda:]
	if ul == blas.Upper {
		square = a[h:]
	}
	trans, down := ta != blas.NoTrans, (ul == blas.Lower) == (ta == blas.NoTrans)
	switch {
	case s == blas.Left && down:
		t.trsm(s, ul, ta, d, h, n, first, lda, b, ldb)
		t.gemm(trans, false, m-h, n, h, square, lda, b, ldb, -1, b[h*ldb:], ldb)
		t.trsm(s, ul, ta, d, m-h, n, last, lda, b[h*ldb:], ldb)
	case s == blas.Left:
		t.trsm(s, ul, ta, d, m-h, n, last, lda, b[h*ldb:], ldb)
		t.gemm(trans, false, h, n, m-h, square, lda, b[h*ldb:], ldb, -1, b, ldb)
		t.trsm(s, ul, ta, d, h, n, first, lda, b, ldb)
	case !down:
		t.trsm(s, ul, ta, d, m, h, first, lda, b, ldb)
		t.gemm(false, trans, m, n-h, h, b, ldb, square, lda, -1, b[h:], ldb)
		t.trsm(s, ul, ta, d, m, n-h, last, lda, b[h:], ldb)
	default:
		t.trsm(s, ul, ta, d, m, n-h, last, lda, b[h:], ldb)
		t.gemm(false, trans, m, h, n-h, b[h:], ldb, square, lda, -1, b, ldb)
		t.trsm(s, ul, ta, d, m, h, first, lda, b, ldb)
	}
}

// lower subtracts x·yᵀ [n n] of x and y [n k] from the lower triangle of c, and from some of the elements
// above it.
func (t threads) lower(n, k int, x []float64, ldx int, y []float64, ldy int, c []float64, ldc int) {
	const columns = 96
	for j := 0; j < n; j += columns {
		t.gemm(false, true, n-j, min(columns, n-j), k, x[j*ldx:], ldx, y[j*ldy:], ldy, -1, c[j*ldc+j:], ldc)
	}
}
