package session

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// places finds positions in code of cells from the marks that statements set: the position of a panic, and
// the one of the engine operation that runs.
type places struct {
	compiler *compile.Compiler
	rt       *rt.Runtime
	past     *history
	lines    map[token.Pos]string   // the names of the lines of marks
	words    atomic.Pointer[[]*int] // the variables of marks, by slot; nil: not known

	commands    map[token.Pos]string // likewise, of the statements that commands of the cell commandCell run
	commandCell int

	stacks [16]stackText // that were asked for, by a hash of their marks
	newest int           // of these, the one that was asked for last

	slots []int  // of the compiler, when marks was filled
	marks []*int // of each slot, the variable that has its mark
}

// A stackText is what a stack was when the slots had these marks, while a cell ran. A loop asks for the
// stacks of the same statements in each turn, mostly in the same order.
type stackText struct {
	cell  int
	marks []int
	text  string
	next  int // in places.stacks, the one that was asked for next when this one was the newest
}

// place names the line of a cell that runs an operation of the engine: "In[3]:2". Only the goroutine of a
// cell's body may call it, because all goroutines set the same marks.
//
// The newest statement that calls the engine has set a mark. That statement may have ended since: then its
// function has returned to a statement that itself calls the engine. If both statements fit, the one that
// names the operation is chosen. If both or neither name it, the text is "In[2]:1 or In[3]:2".
//
// If op is empty, it returns all lines that are running, the outermost first.
func (ps *places) place(op string) string {
	if op == "" {
		return ps.stackText()
	}
	m := ps.markAt(lower.EngineSlot)
	if m == nil {
		return ps.lineOf(ps.markAt(lower.CellSlot))
	}
	if m.Func == "" { // the cell's own statement: no function of a cell called it
		return ps.lineOf(m)
	}
	places := []*lower.Mark{m}
	for _, slot := range ps.compiler.Slots() {
		if c := ps.markAt(slot); c != nil && c != m && slot != lower.EngineSlot && c.Mixed && mayCall(c, m) {
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
		lines[i] = ps.lineOf(p)
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), " or ")
}

// stackText is stack as a text. Each evaluation that is recorded asks for it, so it looks first at the text
// that it gave last, and at the one that came after that.
func (ps *places) stackText() string {
	marks := ps.allMarks()
	newest := &ps.stacks[ps.newest]
	if ps.isNow(newest, marks) {
		return newest.text
	}
	if next := &ps.stacks[newest.next]; ps.isNow(next, marks) {
		ps.newest = newest.next
		return next.text
	}
	now, hash := make([]int, len(marks)), uint64(0)
	for i, m := range marks {
		if m != nil {
			now[i] = read(m)
		}
		hash = hash<<7 ^ hash>>57 ^ uint64(now[i])
	}
	at := int(hash * 0x9e3779b97f4a7c15 >> 32 % uint64(len(ps.stacks)))
	known := &ps.stacks[at]
	if known.cell != ps.past.n || !slices.Equal(known.marks, now) {
		*known = stackText{cell: ps.past.n, marks: now, text: strings.Join(ps.stack(), "\n")}
	}
	newest.next, ps.newest = at, at
	return known.text
}

// isNow says whether a stack is that of the marks as they are now.
func (ps *places) isNow(s *stackText, marks []*int) bool {
	if s.cell != ps.past.n || len(s.marks) != len(marks) {
		return false
	}
	for i, m := range marks {
		if m == nil || read(m) != s.marks[i] {
			return false
		}
	}
	return true
}

// allMarks returns the variables with the marks of all slots; nil stands for one that is not there yet.
func (ps *places) allMarks() []*int {
	slots := ps.compiler.Slots()
	if len(slots) == len(ps.slots) && (len(slots) == 0 || &slots[0] == &ps.slots[0]) {
		return ps.marks
	}
	marks := make([]*int, len(slots))
	for i, slot := range slots {
		marks[i] = ps.word(slot)
	}
	if !slices.Contains(marks, nil) {
		ps.slots, ps.marks = slots, marks
	}
	return marks
}

// top is the mark of the statement that runs, of the cell or of a function literal.
func (ps *places) top() *lower.Mark {
	if m := ps.markAt(lower.LiteralSlot); m != nil {
		return m
	}
	return ps.markAt(lower.CellSlot)
}

