package session

import (
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// texts returns a function that finds the place of a text between backquotes in the cells and files as they
// are now: in the newest one that has it. Any goroutine may call it.
func (s *Session) texts() func(text string) (kernel.Place, bool) {
	cells, files := s.past.cells, s.packages.Files()
	return func(text string) (kernel.Place, bool) {
		for i := range slices.Backward(cells) {
			c := &cells[i] // whose Err may be written meanwhile
			if c.N < 0 {   // statements of a command: the cell that has the command has their text, too
				continue
			}
			if p, ok := placeOf(text, c.Source); ok {
				p.File = s.nameOf(c.N)
				return p, true
			}
		}
		for name, source := range files {
			if p, ok := placeOf(text, source); ok {
				p.File = name
				return p, true
			}
		}
		return kernel.Place{}, false
	}
}

// nameOf is what people call a cell; the cells of a program are its files.
func (s *Session) nameOf(n int) string {
	if p := s.program; p != nil && n >= 1 && n <= len(p.files) {
		return p.files[n-1].Name
	}
	return world.CellName(n)
}

// placeOf finds a text between backquotes.
func placeOf(text, source string) (kernel.Place, bool) {
	at := strings.Index(source, "`"+text+"`")
	if at < 0 {
		return kernel.Place{}, false
	}
	before := source[:at+1]
	return kernel.Place{Line: strings.Count(before, "\n") + 1, Col: len(before) - strings.LastIndexByte(before, '\n')}, true
}
