package session

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/stdlib"
)

// An env answers the lowering's questions about one unit.
type env struct {
	s     *Session
	st    *world.Stage // what the unit's package sees
	cells *world.Stage // what cells see
	u     *unit
	types []ast.Decl
	funcs []ast.Decl
	vars  map[types.Object]string // of the unit, and of the instances that it needs
	todo  []*instance
	// making is the instance whose code is being lowered, or nil.
	making *instance
	made   []types.Type // instances of generic types that the unit has made, and types whose methods are all promoted
	// dispatchers are the variables for calls of interface methods that the unit declares, in order.
	dispatchers []dispatcher
	versions    []*version
}

// A dispatcher is a variable that gets a function that calls an interface's method.
type dispatcher struct {
	dispatchKey
	name string
	decl ast.Decl
}

type dispatchKey struct {
	method string
	sig    int // the number of its signature
}

// Name is the interpreter's name of an object of the session.
func (v *env) Name(o types.Object) string {
	if name, ok := v.vars[o]; ok {
		return name
	}
	if t, ok := o.(*types.TypeName); ok {
		if name := v.s.typeNames[t]; name != "" {
			return name
		}
	}
	if o == checkFunc || o == checkValueFunc {
		return o.Name()
	}
	return v.s.locals.names[o]
}

// Package is the interpreter's name of a compiled package, which is imported once in a session.
func (v *env) Package(path string) string {
	alias := v.s.alias(path)
	if !v.s.imported[path] {
		for _, p := range v.u.packages {
			if p == path {
				return alias
			}
		}
		v.u.packages = append(v.u.packages, path)
	}
	return alias
}

// alias names a package so that no name of a cell can hide it.
func (s *Session) alias(path string) string {
	name := path
	if p := s.locals.byPath[path]; p != nil { // folders may have any name
		name = p.pkg.Name() + path[strings.LastIndexByte(path, '@'):]
	}
	a := "p__" + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name)
	s.aliases[a] = path
	return a
}

// Instance names an instance and has it made with the unit.
func (v *env) Instance(generic types.Object, args []types.Type, pos token.Pos) (string, error) {
	generic = v.s.sources.compiled(generic)
	for _, list := range [][]*instance{v.s.instances[generic], v.u.instances} {
		for _, in := range list {
			if in.is(generic, args) {
				return in.name, nil
			}
		}
	}
	if m := v.making; m != nil && !lower.Interpreted(m.generic.Pkg()) { // the code of a package is in no cell
		pos = m.pos
	}
	in := &instance{pos: pos, generic: generic, args: args, name: v.s.world.Fresh(generic.Name() + "__of")}
	v.u.instances = append(v.u.instances, in)
	v.todo = append(v.todo, in)
	return in.name, nil
}

// Mark numbers a statement.
func (v *env) Mark(m lower.Mark) int {
	v.s.marks = append(v.s.marks, m)
	return len(v.s.marks)
}

// Slot notes that the unit needs the variable of a slot.
func (v *env) Slot(slot int) {
	if !v.s.slots[slot] && !slices.Contains(v.u.markSlots, slot) {
		v.u.markSlots = append(v.u.markSlots, slot)
	}
}

// LocalType names a type that is declared in a function, and declares it at the top.
func (v *env) LocalType(o *types.TypeName, declare func(name string) ast.Decl) string {
	name := v.s.world.Fresh(o.Name() + "__local")
	v.s.typeNames[o] = name
	v.types = append(v.types, declare(name))
	v.made = append(v.made, o.Type())
	return name
}

// Dispatcher names the variable for calls of an interface's method.
func (v *env) Dispatcher(method string, sig *types.Signature, typ func() ast.Expr) string {
	key := dispatchKey{method, v.s.typeKey(sig)}
	if name := v.s.dispatchers[key]; name != "" {
		return name
	}
	for _, d := range v.dispatchers {
		if d.dispatchKey == key {
			return d.name
		}
	}
	d := dispatcher{dispatchKey: key, name: fmt.Sprintf("·%d·%s", key.sig, method)}
	v.dispatchers = append(v.dispatchers, d)
	v.dispatchers[len(v.dispatchers)-1].decl = v.varDecl(d.name, typ())
	return d.name
}

