package gofile

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/stdlib"
)

// fixes answers complaints. Kinds of complaints are answered one after the other, because the answer to one
// (an import) often removes others; changed says that something outside of the units has changed.
func (p *program) fixes() (edits []edit, changed bool) {
	if p.addMissing() {
		return nil, true
	}
	if edits := p.checkErrors(); len(edits) > 0 {
		return edits, false
	}
	if edits := p.redeclared(); len(edits) > 0 {
		return edits, false
	}
	if edits := p.showValues(); len(edits) > 0 {
		return edits, false
	}
	return p.useUnused(), false
}

// addMissing answers undefined names: packages are imported, ctx is declared, variables of main that
// functions use become variables of the package.
func (p *program) addMissing() (changed bool) {
	vars := p.mainVars()
	for _, problem := range p.problems {
		name, ok := strings.CutPrefix(problem.Msg, "undefined: ")
		if !ok {
			continue
		}
		if _, ok := vars[name]; ok && p.globals[name] == "" {
			p.makeGlobal(name, vars)
			return true // the text has changed: places in it are others now
		} else if name == "ctx" && !p.usesCtx {
			p.usesCtx, changed = true, true
			p.imports["context"] = ""
		} else if path, ok := stdlib.ImportFor(name); ok && !p.imported(path) {
			p.imports[path] = ""
			changed = true
		}
	}
	return p.addTypeface() || changed
}

// inPixels are the methods of a plot that draw letters in pixels.
var inPixels = []string{"Save", "File", "PNG", "Render"}

// addTypeface imports the letters of plots that are drawn in pixels. Cells have them.
func (p *program) addTypeface() (changed bool) {
	const path = "github.com/mcs-notebook/mcs/engine/plot"
	for id, used := range p.info.Uses {
		if used.Pkg() != nil && used.Pkg().Path() == path && slices.Contains(inPixels, id.Name) && !p.imported(path+"/typeface") {
			p.imports[path+"/typeface"], changed = "_", true
		}
	}
	return changed
}

func (p *program) imported(path string) bool {
	_, ok := p.imports[path]
	return ok
}

// qualify writes a package's name in a type and imports it.
func (p *program) qualify(pkg *types.Package) string {
	if pkg == p.pkg {
		return ""
	}
	if name := p.imports[session.ImportPath(pkg)]; name != "" {
		return name
	}
	p.imports[session.ImportPath(pkg)] = ""
	return pkg.Name()
}

// mainVars are the variables that main declares at its top level.
func (p *program) mainVars() map[string]types.Object {
	vars := map[string]types.Object{}
	for ident, obj := range p.info.Defs {
		if v, ok := obj.(*types.Var); ok && p.atTop(ident) != nil && v.Type() != types.Typ[types.Invalid] {
			vars[v.Name()] = v
		}
	}
	return vars
}

// atTop returns the statement of main's own block that declares the identifier, or nil.
func (p *program) atTop(ident *ast.Ident) ast.Stmt {
	for _, s := range p.main().Body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			for _, lhs := range s.Lhs {
				if lhs == ident {
					return s
				}
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					if slices.Contains(v.Names, ident) {
						return s
					}
				}
			}
		}
	}
	return nil
}

// makeGlobal makes a variable of main one of the package, and with it those that the same statements declare:
// a := that declares some of its names would hide the package's others.
func (p *program) makeGlobal(name string, vars map[string]types.Object) {
	names := map[string]bool{name: true}
	for grown := true; grown; {
		grown = false
		for _, s := range p.main().Body.List {
			list := declaredBy(s)
			if !slices.ContainsFunc(list, func(i *ast.Ident) bool { return names[i.Name] }) {
				continue
			}
			for _, i := range list {
				grown = grown || !names[i.Name] && i.Name != "_"
				names[i.Name] = names[i.Name] || i.Name != "_"
			}
		}
	}
	for n := range names {
		if v, ok := vars[n]; ok {
			p.globals[n] = types.TypeString(v.Type(), p.qualify)
		}
	}
	var edits []edit
	seen := map[string]bool{}
	for _, s := range p.main().Body.List {
		list := declaredBy(s)
		if !slices.ContainsFunc(list, func(i *ast.Ident) bool { return names[i.Name] }) {
			continue
		}
		if a, ok := s.(*ast.AssignStmt); ok {
			edits = append(edits, edit{p.offset(a.TokPos), p.offset(a.TokPos) + 2, "="})
		} else {
			edits = append(edits, edit{p.offset(s.Pos()), p.offset(s.End()), p.assignVar(s.(*ast.DeclStmt), seen)})
		}
		for _, i := range list {
			seen[i.Name] = true
		}
	}
	p.apply(edits)
}

