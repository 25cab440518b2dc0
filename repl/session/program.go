package session

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A ProgramFile is a source file of a program.
type ProgramFile struct {
	Name, Source string
}

// A ProgramError says why a program was refused before any of it ran: one line for each complaint, as `go vet` and
// `go run` write them, "file.go:3:7: message".
type ProgramError struct {
	Lines []string
}

func (e *ProgramError) Error() string { return strings.Join(e.Lines, "\n") }

// The exit statuses of a program that does not choose its own.
const (
	statusRefused = 1
	statusPanic   = 2
)

// RunProgram runs the files of a package main as `go run` does, and returns the exit status: what the program gave
// os.Exit, 0 when main returned, 2 after a panic, whose text goes to Options.Stderr. A program that is no Go, or that
// cannot be run rightly, is refused with a *ProgramError and does nothing. When ctx is cancelled the program is stopped,
// with ErrInterrupted.
//
// Goroutines that still run or wait when the program has ended are left behind: the caller is expected to end the
// process.
func RunProgram(ctx context.Context, files []ProgramFile, o Options) (status int, err error) {
	s, err := New(o)
	if err != nil {
		return statusRefused, err
	}
	p := &program{s: s, files: files, exit: make(chan int, 1)}
	s.program = p
	u, err := p.compile()
	if err != nil {
		return statusRefused, p.refusal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.execute(ctx, u)
		done <- err
	}()
	select {
	case status := <-p.exit:
		return status, nil
	case err = <-done:
	}
	var pe *PanicError
	var exit stdlib.ExitRequest
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &pe):
		p.report(s.errOut, pe.Value, 1, pe.Frames)
		return statusPanic, nil
	case errors.As(err, &exit):
		return exit.Code, nil
	}
	return statusRefused, err
}

// A program is what a session runs that was started for one: its files are the cells 1, 2, ….
type program struct {
	s     *Session
	files []ProgramFile
	exit  chan int // gets the exit status when something else than the return of main ends the program
}

// end ends the program at once: nothing deferred runs, and the goroutine that has called it does not go on.
func (p *program) end(status int) {
	select {
	case p.exit <- status:
	default: // it is ending already
	}
	select {}
}

// report writes what the Go runtime would about a panic.
func (p *program) report(w io.Writer, value any, goroutine int, frames []Frame) {
	text := rt.PanicText(value)
	if errors.Is(asErrorValue(value), rt.ErrStack) {
		text = "stack overflow"
	}
	fmt.Fprintf(w, "panic: %s\n\ngoroutine %d [running]:\n", text, goroutine)
	for _, f := range frames {
		name := f.Func
		if name == "" {
			name = "init"
		}
		fmt.Fprintf(w, "main.%s(...)\n\t%s:%d\n", name, p.fileName(f.Cell), f.Line)
	}
}

func asErrorValue(v any) error {
	err, _ := v.(error)
	return err
}

func (p *program) fileName(n int) string {
	if n < 1 || n > len(p.files) {
		return "?"
	}
	return p.files[n-1].Name
}

// cellPlace is a place in a message of the interpreter.
var cellPlace = regexp.MustCompile(`(\d+)/cell(:\d+:\d+: )`)

// refusal words the complaints about the program with the names of its files.
func (p *program) refusal(err error) error {
	var ce *CheckError
	if !errors.As(err, &ce) {
		text := strings.TrimPrefix(err.Error(), cellName(0)+": ")
		if m := cellPlace.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			text = p.fileName(n) + m[2] + cellPlace.ReplaceAllString(text, "")
		}
		return &ProgramError{Lines: []string{text}}
	}
	e := &ProgramError{}
	for _, d := range ce.Diags {
		line := fmt.Sprintf("%s:%d:%d: %s", p.fileName(d.Cell), d.Line, d.Col, d.Message)
		if d.Hint != "" {
			line += "; " + d.Hint
		}
		e.Lines = append(e.Lines, line)
	}
	return e
}

