package help

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/tensor/methods"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/stdlib"
)

// An Info is the answer to `name?`.
type Info struct {
	Name, Type, Kind string
	Doc              string // declaration and comment
	Source           string // of a declaration in a cell or in a package of the user's; see ReadSource for the others
	Cell             int    // number of the cell that declares it; 0 for symbols that come with mcs
	Place            string // In[3]:2, if a cell declared it
	Value            any    // current value of a variable
	HasValue         bool
	Shown            display.Value // the value as a result shows it
	Groups           []Group

	path, symbol string // of a compiled symbol
}

// A Group lists members of one kind: "fields", "methods", "functions", "types", "constants", "variables". The
// methods of a tensor are groups by what they are for.
type Group struct {
	Title  string
	Items  []Item
	Ranked bool // what people need most comes first; otherwise the order is that of the names
}

// An Item is a member: its name, its signature or type, the first sentence about it.
type Item struct{ Name, Detail, Doc string }

// Inspect describes a name, a member (pkg.Name, Type.Method, x.Field), a keyword or any other expression.
// It does not evaluate the expression.
func (h *Helper) Inspect(expr string) (Info, error) {
	expr = strings.TrimSpace(expr)
	if k := Language()[expr]; token.IsKeyword(expr) {
		return Info{Name: expr, Kind: "keyword", Doc: k.Form + "\n\n" + k.Doc}, nil
	}
	x, err := notation.ParseExpr(expr)
	if err != nil {
		return Info{}, fmt.Errorf("inspect: %q is no expression", expr)
	}
	st := h.World().Stage()
	switch x := x.(type) {
	case *ast.Ident:
		if e := st.Lookup(x.Name); e != nil {
			return h.inspectEntity(st, e), nil
		}
		if path := h.packagePath(st, x.Name); path != "" {
			return h.inspectPackage(path)
		}
		if o := types.Universe.Lookup(x.Name); o != nil {
			info := Info{Name: o.Name(), Kind: kindOfObject(o), Type: detail(o), Doc: "predeclared"}
			if b, ok := Language()[o.Name()]; ok {
				info.Type, info.Doc = "func"+info.Type, b.Doc
			}
			return info, nil
		}
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok && st.Lookup(id.Name) == nil {
			if path := h.packagePath(st, id.Name); path != "" {
				return h.inspectSymbol(path, x.Sel.Name)
			}
		}
		if info, ok := h.inspectMember(st, expr, x); ok {
			return info, nil
		}
	}
	t := h.exprType(st, expr)
	if t == nil {
		var candidates []string
		st.All(func(e *world.Entity) { candidates = append(candidates, e.Name) })
		hint := DidYouMean(expr, candidates)
		if s, ok := x.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && elsewhere.Known(id.Name) {
				hint = cmp.Or(standsFor(id.Name, s.Sel.Name), hint)
			}
		}
		return Info{}, undefined(expr, hint)
	}
	info := Info{Name: expr, Kind: "expression", Type: world.TypeString(t), Doc: h.typeDoc(t)}
	h.describe(&info, st, t)
	return info, nil
}

func undefined(name, hint string) error {
	if hint != "" {
		name += "; " + hint
	}
	return errors.New("inspect: undefined: " + name)
}

func (h *Helper) packagePath(st *world.Stage, name string) string {
	if p := st.ImportPath(name); p != "" {
		return p
	}
	p, _ := stdlib.ImportFor(name)
	return p
}

func (h *Helper) inspectEntity(st *world.Stage, e *world.Entity) Info {
	info := Info{Name: e.Name, Kind: e.Kind.String(), Type: world.TypeOf(e), Cell: e.Cell, Place: h.placeOf(e)}
	switch e.Kind {
	case world.Var:
		info.Value, info.HasValue = h.Value(e)
		info.Shown = h.Shown(e)
		h.describe(&info, st, e.Obj.Type())
		info.Doc = h.typeDoc(e.Obj.Type())
		return info
	case world.Type:
		h.describe(&info, st, e.Obj.Type())
		info.Source = e.Decl.Src
		for _, d := range st.Decls() {
			if d.Recv == e.Name {
				info.Source += "\n\n" + d.Src
			}
		}
	default:
		info.Source = e.Decl.Src
	}
	info.Doc = e.Decl.Comment
	return info
}

// placeOf returns the place where a cell has declared an entity.
func (h *Helper) placeOf(e *world.Entity) string {
	switch {
	case e.Cell == 0:
		return ""
	case e.Decl != nil:
		return fmt.Sprintf("%s:%d", world.CellName(e.Decl.Cell), e.Decl.Line)
	case e.Obj.Pos().IsValid():
		_, line := h.Text(e.Obj.Pos())
		return fmt.Sprintf("%s:%d", world.CellName(e.Cell), line)
	}
	return world.CellName(e.Cell)
}

// typeDoc returns the documentation of a compiled type.
func (h *Helper) typeDoc(t types.Type) string {
	if n := named(t); n != nil && compiled(n) {
		return h.Doc(n.Pkg().Path(), n.Name())
	}
	return ""
}

