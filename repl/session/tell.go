package session

import (
	"fmt"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
)

// Tell prints a notice to the person, on standard error, as wide as the front end's screen. Names and sources
// in it may come from files, so escape sequences in them are shown, not sent to the terminal.
func (s *Session) Tell(format string, args ...any) {
	var v display.Value = display.Lines(visible.Text(fmt.Sprintf(format, args...)))
	if s.opts.Render != nil {
		v = s.opts.Render(v, 0)
	}
	fmt.Fprintln(s.streams.Err, v.Text(0))
}
