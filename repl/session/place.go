package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// place says which line of a cell runs an operation of the engine: "In[3]:2". Only the goroutine of a cell's
// body may ask, because marks are those of whichever goroutine has set them last.
//
// The newest statement that calls the engine has set a mark. It may have ended since: then its function has
// returned to a statement that goes on to call the engine. If both may be meant, the one that names the
// operation is; if both or none do, the text is "In[2]:1 or In[3]:2".
func (s *Session) place(op string) string {
	m := s.markAt(lower.EngineSlot)
	if m == nil {
		return s.lineOf(s.markAt(lower.CellSlot))
	}
	if m.Func == "" { // the cell's own statement: nothing can have called it
		return s.lineOf(m)
	}
	places := []*lower.Mark{m}
	for slot := range s.compiler.Slots() {
		if c := s.markAt(slot); c != nil && c != m && slot != lower.EngineSlot && c.Mixed && mayCall(c, m) {
			places = append(places, c)
		}
	}
	var named []*lower.Mark
	for _, p := range places {
		if slices.ContainsFunc(p.Calls, func(c lower.Call) bool { return callsOp(c.Name, op) }) {
			named = append(named, p)
		}
	}
	if len(named) == 1 {
		places = named
	}
	lines := make([]string, len(places))
	for i, p := range places {
		lines[i] = s.lineOf(p)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), " or ")
}

// mayCall says whether the statement c may have called the function of m: a literal may have any name.
func mayCall(c, m *lower.Mark) bool {
	if strings.HasSuffix(m.Func, ".func") || m.Func == "func" {
		return true
	}
	name := m.Func[strings.LastIndexByte(m.Func, '.')+1:]
	return slices.ContainsFunc(c.Calls, func(c lower.Call) bool { return c.Name == name })
}

// callsOp says whether the function of the engine called name is that of an op: LayerNorm of layer_norm.
func callsOp(name, op string) bool {
	i := 0
	for _, r := range name {
		if i < len(op) && op[i] == '_' {
			i++
		}
		if i == len(op) || r|0x20 != rune(op[i])|0x20 {
			return false
		}
		i++
	}
	return i > 0 && i == len(op)
}

// lineOf is the line of a mark, "In[3]:2" or "util/util.go:12".
func (s *Session) lineOf(m *lower.Mark) string {
	if m == nil {
		return world.CellName(s.n)
	}
	if text, ok := s.lines[m.Pos]; ok {
		return text
	}
	p := s.compiler.Position(m.Pos)
	n, line := yaegi.CellOf(p.Filename), p.Line
	text := fmt.Sprintf("%s:%d", world.CellName(n), line)
	if n < 0 { // a statement that a command compiles: it is that of the cell that runs now
		return fmt.Sprintf("%s:%d", world.CellName(s.n), line-1-n)
	}
	if _, file := s.text(n); file != "" {
		text = fmt.Sprintf("%s:%d", file, line)
	}
	s.lines[m.Pos] = text
	return text
}

// linesBefore counts the lines of the cell before a statement that a command compiles. The command may have
// put something in front of the statement, but no line.
func (s *Session) linesBefore(stmts string) int {
	if s.command == nil {
		return 0
	}
	source := s.source(s.n)
	line, _ := cell.LineCol(source, s.command.Piece.From)
	first, _, _ := strings.Cut(stmts, "\n")
	for i, text := range strings.Split(s.command.Piece.Text(source), "\n") {
		if text = strings.TrimSpace(text); i > 0 && text != "" && strings.HasSuffix(first, text) {
			return line - 1 + i
		}
	}
	return line - 1
}
