package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// An Elem is a floating-point element type that packing widens to float32.
type Elem uint8

const (
	F32 Elem = iota
	BF16
	F16
)

// Size is the number of bytes of an element.
func (e Elem) Size() int { return [...]int{4, 2, 2}[e] }

// A Source is a matrix to pack. Line i at step p is at element Line·i + Step·p from Base. The lines are the
// rows of a left operand, or the columns of a right operand; the steps are the inner dimension.
type Source struct {
	Base       unsafe.Pointer
	Elem       Elem
	Line, Step int
}

// At returns the source that starts at the given line and step.
func (s Source) At(line, step int) Source {
	s.Base = unsafe.Add(s.Base, (line*s.Line+step*s.Step)*s.Elem.Size())
	return s
}

// first returns the element at line 0 and step 0.
func (s Source) first() float32 {
	switch s.Elem {
	case BF16:
		return dtype.BF16ToFloat32(*(*uint16)(s.Base))
	case F16:
		return dtype.F16ToFloat32(*(*uint16)(s.Base))
	}
	return *(*float32)(s.Base)
}

// PackPanel writes k steps of lines values each, width ≥ lines apart, in the order in which a micro-kernel
// reads them. Values between lines and width are finite and have no meaning. dst has room for k·width.
func PackPanel(dst []float32, width int, s Source, lines, k int) {
	_ = dst[k*width-1]
	done := packVector(unsafe.SliceData(dst), width, s, lines, k)
	if last := k - together; done < k && done > last && last >= 0 { // some of the last whole block a second time
		done += packVector(offset(unsafe.SliceData(dst), last*width), width, s.At(0, last), lines, together) - (done - last)
	}
	if done < k {
		packScalar(dst[done*width:k*width], width, s.At(0, done), lines)
	}
}

// Kernels by set and type of element.
var (
	// transposes, of all sets, by the number of lanes of a panel that rows become: 4, 6 or 8.
	transposes [3][9]func(dst *float32, dstStride int, src unsafe.Pointer, srcStride, rows, blocks int)
	// across goes on along the rows of dst instead of those of src; nil if there is none.
	across func(dst *float32, dstStride int, src unsafe.Pointer, srcStride, rows, blocks int)
	// exact copies of rows of that many elements; masked ones of up to 16, 32 … elements, with zeros behind
	// them; copies of a multiple of 4.
	exact  [isa.NumSets][3][25]func(dst *float32, dstStride int, src unsafe.Pointer, srcStride, k int)
	masked [isa.NumSets][3][4]func(dst *float32, dstStride int, src unsafe.Pointer, srcStride, k, valid, width int)
	copies [isa.NumSets][3]func(dst *float32, dstStride int, src unsafe.Pointer, srcStride, k, cols int)
)

// together is how many rows are transposed at once.
var together int

// packVector packs the first steps with vector instructions and returns their number.
func packVector(dst *float32, width int, s Source, lines, k int) int {
	switch {
	case isa.Level() == isa.Portable:
	case s.Line == 1:
		return packLines(dst, width, s, lines, k)
	case s.Step == 1 && (isa.Level() != isa.NEON || width%4 == 0):
		return packTransposed(dst, width, s, lines, k)
	}
	return 0
}

// packLines packs lines that lie side by side. Stores with a mask are slow on some processors, so it avoids
// them where it can.
func packLines(dst *float32, width int, s Source, lines, k int) int {
	level, size := isa.Level(), s.Elem.Size()
	byMask := &masked[level][s.Elem]
	if lines == width && width < len(exact[level][s.Elem]) && (byMask[0] == nil || width%16 != 0) {
		if f := exact[level][s.Elem][width]; f != nil {
			f(dst, 4*width, s.Base, size*s.Step, k)
			return k
		}
	}
	if byMask[0] != nil {
		byMask[(width-1)/16](dst, 4*width, s.Base, size*s.Step, k, lines, width)
		return k
	}
	whole := lines &^ 3
	f := copies[level][s.Elem]
	if f == nil || whole == 0 {
		return 0
	}
	f(dst, 4*width, s.Base, size*s.Step, k, whole)
	for p := 0; p < k && whole < width; p++ {
		row := unsafe.Slice(offset(dst, p*width), width)
		for i := whole; i < lines; i++ {
			row[i] = s.At(i, p).first()
		}
		clear(row[lines:])
	}
	return k
}

// packTransposed packs lines with contiguous steps, as many steps as are whole blocks.
func packTransposed(dst *float32, width int, s Source, lines, k int) int {
	block := together
	blocks := k / block
	if blocks == 0 {
		return 0
	}
	for line := 0; line < width; line += block {
		to, n := offset(dst, line), min(block, width-line)
		if line >= lines {
			for p := range block * blocks {
				clear(unsafe.Slice(offset(to, p*width), n))
			}
			continue
		}
		transposes[s.Elem][n](to, 4*width, s.At(line, 0).Base, s.Elem.Size()*s.Line, min(block, lines-line), blocks)
	}
	return block * blocks
}

// HasTranspose reports whether Transpose has vectors.
func HasTranspose() bool { return isa.Level() != isa.Portable }

// Transpose writes dst[p][i] = src[i][p] for i < lines and p < steps. The rows of dst and src are dstApart
// and srcApart elements apart. Where lines or steps are no whole blocks some elements are written twice.
func Transpose(dst *float32, dstApart int, src *float32, srcApart, lines, steps int) {
	block := together
	switch {
	case lines == 1 && dstApart == 1:
		copy(unsafe.Slice(dst, steps), unsafe.Slice(src, steps))
		return
	case !HasTranspose() || lines < block || steps < block:
		for i := range lines {
			for p, v := range unsafe.Slice(offset(src, i*srcApart), steps) {
				*offset(dst, p*dstApart+i) = v
			}
		}
		return
	}
	// The longer side is walked by the kernel.
	walk, outer, inner, to1, from1, to2, from2 := transposes[F32][block], lines, steps, 1, srcApart, dstApart, 1
	if lines > steps && across != nil {
		walk, outer, inner, to1, from1, to2, from2 = across, steps, lines, dstApart, 1, 1, srcApart
	}
	for i := 0; i < outer; i += block {
		i = min(i, outer-block)
		to, from := offset(dst, i*to1), offset(src, i*from1)
		walk(to, 4*dstApart, unsafe.Pointer(from), 4*srcApart, block, inner/block)
		if p := inner - block; inner%block != 0 {
			walk(offset(to, p*to2), 4*dstApart, unsafe.Pointer(offset(from, p*from2)), 4*srcApart, block, 1)
		}
	}
}

// packScalar is PackPanel in Go.
func packScalar(dst []float32, width int, s Source, lines int) {
	for p := 0; len(dst) > 0; p++ {
		row := dst[:width]
		for i := range row {
			if i >= lines {
				row[i] = 0
				continue
			}
			row[i] = s.At(i, p).first()
		}
		dst = dst[width:]
	}
}

// Spread writes n steps of line 0 to dst as contiguous float32.
func Spread(dst []float32, s Source, n int) {
	for p := 0; p < n; p += 64 {
		// A panel of one step, whose lines are the n elements.
		m := min(64, n-p)
		PackPanel(dst[p:], m, Source{Base: s.At(0, p).Base, Elem: s.Elem, Line: s.Step}, m, 1)
	}
}
