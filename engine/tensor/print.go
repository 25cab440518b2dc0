package tensor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/box"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/internal/lines"
)

const (
	printAll  = 1000 // up to so many elements are printed; of more only the edges
	edgeItems = 3    // elements at each end of an axis whose middle is left out
	lineItems = 16   // up to so many stand in one line
)

// String returns the header and the values for a terminal of 100 columns.
func (t Tensor) String() string { return t.Text(100) }

// Brief says in one line what the tensor is, without computing it: f32[4 1024] cpu.
func (t Tensor) Brief() string {
	if t.IsNone() {
		return "no tensor"
	}
	if t.Freed() {
		return fmt.Sprintf("%v freed", box.Of(t).Held())
	}
	n := t.node("print")
	return fmt.Sprintf("%v %v", n, n.Dev)
}

// OneLine returns Brief and the values of at most 16 elements, which it evaluates: f32[2] cpu [0.25 1.5]. So
// a tensor looks inside of a struct, slice or map.
func (t Tensor) OneLine() string {
	if t.IsNone() || t.Freed() || t.Size() > lineItems || tracing() != nil {
		return t.Brief()
	}
	_, values, _ := strings.Cut(t.Text(0), "\n")
	values = strings.Join(strings.Fields(values), " ")
	return t.Brief() + " " + strings.ReplaceAll(values, "[ ", "[")
}

// Text returns a header line, f32[4 1024] cpu 16.0 KiB, and the values as NumPy and PyTorch write them, in
// lines of at most width columns (0: 80) where possible. Of more than 1,000 elements only the edges are
// shown, and only they are read from the device. Text evaluates the tensor.
//
// Floats have four decimals, or two from ten thousand on. They become scientific where that would hide them:
// when one of them is a million or more, below 0.0001, or would be 0.00 without being 0. Whole numbers end in
// a point.
func (t Tensor) Text(width int) string {
	if t.IsNone() || t.Freed() {
		return t.Brief()
	}
	outsideOnly("print")
	width = lines.Columns(width)
	n := t.Eval().node("print")
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v %s", n.Type(), n.Dev, byteCount(n.Type().Bytes()))
	if n.Name != "" {
		b.WriteString(" · " + n.Name)
	}
	b.WriteByte('\n')
	shown := shownIndices(n.Shape)
	b.WriteString(inBrackets(width, shown, cells(n, shown)))
	return b.String()
}

// inBrackets writes the cells of the shown indices in lines of at most width columns.
func inBrackets(width int, shown [][]int, cells []string) string {
	p := &printer{width: width, shown: shown, cells: cells}
	for _, c := range cells {
		p.cell = max(p.cell, utf8.RuneCountInString(c))
	}
	p.axis(0)
	return p.b.String()
}

// byteCount writes a size as people read it: 12 B, 16.0 KiB.
func byteCount(n int) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/1024, 0
	for ; size >= 1023.95 && unit < 4; unit++ {
		size /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGTP"[unit])
}

// gap stands for the elements that are left out.
const gap = -1

// shownIndices lists for each axis the indices that are printed, with gap where some are missing.
func shownIndices(shape []int) [][]int {
	cut := ir.Size(shape) > printAll || slices.ContainsFunc(shape, func(d int) bool { return d > printAll })
	shown := make([][]int, len(shape))
	for a, d := range shape {
		for i := 0; i < d; i++ {
			if cut && d > 2*edgeItems && i == edgeItems {
				shown[a] = append(shown[a], gap)
				i = d - edgeItems
			}
			shown[a] = append(shown[a], i)
		}
	}
	return shown
}

// shownValues reads the shown elements, in C order.
func shownValues(n *ir.Node, shown [][]int) []byte {
	if ir.Size(n.Shape) == 0 {
		return nil
	}
	d, end := hold("read", n)
	defer end()
	r := reader{n: n, d: d, shown: shown, layout: *d.Layout}
	r.axis(0, r.layout.Offset)
	return r.out
}

// shownFloats are shownValues of a floating-point dtype.
func shownFloats(n *ir.Node, shown [][]int) []float64 {
	values := shownValues(n, shown)
	floats := make([]float64, len(values)/n.DType.Size())
	for i := range floats {
		floats[i] = element(n.DType, values, i)
	}
	return floats
}

// cells returns the shown elements as text, in C order.
func cells(n *ir.Node, shown [][]int) []string {
	switch {
	case n.DType.Complex():
		return formatComplex(shownFloats(n.Src[0], shown), shownFloats(n.Src[1], shown))
	case n.DType.Float():
		floats := shownFloats(n, shown)
		list, format := make([]string, len(floats)), formatOf(floats)
		for i, f := range floats {
			list[i] = formatFloat(f, format)
		}
		return list
	}
	values := shownValues(n, shown)
	count := len(values) / n.DType.Size()
	list := make([]string, count)
	for i := range list {
		v := ir.Load(n.DType, values[i*n.DType.Size():]).I
		switch n.DType {
		case dtype.Bool:
			list[i] = strconv.FormatBool(v != 0)
		case dtype.U64:
			list[i] = strconv.FormatUint(uint64(v), 10)
		default:
			list[i] = strconv.FormatInt(v, 10)
		}
	}
	return list
}

