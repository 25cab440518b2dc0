package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// Places says where the elements of an operand are that lies in no straight lines: line i at step p is at
// element i·Operand.Line + Lines[i] + p·Operand.Step + Steps[p]. So the windows of an image are a matrix
// without a copy of each: packing gathers them. Either list may be nil.
type Places struct {
	lines, steps []run // nil if there is no list
}

// A run is n lines or steps from first on, whose elements follow one another from element at on.
type run struct{ first, n, at int }

// NewPlaces returns the places of lines and steps, in elements.
func NewPlaces(lines, steps []int) *Places { return &Places{runsOf(lines), runsOf(steps)} }

func runsOf(list []int) []run {
	var runs []run
	for i, at := range list {
		if k := len(runs) - 1; k >= 0 && at == runs[k].at+runs[k].n {
			runs[k].n++
			continue
		}
		runs = append(runs, run{i, 1, at})
	}
	return runs
}

// within calls f for the parts of runs that lie between first and first+n, with first counted from there.
func within(runs []run, first, n int, f func(r run)) {
	lo, hi := 0, len(runs)
	for lo < hi { // the first run that ends after first
		if mid := (lo + hi) / 2; runs[mid].first+runs[mid].n > first {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	for _, r := range runs[lo:] {
		if r.first >= first+n {
			return
		}
		skip := max(0, first-r.first)
		f(run{r.first + skip - first, min(r.first+r.n, first+n) - r.first - skip, r.at + skip})
	}
}

// packPlaces is pack for an operand with places, one panel of lines after the other.
func (b *block) packPlaces(dst []float32, c *chunk, o *Operand, s micro.Source, right bool, line, lines int) {
	unit := c.kernel.Rows
	if right {
		unit = c.kernel.Cols
	}
	for j := 0; j < lines; j += unit {
		n, width := min(unit, lines-j), unit
		if right {
			width = c.kernel.PanelCols(n)
		}
		panel := dst[j*c.words:][:c.words*width]
		if o.Places.lines == nil {
			packSteps(panel, width, o, s.At(line+j, 0), n, c)
		} else {
			packLines(panel, width, o, s, line+j, n, c)
		}
	}
}

// packSteps packs a panel of lines that are equally far apart.
func packSteps(panel []float32, width int, o *Operand, s micro.Source, n int, c *chunk) {
	within(o.Places.steps, c.step, c.k, func(r run) {
		from := s
		from.Base, from.Step = unsafe.Add(s.Base, r.at*s.Elem.Size()), 1
		micro.PackPanel(panel[r.first*width:], width, from, n, r.n)
	})
}

// packLines packs a panel of lines from line on, in runs of them.
func packLines(panel []float32, width int, o *Operand, s micro.Source, line, n int, c *chunk) {
	var space [64]run
	runs := space[:0]
	within(o.Places.lines, line, n, func(r run) { runs = append(runs, r) })
	at := 0
	row := func(step int) {
		from := unsafe.Add(s.Base, step*4)
		to := panel[at:][:width]
		for i := range runs {
			r := &runs[i]
			copy(to[r.first:r.first+r.n], unsafe.Slice((*float32)(unsafe.Add(from, r.at*4)), r.n))
		}
		clear(to[n:])
		at += width
	}
	if o.Places.steps == nil {
		for p := range c.k {
			row((c.step + p) * o.Step)
		}
		return
	}
	within(o.Places.steps, c.step, c.k, func(r run) {
		for p := range r.n {
			row(r.at + p)
		}
	})
}
