//go:build !darwin || mcs_portable

package cpu

import (
	"errors"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
)

// openAccelerate has nothing to open.
func openAccelerate() (gemm.BLAS, error) { return nil, errors.New("accelerate: only macOS has it") }
