package gemm

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
)

// Products are the same if a BLAS computes them, here one of plain loops. It gets operands unpacked, and
// only those that it can read.
func TestBLAS(t *testing.T) {
	calls := 0
	UseBLAS(func(transA, transB bool, m, n, k int, a unsafe.Pointer, lda int, b unsafe.Pointer, ldb int, beta float32, c unsafe.Pointer, ldc int) {
		calls++
		at := func(p unsafe.Pointer, trans bool, ld, i, j int) float32 {
			if trans {
				i, j = j, i
			}
			return *(*float32)(unsafe.Add(p, 4*(i*ld+j)))
		}
		for i := range m {
			for j := range n {
				sum := float32(0)
				for p := range k {
					sum += at(a, transA, lda, i, p) * at(b, transB, ldb, p, j)
				}
				to := (*float32)(unsafe.Add(c, 4*(i*ldc+j)))
				if beta != 0 {
					sum += beta * *to
				}
				*to = sum
			}
		}
	})
	defer UseBLAS(nil)
	workers := pool.New(2)
	defer workers.Close()
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		a, b  string
		elem  micro.Elem
		calls int // for two terms and three matrices
	}{
		{"rows", "rows", micro.F32, 6},
		{"columns", "rows", micro.F32, 6},
		{"rows", "columns", micro.F32, 6},
		{"padded columns", "padded rows", micro.F32, 6},
		{"broadcast batch", "columns", micro.F32, 6},
		{"sparse", "rows", micro.F32, 0},
		{"rows", "reversed", micro.F32, 0},
		{"rows", "rows", micro.BF16, 0},
	} {
		calls = 0
		check(t, workers, r, 70, 41, 3, []int{33, 8}, c.elem, c.a, c.b)
		if calls != c.calls {
			t.Errorf("%s by %s: got %d calls, want %d", c.a, c.b, calls, c.calls)
		}
	}
}
