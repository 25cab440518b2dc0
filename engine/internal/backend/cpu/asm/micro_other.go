//go:build (!amd64 && !arm64) || mcs_portable

package asm

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var microKernels = [isa.NumSets][]*MicroKernel{isa.Portable: {microPortable}}

func peak(n int) int64 { return peakPortable(n) }
