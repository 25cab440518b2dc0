package session

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
)

// Types of package help, for front ends.
type (
	// A Completion is one way to go on at the cursor.
	Completion = help.Completion
	// A Hint says what belongs where the cursor is.
	Hint = help.Hint
	// An Info is the answer to `name?`. A Group of its members is made of Items.
	Info  = help.Info
	Group = help.Group
	Item  = help.Item
)

// Complete lists ways to go on at byte pos of a cell, the likeliest first. Each replaces the bytes
// from…pos. The cell may be unfinished or wrong. Any goroutine may call it; while a cell runs the list is
// empty. Complete does not complete command lines: the package that has the commands does.
func (s *Session) Complete(src string, pos int) (from int, list []Completion) {
	pos = min(max(pos, 0), len(src))
	if !s.busy.TryLock() {
		return pos, nil
	}
	defer s.busy.Unlock()
	return s.helper().Complete(src, pos)
}

// CompletePath completes the path of a file, relative to the session's folder. From is where the last
// element of the path begins. Folders end with a separator. Hidden files are listed only after a dot.
func (s *Session) CompletePath(path string) (from int, list []Completion) {
	return s.helper().CompletePath(path)
}

// Hint describes the innermost call, conversion, instantiation or struct literal around byte pos of a
// cell. The cell may be unfinished or wrong. Any goroutine may call it; while a cell runs there is no
// hint.
func (s *Session) Hint(src string, pos int) (Hint, bool) {
	if !s.busy.TryLock() {
		return Hint{}, false
	}
	defer s.busy.Unlock()
	return s.helper().Hint(src, min(max(pos, 0), len(src)))
}

// Inspect describes a name, a member (pkg.Name, Type.Method, x.Field), a keyword or any other expression.
// It does not evaluate the expression.
func (s *Session) Inspect(expr string) (Info, error) { return s.helper().Inspect(expr) }

// helper returns the help for the session in its current state.
func (s *Session) helper() *help.Helper { return &help.Helper{Session: seen{s}} }

// seen implements the view of the session that package help needs.
type seen struct{ s *Session }

func (v seen) World() *world.World { return v.s.compiler.World }

func (v seen) Check(fset *token.FileSet, st *world.Stage, file *ast.File, extra ...types.Object) *help.Facts {
	return v.s.compiler.Facts(fset, st, file, extra...)
}

func (v seen) Import(st *world.Stage, decl string) {
	_, _ = v.s.compiler.CheckImport(st, v.s.Next(), decl, cell.Piece{Kind: cell.Import, To: len(decl)})
}

func (v seen) Outs(list []ast.Stmt) (extra []types.Object) {
	for _, o := range v.s.compiler.OutRefs(list) {
		extra = append(extra, types.NewVar(token.NoPos, nil, o.Var, o.Type))
	}
	return extra
}

func (v seen) Package(path string) (*types.Package, error) { return v.s.compiler.Import(path) }

func (v seen) Doc(path, symbol string) string { return v.s.packages.Doc(path, symbol) }

func (v seen) Title(path string) string { return v.s.packages.Title(path) }

func (v seen) SourceOf(path, symbol string) string {
	return v.s.packages.Source(path, symbol)
}

func (v seen) Text(pos token.Pos) (src string, line int) {
	p := v.s.compiler.Position(pos)
	return v.s.source(yaegi.CellOf(p.Filename)), p.Line
}

func (v seen) Cells() (list []string) {
	for _, c := range v.s.past.cells {
		list = append(list, c.Source)
	}
	return list
}

func (v seen) Value(e *world.Entity) (any, bool) { return v.s.value(e) }

func (v seen) Shown(e *world.Entity) display.Value {
	return v.s.format.Format(v.s.rt.Variable(e.Internal), e.Obj.Type())
}

func (v seen) Quiet() bool { return len(v.s.rt.Goroutines()) == 0 }

func (v seen) Dir() string { return v.s.Dir() }
