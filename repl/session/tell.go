package session

import (
	"fmt"

	fit "github.com/mcs-notebook/mcs/internal/visible"
)

// tell says something about cells to the person, beside what they print. Names and sources in it may come
// from files: they are shown, not obeyed.
func (s *Session) tell(format string, args ...any) {
	fmt.Fprintln(s.streams.Err, fit.Text(fmt.Sprintf(format, args...)))
}
