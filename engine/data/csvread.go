package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/data/internal/csv"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/units"
)

// blockSize is how many bytes of a file of rows are read at once: they and their values stay in a processor's
// cache. lexed is how many fields are found before their columns are read.
const (
	blockSize = 1 << 20
	lexed     = 1 << 13
)

// A level is what the values of a column are, as far as it was read.
type level int

const (
	unknown level = iota // all are missing
	boolLevel
	naturalLevel // integers from 0 on that i64 and u64 have
	intLevel     // those of i64, of which some are negative
	wordLevel    // those of u64, of which some are greater than i64 has
	digitsLevel  // integers that neither has all of: the column is text unless there are floats
	floatLevel
	timeLevel
	textLevel
)

func levelOf(dt dtype.Type) level {
	switch {
	case dt == dtype.Bool:
		return boolLevel
	case dt.Int() && dt.Signed():
		return intLevel
	case dt.Int():
		return wordLevel
	case dt.Float():
		return floatLevel
	}
	return textLevel
}

// or is the level that has the values of both.
func (l level) or(m level) level {
	switch {
	case l == m || m == unknown:
		return l
	case l == unknown:
		return m
	case min(l, m) < naturalLevel || max(l, m) > floatLevel:
		return textLevel
	case min(l, m) == naturalLevel || max(l, m) == floatLevel:
		return max(l, m)
	}
	return digitsLevel
}

// kept is the level in whose way the values of a level are kept.
func (l level) kept() level {
	switch l {
	case naturalLevel:
		return intLevel
	case digitsLevel:
		return textLevel
	}
	return l
}

// A csvReader reads a file's rows block by block. Workers read the next block in turn, and each its own
// block's values.
type csvReader struct {
	CSV
	d      csv.Dialect
	f      io.ReaderAt
	size   int64
	file   string
	block  int // bytes that are read at once
	most   int // of a row
	names  []string
	start  int64 // of the rows in the file
	line   int   // of the first row
	gone   map[string]bool
	begins [256]bool // the first bytes of the texts in gone; 0 of an empty one

	mu     sync.Mutex
	blocks csv.Blocks
	at     int64
	parts  []*part
	levels []level
	failed bool
}

// A part is what a block holds. Lines are counted from the block's first one.
type part struct {
	at, size int64
	final    bool
	rows     int
	lines    int
	columns  []partColumn
	jumps    []jump
	err      error // of csv.Error, or a badValue
}

type partColumn struct {
	level   level
	values  values     // nil: all are missing, or they are texts
	texts   *textCells // nil: they are no texts
	missing []bool
}

// A jump says that from a row on lines are by so many further on than rows.
type jump struct{ row, by int }

// A badValue is a row that is not what it should be.
type badValue struct {
	line int
	msg  string
}

func (b *badValue) Error() string { return b.msg }

func (r *csvReader) table() (*Table, error) {
	r.blocks = csv.Blocks{Dialect: r.d, R: io.NewSectionReader(r.f, r.start, r.size-r.start), Size: r.block, Most: r.most}
	workers := min(runtime.GOMAXPROCS(0), int((r.size-r.start)/int64(r.block))+1)
	pool.Apart(workers, func(int) { r.work() })
	if err := r.failure(); err != nil {
		return nil, err
	}
	if err := r.again(workers); err != nil {
		return nil, err
	}
	return r.assemble(), nil
}

// failure is the first error in the file.
func (r *csvReader) failure() error {
	line := r.line
	for _, p := range r.parts {
		var at *csv.Error
		var bad *badValue
		switch {
		case errors.As(p.err, &at):
			return fmt.Errorf("%s:%d:%d: %s", r.file, line+at.Line-1, at.Column, at.Msg)
		case errors.As(p.err, &bad):
			return fmt.Errorf("%s:%d: %s", r.file, line+bad.line-1, bad.msg)
		case p.err != nil:
			return fmt.Errorf("%s: %w", r.file, p.err)
		}
		line += p.lines
	}
	return nil
}

