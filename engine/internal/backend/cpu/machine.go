package cpu

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/asm"

// instructionSet names what the kernels were chosen for.
func instructionSet() string { return asm.Level().String() }
