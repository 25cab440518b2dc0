// Package paint draws text that a person edits on a terminal.
//
// A [Layout] turns styled text into a [Frame]: rows of cells as wide as the window, and the cursor's
// place. A [Painter] knows the frame on the terminal and writes only the differences to another one. A
// frame hangs below earlier output. The package does not know its place on the screen, so all motion is
// relative to the frame's first row. It uses only sequences that all successors of the VT100 know: no
// terminfo, no questions.
package paint

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/mcs-notebook/mcs/repl/term/edit"
)

// A Style is the parameters of an SGR sequence, "1;31", or empty for the terminal's own.
type Style string

// A Cell is one character on the screen.
type Cell struct {
	Text    string
	Columns int
	Style   Style
}

// A Row is a line of the screen, blank behind its cells.
type Row []Cell

// columns returns the width of the row in columns of the window.
func (r Row) columns() (n int) {
	for _, c := range r {
		n += c.Columns
	}
	return n
}

// A Frame is the content of the terminal with the cursor: row Y of Rows, column X, both counted from 0.
type Frame struct {
	Rows []Row
	X, Y int
}

// A Span is text in one style.
type Span struct {
	Text  string
	Style Style
}

// A Layout puts text into rows. A line that is too long continues in the next row.
type Layout struct {
	width  int
	margin int // column at which rows after the first begin
	rows   []Row
	x      int // columns of the last row
	line   int // column in the current line of text, which may take several rows
	marked bool
	markX  int
	markY  int
	memory []Cell // memory for rows
}

// NewLayout makes a layout for a window of width columns; all rows but the first begin at column margin.
func NewLayout(width, margin int) *Layout {
	l := &Layout{width: max(width, 2), rows: []Row{nil}}
	if margin <= l.width/2 {
		l.margin = margin
	}
	return l
}

// Use gives the layout memory for its rows that no frame needs any more. Cells returns the memory for
// another layout.
func (l *Layout) Use(memory []Cell) { l.memory = memory[:0] }
func (l *Layout) Cells() []Cell     { return l.memory }

// row begins a row.
func (l *Layout) row() Row {
	n := len(l.memory)
	if n+l.width > cap(l.memory) {
		l.memory = make([]Cell, 0, max(2*cap(l.memory), 16*l.width)) // earlier rows keep the old memory
		n = 0
	}
	l.memory = l.memory[:n+l.width]
	return l.memory[n : n : n+l.width]
}

// Rows are the rows so far.
func (l *Layout) Rows() []Row { return l.rows }

// Mark puts the cursor here.
func (l *Layout) Mark() {
	if l.x >= l.width { // before the text that is typed next
		l.wrap()
	}
	l.marked, l.markX, l.markY = true, l.x, len(l.rows)-1
}

// Frame returns the frame. Without a Mark the cursor is at the end.
func (l *Layout) Frame() Frame {
	if !l.marked {
		l.Mark()
	}
	return Frame{l.rows, l.markX, l.markY}
}

// blanks is the source of margins and tabs.
const blanks = "                                                                "

func (l *Layout) wrap() {
	row := l.row()
	if l.margin > 0 {
		row = append(row, Cell{blanks[:min(l.margin, len(blanks))], min(l.margin, len(blanks)), ""})
	}
	l.rows = append(l.rows, row)
	l.x = row.columns()
}

// Margin fills the first row up to the column at which later rows begin.
func (l *Layout) Margin() {
	l.rows = l.rows[:0]
	l.wrap()
}

func (l *Layout) put(text string, columns int, style Style) {
	if l.x+columns > l.width {
		l.wrap()
	}
	last := len(l.rows) - 1
	if l.rows[last] == nil {
		l.rows[last] = l.row()
	}
	l.rows[last] = append(l.rows[last], Cell{text, columns, style})
	l.x += columns
	l.line += columns
}

// Text adds text. A tab fills up to the next step of indentation, counted from the start of the line of
// text. A character that cannot be shown becomes a sign.
func (l *Layout) Text(s string, style Style) {
	for len(s) > 0 {
		n := 1
		switch c := s[0]; {
		case c == '\n':
			l.wrap()
			l.line = 0
		case c == '\t':
			l.tab(style)
		case c < ' ' || c == 0x7f:
			l.put(controlSign(c), 1, style)
		case c < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf):
			l.put(s[:1], 1, style)
		default:
			n = l.cluster(s, style)
		}
		s = s[n:]
	}
}

func (l *Layout) tab(style Style) {
	n := edit.TabColumns - l.line%edit.TabColumns
	if l.x+n > l.width { // the rest of the step is in the next row
		n = max(min(n, l.width-l.x), 1)
	}
	l.put(blanks[:n], n, style)
}

// controlSign is the picture of a control character.
func controlSign(c byte) string {
	if c == 0x7f {
		return "␡"
	}
	return string(rune(0x2400 + int(c)))
}

// cluster adds the first character of s, which may be several runes, and returns its length in bytes.
func (l *Layout) cluster(s string, style Style) int {
	clusters := graphemes.FromString(s)
	clusters.Next()
	text := clusters.Value()
	if text == "" {
		return 1
	}
	n := len(text)
	if r, _ := utf8.DecodeRuneInString(text); invisible(r) {
		text = "\uFFFD"
	}
	l.put(text, edit.ClusterColumns(text), style)
	return n
}

// invisible reports whether a rune would change the screen without being visible: a control character, a
// mark without a letter, a change of direction.
func invisible(r rune) bool {
	return r == utf8.RuneError || r < 0xA0 && r >= 0x7f || r == 0x2028 || r == 0x2029 || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf)
}

// NewRow makes one row of spans, cut at the edge of the window.
func NewRow(width int, spans ...Span) Row {
	l := &Layout{width: 1 << 20, rows: []Row{make(Row, 0, width)}}
	for _, s := range spans {
		l.Text(strings.ReplaceAll(s.Text, "\n", " "), s.Style)
	}
	row := l.rows[0]
	if l.x <= width {
		return row
	}
	x := 0
	for i, c := range row {
		if x+c.Columns > width-1 {
			return append(row[:i:i], Cell{"…", 1, c.Style})
		}
		x += c.Columns
	}
	return row
}

// Styled splits text with SGR sequences into spans. It drops other sequences.
func Styled(text string) (spans []Span) {
	style := Style("")
	for text != "" {
		i := strings.IndexByte(text, 0x1b)
		if i < 0 {
			return append(spans, Span{text, style})
		}
		if i > 0 {
			spans = append(spans, Span{text[:i], style})
		}
		text = text[i+1:]
		if !strings.HasPrefix(text, "[") {
			continue
		}
		end := strings.IndexFunc(text[1:], func(r rune) bool { return r >= 0x40 && r <= 0x7e }) + 1
		if end == 0 {
			return spans
		}
		if params := text[1:end]; text[end] == 'm' {
			if style = Style(params); params == "0" {
				style = ""
			}
		}
		text = text[end+1:]
	}
	return spans
}
