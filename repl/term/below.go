package term

import (
	"fmt"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/mcs-notebook/mcs/repl/term/paint"
)

// The lines below the cell: a menu, a hint, or a search.

// menuRows is how many completions are seen at once.
const menuRows = 8

// rows draws the menu: names, their kinds, and the documentation of the chosen one.
func (m *menu) rows(th theme) func(width, rows int) []paint.Row {
	return func(width, rows int) []paint.Row {
		n := min(len(m.list), menuRows, max(rows-1, 1))
		m.top = min(max(m.top, m.selected-n+1, 0), len(m.list)-n)
		if m.selected >= 0 {
			m.top = min(m.top, m.selected)
		}
		shown := m.list[m.top : m.top+n]
		widest := 0
		for _, c := range m.list {
			widest = max(widest, runewidth.StringWidth(c.Text))
		}
		widest = min(widest, width/2)
		var list []paint.Row
		for i, c := range shown {
			mark, name, detail := "  ", kindColours[c.Kind], grey
			if m.top+i == m.selected {
				mark, name, detail = "› ", chosen, none
			}
			text := runewidth.Truncate(c.Text, widest, "…")
			pad := strings.Repeat(" ", widest-runewidth.StringWidth(text)+1)
			list = append(list, paint.NewRow(width, th.span(mark, chosen), th.span(text, name), th.span(pad, none), th.span(c.Detail, detail)))
		}
		if foot := m.foot(n); foot != "" && len(list) < rows {
			list = append(list, paint.NewRow(width, th.span("  "+foot, grey)))
		}
		return list
	}
}

// foot returns the documentation of the chosen completion, and its number in a list that is longer than
// the menu.
func (m *menu) foot(n int) string {
	var parts []string
	if m.selected >= 0 && m.list[m.selected].Doc != "" {
		parts = append(parts, m.list[m.selected].Doc)
	}
	if len(m.list) > n {
		place := fmt.Sprintf("%d", len(m.list))
		if m.selected >= 0 {
			place = fmt.Sprintf("%d/%d", m.selected+1, len(m.list))
		}
		parts = append([]string{place}, parts...)
	}
	return strings.Join(parts, " · ")
}

// kindColours tell the kinds of completions apart.
var kindColours = map[string]colour{
	"func": blue, "method": blue, "type": yellow, "package": cyan, "keyword": magenta, "magic": blue, "flag": cyan, "file": green, "const": cyan,
}

// row shows the hint: a signature with the parameter that is being typed.
func (h *hint) row(th theme) func(width, rows int) []paint.Row {
	return func(width, _ int) []paint.Row {
		sig, from, to := h.Signature, h.From, h.To
		if from < 0 || to < from || to > len(sig) {
			from, to = 0, 0
		}
		row := []paint.Span{th.span("  "+sig[:from], grey), th.span(sig[from:to], bold), th.span(sig[to:], grey)}
		if before := runewidth.StringWidth(sig[:to]) + 3; before > width && from > 0 { // the parameter must be seen
			row = []paint.Span{th.span("  … ", grey), th.span(sig[from:to], bold), th.span(sig[to:], grey)}
		} else if h.Doc != "" {
			row = append(row, th.span("  "+h.Doc, grey))
		}
		return []paint.Row{paint.NewRow(width, row...)}
	}
}

// row shows the text of the search.
func (s *search) row(th theme) func(width, rows int) []paint.Row {
	return func(width, _ int) []paint.Row {
		label := "  search: "
		if s.failed {
			label = "  no cell has: "
			if s.match >= 0 {
				label = "  no other cell has: "
			}
		}
		return []paint.Row{paint.NewRow(width, th.span(label, grey), th.span(s.query, bold), th.span("▏", grey),
			th.span("  Ctrl-R older · Ctrl-S newer · Esc edits · Ctrl-G goes back", grey))}
	}
}