// work reads blocks until there are none.
func (r *csvReader) work() {
	w := &csvWorker{r: r}
	for {
		p := r.next(w)
		if p == nil {
			return
		}
		if p.err == nil {
			w.read(p)
		}
		r.mu.Lock()
		r.failed = r.failed || p.err != nil
		for i := range p.columns {
			r.levels[i] = r.levels[i].or(p.columns[i].level)
		}
		r.mu.Unlock()
	}
}

// next reads the next block into the worker's memory.
func (r *csvReader) next(w *csvWorker) *part {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed || r.at >= r.size-r.start {
		return nil
	}
	block, final, err := r.blocks.Next(w.block)
	p := &part{at: r.start + r.at, size: int64(len(block)), final: final, err: err}
	if err == nil && len(block) == 0 {
		p.err = io.ErrUnexpectedEOF
	}
	w.block = block
	r.at += p.size
	r.parts = append(r.parts, p)
	w.levels = append(w.levels[:0], r.levels...)
	return p
}

// again reads those parts once more whose values are, for the whole file, not what they were in their block:
// numbers in front of a text are texts as they were written.
func (r *csvReader) again(workers int) error {
	var list []*part
	for _, p := range r.parts {
		if slices.ContainsFunc(r.stale(p), func(stale bool) bool { return stale }) {
			list = append(list, p)
		}
	}
	pool.Apart(workers, func(n int) {
		w := &csvWorker{r: r}
		for i := n; i < len(list); i += workers {
			w.reread(list[i])
		}
	})
	return r.failure()
}

// stale says which columns have to be read once more. Integers become floats without that.
func (r *csvReader) stale(p *part) []bool {
	list := make([]bool, len(p.columns))
	for i, c := range p.columns {
		from, to := c.level.kept(), r.levels[i].kept()
		list[i] = from != to && from != unknown && (to != floatLevel || from == textLevel)
	}
	return list
}

func (w *csvWorker) reread(p *part) {
	w.block = slices.Grow(w.block[:0], int(p.size))[:p.size]
	if n, err := w.r.f.ReadAt(w.block, p.at); n < len(w.block) {
		p.err = err
		return
	}
	before := p.columns
	w.levels = append(w.levels[:0], w.r.levels...)
	w.only = w.r.stale(p)
	w.read(p)
	for i, fresh := range w.only {
		if !fresh && p.err == nil {
			p.columns[i] = before[i]
		}
	}
}

// A csvWorker reads the values of blocks.
type csvWorker struct {
	r      *csvReader
	block  []byte
	levels []level // what the columns are, as far as is known
	only   []bool  // nil: all columns
	spans  []csv.Span
	lines  []int // of the rows of the spans
	rows   int   // of the block before
	bytes  []int // of its texts, by column
}

// read reads the values of a block. Where a value is not what its column is thought to be the block is begun
// anew.
func (w *csvWorker) read(p *part) {
	if p.err = checkText(w.block, p.at); p.err != nil {
		return
	}
	for {
		fits, err := w.try(p)
		if err == nil && fits && !p.final && !bytes.ContainsAny(w.block[len(w.block)-1:], "\r\n") {
			err = &badValue{p.lines, fmt.Sprintf("the row has more than %s", units.Bytes(int64(w.r.most)))}
		}
		if p.err = err; fits || err != nil {
			return
		}
	}
}

// checkText says whether the bytes at an offset of a file are text.
func checkText(b []byte, offset int64) error {
	if at := regular.NotText(b); at >= 0 {
		return fmt.Errorf("the file is no text: got byte 0x%02x at offset %d, want UTF-8", b[at], offset+int64(at))
	}
	return nil
}