// TypeKey numbers a type.
func (v *env) TypeKey(t types.Type) int {
	if p, ok := t.(*types.Pointer); ok {
		v.unnamedMethods(types.Unalias(p.Elem()))
	}
	v.unnamedMethods(t)
	return v.s.typeKey(t)
}

// SelfMade makes a type that is written with itself and tells the interpreter of it.
func (v *env) SelfMade(t types.Type) string {
	key := v.TypeKey(t)
	name := fmt.Sprintf("Self%d", key)
	symbol := reflect.Zero(reflect.PointerTo(v.s.rt.Reflect(key)))
	if err := v.s.interp.Use("mcs/rt", "rt", map[string]reflect.Value{name: symbol}); err != nil {
		panic(&lower.Error{Pos: v.u.pos, Msg: err.Error()})
	}
	return name
}

// TypeName writes a type as Go's own messages do.
func (v *env) TypeName(t types.Type) string { return goName(t) }

// unnamedMethods has the methods of a struct type without a name made: they are those of what it embeds.
func (v *env) unnamedMethods(t types.Type) {
	if _, ok := t.(*types.Struct); !ok || types.NewMethodSet(types.NewPointer(t)).Len() == 0 {
		return
	}
	for _, have := range v.made {
		if types.Identical(have, t) {
			return
		}
	}
	v.made = append(v.made, t)
}

func (s *Session) typeKey(t types.Type) int {
	s.keyMu.Lock()
	defer s.keyMu.Unlock()
	if k, ok := s.typeKeys.At(t).(int); ok {
		return k
	}
	k := s.typeKeys.Len() + 1
	s.typeKeys.Set(t, k)
	s.keyTypes = append(s.keyTypes, t)
	return k
}

// build lowers and compiles a unit.
func (s *Session) build(st *world.Stage, u *unit) error {
	if u.checked == nil || u.program != nil {
		return nil
	}
	cells := st
	if u.st != nil {
		st = u.st
	}
	if err := s.openStreams(u.checked.info); err != nil {
		return err
	}
	v := &env{s: s, st: st, cells: cells, u: u, vars: map[types.Object]string{}}
	v.scope(u)
	file, err := v.assemble()
	if err != nil {
		return s.refusal(err)
	}
	for _, path := range u.packages {
		if err := s.importPackage(path); err != nil {
			return err
		}
	}
	if s.trace != nil {
		s.trace(file)
	}
	u.program, err = s.interp.Compile(file)
	if err != nil {
		return s.unrunnable(u, file, err)
	}
	for _, slot := range u.markSlots {
		s.slots[slot] = true
	}
	for _, d := range v.dispatchers {
		s.dispatchers[d.dispatchKey] = d.name
	}
	v.keepVersions()
	for _, in := range u.instances {
		s.instances[in.generic] = append(s.instances[in.generic], in)
	}
	return nil
}

// scope notes the interpreter's names of all that the unit sees and declares.
func (v *env) scope(u *unit) {
	scope := u.checked.pkg.Scope()
	for o, name := range u.checked.names {
		v.vars[o] = name
	}
	for _, d := range u.decls {
		for _, e := range d.ents {
			if t, ok := e.Obj.(*types.TypeName); ok {
				v.s.typeNames[t] = e.Internal
				continue
			}
			v.vars[e.Obj] = e.Internal
		}
	}
	for _, m := range u.moves {
		v.vars[m.to.Obj] = m.to.Internal
	}
	for o, name := range u.vars {
		if name != "" {
			v.vars[o] = name
		}
	}
	for _, o := range u.outs {
		v.vars[scope.Lookup(o.name)] = o.name
	}
}

