// Package lower rewrites type-checked Go into the part of Go that the interpreter (yaegi v0.16.1) runs
// correctly.
//
// It uses the checker's facts: constants are folded, types are written out, and instances of generic code
// get names, so the interpreter infers as little as possible. Expressions become statements in the order of
// Go's compiler (emit.go). Each rule stands beside the fault of the interpreter that it works around. Code
// that no rule can make correct is refused by name, at its position.
//
// Reading order: lower.go (entry points), nodes.go (nodes of lowered code), emit.go (how expressions become
// statements), types.go, ifaces.go (values in interfaces), methods.go, exprs.go, calls.go, stmts.go,
// assign.go, loops.go, switches.go, funcs.go (function bodies: defer, marks), chans.go.
package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// RT is the name of package rt in lowered code.
const RT = "__rt"

// CellsPath is the path of the package that cells belong to. The paths of packages that are loaded from
// source begin with LocalPrefix.
const (
	CellsPath   = "mcs"
	LocalPrefix = "mcs:"
)

// Interpreted says whether the interpreter runs a package's code. Then its types are the interpreter's.
func Interpreted(p *types.Package) bool {
	return p.Path() == CellsPath || strings.HasPrefix(p.Path(), LocalPrefix)
}

// ImportPath is the path by which code imports a package: for one of a module that is interpreted, without
// the number of its version. One of the user's own has no such path, and keeps its name.
func ImportPath(p *types.Package) string {
	path, interpreted := strings.CutPrefix(p.Path(), LocalPrefix)
	if !interpreted || filepath.IsAbs(path) {
		return p.Path()
	}
	return path[:strings.LastIndexByte(path, '@')]
}

// StopVar is the interpreter's variable that is true when lowered code has to stop.
const StopVar = "__stop"

// MarkVar returns the name of the interpreter's variable for a slot: functions with this slot set it to
// the number of each statement that they begin. Each slot has its own variable, not an element of an
// array, because an element of an array costs each call of a function more memory.
func MarkVar(slot int) string { return markVar + strconv.Itoa(slot) }

// IsMark says whether a variable of the interpreter holds marks.
func IsMark(name string) bool { return strings.HasPrefix(name, markVar) }

const markVar = "__mark"

// Env answers the rewriting's questions about the session.
type Env interface {
	// Name returns the interpreter's name of an object of the session (or of its package scope), or "" if
	// o is local.
	Name(o types.Object) string
	// Package returns the interpreter's name for a compiled package.
	Package(path string) string
	// Instance returns the interpreter's name of an instance of a generic function or type.
	Instance(generic types.Object, args []types.Type, pos token.Pos) (string, error)
	// Mark numbers a statement, so that a panic in it has a place.
	Mark(at Mark) int
	// Slot is called for each slot that the code uses: the variable [MarkVar] must be declared.
	Slot(slot int)
	// LocalType returns a unique name in the interpreter for a type that is declared inside of a function.
	// The type is declared beside the session's types.
	LocalType(o *types.TypeName, declare func(name string) ast.Decl) string
	// Dispatcher returns the name of a function variable for calls through interfaces. The function calls
	// a method with this name ([types.Func.Id]) and signature; the interface value is its first argument.
	Dispatcher(method string, sig *types.Signature, typ func() ast.Expr) string
	// TypeKey returns the number by which values in interfaces keep a type.
	TypeKey(t types.Type) int
	// SelfMade returns the name in package rt of a type that the session makes because its definition
	// mentions the type itself.
	SelfMade(t types.Type) string
	// Plain says that the interpreter works alone: code looks for a stop by itself, and no type is self-made.
	Plain() bool
	// TypeName writes a type as Go's own messages do.
	TypeName(t types.Type) string
}

// A Version is one declaration of a function in a session. When the variable Stale is set, the function
// only calls the function in the variable Newest, so every copy of it calls the newest declaration. The
// zero Version is of a function that is never declared again.
type Version struct{ Stale, Newest string }

// A Mark is a statement that a panic can be traced to.
type Mark struct {
	Pos, End token.Pos
	Func     string // "f", "(*T).M"; empty for a cell's own statements
	Calls    []Call
	// Mixed says that the statement calls both the engine and functions of cells. When such a function has
	// returned, EngineSlot may still have its mark while the statement itself calls the engine.
	Mixed bool
}

// A Call is a call within a statement: its function's name and the place of that name.
type Call struct {
	Name string
	Pos  token.Pos
}

// An Error is a construct that cannot be run.
type Error struct {
	Pos     token.Pos
	Msg     string
	Handles bool // it compares tensors by ==
}

func (e *Error) Error() string { return e.Msg }

