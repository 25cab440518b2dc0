package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

// A peakLoop runs rounds of fused multiply-adds, of so many operations each.
type peakLoop struct {
	run   func(n int)
	flops int64
}

var peaks [isa.NumSets]peakLoop

// PeakFlops runs n > 0 rounds of fused multiply-adds and returns the number of floating-point operations.
// Its rate is the most that a core can do with the instructions of [isa.Level].
func PeakFlops(n int) int64 {
	n = max(1, n)
	p := &peaks[isa.Level()]
	if p.run == nil {
		return peakPortable(n)
	}
	p.run(n)
	return int64(n) * p.flops
}

// PeakBF16 is PeakFlops for products of bf16 that are added up in float32 by the instructions of kernel. A
// nil kernel stands for instructions on float32, after widening.
func PeakBF16(kernel *Kernel, n int) int64 {
	if kernel == nil {
		return PeakFlops(n)
	}
	return kernel.peakBF16(max(1, n))
}