// assemble writes the file that the interpreter gets.
func (v *env) assemble() (*ast.File, error) {
	u := v.u
	l := lower.New(v, u.checked.info)
	if err := v.declarations(l); err != nil {
		return nil, err
	}
	for _, f := range u.remade {
		for _, in := range v.s.instances[f[0]] {
			if f[0].Type().(*types.Signature).TypeParams().Len() != f[1].Type().(*types.Signature).TypeParams().Len() {
				break
			}
			if _, err := v.Instance(f[1], in.args, in.pos); err != nil {
				return nil, err
			}
		}
	}
	if u.runs {
		if err := v.cellFunc(l); err != nil {
			return nil, err
		}
	}
	var slots []ast.Decl
	for _, e := range u.slots {
		x, err := l.Type(e.Obj.Type(), e.Obj.Pos())
		if err != nil {
			return nil, err
		}
		slots = append(slots, v.varDecl(e.Internal, v.spelled(x)))
	}
	for _, o := range u.outs {
		if !o.declared {
			x, err := l.Type(o.typ, u.pos)
			if err != nil {
				return nil, err
			}
			slots = append(slots, v.varDecl(o.name, v.spelled(x)))
		}
	}
	if err := v.makeInstances(); err != nil {
		return nil, err
	}
	body, err := v.initBody(l)
	if err != nil {
		return nil, err
	}
	var told []ast.Stmt
	if err := v.makeInstances(); err != nil {
		return nil, err
	}
	for _, slot := range u.markSlots {
		name := lower.MarkVar(slot)
		slots = append(slots, v.varDecl(name, v.id("int")))
		told = append(told, v.tellVar(name))
	}
	vars, tell := v.declareVersions()
	slots, told = append(slots, vars...), append(told, tell...)
	for _, d := range v.dispatchers {
		slots = append(slots, d.decl)
		told = append(told, v.rtCall("Dispatch", v.str(d.method), &ast.UnaryExpr{OpPos: u.pos, Op: token.AND, X: v.id(d.name)}))
	}
	file := &ast.File{Package: u.pos, Name: v.id(world.PkgPath)}
	for _, list := range [][]ast.Decl{v.types, slots, v.funcs} {
		file.Decls = append(file.Decls, list...)
	}
	if body = append(told, body...); len(body) > 0 {
		file.Decls = append(file.Decls, v.function("init", nil, body))
	}
	return file, nil
}

func (v *env) id(name string) *ast.Ident { return &ast.Ident{Name: name, NamePos: v.u.pos} }

// spelled gives a type of a variable a name if it has fields in it: the interpreter takes their names for those of
// variables, which it wants to be initialised first.
func (v *env) spelled(x ast.Expr) ast.Expr {
	fields := false
	ast.Inspect(x, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		fields = fields || ok && len(s.Fields.List) > 0
		return !fields
	})
	if !fields {
		return x
	}
	name := v.id(v.s.world.Fresh("__type"))
	v.types = append(v.types, &ast.GenDecl{Tok: token.TYPE, TokPos: v.u.pos, Specs: []ast.Spec{&ast.TypeSpec{Name: name, Assign: v.u.pos, Type: x}}})
	return name
}

func (v *env) varDecl(name string, t ast.Expr) ast.Decl {
	return &ast.GenDecl{Tok: token.VAR, TokPos: v.u.pos, Specs: []ast.Spec{&ast.ValueSpec{Names: []*ast.Ident{v.id(name)}, Type: t}}}
}

// declarations lowers the unit's type and function declarations. Constants are folded where they are used, generic
// code is made where it is instantiated.
func (v *env) declarations(l *lower.Lowerer) error {
	for _, d := range v.u.decls {
		switch {
		case d.method != nil:
			if err := v.newMethod(l, d); err != nil {
				return err
			}
		case d.Generic || d.Recv != "" && v.genericType(d.Recv):
		case d.Tok == token.TYPE:
			if err := v.typeDecl(l, d.ents); err != nil {
				return err
			}
		case d.Tok == token.FUNC:
			f := d.node.(*ast.FuncDecl)
			if f.Body == nil {
				return &lower.Error{Pos: f.Pos(), Msg: "missing function body"}
			}
			name, display := f.Name.Name, f.Name.Name
			if d.Recv == "" && len(d.ents) > 0 {
				name = d.ents[0].Internal
			} else if d.Recv != "" {
				display = d.Display()
			} else {
				if name == "init" {
					return &lower.Error{Pos: f.Name.Pos(), Msg: "func init is not available in cells: write its statements at the top of the cell"}
				}
				continue // func _() {}
			}
			display = v.st.Display(display)
			if err := v.lowerFunc(l, v.u.checked.info, f, v.key(display), name, display, d.Slot); err != nil {
				return err
			}
		}
	}
	return nil
}

