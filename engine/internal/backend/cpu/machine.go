package cpu

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

// instructionSet names what the kernels were chosen for.
func instructionSet() string { return isa.Level().String() }