// A Lowerer rewrites one checked unit. Its methods panic with *Error inside; the entry points return it.
type Lowerer struct {
	env   Env
	info  *types.Info
	pos   token.Pos // where new nodes are placed
	tmp   int
	out   []ast.Stmt   // what runs before the statement at hand
	temps *temporaries // of the function of lowered code
	apart bool         // parts that act are taken out of the statement at hand
	// deferred is the literal that the newest defer statement calls, or nil.
	deferred *ast.FuncLit
	fn       *function
	// locals maps variables, types and functions inside of functions to other names, if they need one.
	locals map[types.Object]string
	sizes  types.Sizes
	boxes  map[types.Type]bool // whether a type needs a box, for types that were asked about
}

// New makes a Lowerer for code that was checked with info.
func New(env Env, info *types.Info) *Lowerer {
	return &Lowerer{env: env, info: info, locals: map[types.Object]string{}, boxes: map[types.Type]bool{}, sizes: types.SizesFor("gc", "amd64")}
}

// guard runs f and returns the *Error that it panics with.
func guard(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	f()
	return nil
}

func (l *Lowerer) refuse(pos token.Pos, format string, args ...any) {
	panic(&Error{Pos: pos, Msg: fmt.Sprintf(format, args...)})
}

// Cell rewrites the statements of a cell into the body of a function. Top-level variables have become
// assignments to session variables. A top-level defer runs when the cell ends. An error that a call outside
// of functions returns and the cell does not assign stops the cell. Shown is the trailing expression whose
// values the session gets, or nil.
func (l *Lowerer) Cell(body []ast.Stmt, shown ast.Expr) (list []ast.Stmt, err error) {
	err = guard(func() {
		l.fn = &function{cell: true, body: body}
		l.hoistNames(body)
		list = l.scope(func() (list []ast.Stmt) {
			for i, s := range body {
				if i > 0 && !l.completes(body, i) { // compiled code before it may have returned because of an interrupt
					l.pos = s.Pos()
					list = append(list, l.stopBefore(s)...)
				}
				if _, ok := s.(*ast.ExprStmt); ok && i == len(body)-1 && shown != nil {
					list = append(list, l.begin(s, func() []ast.Stmt { return l.show(shown) })...)
				} else {
					list = append(list, l.stmt(s)...)
				}
			}
			return list
		})
	})
	return list, err
}

// completes says whether a statement completes the call before it, which has returned a value and an
// error. The value of an interrupted call is assigned before the cell stops.
func (l *Lowerer) completes(body []ast.Stmt, i int) bool {
	given := func(s ast.Stmt, name string) bool {
		es, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := es.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		f, ok := call.Fun.(*ast.Ident)
		return ok && f.Name == name
	}
	return given(body[i], CheckValue) || given(body[i-1], CheckValue) || given(body[i], Check)
}

// Loop rewrites statements into the body of a function that has a parameter n and runs them n times; with
// asks it runs them as long as the function n returns true. Values are the names of variables that get the
// values of the expression result, if that is not nil.
func (l *Lowerer) Loop(body []ast.Stmt, result ast.Expr, n string, asks bool, values []string) (list []ast.Stmt, err error) {
	err = guard(func() {
		sig := types.NewSignatureType(nil, nil, nil, nil, nil, false)
		l.fn = &function{sig: sig, body: body, name: "func", slot: LiteralSlot}
		l.hoistNames(body)
		inner := l.scope(func() []ast.Stmt {
			if result == nil {
				return l.stmts(body)
			}
			last := body[len(body)-1]
			return append(l.stmts(body[:len(body)-1]), l.begin(last, func() []ast.Stmt { return l.valueInto(result, values) })...)
		})
		loop := &ast.ForStmt{For: l.pos, Cond: &ast.CallExpr{Fun: l.id(n), Lparen: l.pos, Rparen: l.pos}, Body: l.block(inner...)}
		if !asks {
			loop.Cond = l.binary(l.id(n), token.GTR, l.int(0))
			loop.Post = &ast.IncDecStmt{X: l.id(n), TokPos: l.pos, Tok: token.DEC}
		}
		list = []ast.Stmt{loop}
	})
	return list, err
}

// valueInto assigns the values of an expression to variables that the session has pointers to.
func (l *Lowerer) valueInto(e ast.Expr, names []string) []ast.Stmt {
	ts := Results(l.info.Types[e].Type)
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok && l.info.Types[call.Fun].IsType() && types.IsInterface(l.typeOf(e)) {
		e = call.Args[0] // the assignment converts, and the interpreter compiles no variable between
	}
	return l.assignTo(l.ids(names), ts, nil, []ast.Expr{e})
}

