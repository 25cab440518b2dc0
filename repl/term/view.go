package term

import (
	"fmt"
	"sort"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/term/paint"
)

// A scene is the content that the editor wants on the screen.
type scene struct {
	prompt string
	text   string
	pos    int
	ghost  string // behind the cursor, at the end of the text
	status string // above the prompt
	match  [2]int // bytes of the text that a search has found
	below  func(width, rows int) []paint.Row
}

// scene is the editor's state as it is to be seen.
func (e *cellEditor) scene() scene {
	s := scene{prompt: e.prompt, text: e.buf.Text(), pos: e.buf.Pos(), ghost: e.ghost(), status: e.status}
	e.view.scan(s.text)
	switch {
	case e.search != nil:
		s.below = e.search.row(e.theme)
		if e.search.match >= 0 {
			s.match = [2]int{e.search.match, e.search.match + len(e.search.query)}
		}
	case e.menu != nil:
		s.below = e.menu.rows(e.theme)
	case e.hint.shown:
		s.below = e.hint.row(e.theme)
	case e.view.missing != "" && strings.Count(s.text, "\n")+2 <= e.view.rows: // never in the place of the cell
		missing := e.theme.span("  … missing "+e.view.missing, grey)
		s.below = func(width, _ int) []paint.Row { return []paint.Row{paint.NewRow(width, missing)} }
	case e.stepping() && strings.Count(s.text, "\n")+2 <= e.view.rows:
		s.below = e.steps.row(e.theme)
	}
	return s
}

// A view draws scenes in a window. A cell that is taller than the window scrolls in it.
type view struct {
	theme         theme
	painter       paint.Painter
	columns, rows int

	scanned string // the text that tokens are of
	tokens  []cell.Token
	missing string          // what a text of several lines still needs
	cells   [2][]paint.Cell // memory of the frame on the screen and of the next one, in turn
	topLine int             // the first line of the cell that is shown, and
	topRow  int             // how many of its rows are not
}

// restart begins a new frame where the cursor is.
func (v *view) restart() {
	v.painter.Lose()
	v.topLine, v.topRow = 0, 0
}

func (v *view) resize(columns, rows int, reflow bool) {
	if (columns != v.columns || rows != v.rows) && v.columns > 0 {
		v.painter.Resized(columns, rows, reflow)
	}
	v.columns, v.rows = columns, rows
}

// draw shows a scene.
func (v *view) draw(s scene) {
	v.scan(s.text)
	var head, foot []paint.Row
	if s.status != "" {
		head = append(head, paint.NewRow(v.columns, v.theme.spans(s.status)...))
	}
	if s.below != nil {
		foot = s.below(v.columns, max(v.rows/2-1, 1))
	}
	room := max(v.rows-len(head)-len(foot), 1)
	f := v.window(s, room)
	f.Rows = append(append(head, f.Rows...), foot...)
	f.Y += len(head)
	if len(f.Rows) > v.rows { // a window of one or two lines
		f.Rows = f.Rows[f.Y : f.Y+1]
		f.Y = 0
	}
	v.painter.Draw(f, v.columns)
	v.cells[0], v.cells[1] = v.cells[1], v.cells[0]
}

// window lays out the part of the cell around the cursor that there is room for.
func (v *view) window(s scene, room int) paint.Frame {
	starts := lineStarts(s.text)
	cursor := strings.Count(s.text[:s.pos], "\n")
	v.topLine = min(max(v.topLine, cursor-room+1), cursor)
	for {
		last := min(v.topLine+room+v.topRow, len(starts)-1)
		f, first := v.lay(s, starts, v.topLine, last)
		if v.topLine == cursor {
			v.topRow = min(v.topRow, f.Y)
		}
		v.topRow = max(v.topRow, f.Y-room+1)
		below := len(f.Rows) - v.topRow
		if below < room && last == len(starts)-1 && (v.topRow > 0 || v.topLine > 0) { // there is room for the lines above
			if v.topRow > 0 {
				v.topRow = max(v.topRow-(room-below), 0)
			}
			if len(f.Rows)-v.topRow < room && v.topLine > 0 {
				v.topLine--
				continue
			}
		}
		for v.topRow > 0 && v.topLine < cursor && first[v.topLine+1] <= v.topRow { // the first line is not seen at all
			v.topLine++
			rest := v.topRow - first[v.topLine]
			f, first = v.lay(s, starts, v.topLine, last)
			v.topRow = rest
		}
		f.Rows = f.Rows[v.topRow:min(v.topRow+room, len(f.Rows))]
		f.Y -= v.topRow
		return f
	}
}

// lineStarts are the places where lines begin.
func lineStarts(text string) []int {
	starts := make([]int, 1, 1+strings.Count(text, "\n"))
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return starts
		}
		at += i + 1
		starts = append(starts, at)
	}
}

