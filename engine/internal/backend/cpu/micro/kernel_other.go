//go:build (!amd64 && !arm64) || mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var kernels = [isa.NumSets][]*Kernel{isa.Portable: {portable}}

func peak(n int) int64 { return peakPortable(n) }