// show passes the values of an expression to the session.
func (l *Lowerer) show(e ast.Expr) []ast.Stmt {
	ts := Shown(l.info, e)
	if len(ts) == 0 {
		return l.exprStmt(&ast.ExprStmt{X: e})
	}
	values := []ast.Expr{e}
	if call, ok := e.(*ast.CallExpr); ok && isValues(e) {
		values = call.Args
	}
	var decls, shows []ast.Stmt
	var lhs []ast.Expr
	for _, t := range ts {
		l.pos = e.Pos()
		if !nameable(t) {
			t = types.NewInterfaceType(nil, nil)
		}
		name := l.fresh("o")
		lhs = append(lhs, l.id(name))
		decls = append(decls, l.declare(name, l.typ(t)))
		shows = append(shows, l.do(l.rt("Show", l.addr(l.id(name)))))
	}
	l.emit(decls...)
	return append(l.assignTo(lhs, ts, nil, values), shows...)
}

// Check and CheckValue are the names of functions that get the error which a top-level assignment leaves
// out. CheckValue also gets the first of the values beside it.
const (
	Check      = "__check"
	CheckValue = "__checkValue"
)

// Values is the name of a function whose call stands for a list of expressions at the end of a cell.
const Values = "__values"

func isValues(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == Values
}

// Shown returns the types of the values that a trailing expression shows.
func Shown(info *types.Info, e ast.Expr) (list []types.Type) {
	if !isValues(e) {
		return Results(info.Types[e].Type)
	}
	for _, x := range e.(*ast.CallExpr).Args {
		list = append(list, Results(info.Types[x].Type)...)
	}
	return list
}

// Results returns the types of an expression's values.
func Results(t types.Type) []types.Type {
	switch t := t.(type) {
	case nil:
	case *types.Tuple:
		return walk.Types(t)
	case *types.Basic:
		if t.Kind() == types.Invalid {
			return nil
		}
		if t.Kind() == types.UntypedNil {
			return []types.Type{types.NewInterfaceType(nil, nil)}
		}
		return []types.Type{types.Default(t)}
	default:
		return []types.Type{t}
	}
	return nil
}

// nameable says whether a variable of the type can be declared in a cell.
func nameable(t types.Type) bool {
	t = types.Unalias(t)
	if n, ok := t.(*types.Named); ok {
		o := n.Obj()
		return o.Pkg() == nil || o.Exported() || Interpreted(o.Pkg()) || o.Parent() != o.Pkg().Scope()
	}
	return !slices.ContainsFunc(walk.Parts(t), func(part types.Type) bool { return !nameable(part) })
}

// returnsError says whether an expression is a call whose last result is an error. Printing does not count.
func (l *Lowerer) returnsError(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	ts := Results(l.typeOf(e))
	if len(ts) == 0 || !types.Identical(ts[len(ts)-1], errorType) {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return true
	}
	return !Prints(l.info.Uses[sel.Sel])
}

// Prints says whether an object is a function of fmt that prints: its results are no news.
func Prints(o types.Object) bool {
	return o != nil && o.Pkg() != nil && o.Pkg().Path() == "fmt" && strings.Contains(o.Name(), "rint") && !strings.HasPrefix(o.Name(), "S")
}

// checked makes a call and stops the cell if its last result, an error, is not nil.
func (l *Lowerer) checked(e *ast.CallExpr) {
	n := len(Results(l.typeOf(e)))
	x := l.value(e)
	l.pos = e.Pos()
	err := l.fresh("err")
	lhs := make([]ast.Expr, n)
	for i := range lhs {
		lhs[i] = l.id("_")
	}
	lhs[n-1] = l.id(err)
	l.emit(l.declare(err, l.id("error")),
		&ast.AssignStmt{Lhs: lhs, TokPos: l.pos, Tok: token.ASSIGN, Rhs: []ast.Expr{x}},
		l.do(l.rt("Check", l.id(err), l.int(l.env.Mark(Mark{Pos: call(e).Pos, End: e.End()})))))
}