// lay lays out the lines from…to; first are the rows where they begin, by line.
func (v *view) lay(s scene, starts []int, from, to int) (f paint.Frame, first map[int]int) {
	l := paint.NewLayout(v.columns, len(s.prompt))
	l.Use(v.cells[0])
	defer func() { v.cells[0] = l.Cells() }()
	if from == 0 {
		l.Text(s.prompt, v.theme.look(green))
	} else {
		l.Margin()
	}
	first = map[int]int{}
	end := len(s.text)
	if to+1 < len(starts) {
		end = starts[to+1] - 1
	}
	spans := v.marked(s, v.coloured(s.text, starts[from], end))
	for line := from; line <= to; line++ {
		first[line] = len(l.Rows()) - 1
		stop := end
		if line < to {
			stop = starts[line+1]
		}
		spans = v.text(l, s, spans, starts[line], stop)
	}
	if s.pos == end {
		l.Mark()
	}
	if s.pos == len(s.text) && s.ghost != "" && to == len(starts)-1 {
		v.ghost(l, s.ghost)
	}
	return l.Frame(), first
}

// ghost shows a suggestion: its first line, and how many more there are.
func (v *view) ghost(l *paint.Layout, text string) {
	line, rest, more := strings.Cut(text, "\n")
	if more {
		line += fmt.Sprintf(" ⏎ +%d", strings.Count(rest, "\n")+1)
	}
	l.Text(line, v.theme.look(grey))
}

// text lays out the bytes from…to with their colours, and gives the spans that end behind them.
func (v *view) text(l *paint.Layout, s scene, spans []span, from, to int) []span {
	put := func(to int, c colour) {
		if from <= s.pos && s.pos < to {
			l.Text(s.text[from:s.pos], v.theme.look(c))
			l.Mark()
			from = s.pos
		}
		l.Text(s.text[from:to], v.theme.look(c))
		from = to
	}
	for len(spans) > 0 && spans[0].to <= from {
		spans = spans[1:]
	}
	rest := spans
	for _, sp := range rest {
		if sp.from >= to {
			break
		}
		if sp.from > from {
			put(sp.from, none)
		}
		put(min(sp.to, to), sp.colour)
		if sp.to <= to {
			spans = spans[1:]
		}
	}
	if from < to {
		put(to, none)
	}
	return spans
}

// scan updates the data about the text.
func (v *view) scan(text string) {
	if v.scanned != text {
		v.tokens = cell.Update(v.tokens, v.scanned, text)
		v.scanned = text
		v.missing = ""
		if strings.Contains(text, "\n") {
			fault, _ := cell.CheckTokens(text, v.tokens)
			v.missing = fault.Missing
		}
	}
}

// coloured are the spans of the bytes from…to, which are whole lines.
func (v *view) coloured(text string, from, to int) []span {
	first := sort.Search(len(v.tokens), func(i int) bool { return v.tokens[i].To > from })
	last := first + sort.Search(len(v.tokens)-first, func(i int) bool { return v.tokens[first+i].From >= to })
	return spansOf(text, v.tokens[first:last])
}

// marked adds spans that depend on the cursor: matching brackets, and the matches of a search.
func (v *view) marked(s scene, spans []span) []span {
	if s.match[1] > s.match[0] {
		return overlay(spans, span{s.match[0], s.match[1], found})
	}
	for _, at := range []int{s.pos - 1, s.pos} {
		other, bracket := cell.Partner(v.tokens, at)
		if !bracket {
			continue
		}
		if other >= 0 {
			return overlay(overlay(spans, span{at, at + 1, paired}), span{other, other + 1, paired})
		}
		if strings.IndexByte(")]}", s.text[at]) >= 0 {
			return overlay(spans, span{at, at + 1, red})
		}
	}
	return spans
}

// overlay puts a span over others, which are in order and do not overlap.
func overlay(spans []span, over span) []span {
	list := make([]span, 0, len(spans)+2)
	put := false
	for _, s := range spans {
		if s.from < over.from {
			list = append(list, span{s.from, min(s.to, over.from), s.colour})
		}
		if !put && s.to > over.from {
			list, put = append(list, over), true
		}
		if s.to > over.to {
			list = append(list, span{max(s.from, over.to), s.to, s.colour})
		}
	}
	if !put {
		list = append(list, over)
	}
	return list
}

// finish shows the whole cell, however tall, with a mark behind it, and leaves it.
func (v *view) finish(s scene, mark string) {
	if v.topLine > 0 || v.topRow > 0 || strings.Count(s.text, "\n") >= v.rows {
		v.painter.Erase()
	}
	s.ghost, s.below, s.status, s.match = "", nil, "", [2]int{}
	s.pos = -1 // no bracket is marked
	v.scan(s.text)
	spans := v.coloured(s.text, 0, len(s.text))
	s.text += mark
	l := paint.NewLayout(v.columns, len(s.prompt))
	l.Text(s.prompt, v.theme.look(green))
	v.text(l, s, spans, 0, len(s.text))
	v.painter.Draw(l.Frame(), v.columns)
	v.painter.Leave()
}
