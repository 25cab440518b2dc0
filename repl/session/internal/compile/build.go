package compile

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// An env answers the questions of package lower about one unit.
type env struct {
	compiler *Compiler
	st       *world.Stage // the scope of the unit's package
	cells    *world.Stage // the scope of cells
	u        *Unit
	types    []ast.Decl
	funcs    []ast.Decl
	vars     map[types.Object]string // the interpreter's names of variables of the unit and of its instances
	todo     []*instance
	// making is the instance whose code is being lowered, or nil.
	making *instance
	made   []types.Type // instances of generic types that the unit has made, and types all of whose methods are promoted
	// dispatchers are the unit's variables for calls of interface methods, in order.
	dispatchers []dispatcher
	versions    []*version
}

// A dispatcher is a variable of the interpreter. It holds a function that calls a method through an
// interface.
type dispatcher struct {
	dispatchKey
	name string
	decl ast.Decl
}

type dispatchKey struct {
	method string
	sig    int // the number of its signature
}

// Name returns the interpreter's name of an object of the session.
func (v *env) Name(o types.Object) string {
	if name, ok := v.vars[o]; ok {
		return name
	}
	if t, ok := o.(*types.TypeName); ok {
		if name := v.compiler.typeNames[t]; name != "" {
			return name
		}
	}
	if o == checkFunc || o == checkValueFunc {
		return o.Name()
	}
	return v.compiler.names[o]
}

// Package returns the interpreter's name of a compiled package, which a session imports once.
func (v *env) Package(path string) string {
	alias := v.compiler.alias(path)
	if !v.compiler.imported[path] {
		if slices.Contains(v.u.packages, path) {
			return alias
		}
		v.u.packages = append(v.u.packages, path)
	}
	return alias
}

// alias names a package so that no name of a cell can hide it.
func (c *Compiler) alias(path string) string {
	name := path
	if p := c.packages[path]; p != nil { // folders may have any name
		name = p.Types.Name() + path[strings.LastIndexByte(path, '@'):]
	}
	a := "p__" + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, name)
	c.aliases[a] = path
	return a
}

// Instance names an instance of generic code, and has it made with the unit.
func (v *env) Instance(generic types.Object, args []types.Type, pos token.Pos) (string, error) {
	generic = v.compiler.sources.compiled(generic)
	for _, list := range [][]*instance{v.compiler.instances[generic], v.u.instances} {
		for _, in := range list {
			if in.generic == generic && slices.EqualFunc(in.args, args, types.Identical) {
				return in.name, nil
			}
		}
	}
	if m := v.making; m != nil && !lower.Interpreted(m.generic.Pkg()) { // cells do not show the code of a package
		pos = m.pos
	}
	in := &instance{pos: pos, generic: generic, args: args, name: v.compiler.World.Fresh(generic.Name() + "__of")}
	v.u.instances = append(v.u.instances, in)
	v.todo = append(v.todo, in)
	return in.name, nil
}

// Mark numbers a statement and keeps its mark.
func (v *env) Mark(m lower.Mark) int {
	var marks []lower.Mark
	if old := v.compiler.marks.Load(); old != nil {
		marks = *old
	}
	marks = append(marks, m)
	v.compiler.marks.Store(&marks)
	return len(marks)
}

// Slot notes that the unit needs a slot's variable.
func (v *env) Slot(slot int) {
	if _, found := slices.BinarySearch(v.compiler.slots, slot); !found && !slices.Contains(v.u.markSlots, slot) {
		v.u.markSlots = append(v.u.markSlots, slot)
	}
}

// LocalType names a type that is declared inside of a function, and declares it at the top of the file.
func (v *env) LocalType(o *types.TypeName, declare func(name string) ast.Decl) string {
	name := v.compiler.World.Fresh(o.Name() + "__local")
	v.compiler.typeNames[o] = name
	v.types = append(v.types, declare(name))
	v.made = append(v.made, o.Type())
	return name
}

