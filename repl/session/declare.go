package session

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/stdlib"
)

// checkImport checks one import declaration. A package of the user's own comes with the units that run it.
func (s *Session) checkImport(st *stage, n int, src string, p cell.Piece) (units []*unit, err error) {
	line, col := cell.LineCol(src, p.From)
	file, err := s.parse(n, line, col, "package "+pkgPath+";", p.Text(src), "\n")
	if err != nil {
		return nil, err
	}
	u := &unit{piece: p, change: change{imports: map[string]string{}}}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, "\"`")
		if dir, own := s.folder(s.home(), path); own {
			p, more, err := s.loadLocal(dir, nil)
			if err != nil {
				return nil, s.importError(spec, err)
			}
			units, path = append(units, more...), p.path
		}
		pkg, err := s.importer.Import(path)
		if err != nil {
			hint := modules[path]
			if hint == "" {
				hint = didYouMean(path, stdlib.Paths())
			}
			return nil, &CheckError{Diags: []Diag{s.diagAt(spec.Path.Pos(), 0, fmt.Sprintf("package %s: %s", path, stdlib.WhyNot(path)), hint)}}
		}
		name := pkg.Name()
		if spec.Name != nil {
			name = spec.Name.Name
		}
		switch name {
		case "_":
		case ".":
			u.dots = append(u.dots, path)
		default:
			u.imports[name] = path
		}
	}
	st.apply(&u.change)
	return append(units, u), nil
}

// checkDeclarations checks declarations. What depends on a name that they declare anew is declared anew, too:
// callers see the new function, functions see the new type. What does not check any more with the new
// declaration keeps the old one.
func (s *Session) checkDeclarations(st *stage, n int, src string, p cell.Piece) (*unit, error) {
	line, col := cell.LineCol(src, p.From)
	text := p.Text(src)
	file, err := s.parse(n, line, col, "package "+pkgPath+";", text, "\n")
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && (len(f.Recv.List) != 1 || len(f.Recv.List[0].Names) > 1 || receiver(f) == "") {
			return nil, &CheckError{Diags: []Diag{s.diagAt(f.Recv.Pos(), 0, "a method has one receiver, of a type that a cell has declared", "")}}
		}
	}
	user := s.userDecls(st, file, n, text, p.From, src, len("package "+pkgPath+";"))
	if len(user) == 0 {
		return &unit{piece: p}, nil
	}
	return s.redeclare(st, &unit{piece: p, pos: file.Package}, user, nil)
}

// userDecls takes a file apart into declarations and leaves out those that the session has already, word for
// word. In the file, text has prefix bytes in front of it.
func (s *Session) userDecls(st *stage, file *ast.File, n int, text string, off int, src string, prefix int) []*declared {
	base := s.fset.File(file.FileStart)
	at := func(pos token.Pos) int { return base.Offset(pos) - prefix } // into text
	var list []*declared
	add := func(node ast.Decl, tok token.Token, from, to token.Pos, lead string) {
		d := &decl{tok: tok, cell: n, src: lead + text[at(from):at(to)], names: declaredBy(node)}
		d.line, d.col = cell.LineCol(src, off+at(from))
		d.comment = cell.CommentAbove(src, off+at(from))
		d.col -= len(lead)
		if f, ok := node.(*ast.FuncDecl); ok {
			d.generic = f.Type.TypeParams != nil
			if f.Recv != nil {
				d.recv, d.name = receiver(f), f.Name.Name
				_, d.pointer = ast.Unparen(f.Recv.List[0].Type).(*ast.StarExpr)
				d.names = nil
			}
		}
		if same := s.same(st, d); !same {
			list = append(list, &declared{decl: d, node: node, user: true})
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
					list[n-1].generic = spec.(*ast.TypeSpec).TypeParams != nil
				}
			}
		}
	}
	return list
}

// same says whether the session has a declaration already: a cell that is run again need not change anything.
func (s *Session) same(st *stage, d *decl) bool {
	if d.recv != "" {
		old := st.methodsOf(d.recv)[d.name]
		return old != nil && old.src == d.src
	}
	for _, name := range d.names {
		if name == "_" {
			continue
		}
		e := st.lookup(name)
		if e == nil || e.decl == nil || e.decl.src != d.src {
			return false
		}
	}
	return len(d.names) > 0
}