// A reader collects the shown elements of an evaluated node, one download for each run of neighbours.
type reader struct {
	n      *ir.Node
	d      *ir.Data // its value
	shown  [][]int
	layout ir.Layout
	out    []byte
}

func (r *reader) axis(a, pos int) {
	if a >= len(r.shown)-1 {
		r.row(pos)
		return
	}
	for _, i := range r.shown[a] {
		if i != gap {
			r.axis(a+1, pos+i*r.layout.Stride[a])
		}
	}
}

// row reads the last axis.
func (r *reader) row(pos int) {
	if len(r.shown) == 0 {
		r.run(pos, 0, 1)
		return
	}
	last := r.shown[len(r.shown)-1]
	stride := r.layout.Stride[len(r.shown)-1]
	start := 0
	for i := 1; i <= len(last); i++ {
		if i == len(last) || last[i] == gap {
			r.run(pos+last[start]*stride, stride, i-start)
			start = i + 1
			i++
		}
	}
}

// run reads k elements that lie stride apart: at once when they are close.
func (r *reader) run(pos, stride, k int) {
	size := r.n.DType.Size()
	const far = 64 // beyond this what lies between costs more than another download
	if k > 1 && (stride > far || stride < -far) {
		for i := range k {
			r.run(pos+i*stride, 0, 1)
		}
		return
	}
	first, last := min(pos, pos+(k-1)*stride), max(pos, pos+(k-1)*stride)
	raw := make([]byte, (last-first+1)*size)
	check("read", r.n.Dev.(*backend.Device).Download(scope.Context(), raw, r.d, first*size))
	for i := range k {
		at := (pos + i*stride - first) * size
		r.out = append(r.out, raw[at:at+size]...)
	}
}

// A floatFormat is how all floats of one tensor are written.
type floatFormat struct {
	verb     byte // 'f' or 'e'
	decimals int  // 0: whole numbers, which end in a point
}

// formatOf chooses by the finite values that are shown.
func formatOf(values []float64) floatFormat {
	whole, small, large := true, math.Inf(1), 0.0
	for _, v := range values {
		a := math.Abs(v)
		if math.IsNaN(v) || math.IsInf(v, 0) || a == 0 {
			continue
		}
		whole = whole && v == math.Trunc(v)
		small, large = min(small, a), max(large, a)
	}
	switch {
	case whole && large < 1e8:
		return floatFormat{'f', 0}
	case large >= 1e6 || small < 1e-4 || large >= 1e4 && small < 0.005: // 0.00
		return floatFormat{'e', 4}
	case large >= 1e4:
		return floatFormat{'f', 2}
	}
	return floatFormat{'f', 4}
}

func formatFloat(v float64, f floatFormat) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(v, f.verb, f.decimals, 64)
	if f.decimals == 0 {
		s += "."
	}
	return s
}

// A printer writes cells in nested brackets.
type printer struct {
	b     strings.Builder
	width int
	shown [][]int
	cells []string
	cell  int // columns of the widest cell
	next  int // of cells
}

// axis writes axis a of the current place.
func (p *printer) axis(a int) {
	if len(p.shown) == 0 {
		p.b.WriteString(p.cells[0])
		return
	}
	if len(p.cells) == 0 {
		p.b.WriteString("[]")
		return
	}
	if a == len(p.shown)-1 {
		p.row()
		return
	}
	p.b.WriteByte('[')
	for k, i := range p.shown[a] {
		if k > 0 {
			// As many line ends as brackets close and open: rows on lines, matrices apart by an empty line.
			p.b.WriteString(strings.Repeat("\n", len(p.shown)-1-a) + strings.Repeat(" ", a+1))
		}
		if i == gap {
			p.b.WriteString("…")
		} else {
			p.axis(a + 1)
		}
	}
	p.b.WriteByte(']')
}

// row writes the last axis, in several lines if it is long.
func (p *printer) row() {
	indent := strings.Repeat(" ", len(p.shown))
	used := len(p.shown)
	p.b.WriteByte('[')
	for k, i := range p.shown[len(p.shown)-1] {
		text := "…"
		if i != gap {
			text = p.cells[p.next]
			p.next++
			text = strings.Repeat(" ", p.cell-utf8.RuneCountInString(text)) + text
		}
		columns := utf8.RuneCountInString(text)
		switch closing := len(p.shown); {
		case k == 0:
		case used+1+columns+closing > p.width:
			p.b.WriteString("\n" + indent)
			used = len(indent)
		default:
			p.b.WriteByte(' ')
			used++
		}
		p.b.WriteString(text)
		used += columns
	}
	p.b.WriteByte(']')
}
