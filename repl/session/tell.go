package session

import (
	"fmt"

	fit "github.com/mcs-notebook/mcs/internal/visible"
)

// tell prints a notice about cells to the person. Names and sources in it may come from files, so escape
// sequences in them are shown, not sent to the terminal.
func (s *Session) tell(format string, args ...any) {
	fmt.Fprintln(s.streams.Err, fit.Text(fmt.Sprintf(format, args...)))
}