// redeclare checks the user's declarations together with those that depend on what changes. Changed are names
// of variables that get another type.
func (s *Session) redeclare(st *stage, u *unit, user []*declared, changed []string) (*unit, error) {
	s.findSameTypes(st, user)
	dropped := map[*decl]bool{}
	for {
		again, moves := s.dependents(st, user, changed, dropped)
		all := append(append([]*declared{}, user...), again...)
		u.dropped = slices.Collect(maps.Keys(dropped))
		if len(all) == 0 && len(moves) == 0 {
			return u, nil
		}
		vars := map[string]*entity{}
		for _, m := range moves {
			vars[m.name] = m
		}
		c, err := s.checkDecls(st, u.pos, all, vars)
		if err != nil {
			return nil, err
		}
		if len(c.errs) == 0 {
			u.checked, u.decls = c, all
			return u, s.defineDecls(st, u, moves)
		}
		if !s.drop(c, all, dropped) {
			return nil, s.complaints(st, c)
		}
	}
}

// A redoing finds out what has to be declared again with the user's declarations.
type redoing struct {
	st      *stage
	mine    map[string]bool // keys and names of what the user declares
	changed map[string]bool // names with a new meaning
	coded   map[string]bool // functions, and methods by their keys, that only have new code
	redone  map[string]bool // types that are declared again as they were
	dropped map[*decl]bool
	list    map[*decl]*declared
	again   []*declared
}

// include has an earlier declaration made again. Code says that its type stays what it is.
func (r *redoing) include(d *decl, code bool) bool {
	if d == nil || r.dropped[d] || r.mine[d.key()] || d.tok == token.TYPE && !r.st.keepsShape(d) {
		return false
	}
	for _, name := range d.names {
		if r.mine[name] {
			return false
		}
	}
	have := r.list[d]
	if have != nil && (code || !have.code) {
		return false
	}
	if have == nil {
		have = &declared{decl: d}
		r.list[d] = have
		r.again = append(r.again, have)
	}
	if have.code = code; code {
		r.coded[d.codeName()] = true
		return true
	}
	for _, name := range d.names {
		r.changed[name] = true
		if d.tok == token.TYPE {
			r.redone[name] = true
		}
	}
	return true
}

// code has a function made again that keeps its type.
func (r *redoing) code(s *Session, d *decl) bool {
	if t := r.st.lookup(d.recv); t != nil && t.kind == typeKind && t.decl.generic && r.list[d] == nil {
		if f := s.oldHead(r.st, d); f == nil {
			return r.method(d)
		}
	}
	return r.include(d, true)
}

// method has a method made again with its type.
func (r *redoing) method(d *decl) bool {
	grown := r.include(d, false)
	if e := r.st.lookup(d.recv); e != nil && e.kind == typeKind && !r.mine[d.recv] && r.include(e.decl, false) {
		grown = true
	}
	return grown
}