// stack returns the lines from the running statement of the cell to the newest statement that calls the
// engine. Each statement may have called the function that has the next.
func (ps *places) stack() []string {
	top, m := ps.top(), ps.markAt(lower.EngineSlot)
	if top == nil || m == nil {
		return nil
	}
	var marks []*lower.Mark // of all functions
	for _, slot := range ps.compiler.Slots() {
		if c := ps.markAt(slot); slot >= lower.FirstSlot && c != nil {
			marks = append(marks, c)
		}
	}
	from := map[*lower.Mark]*lower.Mark{top: nil} // a possible caller of each
	for list := []*lower.Mark{top}; len(list) > 0; list = list[1:] {
		for _, c := range marks {
			if _, seen := from[c]; !seen && mayCall(list[0], c) {
				from[c] = list[0]
				list = append(list, c)
			}
		}
	}
	if _, found := from[m]; !found {
		return []string{ps.lineOf(top), ps.lineOf(m)}
	}
	var lines []string
	for ; m != nil; m = from[m] {
		lines = append(lines, ps.lineOf(m))
	}
	slices.Reverse(lines)
	return lines
}

// mayCall says whether the statement of mark c may have called the function of mark m. A function literal
// may have any name.
func mayCall(c, m *lower.Mark) bool {
	if strings.HasSuffix(m.Func, ".func") || m.Func == "func" {
		return true
	}
	name := m.Func[strings.LastIndexByte(m.Func, '.')+1:]
	return slices.ContainsFunc(c.Calls, func(c lower.Call) bool { return c.Name == name })
}

// callsOp says whether the engine's function called name computes an op: LayerNorm computes layer_norm.
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

// lineOf names the line of a mark: "In[3]:2" or "util/util.go:12".
func (ps *places) lineOf(m *lower.Mark) string {
	if m == nil {
		return world.CellName(ps.past.n)
	}
	if text, ok := ps.lines[m.Pos]; ok {
		return text
	}
	if text, ok := ps.commands[m.Pos]; ok && ps.commandCell == ps.past.n {
		return text
	}
	p := ps.compiler.Position(m.Pos)
	n, line := yaegi.CellOf(p.Filename), p.Line
	text := fmt.Sprintf("%s:%d", world.CellName(n), line)
	if n < 0 { // a statement that a command compiled: its line is in the cell that runs now
		// Code that the command puts behind the statement belongs to the cell's last line.
		last := strings.Count(strings.TrimRight(ps.past.text(ps.past.n), " \t\n"), "\n") + 1
		text := fmt.Sprintf("%s:%d", world.CellName(ps.past.n), min(line-1-n, last))
		if ps.commandCell != ps.past.n {
			ps.commands, ps.commandCell = map[token.Pos]string{}, ps.past.n
		}
		ps.commands[m.Pos] = text
		return text
	}
	if _, file := ps.compiler.Text(n); file != "" {
		text = fmt.Sprintf("%s:%d", file, line)
	}
	ps.lines[m.Pos] = text
	return text
}

// linesBefore counts the lines of the cell before a statement that a command compiles. The command may put
// code in front of the statement, but no line.
func (ps *places) linesBefore(stmts string) int {
	if ps.past.command == nil {
		return 0
	}
	source := ps.past.text(ps.past.n)
	line, _ := cell.LineCol(source, ps.past.command.Piece.From)
	first, _, _ := strings.Cut(stmts, "\n")
	for i, text := range strings.Split(ps.past.command.Piece.Text(source), "\n") {
		if text = strings.TrimSpace(text); i > 0 && text != "" && strings.HasSuffix(first, text) {
			return line - 1 + i
		}
	}
	return line - 1
}

// markAt is the mark that a function's newest statement has set.
func (ps *places) markAt(slot int) *lower.Mark {
	return ps.compiler.Mark(ps.at(slot))
}

// at is the number of that mark, or 0.
func (ps *places) at(slot int) int {
	word := ps.word(slot)
	if word == nil {
		return 0
	}
	return read(word)
}

// word returns the variable of a slot, or nil if there is none yet.
func (ps *places) word(slot int) *int {
	known := ps.words.Load()
	if known != nil && slot < len(*known) && (*known)[slot] != nil {
		return (*known)[slot]
	}
	word := ps.rt.Word(lower.MarkVar(slot))
	if word == nil {
		return nil
	}
	var words []*int
	if known != nil {
		words = slices.Clone(*known)
	}
	if slot >= len(words) {
		words = append(words, make([]*int, slot+1-len(words))...)
	}
	words[slot] = word
	ps.words.CompareAndSwap(known, &words)
	return word
}

// read reads a mark while the interpreter may write it: it is one word.
//
//go:norace
func read(mark *int) int { return *mark }

// cellOf returns the number of the cell, or of the package's file, that has a mark.
func (ps *places) cellOf(m *lower.Mark) int {
	return yaegi.CellOf(ps.compiler.Position(m.Pos).Filename)
}
