package help

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/cursor"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/stdlib"
)

// names completes a name without a dot: locals of the unfinished cell, declarations of the cell and the
// session, packages, predeclared names.
func (c *candidates) names() {
	for _, scope := range c.scopes() {
		for _, name := range scope.Names() {
			if _, o := scope.LookupParent(name, c.at); o != nil && o.Parent() == scope {
				c.object(o, localGroup)
			}
		}
	}
	locals := c.extra
	for _, name := range c.Pkg.Scope().Names() {
		if o := c.Pkg.Scope().Lookup(name); c.file.FileStart <= o.Pos() && o.Pos() <= c.file.FileEnd {
			locals = append(locals, o)
		}
	}
	for _, o := range locals {
		c.object(o, localGroup)
	}
	c.st.All(func(e *world.Entity) {
		c.object(e.Obj, engineGroup-1-min(max(e.Cell, 0), engineGroup-2))
	})
	c.packages()
	if c.Prefix == "" && !c.typing && c.want == nil {
		return
	}
	for _, name := range types.Universe.Names() {
		o := types.Universe.Lookup(name)
		_, constant := o.(*types.Const)
		if c.Prefix != "" || constant && c.fits("const", o.Type()) == 0 && name != "iota" || c.nilFits(name) || c.typing {
			c.object(o, universeGroup)
		}
	}
}

// nilFits says whether a name is nil, and nil fits the wanted type.
func (c *candidates) nilFits(name string) bool {
	return name == "nil" && c.want != nil && types.AssignableTo(types.Typ[types.UntypedNil], c.want)
}

// object adds an object with its kind.
func (c *candidates) object(o types.Object, group int) {
	if p, ok := o.(*types.PkgName); ok {
		c.pkgName(p.Name(), p.Imported().Path(), group)
		return
	}
	t := o.Type()
	if u, ok := t.Underlying().(*types.Interface); ok && !u.IsMethodSet() {
		t = nil // a constraint is no type of a value
	}
	if _, ok := o.(*types.Builtin); ok {
		t = nil
	}
	if ptr, ok := c.want.(*types.Pointer); ok && c.Prefix == "" && kindOfObject(o) == "var" && types.Identical(ptr.Elem(), t) {
		c.add(Completion{Text: "&" + o.Name(), Kind: "var", Detail: world.TypeString(ptr)}, ptr, group)
	}
	if _, ok := matches(o.Name(), c.Prefix); ok {
		about := func() (string, string) { return detail(o), c.h.objectDoc(c.st, o) }
		c.addWith(Completion{Text: o.Name(), Kind: kindOfObject(o)}, about, t, group)
	}
}

// packages adds the imported packages, and those that a mention imports.
func (c *candidates) packages() {
	for _, imports := range []map[string]string{c.st.Imports, c.st.World.Imports} {
		for name, path := range imports {
			c.pkgName(name, path, engineGroup)
		}
	}
	engine := stdlib.Engine()
	for _, path := range stdlib.Paths() {
		group := packageGroup
		if slices.Contains(engine, path) {
			group = engineGroup
		} else if c.Prefix == "" {
			continue
		}
		name, _ := stdlib.Name(path)
		if p, ok := stdlib.ImportFor(name); ok && p == path {
			c.pkgName(name, path, group)
		}
	}
}

func (c *candidates) pkgName(name, path string, group int) {
	if _, ok := matches(name, c.Prefix); ok {
		about := func() (string, string) { return c.h.Title(path), firstSentence(c.h.Doc(path, "")) }
		c.addWith(Completion{Text: name, Kind: "package"}, about, nil, group)
	}
}

