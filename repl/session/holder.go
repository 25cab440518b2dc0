package session

import (
	"fmt"
	"go/types"
	"slices"
)

// A holder is something that a statement has made and that goes on using names of the session as they were.
type holder struct {
	name    string                // of the variable that it is in; empty for a goroutine, or what compiled code has got
	whole   bool                  // it is all that the variable holds
	running bool                  // it is a goroutine, else without a name a callback
	cell    int                   // where it was made
	line    int                   // in that cell
	holds   map[string]types.Type // names and their types then
}

func (h *holder) String() string {
	switch {
	case h.name != "":
		return fmt.Sprintf("%s (%s)", h.name, cellName(h.cell))
	case h.running:
		return fmt.Sprintf("the goroutine of %s:%d", cellName(h.cell), h.line)
	}
	return fmt.Sprintf("the callback of %s:%d", cellName(h.cell), h.line)
}

// hold adds what a unit's statements have made. A variable that gets a value holds on to no more than that.
func (w *world) hold(made []*holder) {
	for _, h := range made {
		w.holders = slices.DeleteFunc(w.holders, func(old *holder) bool {
			return old.name == h.name && old.name != "" && old.cell == h.cell && old.line == h.line
		})
	}
	w.holders = append(w.holders, made...)
}