// declaredBy lists the names on the left of a := or of a var with one line.
func declaredBy(s ast.Stmt) (list []*ast.Ident) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		for _, lhs := range s.Lhs {
			if ident, ok := lhs.(*ast.Ident); ok && s.Tok == token.DEFINE {
				list = append(list, ident)
			}
		}
	case *ast.DeclStmt:
		d := s.Decl.(*ast.GenDecl)
		if v, ok := d.Specs[0].(*ast.ValueSpec); ok && len(d.Specs) == 1 && d.Tok == token.VAR {
			list = v.Names
		}
	}
	return list
}

// assignVar is a var of main as an assignment. Without values it makes those zero that were seen before.
func (p *program) assignVar(d *ast.DeclStmt, seen map[string]bool) string {
	v := d.Decl.(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
	lhs := p.text[p.offset(v.Pos()):p.offset(v.Names[len(v.Names)-1].End())]
	if len(v.Values) > 0 {
		return lhs + " = " + p.text[p.offset(v.Values[0].Pos()):p.offset(v.End())]
	}
	var lines []string
	for _, name := range v.Names {
		if seen[name.Name] {
			lines = append(lines, name.Name+" = *new("+p.source(v.Type)+")")
		}
	}
	return strings.Join(lines, "\n")
}

// statements calls visit for the statements of main, of its own block and of those in it, but not of function
// literals.
func (p *program) statements(visit func(s ast.Stmt, top bool)) {
	main := p.main().Body
	ast.Inspect(main, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		for _, s := range list {
			visit(s, n == main)
		}
		return true
	})
}

