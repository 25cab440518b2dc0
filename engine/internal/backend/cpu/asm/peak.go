package asm

// PeakFlops does nothing but fused multiply-adds, n > 0 times in a row, and returns how many floating-point operations
// that were. Timed, it gives the most that a core can do with the instructions of [Level].
func PeakFlops(n int) int64 { return peak(max(1, n)) }

// PeakBF16 is PeakFlops for products of bf16 that are added up in float32.
func PeakBF16(n int) int64 {
	if BF16Kernel() == nil {
		return PeakFlops(n) // they are widened
	}
	return peakBF16(max(1, n))
}
