//go:build arm64 && !mcs_portable

package micro

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"

var dotKernel = &Kernel{Rows: 8, Cols: 12, lanes: 4, widths: []microFunc{matmul8x4BF16, matmul8x8BF16, matmul8x12BF16}, form: pairs}

// BF16Kernels returns the micro-kernels of this machine that multiply bf16 by bf16 without widening them
// first, the one that does the most at once last.
func BF16Kernels() []*Kernel {
	if !isa.HasBF16Dot() {
		return nil
	}
	return []*Kernel{dotKernel}
}

// packPairRows packs rows as pairs of steps. Each pair of steps takes width words.
func packPairRows(dst []float32, width int, s Source, rows, k int) {
	done := 0 // pairs
	switch {
	case s.Step == 1: // a pair is one number of 32 bits
		done = packPairsTransposed(dst, width, s, rows, k)
	case s.Line == 1 && k >= 2:
		done = k / 2
		if whole := rows &^ 3; whole > 0 {
			packPairsNEON(&dst[0], 4*width, (*uint16)(s.Base), 2*s.Step, done, whole)
		}
		packPairsScalar(dst, width, s, rows&^3, rows, 2*done)
	}
	packPairsScalar(dst[done*width:], width, s.At(0, 2*done), 0, rows, k-2*done)
}

// packPairPanel packs columns as pairs of steps, as many pairs as dst has room for.
func packPairPanel(dst []float32, s Source, cols, k int) {
	packPairRows(dst, len(dst)/((k+1)/2), s, cols, k)
}

// peakBF16 is PeakBF16 for kernel m.
func (m *Kernel) peakBF16(n int) int64 {
	peakBF16(n)
	return int64(n) * 24 * 4 * 2 * 2
}
