// Package screen runs a program in a pseudo-terminal and reads its drawing, for tests: a small model of a
// terminal's screen ([Screen]) and a process in front of it ([Program]).
package screen

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// A Screen interprets the escape sequences that line editors use, as xterm does, and remembers every line
// that scrolled away. It is safe for several goroutines.
type Screen struct {
	// ReflowOnResize makes Resize wrap lines anew, as most terminals do; xterm cuts them.
	ReflowOnResize bool

	mu         sync.Mutex
	cols, rows int
	cells      [][]cell
	wrapped    []bool // by row: the line goes on in the next row
	scrolled   []string
	x, y       int
	wrap       bool // the last column was written: the next rune goes to the next line
	attr       string
	rest       []byte // the start of a sequence that is not complete
	bells      int
	bracketed  bool
	written    []byte // the newest output of the program
}

// keep is the number of bytes of the program's output that a Screen remembers.
const keep = 4 << 20

// Wrote says whether the program wrote these bytes, in this order, among the last few MiB.
func (s *Screen) Wrote(bytes string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(string(s.written), bytes)
}

type cell struct {
	text string // empty behind a wide rune
	attr string // parameters of the last SGR sequence
}

// New makes an empty screen.
func New(cols, rows int) *Screen {
	s := &Screen{cols: cols, rows: rows}
	for range rows {
		s.cells = append(s.cells, s.blank())
	}
	s.wrapped = make([]bool, rows)
	return s
}

func (s *Screen) blank() []cell {
	line := make([]cell, s.cols)
	for i := range line {
		line[i].text = " "
	}
	return line
}

// Resize changes the size. Lines are cut or filled up, or wrapped anew.
func (s *Screen) Resize(cols, rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ReflowOnResize && cols != s.cols {
		s.reflow(cols)
	}
	s.cols = cols
	for i, line := range s.cells {
		next := s.blank()
		copy(next, line)
		s.cells[i] = next
	}
	for len(s.cells) > rows { // the lines below the cursor go first
		if s.y == len(s.cells)-1 {
			s.scrollUp()
			s.y--
		}
		s.cells, s.wrapped = s.cells[:len(s.cells)-1], s.wrapped[:len(s.cells)-1]
	}
	for len(s.cells) < rows {
		s.cells, s.wrapped = append(s.cells, s.blank()), append(s.wrapped, false)
	}
	s.rows = rows
	s.x, s.wrap = min(s.x, cols-1), false
}

// reflow makes rows of cols columns of the lines on the screen. The cursor stays where it is in its line.
func (s *Screen) reflow(cols int) {
	last := s.y
	for y, line := range s.cells {
		if lineText(line) != "" {
			last = max(last, y)
		}
	}
	var cells [][]cell
	var wrapped []bool
	cursorX, cursorY := 0, 0
	for y := 0; y <= last; y++ {
		var line []cell
		at := -1 // the cursor in the line
		for ; ; y++ {
			if y == s.y {
				at = len(line) + s.x
			}
			line = append(line, s.cells[y]...)
			if !s.wrapped[y] || y == last {
				break
			}
		}
		for len(line) > 0 && line[len(line)-1].text == " " {
			line = line[:len(line)-1]
		}
		if at >= 0 {
			cursorX, cursorY = at%cols, len(cells)+at/cols
		}
		for first := true; first || len(line) > 0 || len(cells) <= cursorY && at >= 0; first = false {
			n := min(cols, len(line))
			row := append(append([]cell{}, line[:n]...), make([]cell, cols-n)...)
			for i := n; i < cols; i++ {
				row[i].text = " "
			}
			line = line[n:]
			cells, wrapped = append(cells, row), append(wrapped, len(line) > 0)
		}
	}
	s.cells, s.wrapped, s.x, s.y = cells, wrapped, cursorX, cursorY
}

func (s *Screen) scrollUp() {
	s.scrolled = append(s.scrolled, lineText(s.cells[0]))
	s.cells = append(s.cells[1:], s.blank())
	s.wrapped = append(s.wrapped[1:], false)
}

// Write draws output of the program.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written = append(s.written, b...); len(s.written) > 2*keep {
		s.written = append([]byte(nil), s.written[len(s.written)-keep:]...)
	}
	s.rest = append(s.rest, b...)
	for len(s.rest) > 0 {
		n := s.next(s.rest)
		if n == 0 {
			break
		}
		s.rest = s.rest[n:]
	}
	return len(b), nil
}

// next draws one rune or obeys one sequence and gives its length, 0 if it is not complete.
func (s *Screen) next(b []byte) int {
	switch b[0] {
	case '\r':
		s.x, s.wrap = 0, false
	case '\n':
		s.wrap = false
		s.lineFeed()
	case '\b':
		s.x, s.wrap = max(s.x-1, 0), false
	case '\t':
		s.x = min(s.x/8*8+8, s.cols-1)
	case 7:
		s.bells++
	case 0x1b:
		return s.sequence(b)
	default:
		if !utf8.FullRune(b) {
			return 0
		}
		r, n := utf8.DecodeRune(b)
		s.put(r)
		return n
	}
	return 1
}

func (s *Screen) lineFeed() {
	if s.y++; s.y == s.rows {
		s.scrollUp()
		s.y--
	}
}