// dependents are the session's declarations that have to be made again, and the variables whose type is.
func (s *Session) dependents(st *stage, user []*declared, changedVars []string, dropped map[*decl]bool) (again []*declared, moves []*entity) {
	r := &redoing{st: st, mine: map[string]bool{}, changed: map[string]bool{}, coded: map[string]bool{}, redone: map[string]bool{}, dropped: dropped, list: map[*decl]*declared{}}
	for _, name := range changedVars {
		r.changed[name] = true
	}
	for _, d := range user {
		r.mine[d.key()] = true
		if d.code {
			r.coded[d.codeName()] = true
		}
		for _, name := range d.names {
			r.mine[name] = true
			if st.lookup(name) != nil && !d.code {
				r.changed[name] = true
			}
		}
	}
	for _, d := range user { // a method of another type is declared together with its type
		if e := st.lookup(d.recv); d.recv != "" && !d.code && e != nil && e.kind == typeKind && !r.mine[d.recv] {
			r.include(e.decl, false)
		}
	}
	if len(r.changed) == 0 && len(r.coded) == 0 && st.reloaded == nil {
		return r.again, nil
	}
	all := st.decls()
	moved := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, d := range all {
			switch {
			case d.recv != "" && r.changed[d.recv] && st.lookup(d.recv) != nil, d.recv != "" && touches(d.typeUses, r.changed):
				grown = r.method(d) || grown
			case d.tok == token.FUNC && !touches(d.typeUses, r.changed):
				if touches(d.uses, r.changed) || touches(d.uses, r.coded) {
					grown = r.code(s, d) || grown
				}
			case touches(d.uses, r.changed):
				grown = r.include(d, false) || grown
			}
		}
		if len(r.redone) == 0 && st.reloaded == nil {
			continue
		}
		st.all(func(e *entity) {
			if e.kind != varKind || moved[e.name] {
				return
			}
			if t := e.obj.Type(); (s.mentions(st, t, r.redone) || s.mentionsOld(st, t)) && st.movable(t) {
				moved[e.name], r.changed[e.name], grown = true, true, true
				moves = append(moves, e)
			}
		})
	}
	return r.again, moves
}

// mentions says whether a type is made of one of the named types as they are now.
func (s *Session) mentions(st *stage, t types.Type, names map[string]bool) (found bool) {
	walkNamed(t, func(n *types.Named) {
		o := n.Origin().Obj()
		if e := st.lookup(o.Name()); names[o.Name()] && e != nil && e.obj == types.Object(o) {
			found = true
		}
	})
	return found
}

// checkDecls checks declarations; variables that will be of a redone type are seen with that type.
func (s *Session) checkDecls(st *stage, pos token.Pos, all []*declared, moves map[string]*entity) (*checked, error) {
	var files []*ast.File
	var mine *ast.File
	types := declaredTypes(all)
	for _, d := range all {
		if d.user {
			s.placeMethod(st, d, types)
			if mine == nil {
				mine = &ast.File{Package: d.node.Pos(), Name: &ast.Ident{Name: pkgPath, NamePos: d.node.Pos()}, FileStart: d.node.Pos(), FileEnd: d.node.End()}
				files = append(files, mine)
			}
			mine.Decls = append(mine.Decls, d.node)
			continue
		}
		f, err := s.parse(d.cell, d.line, d.col, "package "+pkgPath+";", d.src, "\n")
		if err != nil {
			return nil, err
		}
		d.node, d.method = f.Decls[0], nil
		s.placeMethod(st, d, types)
		blankForeign(st, d)
		files = append(files, f)
	}
	if len(moves) == 0 {
		return s.check(st, files), nil
	}
	return s.checkMoved(st, pos, files, moves), nil
}

// blankForeign takes the names out of a group of constants that have got another meaning since.
func blankForeign(st *stage, d *declared) {
	g, ok := d.node.(*ast.GenDecl)
	if !ok {
		return
	}
	for _, spec := range g.Specs {
		if v, ok := spec.(*ast.ValueSpec); ok {
			for _, id := range v.Names {
				if e := st.lookup(id.Name); e == nil || e.decl != d.decl {
					id.Name = "_"
				}
			}
		}
	}
}

// checkMoved checks declarations that use variables of a type that is among them. The variables are declared
// beside them, by the expression of their type.
func (s *Session) checkMoved(st *stage, pos token.Pos, files []*ast.File, moves map[string]*entity) *checked {
	f := &ast.File{Package: pos, Name: &ast.Ident{Name: pkgPath, NamePos: pos}, FileStart: pos, FileEnd: pos}
	for name, e := range moves {
		f.Decls = append(f.Decls, &ast.GenDecl{Tok: token.VAR, TokPos: pos, Specs: []ast.Spec{
			&ast.ValueSpec{Names: []*ast.Ident{{Name: name, NamePos: pos}}, Type: s.typeExpr(st, e.obj.Type(), pos)}}})
	}
	return s.check(st, append(files, f))
}

