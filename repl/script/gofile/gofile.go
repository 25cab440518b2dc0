// Package gofile writes the cells of a session as a Go program. The program has the typed text, and the
// code that the session adds to it: imports, checks of left-out errors, showing the last expression.
//
// The program is put together as text and type-checked. Operators and indices of tensors become calls first.
// Each complaint that a session does not make is answered by an edit of the text, until there is none. A
// complaint that no edit answers is an error, so a returned program compiles. Reading order: split.go,
// shell.go, again.go, gofile.go, fix.go.
package gofile

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A program is a Go file that is being made.
type program struct {
	units    []unit
	imports  map[string]string // path -> name, or "" for its own
	globals  map[string]string // variables that functions use -> type
	usesCtx  bool
	hasShell bool // shellLines is declared

	// The results of the last assembly.
	text     string
	unitAt   []int // offset in text of each unit
	fset     *token.FileSet
	file     *ast.File
	info     *types.Info
	pkg      *types.Package
	problems []types.Error
	calls    notation.Calls
}

// maxRounds bounds how often the program is checked: each round answers all complaints of a kind.
const maxRounds = 100

// Program returns a Go program with the effect of the cells.
func Program(cells []string) (string, error) {
	return ProgramWith(cells, stdlib.Importer())
}

// ProgramWith is Program for cells that import other packages than the standard library's and the engine's:
// im has the types of all, as the session has that ran the cells.
func ProgramWith(cells []string, im types.Importer) (string, error) {
	p := &program{imports: map[string]string{}, globals: map[string]string{}}
	for i, src := range cells {
		units := p.runShell(split(src, p.isCommand, func(name string) bool { return p.declares(name, nil) }))
		if i < len(cells)-1 { // the last cell ends where the program does
			var err error
			if units, err = endDeferred(units); err != nil {
				return "", err
			}
		}
		for _, u := range units {
			if u.kind == cell.Import {
				if err := p.addImports(u.text); err != nil {
					return "", err
				}
				continue
			}
			p.units = append(p.units, u)
		}
	}
	p.declareAgain()
	for range maxRounds {
		if err := p.check(im); err != nil {
			return "", err
		}
		edits, err := p.writeCalls()
		if err != nil {
			return "", err
		}
		changed := false
		if len(edits) == 0 {
			edits, changed = p.fixes()
		}
		if len(edits) == 0 && !changed {
			if len(p.problems) > 0 { // a complaint that no edit answers
				source := strings.Split(p.text, "\n")[p.fset.Position(p.problems[0].Pos).Line-1]
				return "", fmt.Errorf("the session cannot be written as one Go program: %s, at `%s`", p.problems[0].Msg, strings.TrimSpace(source))
			}
			src, err := format.Source([]byte(p.text))
			return string(src), err
		}
		p.apply(edits)
	}
	return "", errors.New("the session cannot be written as one Go program")
}

func (p *program) addImports(text string) error {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.ImportsOnly)
	if err != nil {
		return err
	}
	for _, spec := range f.Imports {
		path := strings.Trim(spec.Path.Value, "`\"")
		p.imports[path] = ""
		if spec.Name != nil {
			p.imports[path] = spec.Name.Name
		}
	}
	return nil
}

// assemble writes the program with everything known so far.
func (p *program) assemble() {
	var b strings.Builder
	b.WriteString("package main\n\n")
	if len(p.imports) > 0 {
		b.WriteString("import (\n")
		for _, path := range slices.Sorted(maps.Keys(p.imports)) {
			fmt.Fprintf(&b, "\t%s %q\n", p.imports[path], path)
		}
		b.WriteString(")\n\n")
	}
	if p.usesCtx {
		b.WriteString("var ctx = context.Background()\n\n")
	}
	for _, name := range slices.Sorted(maps.Keys(p.globals)) {
		fmt.Fprintf(&b, "var %s %s\n", name, p.globals[name])
	}
	p.unitAt = make([]int, len(p.units))
	for i, u := range p.units {
		if u.kind == cell.Declaration {
			b.WriteByte('\n')
			p.unitAt[i] = b.Len()
			b.WriteString(u.text + "\n")
		}
	}
	b.WriteString("\nfunc main() {\n")
	for i, u := range p.units {
		switch u.kind {
		case cell.Statement:
			p.unitAt[i] = b.Len()
			b.WriteString(u.text + "\n")
		case cell.Command:
			b.WriteString("// " + strings.ReplaceAll(strings.TrimSpace(u.text), "\n", "\n// ") + "\n")
		}
	}
	b.WriteString("}\n")
	p.text = b.String()
}

