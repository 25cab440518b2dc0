package session

import "github.com/mcs-notebook/mcs/repl/session/internal/compile"

// A history is the session's memory of its ended cells. A reset does not clear it.
type history struct {
	n         int // number of the newest cell
	cells     []Cell
	command   *compile.Unit // the command line that runs now
	lastPanic *PanicError
	// generation counts the changes that commands make, after which the rest of a cell is checked again.
	generation int
	outside    int // commands that changed what is outside of the session
}

// NoteOutside notes that a command is about to change what is outside of the session: it writes a file, or
// runs a command of the system.
func (s *Session) NoteOutside() { s.past.outside++ }

// text returns the text of a cell.
func (h *history) text(n int) string {
	for i := len(h.cells) - 1; i >= 0; i-- {
		if h.cells[i].N == n {
			return h.cells[i].Source
		}
	}
	return ""
}
