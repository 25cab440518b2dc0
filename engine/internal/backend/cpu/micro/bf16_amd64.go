//go:build amd64 && !mcs_portable

package micro

import (
	"math"
	"sync"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// A tileConfig is the operand of LDTILECFG: the number and length of the rows of each tile.
type tileConfig struct {
	palette  uint8
	_        [15]uint8
	rowBytes [16]uint16
	rows     [16]uint8
}

const (
	tileRows  = 16 // rows of a tile, at most
	tileSteps = 32 // bf16 numbers in a row of a tile
)

// configure returns the sizes of the tiles for rows ≤ 32 and cols ≤ 32 of the result; see gen/tiles.go.
func configure(rows, cols int) (c tileConfig) {
	c.palette = 1
	r := [2]int{min(rows, tileRows), rows - tileRows}
	n := [2]int{min(cols, tileRows), cols - tileRows}
	for i := range 2 {
		for j := range 2 {
			if r[i] > 0 && n[j] > 0 {
				c.rows[2*i+j], c.rowBytes[2*i+j] = uint8(r[i]), uint16(4*n[j])
			}
		}
		if r[i] > 0 {
			c.rows[4+i], c.rowBytes[4+i] = uint8(r[i]), 2*tileSteps
		}
		if n[i] > 0 {
			c.rows[6+i], c.rowBytes[6+i] = tileSteps/2, uint16(4*n[i])
		}
	}
	return c
}

var (
	dotKernel  = &Kernel{Rows: 14, Cols: 32, lanes: 16, widths: []microFunc{matmul14x16BF16, matmul14x32BF16}, form: pairs}
	tileKernel = &Kernel{Rows: 2 * tileRows, Cols: 2 * tileRows, form: tiles}
)

// BF16Kernels returns the micro-kernels of this machine that multiply bf16 by bf16 without widening them
// first, the one that does the most at once last.
func BF16Kernels() []*Kernel {
	var k []*Kernel
	if isa.HasBF16Dot() {
		k = append(k, dotKernel)
	}
	if isa.HasTiles() {
		k = append(k, tileKernel)
	}
	return k
}

// multiplyTiles is Kernel.Multiply for tiles. It takes the rows of one panel, or several whole panels.
func multiplyTiles(words int, a *float32, lda int, b, c *float32, ldc, rows, cols, add int) {
	blocks, high := words/(tileSteps/2), max(1, rows/tileKernel.Rows)
	height := min(rows, tileKernel.Rows)
	for done := 0; done < cols; {
		panels, width := max(1, (cols-done)/tileKernel.Cols), min(cols-done, tileKernel.Cols)
		config, right, to := configure(height, width), offset(b, done*words), offset(c, done)
		switch { // and no table: what a function gets that Go finds in one is an object
		case height > tileRows && width > tileRows:
			tileProduct22(&config, blocks, high, a, lda, right, panels, to, ldc, add)
		case height > tileRows:
			tileProduct21(&config, blocks, high, a, lda, right, panels, to, ldc, add)
		case width > tileRows:
			tileProduct12(&config, blocks, high, a, lda, right, panels, to, ldc, add)
		default:
			tileProduct11(&config, blocks, high, a, lda, right, panels, to, ldc, add)
		}
		done += panels * width
	}
}

// A pairRoom has 32 steps in pairs, with 32 rows side by side.
type pairRoom [tileSteps / 2 * 2 * tileRows]float32

var pairRooms = sync.Pool{New: func() any { return new(pairRoom) }}

// packTiles packs rows that are words apart, and fills the last tiles with zeros.
func packTiles(dst []float32, words int, s Source, rows, k int) {
	if s.Step == 1 {
		for row := range rows {
			to := unsafe.Slice((*uint16)(unsafe.Pointer(&dst[row*words])), roundUp(k, tileSteps))
			copy(to, unsafe.Slice((*uint16)(s.At(row, 0).Base), k))
			clear(to[k:])
		}
		return
	}
	pairs := pairRooms.Get().(*pairRoom)
	defer pairRooms.Put(pairs)
	for step := 0; step < k; step += tileSteps {
		for row := 0; row < rows; row += 2 * tileRows {
			n := min(2*tileRows, rows-row)
			packPairPanel(pairs[:], s.At(row, step), n, min(tileSteps, k-step))
			Transpose(&dst[row*words+step/2], words, &pairs[0], 2*tileRows, tileRows, n)
		}
	}
}

// packPairRows packs rows as pairs of steps. Each pair of steps takes width words.
func packPairRows(dst []float32, width int, s Source, rows, k int) {
	done := 0
	switch {
	case s.Step == 1: // a pair is one number of 32 bits
		done = packPairsTransposed(dst, width, s, rows, k)
	case s.Line == 1:
		wide := pairRooms.Get().(*pairRoom)
		defer pairRooms.Put(wide)
		for step := 0; step < k; step += tileSteps {
			n := min(tileSteps, k-step)
			packPairPanel(wide[:(n+1)/2*2*tileRows], s.At(0, step), rows, n)
			for p := range (n + 1) / 2 {
				copy(dst[(step/2+p)*width:][:width], wide[p*2*tileRows:])
			}
		}
		return
	}
	packPairsScalar(dst[done*width:], width, s.At(0, 2*done), 0, rows, k-2*done)
}

// packPairPanel packs up to 32 columns: a row of 32 pairs for each two steps. It fills the rest of dst with
// zeros.
func packPairPanel(dst []float32, s Source, cols, k int) {
	const width = 2 * tileRows
	pairs, done := (k+1)/2, 0
	clear(dst[pairs*width:])
	switch {
	case s.Line == 1:
		last := 1
		if k%2 != 0 {
			last = 0
		}
		packPairs(unsafe.SliceData(dst), (*uint16)(s.Base), 2*s.Step, pairs, cols, last)
		return
	case s.Step == 1: // a pair is one number of 32 bits
		done = packPairsTransposed(dst, width, s, cols, k)
	}
	packPairsScalar(dst[done*width:], width, s.At(0, 2*done), 0, cols, k-2*done)
}

// peakBF16 is PeakBF16 for kernel m.
func (m *Kernel) peakBF16(n int) int64 {
	if m.form == pairs {
		peakBF16(n)
		return int64(n) * 12 * 16 * 2 * 2
	}
	config := configure(2*tileRows, 2*tileRows)
	var ones [tileRows * tileSteps / 2]float32
	for i := range ones {
		ones[i] = math.Float32frombits(0x3f803f80)
	}
	peakTiles(&config, n, &ones[0])
	return int64(n) * 4 * tileRows * tileRows * tileSteps * 2
}
