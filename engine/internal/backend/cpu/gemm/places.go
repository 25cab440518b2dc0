package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// Places says where the elements of an operand are that lies in no straight lines: line i at step p is at
// element i·Operand.Line + lines[i] + the place of the step. So the windows of an image are a matrix without
// a copy of each: packing gathers them.
type Places struct {
	lines []run // nil if lines are equally far apart
	each  []int // the lines one by one, if runs of them are short
	steps []Series
}

// A Series is N steps: First, First + Apart, …, which lie at At, At + Step, …, in elements.
type Series struct{ First, Apart, N, At, Step int }

// A run is n lines from first on, whose elements follow one another from element at on.
type run struct{ first, n, at int }

// NewPlaces returns the places of lines, or nil, and of steps.
func NewPlaces(lines []int, steps []Series) *Places {
	p := &Places{steps: steps}
	for i, at := range lines {
		if k := len(p.lines) - 1; k >= 0 && at == p.lines[k].at+p.lines[k].n {
			p.lines[k].n++
			continue
		}
		p.lines = append(p.lines, run{i, 1, at})
	}
	if len(p.lines) > len(lines)/4 {
		p.each = lines
	}
	return p
}

// Spread writes n elements, those of lines from first on, to the places of these lines.
func (p *Places) Spread(to, from *float32, first, n int) {
	d, s := unsafe.Pointer(to), unsafe.Slice(from, n)
	if p.each != nil {
		for i, at := range p.each[first:][:n] {
			*(*float32)(unsafe.Add(d, 4*at)) = s[i]
		}
		return
	}
	within(p.lines, first, n, func(r run) {
		copy(unsafe.Slice((*float32)(unsafe.Add(d, 4*r.at)), r.n), s[r.first:][:r.n])
	})
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

// from returns the part of the series between two steps, with First counted from the first of these.
func (s Series) from(first, n int) Series {
	skip := 0
	if s.First < first {
		skip = (first - s.First + s.Apart - 1) / s.Apart
	}
	at := s.First + skip*s.Apart - first
	left := max(0, min(s.N-skip, (n-at+s.Apart-1)/s.Apart))
	return Series{at, s.Apart, left, s.At + skip*s.Step, s.Step}
}

// within returns the parts of the series that lie in a chunk of the steps.
func (o *Operand) within(first, n int) (parts []Series) {
	if o.Places == nil {
		return nil
	}
	for _, s := range o.Places.steps {
		if part := s.from(first, n); part.N > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

// packPlaces is pack for an operand with places, one panel of lines after the other.
func (b *block) packPlaces(dst []float32, c *chunk, o *Operand, s micro.Source, right bool, line, lines int) {
	unit, parts := c.kernel.Rows, c.left
	if right {
		unit, parts = c.kernel.Cols, c.right
	}
	var space [64]run
	for j := 0; j < lines; j += unit {
		n, width := min(unit, lines-j), unit
		if right {
			width = c.kernel.PanelCols(n)
		}
		panel, runs := dst[j*c.words:][:c.words*width], space[:0]
		within(o.Places.lines, line+j, n, func(r run) { runs = append(runs, r) })
		at := s.At(line+j, 0)
		for i := range parts {
			parts[i].pack(panel[parts[i].First*width:], width, at, runs, n)
		}
	}
}

// pack packs the steps of a series for n lines, which are equally far apart if there are no runs.
func (s *Series) pack(panel []float32, width int, o micro.Source, runs []run, n int) {
	o.Base, o.Step = unsafe.Add(o.Base, 4*s.At), s.Step
	if len(runs) == 0 { // such series go step by step
		micro.PackPanel(panel, width, o, n, s.N)
		return
	}
	for i, r := range runs {
		whole := r.n
		if i == len(runs)-1 {
			whole = width - r.first
		}
		micro.CopyRows(&panel[r.first], width*s.Apart, (*float32)(unsafe.Add(o.Base, 4*r.at)), s.Step, s.N, r.n, whole)
	}
}
