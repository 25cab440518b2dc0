package term

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/term/key"
)

// A menu shows the ways to go on below the cell.
type menu struct {
	from     int                  // they replace the bytes from here to the cursor
	all      []session.Completion // as the session gave them
	list     []session.Completion // the completions that still fit the typed word
	selected int                  // -1: none
	top      int                  // the first visible one
}

// complete answers Tab: it adds the common prefix of all completions, and opens a menu if there are
// several.
func (e *cellEditor) complete() {
	if e.buf.InIndent() || e.buf.InRaw() {
		e.buf.Type("\t")
		return
	}
	if a, ok := e.asker.completions(e.question()); ok {
		e.completed(a)
	}
}

// completed shows the completions that were asked for.
func (e *cellEditor) completed(a answer) {
	if a.failed != nil {
		e.failed(a)
		return
	}
	pos := e.buf.Pos()
	if a.from < 0 || a.from > pos || len(a.list) == 0 {
		return
	}
	if len(a.list) == 1 {
		e.accept(a.from, a.list[0])
		return
	}
	word := e.buf.Text()[a.from:pos]
	if common := commonPrefix(a.list); len(common) > len(word) && strings.HasPrefix(common, word) {
		e.buf.Replace(a.from, pos, common)
	}
	e.menu = &menu{from: a.from, all: a.list, list: a.list, selected: -1}
	e.narrow()
}

// commonPrefix returns the common prefix of all completions.
func commonPrefix(list []session.Completion) string {
	common := list[0].Text
	for _, c := range list[1:] {
		n := 0
		for n < len(common) && n < len(c.Text) && common[n] == c.Text[n] {
			n++
		}
		common = common[:n]
	}
	for !utf8.ValidString(common) {
		common = common[:len(common)-1]
	}
	return common
}

func (e *cellEditor) accept(from int, c session.Completion) {
	e.menu = nil
	e.buf.Replace(from, e.buf.Pos(), c.Text)
}

// narrow keeps the completions that fit the word before the cursor: first those that begin with it, then
// those that do in another case, then those that have its letters in order.
func (e *cellEditor) narrow() {
	m := e.menu
	pos := e.buf.Pos()
	if pos < m.from {
		e.menu = nil
		return
	}
	word := e.buf.Text()[m.from:pos]
	var classes [3][]session.Completion
	for _, c := range m.all {
		switch {
		case strings.HasPrefix(c.Text, word):
			classes[0] = append(classes[0], c)
		case len(c.Text) >= len(word) && strings.EqualFold(c.Text[:len(word)], word):
			classes[1] = append(classes[1], c)
		case subsequence(word, c.Text):
			classes[2] = append(classes[2], c)
		}
	}
	m.list = append(append(classes[0], classes[1]...), classes[2]...)
	m.top = 0
	if m.selected = min(m.selected, 0); len(m.list) == 0 {
		e.menu = nil
	}
}

// subsequence says whether text has the letters of word in order.
func subsequence(word, text string) bool {
	for _, r := range text {
		if w, n := utf8.DecodeRuneInString(word); n > 0 && unicode.ToLower(w) == unicode.ToLower(r) {
			word = word[n:]
		}
	}
	return word == ""
}

// pressMenu obeys a key while a menu is open. It returns false if the key has its usual meaning; the menu
// may then be closed.
func (e *cellEditor) pressMenu(k key.Key) bool {
	m := e.menu
	switch {
	case k.Code == key.Tab && k.Mod == 0, k.Code == key.Down && k.Mod == 0, k == ctrl('n'):
		m.selected = (m.selected + 1) % len(m.list)
	case k.Code == key.Tab && k.Mod == key.Shift, k.Code == key.Up && k.Mod == 0, k == ctrl('p'):
		if m.selected--; m.selected < 0 {
			m.selected = len(m.list) - 1
		}
	case k.Code == key.PageDown:
		m.selected = min(m.selected+menuRows, len(m.list)-1)
	case k.Code == key.PageUp:
		m.selected = max(m.selected-menuRows, 0)
	case k.Code == key.Escape, k == ctrl('g'):
		e.menu = nil
	case k.Code == key.Enter && k.Mod == 0:
		return e.enterMenu()
	case k.Code == key.Backspace:
		e.buf.Backspace()
		e.narrow()
	case k.Printable() && wordKey(rune(k.Code)):
		e.buf.TypeRune(rune(k.Code))
		e.narrow()
	case k.Code == key.None:
	case k.Printable() && m.selected >= 0: // a dot or a bracket goes on behind the chosen one
		e.accept(m.from, m.list[m.selected])
		return false
	default:
		e.menu = nil
		return false
	}
	return true
}

// enterMenu takes the chosen completion. Return submits the cell as usual if none is chosen, or if the
// text has it already.
func (e *cellEditor) enterMenu() bool {
	m := e.menu
	e.menu = nil
	if m.selected < 0 || m.list[m.selected].Text == e.buf.Text()[m.from:e.buf.Pos()] {
		return false
	}
	e.accept(m.from, m.list[m.selected])
	return true
}

func wordKey(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