func (h *Helper) inspectPackage(path string) (Info, error) {
	pkg, err := h.Package(path)
	if err != nil {
		return Info{}, err
	}
	info := Info{Name: pkg.Name(), Kind: "package", Type: h.Title(path), Doc: h.Doc(path, ""), path: path}
	groups := []Group{{Title: "functions"}, {Title: "types"}, {Title: "constants"}, {Title: "variables"}}
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		at := map[string]int{"type": 1, "const": 2, "var": 3}[kindOfObject(o)]
		groups[at].Items = append(groups[at].Items, Item{name, detail(o), firstSentence(h.Doc(path, name))})
	}
	info.group(groups...)
	return info, nil
}

// group adds those of the groups that have items.
func (i *Info) group(groups ...Group) {
	for _, g := range groups {
		if len(g.Items) > 0 {
			i.Groups = append(i.Groups, g)
		}
	}
}

func (h *Helper) inspectSymbol(path, name string) (Info, error) {
	pkg, err := h.Package(path)
	if err != nil {
		return Info{}, err
	}
	o := pkg.Scope().Lookup(name)
	if o == nil || !o.Exported() {
		return Info{}, undefined(pkg.Name()+"."+name, cmp.Or(DidYouMean(name, pkg.Scope().Names()), standsFor(pkg.Name(), name)))
	}
	info := Info{Name: pkg.Name() + "." + name, Kind: kindOfObject(o), Type: types.TypeString(o.Type(), world.Qualifier), Doc: h.Doc(path, name), path: path, symbol: name}
	info.Source = h.SourceOf(path, name)
	if _, ok := o.(*types.TypeName); ok {
		h.describe(&info, h.World().Stage(), o.Type())
	}
	return info, nil
}

// standsFor says what stands here for a name of another library, or why nothing does, or "".
func standsFor(module, name string) string {
	goText := elsewhere.Lookup(module, name)
	if why, ok := strings.CutPrefix(goText, "// "); ok || goText == "" {
		return why
	}
	return "its Go is " + goText
}

// inspectMember describes a field or method of an operand, or of a type that a cell declared.
func (h *Helper) inspectMember(st *world.Stage, expr string, x *ast.SelectorExpr) (Info, bool) {
	t := h.exprType(st, strings.TrimSuffix(expr, "."+x.Sel.Name))
	if t == nil {
		return Info{}, false
	}
	for _, o := range python.Members(t) {
		if o.Name() != x.Sel.Name {
			continue
		}
		info := Info{Name: expr, Kind: kindOfObject(o), Type: types.TypeString(o.Type(), world.Qualifier)}
		owner := ownerName(t, o)
		if compiled(o) {
			info.path, info.symbol = o.Pkg().Path(), owner+"."+o.Name()
			info.Doc = h.Doc(info.path, info.symbol)
		} else if d := st.MethodsOf(owner)[o.Name()]; d != nil {
			info.Source, info.Cell, info.Doc = d.Src, d.Cell, d.Comment
			info.Place = fmt.Sprintf("%s:%d", world.CellName(d.Cell), d.Line)
		} else {
			info.Doc = h.fieldComments(st, t)[o.Name()]
		}
		if _, ok := o.(*types.Var); ok {
			h.describe(&info, st, o.Type())
		}
		return info, true
	}
	return Info{}, false
}

// describe lists the members of a type.
func (h *Helper) describe(i *Info, st *world.Stage, t types.Type) {
	fields, funcs := Group{Title: "fields"}, Group{Title: "methods"}
	for _, o := range python.Members(t) {
		group := &fields
		if _, ok := o.(*types.Func); ok {
			group = &funcs
		}
		group.Items = append(group.Items, Item{o.Name(), detail(o), h.memberDoc(st, t, o)})
	}
	i.group(fields)
	i.group(byPurpose(t, funcs)...)
}

// byPurpose sorts the methods of a tensor by what they are for. A method without a purpose stays in the last
// group.
func byPurpose(t types.Type, all Group) (list []Group) {
	if family(t) != "tensor" {
		return []Group{all}
	}
	items := map[string]Item{}
	for _, item := range all.Items {
		items[item.Name] = item
	}
	for _, g := range methods.Groups {
		one := Group{Title: g.Title, Ranked: true}
		for _, name := range g.Names {
			if item, ok := items[name]; ok {
				one.Items = append(one.Items, item)
				delete(items, name)
			}
		}
		list = append(list, one)
	}
	all.Items = slices.DeleteFunc(all.Items, func(i Item) bool { _, left := items[i.Name]; return !left })
	return append(list, all)
}

// exprType returns the type of an expression that the session could evaluate, or nil.
func (h *Helper) exprType(st *world.Stage, expr string) types.Type {
	fset := token.NewFileSet()
	file, err := notation.ParseFile(fset, "", "package "+world.PkgPath+"\nfunc cell__() { _ = "+expr+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	body := file.Decls[0].(*ast.FuncDecl).Body.List
	extra := h.Outs(body)
	c := h.Check(fset, st, file, extra...)
	x := body[0].(*ast.AssignStmt).Rhs[0]
	if t := c.Info.TypeOf(x); known(t) {
		return t
	}
	id, _ := x.(*ast.Ident)
	if sel, ok := x.(*ast.SelectorExpr); ok {
		id = sel.Sel
	}
	if o, ok := c.Info.Uses[id].(*types.TypeName); ok { // a generic type
		return o.Type()
	}
	return nil
}
