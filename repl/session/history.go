package session

import "github.com/mcs-notebook/mcs/repl/session/internal/compile"

// A history is what a session remembers of its cells when they have ended. A reset does not forget it.
type history struct {
	n         int // the newest cell
	cells     []Cell
	command   *compile.Unit // the command line that runs
	lastPanic *PanicError
	// generation counts the changes that commands make, after which the rest of a cell is checked again.
	generation int
}

// text is the text of a cell.
func (h *history) text(n int) string {
	for i := len(h.cells) - 1; i >= 0; i-- {
		if h.cells[i].N == n {
			return h.cells[i].Source
		}
	}
	return ""
}
