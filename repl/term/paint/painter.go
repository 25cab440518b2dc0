package paint

import (
	"strconv"
	"unicode/utf8"
)

// A Painter changes one frame on the terminal into another. Its methods only collect bytes, which
// [Painter.Take] returns.
type Painter struct {
	out   []byte
	rows  []Row // on the screen
	x, y  int   // the terminal's cursor, relative to the frame's first row; x is width after the last column
	width int
	style Style // the style in which the terminal paints now
	shown bool
}

// Take returns the bytes for the terminal.
func (p *Painter) Take() []byte {
	out := p.out
	p.out = p.out[len(p.out):]
	return out
}

// Raw adds bytes that do not move the cursor.
func (p *Painter) Raw(s string) { p.out = append(p.out, s...) }

// Draw shows a frame for a window of width columns. The first frame begins in the cursor's line and takes
// the whole line.
func (p *Painter) Draw(f Frame, width int) {
	if !p.shown {
		p.out = append(p.out, "\r\x1b[J"...)
		p.shown, p.rows, p.x, p.y = true, nil, 0, 0
	}
	p.width = width
	hidden := len(f.Rows) != len(p.rows)
	if hidden {
		p.out = append(p.out, "\x1b[?25l"...)
	}
	for y, row := range f.Rows {
		if y < len(p.rows) {
			p.row(y, p.rows[y], row)
			continue
		}
		p.move(0, y) // an empty row takes a line, too
		p.row(y, nil, row)
	}
	if len(f.Rows) < len(p.rows) {
		p.move(0, len(f.Rows))
		p.out = append(p.out, "\x1b[J"...)
	}
	p.rows = f.Rows
	p.move(f.X, f.Y)
	if hidden {
		p.out = append(p.out, "\x1b[?25h"...)
	}
}

// row changes row y from old to row.
func (p *Painter) row(y int, old, row Row) {
	from, x := 0, 0
	for from < len(row) && from < len(old) && row[from] == old[from] {
		x += row[from].Columns
		from++
	}
	if from == len(row) && from == len(old) {
		return
	}
	to, erase := len(row), old.columns() > row.columns()
	if old.columns() == row.columns() { // the cells after the change may stay
		for n := len(old); to > from && n > from && row[to-1] == old[n-1]; n-- {
			to--
		}
	}
	p.move(x, y)
	for _, c := range row[from:to] {
		p.cell(c)
	}
	p.setStyle("")
	if erase && p.x < p.width {
		p.out = append(p.out, "\x1b[K"...)
	}
}

// cell writes one cell. Terminals disagree about the width of several runes together. So the cell's columns
// are cleared first, and afterwards the cursor is moved to the column behind them.
func (p *Painter) cell(c Cell) {
	p.setStyle(c.Style)
	_, n := utf8.DecodeRuneInString(c.Text)
	doubtful := n < len(c.Text) && c.Text[0] != ' '
	if doubtful {
		p.out = append(p.out, blanks[:min(c.Columns, len(blanks))]...)
		p.column(p.x)
	}
	p.out = append(p.out, c.Text...)
	p.x += c.Columns
	if doubtful && p.x < p.width {
		p.column(p.x)
	}
}

func (p *Painter) setStyle(s Style) {
	if s == p.style {
		return
	}
	if p.style != "" {
		p.out = append(p.out, "\x1b[0m"...)
	}
	if s != "" {
		p.out = append(append(append(p.out, "\x1b["...), s...), 'm')
	}
	p.style = s
}

// move goes to a place of the frame. A row below the last drawn one is made by scrolling.
func (p *Painter) move(x, y int) {
	if y < p.y {
		p.csi(p.y-y, 'A')
	}
	for ; p.y < y; p.y++ {
		p.out = append(p.out, "\r\n"...)
		p.x = 0
	}
	p.y = y
	if x != p.x {
		p.column(x)
	}
}

func (p *Painter) column(x int) {
	if x == 0 {
		p.out = append(p.out, '\r')
	} else {
		p.csi(x+1, 'G')
	}
	p.x = x
}

func (p *Painter) csi(n int, final byte) {
	p.out = append(strconv.AppendInt(append(p.out, "\x1b["...), int64(n), 10), final)
}

// Erase removes the frame from the screen. The cursor is then at its beginning, where the next frame will
// be.
func (p *Painter) Erase() {
	if !p.shown {
		return
	}
	p.move(0, 0)
	p.out = append(p.out, "\r\x1b[J"...)
	p.shown, p.rows = false, nil
}

// Leave ends the frame: it stays on the screen, and the cursor goes to the line below it.
func (p *Painter) Leave() {
	if !p.shown {
		return
	}
	p.move(0, len(p.rows))
	p.shown, p.rows = false, nil
}

// Lose says that the screen no longer shows the frame. The next frame begins at the cursor.
func (p *Painter) Lose() { p.shown, p.rows, p.style = false, nil, "" }

// Resized says that the window has a new size. A terminal that wraps its lines again (reflow) has moved the
// frame's first row; others cut rows or leave them. The frame is removed from the screen.
func (p *Painter) Resized(columns, rows int, reflow bool) {
	if !p.shown {
		return
	}
	if reflow && columns > 0 && columns < p.width {
		y := min(p.x, p.width-1) / columns
		for _, row := range p.rows[:min(p.y, len(p.rows))] {
			y += max((row.columns()+columns-1)/columns, 1)
		}
		p.y = y
	}
	p.y = min(p.y, rows-1) // rows above have left the screen
	p.width, p.x = columns, -1
	p.Erase()
}
