package compile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/help"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"
)

// CheckImport checks one import declaration. For a package of the user's, the units include those that run
// the package.
func (c *Compiler) CheckImport(st *world.Stage, n int, src string, p cell.Piece) (units []*Unit, err error) {
	line, col := cell.LineCol(src, p.From)
	file, err := c.parse(n, line, col, "package "+world.PkgPath+";", p.Text(src), "\n")
	if err != nil {
		return nil, err
	}
	u := &Unit{Piece: p, cell: n, Change: world.Change{Imports: map[string]string{}}}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, "\"`")
		own, more, err := c.Loader.Load(cmp.Or(st.Ctx, context.Background()), spec)
		if err != nil {
			return nil, err
		}
		if own != nil {
			units, path = append(units, more...), own.Path
		}
		pkg, err := c.importer.Import(path)
		if err != nil {
			hint, why := help.Modules()[path], stdlib.WhyNot(path)
			if errors.Is(err, errConfined) {
				why = err.Error()
			} else if hint == "" {
				hint = help.DidYouMean(path, stdlib.Paths())
			}
			return nil, &CheckError{Diags: []Diag{c.DiagAt(spec.Path.Pos(), 0, fmt.Sprintf("package %s: %s", path, why), hint)}}
		}
		name := pkg.Name()
		if spec.Name != nil {
			name = spec.Name.Name
		}
		switch name {
		case "_":
		case ".":
			u.Dots = append(u.Dots, path)
		default:
			u.Imports[name] = path
		}
	}
	st.Apply(&u.Change)
	return append(units, u), nil
}

// checkDeclarations checks declarations. Earlier declarations that depend on a name declared here are
// declared again: callers see the new function, functions see the new type. A dependent that no longer
// checks keeps using the old declaration.
func (c *Compiler) checkDeclarations(st *world.Stage, n int, src string, p cell.Piece) (*Unit, error) {
	line, col := cell.LineCol(src, p.From)
	text := p.Text(src)
	file, err := c.parse(n, line, col, "package "+world.PkgPath+";", text, "\n")
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && (len(f.Recv.List) != 1 || len(f.Recv.List[0].Names) > 1 || !c.ownReceiver(st, file, f)) {
			return nil, &CheckError{Diags: []Diag{c.DiagAt(f.Recv.Pos(), 0, "a method has one receiver, of a type that a cell has declared", "")}}
		}
	}
	user := c.userDecls(st, file, n, text, p.From, src, len("package "+world.PkgPath+";"))
	if len(user) == 0 {
		return &Unit{Piece: p, cell: n}, nil
	}
	return c.redeclare(st, &Unit{Piece: p, cell: n, pos: file.Package}, user, nil)
}

// ownReceiver says whether a method's receiver names a type. If it names an alias, ownReceiver writes the
// type's own name instead, because the checker resolves an alias only inside of one file.
func (c *Compiler) ownReceiver(st *world.Stage, file *ast.File, f *ast.FuncDecl) bool {
	name := world.Receiver(f)
	for range maxAliases {
		var to ast.Expr
		if spec := typeSpec(file, name); spec != nil && spec.Assign.IsValid() {
			to = ast.Unparen(spec.Type)
		} else if e := st.Lookup(name); spec == nil && e != nil && e.Kind == world.Type {
			if t, ok := e.Obj.Type().(*types.Alias); ok {
				to = c.typeExpr(st, t.Rhs(), f.Pos())
			}
		}
		pointer := false
		if p, ok := to.(*ast.StarExpr); ok {
			to, pointer = ast.Unparen(p.X), true
		}
		id, ok := to.(*ast.Ident)
		if to == nil || ok && types.Universe.Lookup(id.Name) != nil {
			return name != ""
		}
		if !ok {
			return false
		}
		if _, twice := ast.Unparen(f.Recv.List[0].Type).(*ast.StarExpr); twice && pointer {
			return false
		}
		name = id.Name
		world.SetReceiver(f, name, pointer)
	}
	return false
}

// maxAliases is the longest chain of aliases behind a receiver.
const maxAliases = 20

// typeSpec returns the declaration of a type in a file, or nil.
func typeSpec(file *ast.File, name string) *ast.TypeSpec {
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			for _, spec := range g.Specs {
				if spec := spec.(*ast.TypeSpec); spec.Name.Name == name {
					return spec
				}
			}
		}
	}
	return nil
}

