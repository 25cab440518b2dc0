package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
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
	if done := packVector(unsafe.SliceData(dst), width, s, lines, k); done < k {
		packScalar(dst[done*width:k*width], width, s.At(0, done), lines)
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
