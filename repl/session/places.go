package session

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
	"sync"
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
	words    atomic.Pointer[[]*int]       // the variables of marks, by slot; nil: not known
	lines    [64]atomic.Pointer[markLine] // that were asked for, by any goroutine

	followed followed
}

// A markLine is the name of the line of a mark while a cell runs.
type markLine struct {
	at   token.Pos
	cell int
	name string
}

// followed names the lines of code that is followed. Any goroutine may ask.
type followed struct {
	interp *yaegi.Interp
	mu     sync.Mutex
	lines  map[yaegi.Step]string // empty for steps of other code than the person's
	stacks [64]stackText         // that were asked for, by a hash of their steps
}

// A stackText has the lines of steps under way.
type stackText struct {
	steps []yaegi.Step
	text  string
}

// here is the lines that the calling goroutine has under way, the outermost first, a line each. It is empty
// if code is not followed.
func (ps *places) here() string {
	t := ps.followed.interp.Here()
	if t == nil {
		return ""
	}
	var room [32]yaegi.Step
	return ps.text(t.Steps(room[:0]))
}

// text is the lines of steps, which begin with the innermost. Each operation of the engine asks for it.
func (ps *places) text(steps []yaegi.Step) string {
	hash := uintptr(0)
	for _, s := range steps {
		hash = (hash<<7 ^ hash>>57 ^ uintptr(s)) * 0x9e3779b97f4a7c15
	}
	f := &ps.followed
	f.mu.Lock()
	defer f.mu.Unlock()
	known := &f.stacks[hash>>32%uintptr(len(f.stacks))]
	if len(steps) > 0 && !slices.Equal(known.steps, steps) {
		*known = stackText{slices.Clone(steps), strings.Join(ps.linesOf(steps), "\n")}
	}
	if len(steps) == 0 {
		return ""
	}
	return known.text
}

// linesOf are the lines of steps, the outermost first, without those of code that is not the person's.
func (ps *places) linesOf(steps []yaegi.Step) (lines []string) {
	f := &ps.followed
	for _, s := range slices.Backward(steps) {
		line, known := f.lines[s]
		if !known {
			line = ps.personal(f.interp.PosOf(s))
			f.lines[s] = line
		}
		if line != "" && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// follow has code tell which lines are under way, or stops it doing so.
func (ps *places) follow(on bool) {
	f := &ps.followed
	f.mu.Lock()
	f.lines = map[yaegi.Step]string{}
	clear(f.stacks[:])
	f.mu.Unlock()
	f.interp.Follow(on)
}

// place names the line of a cell that runs an operation of the engine: "In[3]:2". Only the goroutine of a
// cell's body may call it, because all goroutines set the same marks.
//
// The newest statement that calls the engine has set a mark. That statement may have ended since: then its
// function has returned to a statement that itself calls the engine. If both statements fit, the one that
// names the operation is chosen. If both or neither name it, the text is "In[2]:1 or In[3]:2".
//
// While code is followed it is what here returns: all lines that are under way.
func (ps *places) place(op string) string {
	if lines := ps.here(); lines != "" || op == "" {
		return lines
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
	if len(places) == 1 {
		return ps.lineOf(m)
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
	known := &ps.lines[uint(m.Pos)%uint(len(ps.lines))]
	l := known.Load()
	if l == nil || l.at != m.Pos || l.cell != ps.past.n { // a command's statement has the cell's line
		l = &markLine{m.Pos, ps.past.n, ps.lineAt(m.Pos)}
		known.Store(l)
	}
	return l.name
}

// lineAt names the line of a place.
func (ps *places) lineAt(pos token.Pos) string {
	p := ps.compiler.Position(pos)
	n, line := yaegi.CellOf(p.Filename), p.Line
	if n < 0 { // a statement that a command compiled: its line is in the cell that runs now
		// Code that the command puts behind the statement belongs to the cell's last line.
		last := strings.Count(strings.TrimRight(ps.past.text(ps.past.n), " \t\n"), "\n") + 1
		return fmt.Sprintf("%s:%d", world.CellName(ps.past.n), min(line-1-n, last))
	}
	if _, file := ps.compiler.Text(n); file != "" {
		return fmt.Sprintf("%s:%d", file, line)
	}
	return fmt.Sprintf("%s:%d", world.CellName(n), line)
}

// personal is lineAt, but empty for code that nobody typed: of the generic packages, and what lowering adds.
func (ps *places) personal(pos token.Pos) string {
	if !pos.IsValid() || ps.cellAt(pos) == 0 {
		return ""
	}
	return ps.lineAt(pos)
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
	if word := ps.word(slot); word != nil {
		return ps.compiler.Mark(read(word))
	}
	return nil
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
func (ps *places) cellOf(m *lower.Mark) int { return ps.cellAt(m.Pos) }

func (ps *places) cellAt(pos token.Pos) int {
	return yaegi.CellOf(ps.compiler.Position(pos).Filename)
}