// userDecls splits a file into declarations, without those that the session already has word for word. In
// the file, prefix bytes stand before text.
func (c *Compiler) userDecls(st *world.Stage, file *ast.File, n int, text string, off int, src string, prefix int) []*declared {
	base := c.fset.File(file.FileStart)
	at := func(pos token.Pos) int { return base.Offset(pos) - prefix } // offset in text
	var list []*declared
	add := func(node ast.Decl, tok token.Token, from, to token.Pos, lead string) {
		d := &world.Decl{Tok: tok, Cell: n, Src: lead + text[at(from):at(to)], Names: world.DeclaredBy(node)}
		d.Line, d.Col = cell.LineCol(src, off+at(from))
		d.Comment = cell.CommentAbove(src, off+at(from))
		d.Col -= len(lead)
		if f, ok := node.(*ast.FuncDecl); ok {
			d.Generic = f.Type.TypeParams != nil
			if f.Recv != nil {
				d.Recv, d.Name = world.Receiver(f), f.Name.Name
				_, d.Pointer = ast.Unparen(f.Recv.List[0].Type).(*ast.StarExpr)
				d.Names = nil
			}
		}
		if same := c.same(st, d); !same {
			list = append(list, &declared{Decl: d, node: node, user: true})
		}
	}
	for _, node := range file.Decls {
		switch node := node.(type) {
		case *ast.FuncDecl:
			add(node, token.FUNC, node.Pos(), node.End(), "")
		case *ast.GenDecl:
			if node.Tok != token.TYPE {
				add(node, node.Tok, node.Pos(), node.End(), "")
				continue
			}
			for _, spec := range node.Specs {
				one := &ast.GenDecl{Tok: token.TYPE, TokPos: spec.Pos(), Specs: []ast.Spec{spec}}
				add(one, token.TYPE, spec.Pos(), spec.End(), "type ")
				if n := len(list); n > 0 && list[n-1].node == one {
					list[n-1].Generic = spec.(*ast.TypeSpec).TypeParams != nil
				}
			}
		}
	}
	return list
}

// same says whether the session already has this declaration: running a cell again need not change
// anything.
func (c *Compiler) same(st *world.Stage, d *world.Decl) bool {
	if d.Recv != "" {
		old := st.MethodsOf(d.Recv)[d.Name]
		return old != nil && old.Src == d.Src
	}
	known := false
	for _, name := range d.Names {
		if name == "_" {
			continue
		}
		e := st.Lookup(name)
		if e == nil || e.Decl == nil || e.Decl.Src != d.Src {
			return false
		}
		known = true
	}
	return known
}

// redeclare checks the user's declarations together with the declarations that depend on them. Changed are
// the names of variables whose type changes.
func (c *Compiler) redeclare(st *world.Stage, u *Unit, user []*declared, changed []string) (*Unit, error) {
	c.findSameTypes(st, user)
	dropped := map[*world.Decl]bool{}
	var calls notation.Calls
	for {
		again, moves := c.dependents(st, user, changed, dropped)
		all := append(append([]*declared{}, user...), again...)
		u.Dropped = slices.Collect(maps.Keys(dropped))
		if len(all) == 0 && len(moves) == 0 {
			return u, nil
		}
		vars := map[string]*world.Entity{}
		for _, m := range moves {
			vars[m.Name] = m
		}
		facts, err := c.checkDecls(&calls, st, u.pos, all, vars)
		if err != nil {
			return nil, err
		}
		if len(facts.Errs) == 0 {
			u.checked, u.decls = facts, all
			return u, c.defineDecls(st, u, moves)
		}
		if !c.drop(facts, all, dropped) {
			return nil, c.complaints(st, facts)
		}
	}
}

// Renew makes the unit that declares again the declarations that use the changed names and packages.
func (c *Compiler) Renew(st *world.Stage, changed []string) (*Unit, error) {
	file, err := c.parse(0, 1, 1, "package "+world.PkgPath, "", "\n")
	if err != nil {
		return nil, err
	}
	u, err := c.redeclare(st, &Unit{pos: file.Package}, nil, changed)
	if err != nil {
		return nil, err
	}
	return u, c.Build(st, u)
}