// try reads a block's values as what their columns are thought to be, and says whether all are.
func (w *csvWorker) try(p *part) (fits bool, err error) {
	l := csv.Lexer{Dialect: w.r.d, Text: w.block, Line: 1, Final: true}
	p.rows, p.jumps, p.columns = 0, nil, make([]partColumn, len(w.levels))
	readers := make([]cells, len(w.levels))
	if w.bytes == nil {
		w.bytes = make([]int, len(w.levels))
	}
	for i, level := range w.levels {
		if w.only == nil || w.only[i] {
			readers[i] = newCells(level, w.rows, w.bytes[i])
		}
	}
	for more := true; more; {
		if more, err = w.lex(&l, p); err != nil {
			return false, err
		}
		for i, c := range readers {
			if c == nil {
				continue
			}
			if bad := c.read(w, i); bad >= 0 {
				return false, w.raise(i, bad)
			}
		}
		p.rows += len(w.lines)
	}
	p.lines = l.Line - 1
	for i, c := range readers {
		if c != nil {
			p.columns[i] = c.end(w.levels[i])
		}
		if c, ok := c.(*textCells); ok {
			w.bytes[i] = len(c.text)
		}
	}
	w.rows = p.rows
	return true, nil
}

// lex finds the fields of the next rows.
func (w *csvWorker) lex(l *csv.Lexer, p *part) (more bool, err error) {
	w.spans, w.lines = w.spans[:0], w.lines[:0]
	columns := len(w.levels)
	for len(w.spans) < lexed {
		before := len(w.spans)
		l.Spans = w.spans
		state, err := l.Next()
		w.spans = l.Spans
		if err != nil {
			return false, err
		}
		if state != csv.Record {
			return false, nil
		}
		line := l.Start
		if n := len(w.spans) - before; n != columns {
			return false, &badValue{line, fmt.Sprintf("got %d values, want %d as in the first line%s", n, columns, otherComma(strings.Join(w.r.names, ",")))}
		}
		w.lines = append(w.lines, line)
		row, n := p.rows+len(w.lines)-1, len(p.jumps)
		if by := line - row; n == 0 || by != p.jumps[n-1].by {
			p.jumps = append(p.jumps, jump{row, by})
		}
	}
	return true, nil
}

// cell is a value's text, without the blanks around it.
func (w *csvWorker) cell(i int) []byte {
	b := w.spans[i].Bytes(w.block)
	if n := len(b); n > 0 && (b[0] <= ' ' || b[n-1] <= ' ' || b[n-1] >= utf8.RuneSelf) {
		return bytes.TrimSpace(b)
	}
	return b
}

// gone says whether a text stands for no value.
func (w *csvWorker) gone(b []byte) bool {
	if len(b) == 0 {
		return w.r.begins[0]
	}
	return w.r.begins[b[0]] && w.r.gone[string(b)]
}

// raise gives column i a level that has the value of a row, too. A chosen type has to have it already.
func (w *csvWorker) raise(i, row int) error {
	text := w.cell(row*len(w.levels) + i)
	if dt, chosen := w.r.Types[w.r.names[i]]; chosen {
		return &badValue{w.lines[row], fmt.Sprintf("column %q: got %.40q, want %v", w.r.names[i], text, dt)}
	}
	w.levels[i] = w.levels[i].or(guess(text))
	return nil
}

func levelOfInts(list []int64) level {
	if len(list) == 0 {
		return naturalLevel
	}
	return levelOfInt(slices.Min(list))
}

func levelOfInt(x int64) level {
	if x < 0 {
		return intLevel
	}
	return naturalLevel
}

// guess is the level of one value.
func guess(b []byte) level {
	if _, ok := parseBool(b); ok {
		return boolLevel
	}
	if x, ok := parseInt(b); ok {
		return levelOfInt(x)
	}
	if _, ok := parseWord(b); ok {
		return wordLevel
	}
	if x, ok := parseFloat(b); ok {
		if long(b, x) {
			return digitsLevel
		}
		return floatLevel
	}
	if _, ok := parseTime(b); ok {
		return timeLevel
	}
	return textLevel
}
