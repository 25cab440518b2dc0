package world

import (
	"fmt"
	"go/types"
	"slices"
)

// A Holder is something that a statement has made and that goes on using names of the session as they were.
type Holder struct {
	Name    string                // of the variable that it is in; empty for a goroutine, or what compiled code has got
	Running bool                  // it is a goroutine, else without a name a callback
	Cell    int                   // where it was made
	Line    int                   // in that cell
	Holds   map[string]types.Type // names and their types then
}

func (h *Holder) String() string {
	switch {
	case h.Name != "":
		return fmt.Sprintf("%s (%s)", h.Name, CellName(h.Cell))
	case h.Running:
		return fmt.Sprintf("the goroutine of %s:%d", CellName(h.Cell), h.Line)
	}
	return fmt.Sprintf("the callback of %s:%d", CellName(h.Cell), h.Line)
}

// hold adds what a unit's statements have made, in place of what the same lines made before. What holds
// nothing is not kept: there is one for each assignment of a long session.
func (w *World) hold(made []*Holder) {
	made = slices.DeleteFunc(made, func(h *Holder) bool { return len(h.Holds) == 0 })
	for _, h := range made {
		w.Holders = slices.DeleteFunc(w.Holders, func(old *Holder) bool {
			return old.Name == h.Name && old.Name != "" && old.Cell == h.Cell && old.Line == h.Line
		})
	}
	w.Holders = append(w.Holders, made...)
}