// A redoing collects the earlier declarations that must be declared again with the user's.
type redoing struct {
	st      *world.Stage
	mine    map[string]bool // keys and names of the user's declarations
	changed map[string]bool // names with a new meaning
	coded   map[string]bool // functions, and methods by their keys, that only get new code
	redone  map[string]bool // types that are declared again unchanged
	dropped map[*world.Decl]bool
	list    map[*world.Decl]*declared
	again   []*declared
}

// include adds an earlier declaration. Code says that its type stays the same.
func (r *redoing) include(d *world.Decl, code bool) bool {
	if d == nil || r.dropped[d] || r.mine[d.Key()] || d.Tok == token.TYPE && !r.st.KeepsShape(d) {
		return false
	}
	for _, name := range d.Names {
		if r.mine[name] {
			return false
		}
	}
	have := r.list[d]
	if have != nil && (code || !have.code) {
		return false
	}
	if have == nil {
		have = &declared{Decl: d}
		r.list[d] = have
		r.again = append(r.again, have)
	}
	if have.code = code; code {
		r.coded[d.CodeName()] = true
		return true
	}
	for _, name := range d.Names {
		r.changed[name] = true
		if d.Tok == token.TYPE {
			r.redone[name] = true
		}
	}
	return true
}

// code adds a function whose type stays the same.
func (r *redoing) code(c *Compiler, d *world.Decl) bool {
	if t := r.st.Lookup(d.Recv); t != nil && t.Kind == world.Type && t.Decl.Generic && r.list[d] == nil && c.oldHead(r.st, d) == nil {
		return r.method(d)
	}
	return r.include(d, true)
}

// method adds a method together with its type.
func (r *redoing) method(d *world.Decl) bool {
	grown := r.include(d, false)
	if e := r.st.Lookup(d.Recv); e != nil && e.Kind == world.Type && !r.mine[d.Recv] && r.include(e.Decl, false) {
		grown = true
	}
	return grown
}

// dependents returns the session's declarations that must be made again, and the variables whose type must
// be.
func (c *Compiler) dependents(st *world.Stage, user []*declared, changedVars []string, dropped map[*world.Decl]bool) (again []*declared, moves []*world.Entity) {
	r := &redoing{st: st, mine: map[string]bool{}, changed: map[string]bool{}, coded: map[string]bool{}, redone: map[string]bool{}, dropped: dropped, list: map[*world.Decl]*declared{}}
	for _, name := range changedVars {
		r.changed[name] = true
	}
	for _, d := range user {
		r.mine[d.Key()] = true
		if d.code {
			r.coded[d.CodeName()] = true
		}
		for _, name := range d.Names {
			r.mine[name] = true
			if st.Lookup(name) != nil && !d.code {
				r.changed[name] = true
			}
		}
	}
	for _, d := range user { // a method of another type is declared together with its type
		if e := st.Lookup(d.Recv); d.Recv != "" && !d.code && e != nil && e.Kind == world.Type && !r.mine[d.Recv] {
			r.include(e.Decl, false)
		}
	}
	if len(r.changed) == 0 && len(r.coded) == 0 && st.Reloaded == nil {
		return r.again, nil
	}
	all := st.Decls()
	moved := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, d := range all {
			switch {
			case d.Recv != "" && r.changed[d.Recv] && st.Lookup(d.Recv) != nil, d.Recv != "" && world.Touches(d.TypeUses, r.changed):
				grown = r.method(d) || grown
			case d.Tok == token.FUNC && !world.Touches(d.TypeUses, r.changed):
				if world.Touches(d.Uses, r.changed) || world.Touches(d.Uses, r.coded) {
					grown = r.code(c, d) || grown
				}
			case world.Touches(d.Uses, r.changed):
				grown = r.include(d, false) || grown
			}
		}
		if len(r.redone) == 0 && st.Reloaded == nil {
			continue
		}
		st.All(func(e *world.Entity) {
			if e.Kind != world.Var || moved[e.Name] {
				return
			}
			if t := e.Obj.Type(); (c.madeOf(st, t, r.redone) || c.MadeOfOld(st, t)) && st.Movable(t) {
				moved[e.Name], r.changed[e.Name], grown = true, true, true
				moves = append(moves, e)
			}
		})
	}
	return r.again, moves
}

