//go:build !amd64 || mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

func directKernels(isa.Set) []*DirectKernel { return nil }
