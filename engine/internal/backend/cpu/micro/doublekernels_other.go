//go:build !amd64 || mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var doubleKernels = [isa.NumSets]*DoubleKernel{isa.Portable: doublePortable, isa.NEON: doublePortable}