// madeOf says whether a type mentions one of the named types in its current version.
func (c *Compiler) madeOf(st *world.Stage, t types.Type, names map[string]bool) (found bool) {
	world.WalkNamed(t, func(n *types.Named) {
		o := n.Origin().Obj()
		if e := st.Lookup(o.Name()); names[o.Name()] && e != nil && e.Obj == types.Object(o) {
			found = true
		}
	})
	return found
}

// checkDecls checks declarations. Variables whose type is declared again are checked with the new type.
func (c *Compiler) checkDecls(calls *notation.Calls, st *world.Stage, pos token.Pos, all []*declared, moves map[string]*world.Entity) (*checked, error) {
	var files []*ast.File
	var mine *ast.File
	types := declaredTypes(all)
	for _, d := range all {
		if d.user {
			c.placeMethod(st, d, types)
			if mine == nil {
				mine = &ast.File{Package: d.node.Pos(), Name: &ast.Ident{Name: world.PkgPath, NamePos: d.node.Pos()}, FileStart: d.node.Pos(), FileEnd: d.node.End()}
				files = append(files, mine)
			}
			mine.Decls = append(mine.Decls, d.node)
			continue
		}
		f, err := c.parse(d.Cell, d.Line, d.Col, "package "+world.PkgPath+";", d.Src, "\n")
		if err != nil {
			return nil, err
		}
		d.node, d.method = f.Decls[0], nil
		if f, ok := d.node.(*ast.FuncDecl); ok && d.Recv != "" {
			world.SetReceiver(f, d.Recv, d.Pointer)
		}
		c.placeMethod(st, d, types)
		blankForeign(st, d)
		files = append(files, f)
	}
	if len(moves) > 0 { // variables whose type is declared here are declared beside it, by the expression of their type
		f := &ast.File{Package: pos, Name: &ast.Ident{Name: world.PkgPath, NamePos: pos}, FileStart: pos, FileEnd: pos}
		for name, e := range moves {
			f.Decls = append(f.Decls, &ast.GenDecl{Tok: token.VAR, TokPos: pos, Specs: []ast.Spec{
				&ast.ValueSpec{Names: []*ast.Ident{{Name: name, NamePos: pos}}, Type: c.typeExpr(st, e.Obj.Type(), pos)}}})
		}
		files = append(files, f)
	}
	return c.checkAgain(calls, st, files), nil
}

// blankForeign replaces the names in a group of constants that have another meaning by now with blanks.
func blankForeign(st *world.Stage, d *declared) {
	g, ok := d.node.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range g.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			for _, id := range v.Names {
				if e := st.Lookup(id.Name); e == nil || e.Decl != d.Decl {
					id.Name = "_"
				}
			}
		}
	}
}

// drop leaves out earlier declarations that no longer check. It reports false if the errors are in the
// user's declarations.
func (c *Compiler) drop(facts *checked, all []*declared, dropped map[*world.Decl]bool) bool {
	some := false
	for _, te := range facts.Errs {
		for _, d := range all {
			if d.node.Pos() <= te.Pos && te.Pos <= d.node.End() {
				if d.user {
					return false
				}
				dropped[d.Decl] = true
				some = true
			}
		}
	}
	return some
}