func (s *Screen) put(r rune) {
	w := runewidth.RuneWidth(r)
	last := s.x - 1
	if s.wrap {
		last = s.x
	}
	if last > 0 && s.cells[s.y][last].text == "" { // the second half of a wide rune
		last--
	}
	if last >= 0 && (w == 0 || joins(s.cells[s.y][last].text, r)) {
		s.cells[s.y][last].text += string(r)
		return
	}
	if w == 0 {
		return
	}
	if s.wrap || s.x+w > s.cols {
		s.x, s.wrap, s.wrapped[s.y] = 0, false, true
		s.lineFeed()
	}
	s.cells[s.y][s.x] = cell{string(r), s.attr}
	if w == 2 {
		s.cells[s.y][s.x+1] = cell{"", s.attr}
	}
	if s.x += w; s.x >= s.cols {
		s.x, s.wrap = s.cols-1, true
	}
}

// joins says whether a rune that has a width becomes part of the emoji before it: it gives a colour of skin,
// or follows a joiner.
func joins(before string, r rune) bool {
	emoji := func(r rune) bool { return r >= 0x2600 && r <= 0x27BF || r >= 0x1F000 && r <= 0x1FAFF }
	first, _ := utf8.DecodeRuneInString(before)
	return emoji(first) && emoji(r) && (r >= 0x1F3FB && r <= 0x1F3FF || strings.HasSuffix(before, "\u200d"))
}

// sequence obeys ESC [ … and swallows other sequences.
func (s *Screen) sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
	case ']', 'P', '_', '^': // a question or an image, up to BEL or ESC \
		for i := 2; i < len(b); i++ {
			if b[i] == 0x07 || b[i] == '\\' && b[i-1] == 0x1b && i > 2 {
				return i + 1
			}
		}
		return 0
	default:
		return 2
	}
	end := 2
	for end < len(b) && (b[end] < 0x40 || b[end] > 0x7e) {
		end++
	}
	if end == len(b) {
		return 0
	}
	params := string(b[2:end])
	s.obey(b[end], params, number(params))
	return end + 1
}

// number returns the first parameter, 0 if there is none.
func number(params string) int {
	first, _, _ := strings.Cut(params, ";")
	n, _ := strconv.Atoi(first)
	return n
}

func (s *Screen) obey(final byte, params string, n int) {
	count := max(n, 1)
	if final != 'm' {
		s.wrap = false
	}
	switch final {
	case 'A':
		s.y = max(s.y-count, 0)
	case 'B':
		s.y = min(s.y+count, s.rows-1)
	case 'C':
		s.x = min(s.x+count, s.cols-1)
	case 'D':
		s.x = max(s.x-count, 0)
	case 'G':
		s.x = min(count, s.cols) - 1
	case 'H':
		_, column, _ := strings.Cut(params, ";")
		s.y, s.x = min(count, s.rows)-1, min(max(number(column), 1), s.cols)-1
	case 'J':
		s.erase(s.y, n)
		from, to := s.y+1, s.rows
		switch n {
		case 1:
			from, to = 0, s.y
		case 2:
			from = 0
		}
		for y := from; y < to; y++ {
			s.cells[y], s.wrapped[y] = s.blank(), false
		}
	case 'K':
		s.erase(s.y, n)
	case 'h', 'l':
		if params == "?2004" {
			s.bracketed = final == 'h'
		}
	case 'm':
		s.attr = params
		if params == "0" {
			s.attr = ""
		}
	}
}

// erase clears the cursor's line from the cursor (0), up to it (1), or as a whole (2).
func (s *Screen) erase(y, mode int) {
	from, to := s.x, s.cols
	switch mode {
	case 1:
		from, to = 0, s.x+1
	case 2:
		from = 0
	}
	for x := from; x < to; x++ {
		s.cells[y][x] = cell{text: " "}
	}
	s.wrapped[y] = s.wrapped[y] && to < s.cols
}

func lineText(line []cell) string {
	var b strings.Builder
	for _, c := range line {
		b.WriteString(c.text)
	}
	return strings.TrimRight(b.String(), " ")
}

// Text returns everything that was drawn and not erased, with lines that scrolled away, without blank
// lines at the end.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := append([]string{}, s.scrolled...)
	for _, line := range s.cells {
		lines = append(lines, lineText(line))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Cursor gives the cursor's column and row, counted from 0 and from the first line that was ever drawn, and
// the text of its line.
func (s *Screen) Cursor() (column, row int, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.x, len(s.scrolled) + s.y, lineText(s.cells[s.y])
}

// Place gives the cursor's column and row on the screen, counted from 0.
func (s *Screen) Place() (column, row int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.x, s.y
}

// Dump is the screen as it looks: each row with its attributes in angle brackets where they change.
func (s *Screen) Dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, line := range s.cells {
		var row strings.Builder
		attr := ""
		for _, c := range line {
			if c.attr != attr && (c.text != " " || c.attr != "") {
				attr = c.attr
				row.WriteString("<" + attr + ">")
			}
			row.WriteString(c.text)
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}

// PastesBracketed says whether the program has asked for pastes in brackets.
func (s *Screen) PastesBracketed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bracketed
}

// Coloured says whether any cell on the screen has a colour or another attribute.
func (s *Screen) Coloured() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.cells {
		for _, c := range line {
			if c.attr != "" && c.text != " " {
				return true
			}
		}
	}
	return false
}

// ColourOf gives the attribute of the last place on the screen where text stands, and whether there is one.
func (s *Screen) ColourOf(text string) (attr string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for y := s.rows - 1; y >= 0; y-- {
		for x := s.cols - 1; x >= 0; x-- {
			if strings.HasPrefix(lineText(s.cells[y][x:]), text) {
				return s.cells[y][x].attr, true
			}
		}
	}
	return "", false
}

// Since gives the lines from a row on, counted from the first line that was ever drawn.
func (s *Screen) Since(row int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	if row < len(s.scrolled) {
		lines = append(lines, s.scrolled[row:]...)
	}
	for i, line := range s.cells {
		if len(s.scrolled)+i >= row {
			lines = append(lines, lineText(line))
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
