//go:build amd64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

// symmetric is Symmetric by vectors, if the machine has some. It calls the kernel itself, not by a table, so
// that the sums need not be allocated.
func symmetric(n int, a *float64, lda int, of, x, y, sums *float64) bool {
	if isa.Level() == isa.Portable {
		return false
	}
	symmetricAVX2(n, a, lda, of, x, y, sums)
	return true
}