// compile parses, checks, lowers and compiles the program as one unit.
func (p *program) compile() (*unit, error) {
	s := p.s
	c := &checked{pkg: types.NewPackage(pkgPath, "main"), info: newInfo(), names: map[types.Object]string{}}
	for i, f := range p.files {
		file, err := p.parse(i+1, f)
		if err != nil {
			return nil, err
		}
		c.files = append(c.files, file)
	}
	conf := types.Config{Importer: s.importer, Sizes: s.sizes, Error: func(err error) {
		var te types.Error
		if errors.As(err, &te) {
			c.errs = append(c.errs, te)
		}
	}}
	_ = types.NewChecker(&conf, s.fset, c.pkg, c.info).Files(c.files) // errors went to conf.Error
	st := s.world.stage()
	if len(c.errs) > 0 {
		return nil, s.complaints(st, c)
	}
	u := &unit{pos: c.files[0].Package, checked: c, runs: true, vars: map[types.Object]string{}, change: change{imports: map[string]string{}}}
	for i, file := range c.files {
		if err := p.imports(u, file); err != nil {
			return nil, err
		}
		for _, d := range s.userDecls(st, file, i+1, p.files[i].Source, 0, p.files[i].Source, 0) {
			if d.tok != token.VAR && d.tok != token.IMPORT {
				u.decls = append(u.decls, d)
			}
		}
	}
	p.variables(u)
	if err := s.defineDecls(st, u, nil); err != nil {
		return nil, err
	}
	if err := p.body(u); err != nil {
		return nil, err
	}
	if err := s.build(st, u); err != nil {
		return nil, err
	}
	s.world.commit(&u.change)
	return u, nil
}

// parse parses a file as that of the cell n.
func (p *program) parse(n int, f ProgramFile) (*ast.File, error) {
	s := p.s
	s.history = append(s.history, Cell{N: n, Source: f.Source})
	file, err := parser.ParseFile(s.fset, yaegi.FileName(n), f.Source, parser.SkipObjectResolution)
	var list scanner.ErrorList
	if errors.As(err, &list) {
		e := &CheckError{}
		for _, le := range list {
			e.Diags = append(e.Diags, s.diag(n, le.Pos.Line, le.Pos.Column, 1, le.Msg, ""))
		}
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	if file.Name.Name != "main" {
		return nil, s.refusal(&lower.Error{Pos: file.Name.Pos(), Msg: fmt.Sprintf("got package %s, want package main", file.Name.Name)})
	}
	return file, nil
}

// imports notes what a file imports: code that is checked once more, for generic instances, sees it under those names.
func (p *program) imports(u *unit, file *ast.File) error {
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, "\"`")
		name, _ := stdlib.Name(path)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		switch other := u.imports[name]; {
		case name == "_":
			if err := p.s.use(path); err != nil {
				return err
			}
		case name == ".":
			u.dots = append(u.dots, path)
		case other != "" && other != path:
			msg := fmt.Sprintf("%s is the name of %s in one file and of %s in another, which is not available here", name, other, path)
			return p.s.refusal(&lower.Error{Pos: spec.Pos(), Msg: msg})
		default:
			u.imports[name] = path
		}
	}
	return nil
}

// variables makes session variables of the package's variables.
func (p *program) variables(u *unit) {
	scope := u.checked.pkg.Scope()
	for _, name := range scope.Names() {
		v, ok := scope.Lookup(name).(*types.Var)
		if !ok {
			continue
		}
		e := &entity{name: name, kind: varKind, obj: v, internal: p.s.world.fresh(name), kept: true}
		u.vars[v] = e.internal
		u.slots = append(u.slots, e)
		u.define = append(u.define, e)
	}
}

// body makes the statements that the unit runs: the variables' initial values in the order that Go gives them, the
// init functions, main.
func (p *program) body(u *unit) error {
	info := u.checked.info
	use := func(o types.Object, pos token.Pos) *ast.Ident {
		id := &ast.Ident{Name: o.Name(), NamePos: pos}
		if o.Name() != "_" {
			info.Uses[id] = o
			info.Types[id] = types.TypeAndValue{Type: o.Type()}
		}
		return id
	}
	call := func(o types.Object) {
		c := &ast.CallExpr{Fun: use(o, o.Pos()), Lparen: o.Pos(), Rparen: o.Pos()}
		info.Types[c] = types.TypeAndValue{Type: (*types.Tuple)(nil)}
		u.body = append(u.body, &ast.ExprStmt{X: c})
	}
	for _, in := range info.InitOrder {
		a := &ast.AssignStmt{TokPos: in.Rhs.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{in.Rhs}}
		for _, v := range in.Lhs {
			a.Lhs = append(a.Lhs, use(v, v.Pos()))
		}
		u.body = append(u.body, a)
	}
	var main types.Object
	for _, d := range u.decls {
		f, ok := d.node.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		switch o := info.Defs[f.Name]; f.Name.Name {
		case "init":
			d.ents = []*entity{{name: "init", kind: funcKind, obj: o, internal: p.s.world.fresh("init")}}
			call(o)
		case "main":
			main = o
		}
	}
	if main == nil {
		return p.s.refusal(&lower.Error{Pos: u.pos, Msg: "function main is undeclared in the main package"})
	}
	call(main)
	return nil
}
