//go:build amd64 && !mcs_portable

package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

type (
	transpose32 func(dst *float32, dstStride int, src *float32, srcStride int, rows int, blocks int)
	transpose16 func(dst *float32, dstStride int, src *uint16, srcStride int, rows int, blocks int)
	masked32    func(dst *float32, dstStride int, src *float32, srcStride int, k int, valid int, width int)
	masked16    func(dst *float32, dstStride int, src *uint16, srcStride int, k int, valid int, width int)
	copy32      func(dst *float32, dstStride int, src *float32, srcStride int, k int)
	copy16      func(dst *float32, dstStride int, src *uint16, srcStride int, k int)
)

// Kernels by lanes (4, 6, 8), by vectors (1 to 4), by width.
var (
	transposeF32 = [...]transpose32{packTransposeF324, packTransposeF326, packTransposeF328}
	transposeF16 = [...][3]transpose16{
		BF16: {packTransposeBF164, packTransposeBF166, packTransposeBF168},
		F16:  {packTransposeF164, packTransposeF166, packTransposeF168},
	}
	maskedF32 = [...]masked32{packCopyF3216AVX512, packCopyF3232AVX512, packCopyF3248AVX512, packCopyF3264AVX512}
	maskedF16 = [...][4]masked16{
		BF16: {packCopyBF1616AVX512, packCopyBF1632AVX512, packCopyBF1648AVX512, packCopyBF1664AVX512},
		F16:  {packCopyF1616AVX512, packCopyF1632AVX512, packCopyF1648AVX512, packCopyF1664AVX512},
	}
	copyF32 = map[int]copy32{4: packCopyF324AVX2, 6: packCopyF326AVX2, 8: packCopyF328AVX2, 12: packCopyF3212AVX2, 14: packCopyF3214AVX2,
		16: packCopyF3216AVX2, 24: packCopyF3224AVX2}
	copyF16 = [...]map[int]copy16{
		BF16: {4: packCopyBF164AVX2, 6: packCopyBF166AVX2, 8: packCopyBF168AVX2, 12: packCopyBF1612AVX2, 14: packCopyBF1614AVX2,
			16: packCopyBF1616AVX2, 24: packCopyBF1624AVX2},
		F16: {4: packCopyF164AVX2, 6: packCopyF166AVX2, 8: packCopyF168AVX2, 12: packCopyF1612AVX2, 14: packCopyF1614AVX2,
			16: packCopyF1616AVX2, 24: packCopyF1624AVX2},
	}
)

// packVector packs the first steps with vector instructions and returns their number.
func packVector(dst *float32, width int, s Source, lines, k int) int {
	switch {
	case isa.Level() == isa.Portable:
		return 0
	case s.Line == 1:
		// Stores with a mask are slow on some processors, so avoid them where possible.
		if lines == width && (isa.Level() == isa.AVX2 || width%16 != 0) {
			if done := packExact(dst, width, s, k); done == k {
				return k
			}
		}
		if isa.Level() == isa.AVX512 {
			packMasked(dst, width, s, lines, k)
			return k
		}
	case s.Step == 1:
		return packTransposed(dst, width, s, lines, k)
	}
	return 0
}

func packMasked(dst *float32, width int, s Source, lines, k int) {
	v := (width - 1) / 16
	if s.Elem == F32 {
		maskedF32[v](dst, 4*width, (*float32)(s.Base), 4*s.Step, k, lines, width)
	} else {
		maskedF16[s.Elem][v](dst, 4*width, (*uint16)(s.Base), 2*s.Step, k, lines, width)
	}
}

func packExact(dst *float32, width int, s Source, k int) int {
	if s.Elem == F32 {
		if f := copyF32[width]; f != nil {
			f(dst, 4*width, (*float32)(s.Base), 4*s.Step, k)
			return k
		}
	} else if f := copyF16[s.Elem][width]; f != nil {
		f(dst, 4*width, (*uint16)(s.Base), 2*s.Step, k)
		return k
	}
	return 0
}

func packTransposed(dst *float32, width int, s Source, lines, k int) int {
	blocks := k / 8
	if blocks == 0 {
		return 0
	}
	for line := 0; line < width; line += 8 {
		to := unsafe.Add(unsafe.Pointer(dst), 4*line)
		if line >= lines {
			zeroColumns(to, width, min(8, width-line), 8*blocks)
			continue
		}
		lanes := (min(8, width-line) - 4) / 2
		from, rows := s.At(line, 0), min(8, lines-line)
		if s.Elem == F32 {
			transposeF32[lanes]((*float32)(to), 4*width, (*float32)(from.Base), 4*s.Line, rows, blocks)
		} else {
			transposeF16[s.Elem][lanes]((*float32)(to), 4*width, (*uint16)(from.Base), 2*s.Line, rows, blocks)
		}
	}
	return 8 * blocks
}

func zeroColumns(dst unsafe.Pointer, width, n, k int) {
	for p := range k {
		clear(unsafe.Slice((*float32)(unsafe.Add(dst, 4*width*p)), n))
	}
}

// copyRowsVector is CopyRows with instructions that store with a mask.
func copyRowsVector(dst *float32, dstApart int, src *float32, srcApart, rows, n, width int) bool {
	if isa.Level() != isa.AVX512 {
		return false
	}
	maskedF32[(width-1)/16](dst, 4*dstApart, src, 4*srcApart, rows, n, width)
	return true
}