// key is what identifies a function, whatever becomes of it, by the name that panics give it.
func (v *env) key(display string) string {
	if v.u.local != nil {
		return v.u.local.dir + ": " + display
	}
	return display
}

// lowerFunc lowers a function as a version of those with the key.
func (v *env) lowerFunc(l *lower.Lowerer, info *types.Info, f *ast.FuncDecl, key, name, display string, slot int) error {
	fn := info.Defs[f.Name].(*types.Func)
	if f.Recv != nil {
		name = l.MethodName(fn)
	}
	version, err := v.version(l, key, name, fn)
	if err != nil {
		return err
	}
	out, err := l.Func(f, name, display, slot, version)
	if err != nil {
		return err
	}
	v.funcs = append(v.funcs, out)
	return nil
}

func (v *env) genericType(name string) bool {
	e := v.st.Lookup(name)
	return e != nil && e.Decl != nil && e.Decl.Generic
}

// newMethod lowers a method of a type that stays as it is, for a generic one that of all instances.
func (v *env) newMethod(l *lower.Lowerer, d *declared) error {
	t := v.st.Lookup(d.Recv)
	if !t.Decl.Generic {
		display := v.st.Display(d.Display())
		return v.lowerFunc(l, v.u.checked.info, d.node.(*ast.FuncDecl), v.key(display), t.Internal+"·"+d.Name, display, d.Slot)
	}
	for _, in := range v.s.instances[t.Obj] {
		if err := v.methodInstance(in, d.Decl, nil); err != nil {
			return err
		}
	}
	return nil
}

// typeDecl declares a type to the interpreter under the name of its version.
func (v *env) typeDecl(l *lower.Lowerer, ents []*world.Entity) error {
	for _, e := range ents {
		o := e.Obj.(*types.TypeName)
		if o.IsAlias() || isConstraint(o.Type()) {
			continue
		}
		d, err := l.TypeDecl(e.Internal, o.Type(), v.u.pos)
		if err != nil {
			return err
		}
		v.types = append(v.types, d)
	}
	return nil
}

// isConstraint says whether a type is an interface that only type parameters can have.
func isConstraint(t types.Type) bool {
	i, ok := t.Underlying().(*types.Interface)
	return ok && !i.IsMethodSet()
}

// importPackage imports a package for all cells. It has a file of its own: the interpreter keeps an import even of a file
// that it fails to compile.
func (s *Session) importPackage(path string) error {
	if s.imported[path] {
		return nil
	}
	if err := s.use(path); err != nil {
		return err
	}
	file, err := s.parse(0, 1, 1, "", fmt.Sprintf("package %s; import %s %q", world.PkgPath, s.alias(path), path), "")
	if err != nil {
		return err
	}
	if _, err := s.interp.Compile(file); err != nil {
		return s.unrun(err)
	}
	s.imported[path] = true
	return nil
}

// use makes a compiled package known to the interpreter.
func (s *Session) use(path string) error {
	if s.used[path] {
		return nil
	}
	symbols, ok := stdlib.Symbols(path)
	if !ok {
		return fmt.Errorf("package %s: %s", path, stdlib.WhyNot(path))
	}
	name, _ := stdlib.Name(path)
	if err := s.interp.Use(path, name, s.override(path, symbols)); err != nil {
		return err
	}
	s.used[path] = true
	return nil
}
