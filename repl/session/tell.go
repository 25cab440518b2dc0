package session

import (
	"fmt"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
)

// once says whether a notice of a kind may be given, and notes that it was.
func (s *Session) once(kind string) bool {
	if s.told[kind] {
		return false
	}
	if s.told == nil {
		s.told = map[string]bool{}
	}
	s.told[kind] = true
	return true
}

// Tell prints a notice to the person, on standard error, as wide as the front end's screen. Names and sources
// in it may come from files, so escape sequences in them are shown, not sent to the terminal.
func (s *Session) Tell(format string, args ...any) {
	var v display.Value = display.Lines(visible.Text(fmt.Sprintf(format, args...)))
	if s.opts.Render != nil {
		v = s.opts.Render(v, 0)
	}
	s.heard.without(func() { fmt.Fprintln(s.streams.Err, v.Text(0)) })
}