// Func rewrites a function or method declaration; name is the interpreter's name for a function, slot the
// number of its mark. A method becomes a function.
func (l *Lowerer) Func(d *ast.FuncDecl, name, display string, slot int, version Version) (out *ast.FuncDecl, err error) {
	err = guard(func() {
		l.pos = d.Pos()
		sig := l.info.Defs[d.Name].Type().(*types.Signature)
		l.fn = &function{sig: sig, name: display, slot: slot}
		l.nameLocals(d)
		if d.Recv != nil {
			name = l.MethodName(l.info.Defs[d.Name].(*types.Func))
		}
		ft, body := l.function(d.Type, sig, d.Body)
		if d.Recv != nil {
			names := l.fieldNames(d.Recv.List[0])
			if len(names) == 0 || names[0].Name == "_" {
				names = []*ast.Ident{l.id(l.fresh("p"))}
			}
			ft.Params.List = append([]*ast.Field{{Names: names, Type: l.typ(sig.Recv().Type())}}, ft.Params.List...)
		}
		if version.Stale != "" {
			body.List = append(l.handOn(version, ft), body.List...)
		}
		out = &ast.FuncDecl{Name: l.id(name), Type: ft, Body: body}
	})
	return out, err
}

// handOn writes the first statements of a function, which pass a call on to the function's newest
// declaration.
func (l *Lowerer) handOn(v Version, ft *ast.FuncType) []ast.Stmt {
	l.pos = ft.Pos()
	call := l.call(l.id(v.Newest))
	for _, p := range ft.Params.List {
		for _, name := range p.Names {
			call.Args = append(call.Args, l.id(name.Name))
		}
		if _, variadic := p.Type.(*ast.Ellipsis); variadic {
			call.Ellipsis = l.pos
		}
	}
	if ft.Results == nil {
		return []ast.Stmt{l.ifs(l.id(v.Stale), l.do(call), l.ret())}
	}
	return []ast.Stmt{l.ifs(l.id(v.Stale), l.ret(call))}
}

// Type writes a type as the interpreter knows it.
func (l *Lowerer) Type(t types.Type, pos token.Pos) (x ast.Expr, err error) {
	err = guard(func() { l.pos = pos; x = l.typ(t) })
	return x, err
}

// TypeDecl declares a type under a name of the interpreter's. Structs get a tag that makes them different
// types for reflection, which does not see their names.
func (l *Lowerer) TypeDecl(name string, t types.Type, pos token.Pos) (d ast.Decl, err error) {
	err = guard(func() {
		l.pos = pos
		d = l.typeDecl(name, t)
	})
	return d, err
}

func (l *Lowerer) typeDecl(name string, t types.Type) ast.Decl {
	if selfMade(t, t.Underlying(), map[types.Type]bool{}) {
		pos := l.pos
		if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pos().IsValid() {
			pos = n.Obj().Pos()
		}
		if l.env.Plain() || !l.onlySelfMade(t, map[types.Type]bool{}) {
			l.refuse(pos, "type %s refers to itself outside of a struct, and to other types of cells, which is not available in cells", strings.TrimPrefix(l.env.TypeName(t), "main."))
		}
		// The interpreter gets it in the way of compiled types.
		spec := &ast.TypeSpec{Name: l.id(name), Assign: l.pos, Type: l.sel(l.id(RT), l.env.SelfMade(types.Unalias(t)))}
		return &ast.GenDecl{Tok: token.TYPE, TokPos: l.pos, Specs: []ast.Spec{spec}}
	}
	x := l.typ(t.Underlying())
	if s, ok := x.(*ast.StructType); ok && len(s.Fields.List) > 0 {
		f := s.Fields.List[0]
		tag := fmt.Sprintf("mcs:%q", name)
		if f.Tag != nil {
			old, _ := strconv.Unquote(f.Tag.Value)
			tag = old + " " + tag
		}
		f.Tag = &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(tag), ValuePos: l.pos}
	}
	return &ast.GenDecl{Tok: token.TYPE, TokPos: l.pos, Specs: []ast.Spec{&ast.TypeSpec{Name: l.id(name), Type: x}}}
}

// nameLocals renames local objects whose names mean something else in lowered code: predeclared names (the
// interpreter confuses them, and lowered code uses them), and names of lowered packages and variables.
func (l *Lowerer) nameLocals(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		o := l.info.Defs[id]
		if o == nil || l.locals[o] != "" || l.env.Name(o) != "" {
			return true
		}
		if v, ok := o.(*types.Var); ok && v.IsField() {
			return true
		}
		if types.Universe.Lookup(id.Name) != nil || id.Name == "init" || id.Name == "main" || id.Name == "cell" {
			l.locals[o] = id.Name + "__local"
		}
		return true
	})
	for n, o := range l.info.Implicits { // the variables of a type switch
		if v, ok := o.(*types.Var); ok && n != nil && types.Universe.Lookup(v.Name()) != nil {
			l.locals[o] = v.Name() + "__local"
		}
	}
}

// hoistNames is nameLocals for the statements of a cell.
func (l *Lowerer) hoistNames(list []ast.Stmt) {
	for _, s := range list {
		l.nameLocals(s)
	}
}