// checkErrors writes out the checks of errors that main leaves out.
func (p *program) checkErrors() (edits []edit) {
	change := func(from, to token.Pos, text string) { edits = append(edits, edit{p.offset(from), p.offset(to), text}) }
	p.statements(func(s ast.Stmt, top bool) {
		switch s := s.(type) {
		case *ast.AssignStmt:
			switch {
			case len(s.Rhs) != 1 || !p.leavesOutError(len(s.Lhs), s.Rhs[0]):
			case s.Tok != token.DEFINE && (!top || !p.areLocal(s.Lhs)):
				change(s.Pos(), s.End(), p.assignChecked(s))
			default:
				lhs := p.text[p.offset(s.Pos()):p.offset(s.Lhs[len(s.Lhs)-1].End())]
				change(s.Pos(), s.End(), fmt.Sprintf("%s, err := %s\n%s", lhs, p.source(s.Rhs[0]), p.fatal()))
			}
		case *ast.DeclStmt:
			specs := s.Decl.(*ast.GenDecl).Specs
			v, ok := specs[0].(*ast.ValueSpec)
			if ok && len(specs) == 1 && len(v.Values) == 1 && v.Type == nil && p.leavesOutError(len(v.Names), v.Values[0]) {
				lhs := p.text[p.offset(v.Pos()):p.offset(v.Names[len(v.Names)-1].End())]
				change(s.Pos(), s.End(), fmt.Sprintf("%s, err := %s\n%s", lhs, p.source(v.Values[0]), p.fatal()))
			}
		case *ast.RangeStmt:
			if top && s.Value == nil && s.Tok != token.ASSIGN && session.YieldsErrors(p.info.TypeOf(s.X)) {
				key := "_"
				if s.Key != nil {
					key = p.source(s.Key)
				}
				change(s.Pos(), s.Body.Lbrace+1, fmt.Sprintf("for %s, err := range %s {\n%s", key, p.source(s.X), p.fatal()))
			}
		}
	})
	return edits
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// areLocal says whether all of these are variables of main, which a := in it can assign to.
func (p *program) areLocal(list []ast.Expr) bool {
	return !slices.ContainsFunc(list, func(x ast.Expr) bool {
		ident, ok := x.(*ast.Ident)
		return !ok || p.globals[ident.Name] != ""
	})
}

// assignChecked assigns the results of a call to existing variables, which a := beside err might declare
// again.
func (p *program) assignChecked(s *ast.AssignStmt) string {
	var values, lhs []string
	for i, x := range s.Lhs {
		values, lhs = append(values, fmt.Sprint("value", i)), append(lhs, p.source(x))
	}
	made := strings.Join(values, ", ")
	return fmt.Sprintf("if %s, err := %s; err != nil {\n\tlog.Fatal(err)\n} else {\n\t%s %s %s\n}", made, p.logged(s.Rhs[0]), strings.Join(lhs, ", "), s.Tok, made)
}

// logged is an expression whose error will be logged.
func (p *program) logged(x ast.Expr) string {
	p.imports["log"] = ""
	return p.source(x)
}

func (p *program) fatal() string {
	p.imports["log"] = ""
	return "if err != nil {\n\tlog.Fatal(err)\n}"
}

// leavesOutError says whether a call gives n values and an error.
func (p *program) leavesOutError(n int, call ast.Expr) bool {
	tuple, ok := p.info.TypeOf(call).(*types.Tuple)
	return ok && tuple.Len() == n+1 && isError(tuple.At(n).Type())
}

// redeclared answers a := that declares again: the same type becomes an assignment, another type another
// name.
func (p *program) redeclared() []edit {
	scope := map[string]types.Type{}
	for name := range p.globals {
		if obj := p.pkg.Scope().Lookup(name); obj != nil {
			scope[name] = obj.Type()
		}
	}
	for _, s := range p.main().Body.List {
		names, values, define := p.assigned(s)
		if !define {
			continue
		}
		fresh, again := false, false
		for i, name := range names {
			old, known := scope[name.Name]
			switch {
			case name.Name == "_":
			case !known:
				fresh = true
				scope[name.Name] = values[i]
			case values[i] != nil && !types.Identical(old, types.Default(values[i])):
				return p.renameFrom(name)
			default:
				again = true
			}
		}
		if d, ok := s.(*ast.DeclStmt); ok && fresh && again {
			v := d.Decl.(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
			if len(v.Values) > 0 && v.Type == nil { // a := may declare some of its names again
				lhs := p.text[p.offset(v.Pos()):p.offset(v.Names[len(v.Names)-1].End())]
				return []edit{{p.offset(d.Pos()), p.offset(d.End()), lhs + " := " + p.text[p.offset(v.Values[0].Pos()):p.offset(v.End())]}}
			}
		}
		if a, ok := s.(*ast.AssignStmt); ok && !fresh {
			return []edit{{p.offset(a.TokPos), p.offset(a.TokPos) + 2, "="}}
		}
		if d, ok := s.(*ast.DeclStmt); ok && !fresh && len(names) > 0 {
			return p.assignDecl(d)
		}
	}
	return nil
}

// assigned returns the names that a := or a var declares, and the types that they would have.
func (p *program) assigned(s ast.Stmt) (names []*ast.Ident, values []types.Type, define bool) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE {
			return nil, nil, false
		}
		for _, lhs := range s.Lhs {
			if ident, ok := lhs.(*ast.Ident); ok {
				names = append(names, ident)
			}
		}
		return names, p.valueTypes(s.Rhs, len(names)), true
	case *ast.DeclStmt:
		d := s.Decl.(*ast.GenDecl)
		v, ok := d.Specs[0].(*ast.ValueSpec)
		if !ok || d.Tok != token.VAR || len(d.Specs) > 1 {
			return nil, nil, false
		}
		values = p.valueTypes(v.Values, len(v.Names))
		if v.Type != nil {
			for i := range values {
				values[i] = p.info.TypeOf(v.Type)
			}
		}
		return v.Names, values, true
	}
	return nil, nil, false
}

func (p *program) valueTypes(rhs []ast.Expr, n int) []types.Type {
	list := make([]types.Type, n)
	if len(rhs) == 1 && n > 1 {
		if tuple, ok := p.info.TypeOf(rhs[0]).(*types.Tuple); ok && tuple.Len() == n {
			for i := range list {
				list[i] = tuple.At(i).Type()
			}
		}
		return list
	}
	for i := range min(n, len(rhs)) {
		if t := p.info.TypeOf(rhs[i]); t != nil {
			list[i] = types.Default(t)
		}
	}
	return list
}

