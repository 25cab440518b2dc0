//go:build arm64 && !mcs_portable

package micro

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

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
		done = k / 8 * 4
		for line := 0; line < rows && done > 0; line += 4 {
			packTransposeF32NEON(&dst[line], 4*width, (*float32)(s.At(line, 0).Base), 2*s.Line, min(4, rows-line), done/4)
		}
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

// packPairsScalar packs pairs of the lines from … to−1 in Go.
func packPairsScalar(dst []float32, width int, s Source, from, to, k int) {
	for p := range (k + 1) / 2 {
		row := dst[width*p:][:width]
		for j := from; j < to; j++ {
			pair := uint32(*(*uint16)(s.At(j, 2*p).Base))
			if 2*p+1 < k {
				pair |= uint32(*(*uint16)(s.At(j, 2*p+1).Base)) << 16
			}
			row[j] = math.Float32frombits(pair)
		}
	}
}

func roundUp(n, step int) int { return (n + step - 1) / step * step }

// peakBF16 is PeakBF16 for kernel m.
func (m *Kernel) peakBF16(n int) int64 {
	peakBF16(n)
	return int64(n) * 24 * 4 * 2 * 2
}
