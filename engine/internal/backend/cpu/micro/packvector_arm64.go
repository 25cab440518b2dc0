//go:build arm64 && !mcs_portable

package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// packVector packs the first steps with vector instructions and returns their number.
func packVector(dst *float32, width int, s Source, lines, k int) int {
	switch {
	case isa.Level() == isa.Portable:
		return 0
	case s.Line == 1 && lines >= 4:
		packLines(dst, width, s, lines, k)
		return k
	case s.Step == 1 && width%4 == 0:
		return packTransposed(dst, width, s, lines, k)
	}
	return 0
}

// packLines copies lines in fours, and the remaining ones in Go.
func packLines(dst *float32, width int, s Source, lines, k int) {
	whole := lines &^ 3
	switch s.Elem {
	case F32:
		packCopyF32NEON(dst, 4*width, (*float32)(s.Base), 4*s.Step, k, whole)
	case BF16:
		packCopyBF16NEON(dst, 4*width, (*uint16)(s.Base), 2*s.Step, k, whole)
	case F16:
		packCopyF16NEON(dst, 4*width, (*uint16)(s.Base), 2*s.Step, k, whole)
	}
	if whole == width {
		return
	}
	for p := range k {
		row := unsafe.Slice(offset(dst, p*width), width)
		for i := whole; i < lines; i++ {
			row[i] = s.At(i, p).first()
		}
		clear(row[lines:])
	}
}

// packTransposed packs steps in fours.
func packTransposed(dst *float32, width int, s Source, lines, k int) int {
	blocks := k / 4
	if blocks == 0 {
		return 0
	}
	for line := 0; line < width; line += 4 {
		to := offset(dst, line)
		if line >= lines {
			for p := range 4 * blocks {
				clear(unsafe.Slice(offset(to, p*width), 4))
			}
			continue
		}
		from, rows := s.At(line, 0), min(4, lines-line)
		switch s.Elem {
		case F32:
			packTransposeF32NEON(to, 4*width, (*float32)(from.Base), 4*s.Line, rows, blocks)
		case BF16:
			packTransposeBF16NEON(to, 4*width, (*uint16)(from.Base), 2*s.Line, rows, blocks)
		case F16:
			packTransposeF16NEON(to, 4*width, (*uint16)(from.Base), 2*s.Line, rows, blocks)
		}
	}
	return 4 * blocks
}

func copyRowsVector(*float32, int, *float32, int, int, int, int) bool { return false }
