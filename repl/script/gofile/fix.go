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
	for _, answer := range []func() []edit{p.checkErrors, p.redeclared, p.showValues, p.useUnused} {
		if edits = answer(); len(edits) > 0 {
			break
		}
	}
	return edits, false
}

// addMissing answers undefined names: packages are imported, ctx is declared, variables of main that
// functions use become variables of the package.
func (p *program) addMissing() (changed bool) {
	for _, problem := range p.problems {
		name, ok := strings.CutPrefix(problem.Msg, "undefined: ")
		if !ok {
			continue
		}
		if p.globals[name] == "" && p.mainVar(name) != nil {
			p.makeGlobal(name)
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

// mainVar is the variable of main's own block with a name, or nil.
func (p *program) mainVar(name string) *types.Var {
	v, ok := p.info.Scopes[p.main().Type].Lookup(name).(*types.Var)
	if !ok || v.Type() == types.Typ[types.Invalid] {
		return nil
	}
	return v
}

// A binding is a := of main's own block, or a var of it with one line.
type binding struct {
	stmt   ast.Stmt
	define token.Pos // of the :=
	names  []*ast.Ident
	typ    ast.Expr // of a var
	values []ast.Expr
}

func (p *program) bindings() (list []binding) {
	for _, s := range p.main().Body.List {
		b := binding{stmt: s}
		switch s := s.(type) {
		case *ast.AssignStmt:
			for _, lhs := range s.Lhs {
				if ident, ok := lhs.(*ast.Ident); ok && s.Tok == token.DEFINE {
					b.names, b.values, b.define = append(b.names, ident), s.Rhs, s.TokPos
				}
			}
		case *ast.DeclStmt:
			d := s.Decl.(*ast.GenDecl)
			if d.Tok == token.VAR && len(d.Specs) == 1 {
				v := d.Specs[0].(*ast.ValueSpec)
				b.names, b.typ, b.values = v.Names, v.Type, v.Values
			}
		}
		if len(b.names) > 0 {
			list = append(list, b)
		}
	}
	return list
}

// declares says whether one of the names is declared.
func (b binding) declares(names map[string]bool) bool {
	return slices.ContainsFunc(b.names, func(i *ast.Ident) bool { return names[i.Name] })
}

// assign makes an assignment of a binding. A var without values makes those zero that were declared before.
func (p *program) assign(b binding, before func(name string) bool) edit {
	if b.define.IsValid() {
		return edit{p.offset(b.define), p.offset(b.define) + 2, "="}
	}
	if len(b.values) > 0 {
		return p.replace(b.stmt, sourceOf(p, b.names)+" = "+sourceOf(p, b.values))
	}
	var lines []string
	for _, name := range b.names {
		if before(name.Name) {
			lines = append(lines, name.Name+" = *new("+p.source(b.typ)+")")
		}
	}
	return p.replace(b.stmt, strings.Join(lines, "\n"))
}

// makeGlobal makes a variable of main one of the package, and with it those that the same statements declare:
// a := that declares some of its names would hide the package's others.
func (p *program) makeGlobal(name string) {
	names := map[string]bool{name: true}
	for known := 0; known < len(names); {
		known = len(names)
		for _, b := range p.bindings() {
			for _, i := range b.names {
				if i.Name != "_" && b.declares(names) {
					names[i.Name] = true
				}
			}
		}
	}
	for n := range names {
		if v := p.mainVar(n); v != nil {
			p.globals[n] = types.TypeString(v.Type(), p.qualify)
		}
	}
	var edits []edit
	seen := map[string]bool{}
	for _, b := range p.bindings() {
		if b.declares(names) {
			edits = append(edits, p.assign(b, func(name string) bool { return seen[name] }))
			for _, i := range b.names {
				seen[i.Name] = true
			}
		}
	}
	p.apply(edits)
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
	p.statements(func(s ast.Stmt, top bool) {
		switch s := s.(type) {
		case *ast.AssignStmt:
			switch {
			case len(s.Rhs) != 1 || !p.leavesOutError(len(s.Lhs), s.Rhs[0]):
			case s.Tok != token.DEFINE && (!top || !p.areLocal(s.Lhs)):
				// A := beside err might declare the variables again.
				edits = append(edits, p.replace(s, p.checked(s.Rhs[0], len(s.Lhs), func(values string) string {
					return fmt.Sprint(sourceOf(p, s.Lhs), " ", s.Tok, " ", values)
				})))
			default:
				edits = append(edits, p.replace(s, fmt.Sprintf("%s, err := %s\nif %s", sourceOf(p, s.Lhs), p.source(s.Rhs[0]), p.fatal())))
			}
		case *ast.DeclStmt:
			specs := s.Decl.(*ast.GenDecl).Specs
			v, ok := specs[0].(*ast.ValueSpec)
			if ok && len(specs) == 1 && len(v.Values) == 1 && v.Type == nil && p.leavesOutError(len(v.Names), v.Values[0]) {
				edits = append(edits, p.replace(s, fmt.Sprintf("%s, err := %s\nif %s", sourceOf(p, v.Names), p.source(v.Values[0]), p.fatal())))
			}
		case *ast.RangeStmt:
			if top && s.Value == nil && s.Tok != token.ASSIGN && session.YieldsErrors(p.info.TypeOf(s.X)) {
				key := "_"
				if s.Key != nil {
					key = p.source(s.Key)
				}
				edits = append(edits, edit{p.offset(s.Pos()), p.offset(s.Body.Lbrace + 1),
					fmt.Sprintf("for %s, err := range %s {\nif %s", key, p.source(s.X), p.fatal())})
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

// checked is a call that gives n values and an error, and what use, unless it is nil, makes of the values.
func (p *program) checked(call ast.Expr, n int, use func(values string) string) string {
	made, then := slices.Repeat([]string{"_"}, n), ""
	if use != nil {
		for i := range made {
			made[i] = fmt.Sprint("value", i)
		}
		then = " else {\n\t" + use(strings.Join(made, ", ")) + "\n}"
	}
	return fmt.Sprintf("if %s := %s; %s%s", strings.Join(append(made, "err"), ", "), p.source(call), p.fatal(), then)
}

// fatal is the rest of an if that logs err.
func (p *program) fatal() string {
	p.imports["log"] = ""
	return "err != nil {\n\tlog.Fatal(err)\n}"
}

// leavesOutError says whether a call gives n values and an error.
func (p *program) leavesOutError(n int, call ast.Expr) bool {
	results := resultsOf(p.info.TypeOf(call))
	return len(results) == n+1 && isError(results[n])
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
	for _, b := range p.bindings() {
		values := p.valueTypes(b)
		fresh, again := false, false
		for i, name := range b.names {
			old, known := scope[name.Name]
			switch {
			case name.Name == "_":
			case !known:
				fresh = true
				scope[name.Name] = values[i]
			case values[i] != nil && !types.Identical(old, types.Default(values[i])):
				return p.renameFrom(name, b.stmt.End())
			default:
				again = true
			}
		}
		switch isVar := !b.define.IsValid(); {
		case !fresh:
			return []edit{p.assign(b, func(string) bool { return true })}
		case isVar && again && b.typ == nil: // a := may declare some of its names again
			return []edit{p.replace(b.stmt, sourceOf(p, b.names)+" := "+sourceOf(p, b.values))}
		}
	}
	return nil
}

// valueTypes are the types that the names of a binding would have.
func (p *program) valueTypes(b binding) []types.Type {
	list := make([]types.Type, len(b.names))
	if len(b.values) == 1 && len(list) > 1 && b.typ == nil {
		if results := resultsOf(p.info.TypeOf(b.values[0])); len(results) == len(list) {
			return results
		}
		return list
	}
	for i := range list {
		if b.typ != nil {
			list[i] = p.info.TypeOf(b.typ)
		} else if i < len(b.values) {
			list[i] = types.Default(p.info.TypeOf(b.values[i]))
		}
	}
	return list
}

// renameFrom gives a variable another name from the declaration that changes its type on. In that statement,
// which ends at end, only the left side is meant: the right side still reads the old variable.
func (p *program) renameFrom(declared *ast.Ident, end token.Pos) (edits []edit) {
	name := declared.Name
	fresh := name + "2"
	for n := 3; mentions(p.file, fresh); n++ {
		fresh = fmt.Sprintf("%s%d", name, n)
	}
	edits = append(edits, p.replace(declared, fresh))
	ast.Inspect(p.main(), func(n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		if !ok || ident.Name != name || ident.Pos() <= end {
			return true
		}
		obj := p.info.ObjectOf(ident)
		if obj == nil || obj.Parent() == p.info.Scopes[p.main().Type] || obj.Parent() == p.pkg.Scope() {
			edits = append(edits, p.replace(ident, fresh))
		}
		return true
	})
	return edits
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
			var show func(string) string
			if shown && len(results) > 1 {
				show = p.printed
			}
			text = p.checked(x.X, len(results)-1, show)
		case shown:
			text = p.printed(p.source(s))
		case !isCall:
			text = "_ = " + p.source(s)
		default:
			return
		}
		edits = append(edits, p.replace(s, text))
	})
	return edits
}

func (p *program) printed(values string) string {
	p.imports["fmt"] = ""
	return "fmt.Println(" + values + ")"
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