// constants adds the constants of a compiled named type where a value of it is wanted: pkg.Name.
func (c *candidates) constants() {
	n, ok := types.Unalias(c.want).(*types.Named)
	if !ok || !compiled(n.Obj()) {
		return
	}
	pkg, err := c.h.Package(n.Obj().Pkg().Path())
	if err != nil {
		return
	}
	qualifier := ""
	for _, imports := range []map[string]string{c.st.Imports, c.st.World.Imports} {
		for name, path := range imports {
			if path == pkg.Path() {
				qualifier = name
			}
		}
	}
	if path, _ := stdlib.ImportFor(pkg.Name()); path == pkg.Path() && qualifier == "" {
		qualifier = pkg.Name()
	}
	if qualifier == "" {
		return
	}
	used := c.usedCases()
	for _, name := range pkg.Scope().Names() {
		o, ok := pkg.Scope().Lookup(name).(*types.Const)
		text := qualifier + "." + name
		if !ok || !o.Exported() || !types.Identical(o.Type(), c.want) || used[text] {
			continue
		}
		// The typed letters may match the name alone, but the inserted text has the package.
		match, ok := matches(name, c.Prefix)
		if _, whole := matches(text, c.Prefix); !ok && !whole {
			continue
		}
		x := Completion{Text: text, Kind: "const", Detail: detail(o), Doc: firstSentence(c.h.Doc(pkg.Path(), name))}
		c.list = append(c.list, candidate{x, nil, match, 0, engineGroup})
	}
}

// usedCases returns the names in the clauses of the switches around the cursor.
func (c *candidates) usedCases() map[string]bool {
	used := map[string]bool{}
	for _, n := range c.path {
		if s, ok := n.(*ast.SwitchStmt); ok {
			for _, clause := range s.Body.List {
				for _, x := range clause.(*ast.CaseClause).List {
					used[types.ExprString(x)] = true
				}
			}
		}
	}
	return used
}

// keywords adds the keywords that can stand at the cursor.
func (c *candidates) keywords() {
	if c.Prefix != "" {
		c.addKeywords("func", "map", "struct", "chan", "interface")
	}
	l := c.Inner()
	if c.Begins && (c.Prefix != "" || l.Inside == cursor.Cases) {
		c.addKeywords(c.statementKeywords(l)...)
	}
	if l.Header == token.FOR && (c.Prev == token.DEFINE || c.Prev == token.ASSIGN || c.Prev == token.FOR) {
		c.addKeywords("range")
	}
}

func (c *candidates) addKeywords(names ...string) {
	for _, name := range names {
		group := keywordGroup
		if name == "range" { // nothing else is likelier where it can stand
			group = fieldGroup
		}
		c.add(Completion{Text: name, Kind: "keyword", Doc: Language()[name].Doc}, nil, group)
	}
}

func (c *candidates) statementKeywords(l *cursor.Level) (list []string) {
	if l.Inside == cursor.Cases {
		list = append(list, "case", "default")
		if c.Prefix == "" {
			return list
		}
		list = append(list, "fallthrough")
	}
	if l.Inside == cursor.Members || l.Inside == cursor.Parens {
		return nil
	}
	list = append(list, "const", "defer", "for", "go", "goto", "if", "select", "switch", "type", "var")
	if l.Inside == cursor.TopLevel {
		list = append(list, "import")
	}
	for _, n := range c.path {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Name != "cell__" {
				list = append(list, "return")
			}
		case *ast.FuncLit:
			list = append(list, "return")
		case *ast.ForStmt, *ast.RangeStmt:
			list = append(list, "break", "continue")
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			list = append(list, "break")
		}
	}
	return list
}

// names returns the names that the session and the cell declare.
func (a *advisor) names() (list []string) {
	a.st.All(func(e *world.Entity) { list = append(list, e.Name) })
	list = slices.AppendSeq(list, maps.Keys(a.h.World().Imports))
	for id, o := range a.c.Info.Defs {
		if o != nil && id.Name != "cell" {
			list = append(list, id.Name)
		}
	}
	return list
}

// common lists the packages that are searched for a bare name.
var common = []string{"fmt", "math", "strings", "strconv", "slices", "maps", "errors", "os", "time", "sort"}

// exportedAs finds the meaning of a name without a package: Println and println are fmt.Println, sqrt is
// math.Sqrt.
func (h *Helper) exportedAs(name string) string {
	for _, path := range append(slices.Clone(common), stdlib.Engine()...) {
		if found := h.exported(path, name); found != "" {
			return path[strings.LastIndexByte(path, '/')+1:] + "." + found
		}
	}
	return ""
}
