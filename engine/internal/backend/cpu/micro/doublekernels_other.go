//go:build !amd64 || mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var doubleKernels = [isa.NumSets]*DoubleKernel{isa.Portable: doublePortable, isa.NEON: doublePortable}

// symmetric is Symmetric by vectors, which there are none for.
func symmetric(n int, a *float64, lda int, of, x, y, sums *float64) bool { return false }
