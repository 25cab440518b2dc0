package micro

// PeakFlops does nothing but fused multiply-adds, n > 0 times in a row, and returns how many floating-point
// operations that were. Timed, it gives the most that a core can do with the instructions of [isa.Level].
func PeakFlops(n int) int64 { return peak(max(1, n)) }

// PeakBF16 is PeakFlops for products of bf16 that are added up in float32, with the instructions of kernel;
// nil stands for those that widen them.
func PeakBF16(kernel *Kernel, n int) int64 {
	if kernel == nil {
		return PeakFlops(n)
	}
	return kernel.peakBF16(max(1, n))
}