// Dispatcher names the variable for calls of an interface's method, and declares it if it is new.
func (v *env) Dispatcher(method string, sig *types.Signature, typ func() ast.Expr) string {
	key := dispatchKey{method, v.compiler.Types.Key(sig)}
	if name := v.compiler.dispatchers[key]; name != "" {
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

// TypeKey returns the number of a type.
func (v *env) TypeKey(t types.Type) int {
	if p, ok := t.(*types.Pointer); ok {
		v.unnamedMethods(types.Unalias(p.Elem()))
	}
	v.unnamedMethods(t)
	return v.compiler.Types.Key(t)
}

// SelfMade makes a type whose definition mentions the type itself, and registers it with the interpreter.
func (v *env) SelfMade(t types.Type) string {
	key := v.TypeKey(t)
	name := fmt.Sprintf("Self%d", key)
	symbol := reflect.Zero(reflect.PointerTo(v.compiler.Reflect(key)))
	if err := v.compiler.Interp.Use("mcs/rt", "rt", map[string]reflect.Value{name: symbol}); err != nil {
		panic(&lower.Error{Pos: v.u.pos, Msg: err.Error()})
	}
	return name
}

// Plain says whether the interpreter works alone.
func (v *env) Plain() bool { return v.compiler.Plain }

// TypeName writes a type as Go's own messages do.
func (v *env) TypeName(t types.Type) string { return GoName(t) }

// unnamedMethods makes the methods of a struct type without a name: it has only those of its embedded
// fields.
func (v *env) unnamedMethods(t types.Type) {
	if _, ok := t.(*types.Struct); !ok || types.NewMethodSet(types.NewPointer(t)).Len() == 0 {
		return
	}
	if !slices.ContainsFunc(v.made, func(have types.Type) bool { return types.Identical(have, t) }) {
		v.made = append(v.made, t)
	}
}

// Build lowers and compiles a unit.
func (c *Compiler) Build(st *world.Stage, u *Unit) error {
	if u.checked == nil || u.Program != nil {
		return nil
	}
	cells := st
	if u.st != nil {
		st = u.st
	}
	if err := c.Library.Open(u.checked.Info); err != nil {
		return err
	}
	v := &env{compiler: c, st: st, cells: cells, u: u, vars: map[types.Object]string{}}
	v.scope(u)
	file, err := v.assemble()
	if err != nil {
		return c.Refusal(err)
	}
	for _, path := range u.packages {
		if err := c.importPackage(u, path); err != nil {
			return err
		}
	}
	if c.Trace != nil {
		c.Trace(file)
	}
	u.Program, err = c.Interp.Compile(file)
	if err != nil {
		return c.unrunnable(u, file, err)
	}
	c.addSlots(u.markSlots...)
	for _, d := range v.dispatchers {
		c.dispatchers[d.dispatchKey] = d.name
	}
	for _, n := range v.versions {
		if n.of.stale = n.stale; n.first {
			c.lineages[n.of.key] = append(c.lineages[n.of.key], n.of)
		}
	}
	for _, in := range u.instances {
		c.instances[in.generic] = append(c.instances[in.generic], in)
	}
	return nil
}

// scope collects the interpreter's names of the objects that the unit uses and declares.
func (v *env) scope(u *Unit) {
	scope := u.checked.Pkg.Scope()
	maps.Copy(v.vars, u.checked.names)
	for _, d := range u.decls {
		for _, e := range d.ents {
			if t, ok := e.Obj.(*types.TypeName); ok {
				v.compiler.typeNames[t] = e.Internal
				continue
			}
			v.vars[e.Obj] = e.Internal
		}
	}
	for _, m := range u.Moves {
		v.vars[m.To.Obj] = m.To.Internal
	}
	for o, name := range u.vars {
		if name != "" {
			v.vars[o] = name
		}
	}
	for _, o := range u.Outs {
		v.vars[scope.Lookup(o.Var)] = o.Var
	}
}

// importPackage imports a package for all cells, in a file of its own, because the interpreter keeps an
// import even if it then fails to compile the rest of the file.
func (c *Compiler) importPackage(u *Unit, path string) error {
	if c.imported[path] {
		return nil
	}
	if err := c.know(path); err != nil {
		return err
	}
	file, err := c.parse(0, 1, 1, "", fmt.Sprintf("package %s; import %s %q", world.PkgPath, c.alias(path), path), "")
	if err != nil {
		return err
	}
	if _, err := c.Interp.Compile(file); err != nil {
		return c.NotRun(u, err)
	}
	c.imported[path] = true
	return nil
}

// know registers a compiled package with the interpreter.
func (c *Compiler) know(path string) error {
	if c.known[path] {
		return nil
	}
	name, symbols, err := c.Library.Symbols(path)
	if err != nil {
		return err
	}
	symbols = maps.Clone(symbols)
	for name, v := range symbols {
		if v.CanAddr() { // a variable
			symbols[name+lower.PlaceOf] = v.Addr()
		}
	}
	if err := c.Interp.Use(path, name, symbols); err != nil {
		return err
	}
	c.known[path] = true
	return nil
}