// defineDecls makes entities of the declarations.
func (c *Compiler) defineDecls(st *world.Stage, u *Unit, moves []*world.Entity) error {
	u.Methods = map[string]map[string]*world.Decl{}
	scope := u.checked.Pkg.Scope()
	for _, d := range u.decls {
		mentioned := namesIn(u.checked.Info, d.node)
		fresh := *d.Decl
		fresh.Uses = mentioned
		if f, ok := d.node.(*ast.FuncDecl); ok {
			fresh.TypeUses = namesIn(u.checked.Info, f.Type)
			if f.Recv != nil {
				noteNames(u.checked.Info, f.Recv, fresh.TypeUses)
			}
			if d.user {
				var own []world.Rebind
				fresh.Rebinds, own = c.rebindsIn(u, f)
				u.Rebinds = append(u.Rebinds, own...)
			}
		}
		for _, name := range d.Names {
			delete(fresh.Uses, name)
		}
		if d.Tok == token.FUNC && fresh.Slot == 0 {
			fresh.Slot = c.nextSlot()
		}
		d.Decl = &fresh
		if d.Tok == token.TYPE {
			if _, ok := u.Methods[d.Names[0]]; !ok {
				u.Methods[d.Names[0]] = map[string]*world.Decl{}
			}
		}
		for _, name := range d.Names {
			o := scope.Lookup(name)
			if o == nil || name == "_" {
				continue
			}
			old := st.Lookup(name)
			e := &world.Entity{Name: name, Obj: o, Cell: d.Cell, Decl: d.Decl, Kind: map[token.Token]world.Kind{token.CONST: world.Const, token.FUNC: world.Func, token.TYPE: world.Type}[d.Tok]}
			switch {
			case e.Kind == world.Func && old != nil && old.Kind == world.Func && old.Internal != "":
				e.Internal = old.Internal // the interpreter replaces functions, and callers keep the function that they were compiled with
			case e.Kind != world.Const:
				e.Internal = c.World.Fresh(name)
			}
			if old != nil && old.Kind == world.Var {
				u.Gone = append(u.Gone, old)
			}
			if old != nil && old.Kind != world.Const && old.Name != "" {
				u.Replaced = append(u.Replaced, old)
			}
			if d.Generic && e.Kind == world.Func && old != nil && old.Kind == world.Func {
				u.remade = append(u.remade, [2]types.Object{old.Obj, o})
			}
			d.ents = append(d.ents, e)
			u.Define = append(u.Define, e)
		}
	}
	for _, d := range u.decls {
		if t := st.Lookup(d.Recv); d.Recv != "" && d.user && !d.code && t != nil && t.Kind == world.Type {
			if m, _, _ := types.LookupFieldOrMethod(t.Obj.Type(), true, t.Obj.Pkg(), d.Name); m != nil {
				u.Replaced = append(u.Replaced, &world.Entity{Name: d.Key(), Kind: world.Func, Obj: m})
			}
		}
		if d.Recv != "" {
			if d.method != nil && u.Methods[d.Recv] == nil {
				u.Methods[d.Recv] = maps.Clone(st.MethodsOf(d.Recv))
			}
			if u.Methods[d.Recv] == nil {
				return &CheckError{Diags: []Diag{c.DiagAt(d.node.Pos(), 0, fmt.Sprintf("cannot declare a method of %s, which no cell has declared", d.Recv), "")}}
			}
			u.Methods[d.Recv][d.Name] = d.Decl
		}
	}
	for _, from := range moves {
		o := scope.Lookup(from.Name)
		to := &world.Entity{Name: from.Name, Kind: world.Var, Obj: o, Cell: from.Cell, Kept: from.Kept, Internal: c.World.Fresh(from.Name)}
		u.slots = append(u.slots, to)
		u.Moves = append(u.Moves, Move{from, to})
		u.Define = append(u.Define, to)
		if !from.Kept {
			u.Free = append(u.Free, from)
		}
	}
	st.Apply(&u.Change)
	return nil
}

// markSlots is the number of slots for marks.
const markSlots = 1 << 10

// nextSlot gives a function a slot for its marks. When all slots are taken, functions share them.
func (c *Compiler) nextSlot() int {
	c.slot++
	return lower.FirstSlot + c.slot%(markSlots-lower.FirstSlot)
}

// typeExpr writes a type as source that is valid in any unit.
func (c *Compiler) typeExpr(st *world.Stage, t types.Type, pos token.Pos) ast.Expr {
	text := types.TypeString(t, func(p *types.Package) string {
		if p.Path() == world.PkgPath {
			return ""
		}
		if now := st.Reloaded[p.Path()]; now != nil {
			return c.alias(now.Path())
		}
		return c.alias(p.Path())
	})
	x, err := parser.ParseExprFrom(c.fset, yaegi.FileName(0), text, parser.SkipObjectResolution)
	if err != nil {
		return &ast.Ident{Name: "any", NamePos: pos}
	}
	return x
}

// MadeOfOld says whether a type mentions a type of a package's earlier version.
func (c *Compiler) MadeOfOld(st *world.Stage, t types.Type) (found bool) {
	world.WalkNamed(t, func(n *types.Named) { found = found || st.Renewed(n) != nil })
	return found
}