// assignDecl makes an assignment of a var that was declared before.
func (p *program) assignDecl(d *ast.DeclStmt) []edit {
	v := d.Decl.(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
	value := "*new(" + p.text[p.offset(v.Names[0].End()):p.offset(v.End())] + ")"
	if len(v.Values) > 0 {
		value = p.text[p.offset(v.Values[0].Pos()):p.offset(v.End())]
	}
	lhs := p.text[p.offset(v.Pos()):p.offset(v.Names[len(v.Names)-1].End())]
	return []edit{{p.offset(d.Pos()), p.offset(d.End()), lhs + " = " + value}}
}

// renameFrom gives a variable another name from the declaration that changes its type on. In that statement
// only the left side is meant: the right side still reads the old variable.
func (p *program) renameFrom(declared *ast.Ident) (edits []edit) {
	name := declared.Name
	fresh := name + "2"
	for n := 3; p.taken(fresh); n++ {
		fresh = fmt.Sprintf("%s%d", name, n)
	}
	stmt := p.atTop(declared)
	edits = append(edits, edit{p.offset(declared.Pos()), p.offset(declared.End()), fresh})
	ast.Inspect(p.main(), func(n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		if !ok || ident.Name != name || ident.Pos() <= stmt.End() {
			return true
		}
		obj := p.info.ObjectOf(ident)
		if obj == nil || obj.Parent() == p.info.Scopes[p.main().Type] || obj.Parent() == p.pkg.Scope() {
			edits = append(edits, edit{p.offset(ident.Pos()), p.offset(ident.End()), fresh})
		}
		return true
	})
	return edits
}

func (p *program) taken(name string) bool {
	taken := false
	ast.Inspect(p.file, func(n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		taken = taken || ok && ident.Name == name
		return !taken
	})
	return taken
}

// showValues prints the values that the session would have shown, and drops those that it would have
// dropped.
func (p *program) showValues() (edits []edit) {
	p.statements(func(s ast.Stmt, top bool) {
		x, ok := s.(*ast.ExprStmt)
		if !ok {
			return
		}
		u, tv := p.unitOf(s.Pos()), p.info.Types[x.X]
		if u == nil || !tv.IsValue() || isPrint(x.X) {
			return
		}
		_, isCall := ast.Unparen(x.X).(*ast.CallExpr)
		shown := top && u.last && !u.quiet
		text := ""
		switch results := resultsOf(tv.Type); {
		case isCall && len(results) > 0 && isError(results[len(results)-1]):
			text = p.callChecked(x.X, len(results)-1, shown)
		case shown:
			p.imports["fmt"] = ""
			text = "fmt.Println(" + p.source(s) + ")"
		case !isCall:
			text = "_ = " + p.source(s)
		default:
			return
		}
		edits = append(edits, edit{p.offset(s.Pos()), p.offset(s.End()), text})
	})
	return edits
}

// resultsOf are the types of a call's results.
func resultsOf(t types.Type) (list []types.Type) {
	tuple, ok := t.(*types.Tuple)
	if !ok {
		return []types.Type{t}
	}
	for v := range tuple.Variables() {
		list = append(list, v.Type())
	}
	return list
}

// callChecked is a call that gives n values, which may be shown, and an error.
func (p *program) callChecked(call ast.Expr, n int, shown bool) string {
	var values, lhs []string
	for i := range n {
		values, lhs = append(values, fmt.Sprint("value", i)), append(lhs, "_")
	}
	if !shown || n == 0 {
		return fmt.Sprintf("if %s := %s; err != nil {\n\tlog.Fatal(err)\n}", strings.Join(append(lhs, "err"), ", "), p.logged(call))
	}
	p.imports["fmt"] = ""
	made := strings.Join(values, ", ")
	return fmt.Sprintf("if %s, err := %s; err != nil {\n\tlog.Fatal(err)\n} else {\n\tfmt.Println(%s)\n}", made, p.logged(call), made)
}

// isPrint says whether a call is one of fmt's that print: its results are never shown.
func isPrint(x ast.Expr) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "fmt" && (strings.HasPrefix(sel.Sel.Name, "Print") || strings.HasPrefix(sel.Sel.Name, "Fprint"))
}

// useUnused answers "declared and not used", which a session does not mind, and unused imports.
func (p *program) useUnused() (edits []edit) {
	for _, problem := range p.problems {
		name, ok := strings.CutPrefix(problem.Msg, "declared and not used: ")
		if !ok {
			continue
		}
		path, _ := astutil.PathEnclosingInterval(p.file, problem.Pos, problem.Pos)
		for i, n := range path {
			stmt, isStmt := n.(ast.Stmt)
			if !isStmt || i+1 == len(path) {
				continue
			}
			if _, inBlock := path[i+1].(*ast.BlockStmt); inBlock {
				edits = append(edits, edit{p.offset(stmt.End()), p.offset(stmt.End()), "\n_ = " + name})
				break
			}
		}
	}
	return edits
}
