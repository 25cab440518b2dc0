package term

import (
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/repl/term/edit"
	"github.com/mcs-notebook/mcs/repl/term/key"
)

// A search goes through the history while its text is typed (Ctrl-R).
type search struct {
	query  string
	at     int // index of the shown cell; len(cells): none yet
	match  int // where in it, -1: nowhere
	failed bool
	before edit.Buffer // the text before the search began
}

func (e *cellEditor) startSearch() {
	e.menu, e.hint = nil, hint{}
	e.search = &search{at: len(e.past.cells), match: -1, before: e.buf}
}

// pressSearch obeys a key in a search. It returns false if the search is over and the key has its usual
// meaning.
func (e *cellEditor) pressSearch(k key.Key) bool {
	s := e.search
	switch {
	case k == ctrl('r') || k.Code == key.Up || k == ctrl('p'):
		e.searchNext(-1)
	case k == ctrl('s') || k.Code == key.Down || k == ctrl('n'):
		e.searchNext(1)
	case k.Code == key.Backspace || k == ctrl('h'):
		if s.query != "" {
			_, n := utf8.DecodeLastRuneInString(s.query)
			e.searchFor(s.query[:len(s.query)-n])
		}
	case k == ctrl('u'):
		e.searchFor("")
	case k == ctrl('g'), k == ctrl('c'):
		e.buf, e.search = s.before, nil
	case k.Code == key.Escape && (!s.failed || s.match >= 0):
		e.search = nil
	case k.Code == key.Paste:
		line, _, _ := strings.Cut(k.Text, "\n")
		e.searchFor(s.query + line)
	case k.Printable():
		e.searchFor(s.query + string(rune(k.Code)))
	case k.Code == key.None:
	case s.failed && s.match < 0:
		// The shown cell does not match the query: no key takes it, least of all Return, which would run
		// it.
		e.buf, e.search = s.before, nil
	default:
		e.search = nil
		return false
	}
	return true
}

// searchFor looks for another text, from the newest cell or from the shown one.
func (e *cellEditor) searchFor(query string) {
	s := e.search
	longer := strings.HasPrefix(query, s.query)
	s.query = query
	from := min(s.at, len(e.past.cells)-1)
	if !longer {
		from = len(e.past.cells) - 1
	}
	e.searchFrom(from, -1, "")
}

// searchNext looks for the next cell with the same text that is another one.
func (e *cellEditor) searchNext(direction int) {
	if e.search.query == "" {
		return
	}
	e.searchFrom(e.search.at+direction, direction, e.buf.Text())
}

func (e *cellEditor) searchFrom(i, direction int, not string) {
	s := e.search
	if s.query == "" {
		e.buf, s.at, s.match, s.failed = s.before, len(e.past.cells), -1, false
		return
	}
	cell, at := e.past.find(s.query, i, direction, not)
	if s.failed = cell < 0; s.failed {
		if not == "" { // no cell has the query; otherwise the shown cell is the last that has it
			s.match = -1
		}
		return
	}
	s.at, s.match = cell, at
	e.past.leave(cell, e.past.text(e.past.at))
	e.buf.Set(e.past.cells[cell], at)
}
