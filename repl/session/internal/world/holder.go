package world

import (
	"fmt"
	"go/types"
	"slices"
)

// A Holder is a closure, pointer or goroutine that a statement has made and that still uses names of the
// session with their meaning at that time.
type Holder struct {
	Name    string                // of the variable that has it; empty for a goroutine, or a value that compiled code keeps
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

// hold adds the holders of a unit's statements, in place of the holders that the same lines made before.
// It drops holders without names: each assignment of a long session makes one.
func (w *World) hold(made []*Holder) {
	made = slices.DeleteFunc(made, func(h *Holder) bool { return len(h.Holds) == 0 })
	for _, h := range made {
		w.Holders = slices.DeleteFunc(w.Holders, func(old *Holder) bool {
			return old.Name == h.Name && old.Name != "" && old.Cell == h.Cell && old.Line == h.Line
		})
	}
	w.Holders = append(w.Holders, made...)
}
