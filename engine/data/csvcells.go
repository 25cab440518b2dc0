package data

import (
	"bytes"
	"cmp"
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// Cells are the values of a column in a block.
type cells interface {
	// read appends the values of the worker's rows. It returns the row of one that is none of its kind, or
	// −1.
	read(w *csvWorker, column int) int
	end(level level) partColumn
}

// newCells are those of a level, with room for as many values and bytes of text as the block before had.
func newCells(level level, rows, bytes int) cells {
	rows, bytes = rows+rows/32, bytes+bytes/16
	switch level.kept() {
	case unknown:
		return &noCells{}
	case textLevel:
		return &textCells{digits: level == digitsLevel, spans: make([][2]uint32, 0, rows), text: make([]byte, 0, bytes)}
	}
	return kindOf[level.kept()].cells(rows)
}

func (k *kind[T]) cells(rows int) cells { return &typedCells[T]{k: k, v: make([]T, 0, rows)} }

// noCells are values of which none is there.
type noCells struct{ n int }

func (c *noCells) read(w *csvWorker, column int) int {
	for row := range w.lines {
		if !w.gone(w.cell(row*len(w.levels) + column)) {
			return row
		}
	}
	c.n += len(w.lines)
	return -1
}

func (c *noCells) end(level level) partColumn {
	return partColumn{level: level, missing: slices.Repeat([]bool{true}, c.n)}
}

// typedCells are values of which package data has a vector.
type typedCells[T comparable] struct {
	k       *kind[T]
	v       []T
	missing []bool // as long as v, or shorter
}

func (c *typedCells[T]) read(w *csvWorker, column int) int {
	parse, step, at, vs := c.k.parse, len(w.levels), column, c.v
	spans, block := w.spans, w.block
	dt, chosen := w.r.Types[w.r.names[column]]
	special := chosen || len(w.r.Missing) > 0 // a text of a CSV's own that stands for no value may be a number, too
	for row := range w.lines {
		b := spans[at].Bytes(block)
		x, ok := parse(b)
		if !ok {
			if b = w.cell(at); len(b) > 0 {
				x, ok = parse(b)
			}
		}
		at += step
		if !ok || special || x != x {
			var none T
			switch {
			case x != x, w.gone(b):
				x = none
				c.missing = append(append(c.missing, make([]bool, len(vs)-len(c.missing))...), true)
			case !ok || chosen && !fits(any(x), dt):
				return row
			}
		}
		vs = append(vs, x)
	}
	c.v = vs
	return -1
}

func (c *typedCells[T]) end(level level) partColumn {
	if c.missing != nil {
		c.missing = append(c.missing, make([]bool, len(c.v)-len(c.missing))...)
	}
	if v, ok := any(c.v).([]int64); ok && level.kept() == intLevel {
		level = levelOfInts(v)
	}
	return partColumn{level: level, values: vector[T]{c.v, c.k}, missing: c.missing}
}

// fits says whether an integer is in a type's range. Floats are rounded to theirs.
func fits(x any, dt dtype.Type) bool {
	if !dt.Int() || dt.Size() == 8 {
		return true
	}
	switch x := x.(type) {
	case int64:
		return x>>(8*dt.Size()-1) == 0 || x>>(8*dt.Size()-1) == -1
	case uint64:
		return x>>(8*dt.Size()) == 0
	}
	return true
}

// textCells are texts as spans of bytes, which the collector does not look at. A text that stands a little
// before is not kept twice.
type textCells struct {
	text    []byte
	spans   [][2]uint32
	missing []bool
	digits  bool // each is an integer
	recent  [256][2]uint32
}

func (c *textCells) read(w *csvWorker, column int) int {
	step, at := len(w.levels), column
	for row := range w.lines {
		b := w.spans[at].Bytes(w.block)
		if cell := w.cell(at); w.gone(cell) {
			c.missing = append(append(c.missing, make([]bool, len(c.spans)-len(c.missing))...), true)
			b = nil
		} else if c.digits && guess(cell).or(digitsLevel) != digitsLevel {
			return row
		}
		at += step
		c.spans = append(c.spans, c.keep(b))
	}
	return -1
}

func (c *textCells) keep(b []byte) [2]uint32 {
	if len(b) == 0 {
		return [2]uint32{}
	}
	slot := &c.recent[byte(len(b)+7*int(b[0])+31*int(b[len(b)-1])+13*int(b[len(b)/2]))]
	if bytes.Equal(c.text[slot[0]:slot[1]], b) {
		return *slot
	}
	from := uint32(len(c.text))
	c.text = append(c.text, b...)
	*slot = [2]uint32{from, uint32(len(c.text))}
	return *slot
}

func (c *textCells) end(level level) partColumn {
	if c.missing != nil {
		c.missing = append(c.missing, make([]bool, len(c.spans)-len(c.missing))...)
	}
	return partColumn{level: level, texts: c, missing: c.missing}
}

// strings are the texts, parts of one string.
func (c *textCells) strings(to []string) {
	if len(c.text) == 0 {
		return
	}
	all := unsafe.String(&c.text[0], len(c.text)) // which nobody changes any more
	for i, s := range c.spans {
		to[i] = all[s[0]:s[1]]
	}
}

// assemble joins the parts.
func (r *csvReader) assemble() *Table {
	t := &Table{origin: &origin{file: r.file}}
	line := r.line
	for _, p := range r.parts {
		for _, j := range p.jumps {
			j = jump{t.rows + j.row, line - t.rows + j.by - 1}
			if n := len(t.origin.jumps); n == 0 || t.origin.jumps[n-1].by != j.by {
				t.origin.jumps = append(t.origin.jumps, j)
			}
		}
		t.rows += p.rows
		line += p.lines
	}
	t.columns = make([]column, len(r.names))
	spread(len(r.names), func(i int) { t.columns[i] = r.join(i, t.rows) })
	return t
}

// join makes column i, of n values.
func (r *csvReader) join(i, n int) column {
	c := kindOf[r.levels[i].kept()].join(r.parts, i, n, r.Types[r.names[i]])
	c.name = r.names[i]
	return c
}

// toFloats are the integers of a part among the floats of others.
func toFloats[T int64 | uint64](to []float64, from []T) {
	for i, x := range from {
		to[i] = float64(x)
	}
}

func (k *kind[T]) join(parts []*part, i, n int, dt dtype.Type) column {
	list, c := make([]T, n), column{dtype: cmp.Or(dt, k.dtype)}
	at := 0
	for _, p := range parts {
		from := &p.columns[i]
		switch v := from.values.(type) {
		case vector[T]:
			copy(list[at:], v.v)
		case vector[int64]:
			toFloats(any(list).([]float64)[at:], v.v)
		case vector[uint64]:
			toFloats(any(list).([]float64)[at:], v.v)
		}
		if from.texts != nil {
			from.texts.strings(any(list).([]string)[at:])
		}
		if from.missing != nil {
			if c.missing == nil {
				c.missing = make([]bool, n)
			}
			copy(c.missing[at:], from.missing)
		}
		at += p.rows
		*from = partColumn{}
	}
	c.values = vector[T]{list, k}
	return c
}
