package micro

import "math"

// packPairsTransposed packs lines with contiguous steps. It returns the number of pairs that it packed.
func packPairsTransposed(dst []float32, width int, s Source, lines, k int) int {
	block := together
	blocks := k / (2 * block)
	for line := 0; line < lines && blocks > 0; line += block {
		n := min(block, width-line)
		transposes[F32][n](&dst[line], 4*width, s.At(line, 0).Base, 2*s.Line, min(block, lines-line), blocks)
	}
	return blocks * block
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