// drop leaves out declarations of earlier cells that do not check any more. It reports false if the errors
// are the user's.
func (s *Session) drop(c *checked, all []*declared, dropped map[*decl]bool) bool {
	some := false
	for _, te := range c.errs {
		for _, d := range all {
			if d.node.Pos() <= te.Pos && te.Pos <= d.node.End() {
				if d.user {
					return false
				}
				dropped[d.decl] = true
				some = true
			}
		}
	}
	return some
}

// defineDecls makes entities of what was declared.
func (s *Session) defineDecls(st *stage, u *unit, moves []*entity) error {
	u.methods = map[string]map[string]*decl{}
	scope := u.checked.pkg.Scope()
	for _, d := range u.decls {
		mentioned, _ := uses(u.checked.info, d.node)
		fresh := *d.decl
		fresh.uses = mentioned
		if f, ok := d.node.(*ast.FuncDecl); ok {
			fresh.typeUses = signatureUses(u.checked.info, f)
		}
		for _, name := range d.names {
			delete(fresh.uses, name)
		}
		if d.tok == token.FUNC && fresh.slot == 0 {
			fresh.slot = s.nextSlot()
		}
		d.decl = &fresh
		if d.tok == token.TYPE {
			if _, ok := u.methods[d.names[0]]; !ok {
				u.methods[d.names[0]] = map[string]*decl{}
			}
		}
		for _, name := range d.names {
			o := scope.Lookup(name)
			if o == nil || name == "_" {
				continue
			}
			old := st.lookup(name)
			e := &entity{name: name, obj: o, cell: d.cell, decl: d.decl, kind: map[token.Token]kind{token.CONST: constKind, token.FUNC: funcKind, token.TYPE: typeKind}[d.tok]}
			switch {
			case e.kind == funcKind && old != nil && old.kind == funcKind && old.internal != "":
				e.internal = old.internal // the interpreter replaces functions, and callers keep what they were compiled with
			case e.kind != constKind:
				e.internal = s.world.fresh(name)
			}
			if old != nil && old.kind == varKind {
				u.gone = append(u.gone, old)
			}
			if old != nil && old.kind != constKind && old.name != "" {
				u.replaced = append(u.replaced, old)
			}
			if d.generic && e.kind == funcKind && old != nil && old.kind == funcKind {
				u.remade = append(u.remade, [2]types.Object{old.obj, o})
			}
			d.ents = append(d.ents, e)
			u.define = append(u.define, e)
		}
	}
	for _, d := range u.decls {
		if t := st.lookup(d.recv); d.recv != "" && d.user && !d.code && t != nil && t.kind == typeKind {
			if m, _, _ := types.LookupFieldOrMethod(t.obj.Type(), true, t.obj.Pkg(), d.name); m != nil {
				u.replaced = append(u.replaced, &entity{name: d.key(), kind: funcKind, obj: m})
			}
		}
		if d.recv != "" {
			if d.method != nil && u.methods[d.recv] == nil {
				u.methods[d.recv] = maps.Clone(st.methodsOf(d.recv))
			}
			if u.methods[d.recv] == nil {
				return &CheckError{Diags: []Diag{s.diagAt(d.node.Pos(), 0, fmt.Sprintf("cannot declare a method of %s, which no cell has declared", d.recv), "")}}
			}
			u.methods[d.recv][d.name] = d.decl
		}
	}
	for _, from := range moves {
		o := scope.Lookup(from.name)
		to := &entity{name: from.name, kind: varKind, obj: o, cell: from.cell, kept: from.kept, internal: s.world.fresh(from.name)}
		u.slots = append(u.slots, to)
		u.moves = append(u.moves, move{from, to})
		u.define = append(u.define, to)
		if !from.kept {
			u.free = append(u.free, from)
		}
	}
	st.apply(&u.change)
	return nil
}

// markSlots is the number of slots for marks.
const markSlots = 1 << 10

// nextSlot gives a function a slot for its marks. They are used again when there are no more.
func (s *Session) nextSlot() int {
	s.slot++
	return lower.FirstSlot + s.slot%(markSlots-lower.FirstSlot)
}