// check assembles, parses and type-checks the program; complaints are kept in p.problems.
func (p *program) check(im types.Importer) error {
	p.assemble()
	p.fset = token.NewFileSet()
	p.problems = nil
	var err error
	p.file, err = notation.ParseFile(p.fset, "", p.text, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("the session cannot be written as one Go program: %w", err)
	}
	p.calls = notation.Calls{}
	for p.checkFile(im); p.calls.Replace(p.info, []*ast.File{p.file}); {
		p.checkFile(im)
	}
	return nil
}

// checkFile type-checks the parsed program, in which operators and indices of tensors may have become calls.
func (p *program) checkFile(im types.Importer) {
	p.problems = nil
	p.info = &types.Info{
		Types:  map[ast.Expr]types.TypeAndValue{},
		Defs:   map[*ast.Ident]types.Object{},
		Uses:   map[*ast.Ident]types.Object{},
		Scopes: map[ast.Node]*types.Scope{},
	}
	conf := types.Config{
		Importer: im,
		Error: func(err error) {
			if problem, ok := errors.AsType[types.Error](err); ok {
				p.problems = append(p.problems, problem)
			}
		},
	}
	files := []*ast.File{p.file}
	if mentions(p.file, notation.Tensor) {
		pos := p.file.Name.End()
		spec := &ast.ImportSpec{Name: &ast.Ident{Name: notation.Tensor, NamePos: pos}, Path: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(notation.TensorPath), ValuePos: pos}}
		files[0] = &ast.File{Package: p.file.Package, Name: p.file.Name, FileStart: p.file.FileStart, FileEnd: p.file.FileEnd,
			Decls: append([]ast.Decl{&ast.GenDecl{Tok: token.IMPORT, TokPos: pos, Specs: []ast.Spec{spec}}}, p.file.Decls...)}
	}
	p.pkg, _ = conf.Check("main", p.fset, files, p.info)
}

// mentions says whether a file has an identifier with a name.
func mentions(file *ast.File, name string) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// writeCalls writes the operators and indices of tensors as the calls that they stand for.
func (p *program) writeCalls() (edits []edit, err error) {
	name := "tensor"
	if own := p.imports[notation.TensorPath]; own != "" {
		name = own
	}
	list, err := p.calls.Edits([]*ast.File{p.file}, name)
	for _, e := range list {
		edits = append(edits, edit{p.offset(e.From), p.offset(e.To), e.Text})
	}
	return edits, err
}

// An edit replaces text[from:to] of the assembled program.
type edit struct {
	from, to int
	text     string
}

// apply makes the edits in the units that they fall into.
func (p *program) apply(edits []edit) {
	slices.SortStableFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		for i := range p.units {
			u := &p.units[i]
			from, to := e.from-p.unitAt[i], e.to-p.unitAt[i]
			if u.kind != cell.Command && 0 <= from && to <= len(u.text) {
				u.text = u.text[:from] + e.text + u.text[to:]
				break
			}
		}
	}
}

func (p *program) offset(pos token.Pos) int { return p.fset.Position(pos).Offset }

func (p *program) source(n ast.Node) string { return sourceOf(p, []ast.Node{n}) }

// sourceOf is the text from the first of some nodes to the last.
func sourceOf[N ast.Node](p *program, list []N) string {
	return p.text[p.offset(list[0].Pos()):p.offset(list[len(list)-1].End())]
}

// replace is the edit that writes text in place of a node.
func (p *program) replace(n ast.Node, text string) edit {
	return edit{p.offset(n.Pos()), p.offset(n.End()), text}
}

// unitOf returns the statement unit that a position is in.
func (p *program) unitOf(pos token.Pos) *unit {
	off := p.offset(pos)
	for i := range p.units {
		if u := &p.units[i]; u.kind == cell.Statement && p.unitAt[i] <= off && off <= p.unitAt[i]+len(u.text) {
			return u
		}
	}
	return nil
}

func (p *program) main() *ast.FuncDecl {
	for _, d := range p.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "main" && f.Recv == nil {
			return f
		}
	}
	return nil
}
