package session

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"sort"
	"strings"
)

// pkgPath is the path and the name of the package that all cells belong to.
const pkgPath = "mcs"

type kind int

const (
	varKind kind = iota
	constKind
	funcKind
	typeKind
)

func (k kind) String() string { return [...]string{"var", "const", "func", "type"}[k] }

// An entity is something that a cell has declared at its top level. It does not change: a new declaration of
// the name makes a new entity.
type entity struct {
	name     string
	internal string // its name in the interpreter
	kind     kind
	obj      types.Object // as later cells see it
	cell     int
	decl     *decl // of a const, func or type
	kept     bool  // var: a closure or a pointer may use it after the name has another meaning
}

// A decl is the source of a const, func or type declaration, or of a method. It is checked and compiled again
// when something that it uses is declared anew.
type decl struct {
	tok        token.Token // CONST, FUNC or TYPE
	cell       int
	line, col  int
	src        string
	comment    string   // on the lines above it
	names      []string // what it declares; none for a method
	recv, name string   // of a method: its type's name and its own
	pointer    bool     // of a method: its receiver is one
	generic    bool
	uses       map[string]bool   // the names of the session that it mentions; of methods, with those of their types
	typeUses   map[string]bool   // func: those in its signature
	imports    map[string]string // of its file, if that is one of a package: name -> path
	slot       int               // func: for its marks
}

// key identifies what a declaration declares.
func (d *decl) key() string {
	if d.recv != "" {
		return d.recv + "." + d.name
	}
	return fmt.Sprint(d.names)
}

// display is how a panic calls a function: f, T.M or (*T).M.
func (d *decl) display() string {
	switch {
	case d.pointer:
		return "(*" + d.recv + ")." + d.name
	case d.recv != "":
		return d.key()
	}
	return d.names[0]
}

// codeName is what those who call a function have among their uses.
func (d *decl) codeName() string {
	if d.recv != "" {
		return d.key()
	}
	return d.names[0]
}

// touches says whether a declaration mentions one of some names.
func touches(uses, names map[string]bool) bool {
	for name := range uses {
		if names[name] {
			return true
		}
	}
	return false
}

// title is how messages call what is declared.
func (d *decl) title() string {
	if d.recv != "" {
		return d.key()
	}
	return strings.Join(d.names, ", ")
}

// A world is everything that cells have declared, or the files of a package.
type world struct {
	path, name string // of the package
	names      map[string]*entity
	methods    map[string]map[string]*decl // type name -> method name -> declaration
	imports    map[string]string           // name -> path, of explicit imports
	dots       []string                    // paths imported with a dot
	version    map[string]int              // how often a name has been given to the interpreter
	holders    []*holder
}

func newWorld() *world {
	return &world{path: pkgPath, name: pkgPath, names: map[string]*entity{}, methods: map[string]map[string]*decl{}, imports: map[string]string{}, version: map[string]int{}}
}

// A stage is what a cell that is being checked will change in the world. Nothing is changed before all of the
// cell has been checked.
type stage struct {
	*world
	ctx     context.Context    // gives the check up; nil: nothing does
	names   map[string]*entity // nil: deleted
	methods map[string]map[string]*decl
	imports map[string]string
	dots    []string
	// reloaded are the packages that take the place of others, by the paths of those.
	reloaded map[string]*types.Package
}

func (w *world) stage() *stage {
	return &stage{world: w, names: map[string]*entity{}, methods: map[string]map[string]*decl{}, imports: map[string]string{}, dots: w.dots}
}

func (st *stage) lookup(name string) *entity {
	if e, ok := st.names[name]; ok {
		return e
	}
	return st.world.names[name]
}

func (st *stage) importPath(name string) string {
	if p, ok := st.imports[name]; ok {
		return p
	}
	return st.world.imports[name]
}

func (st *stage) methodsOf(name string) map[string]*decl {
	if m, ok := st.methods[name]; ok {
		return m
	}
	return st.world.methods[name]
}

// all calls f for every entity that there is.
func (st *stage) all(f func(*entity)) {
	for _, e := range st.names {
		if e != nil {
			f(e)
		}
	}
	for name, e := range st.world.names {
		if _, changed := st.names[name]; !changed {
			f(e)
		}
	}
}

// decls are all declarations, methods too, in the order of their cells.
func (st *stage) decls() []*decl {
	seen := map[*decl]bool{}
	var list []*decl
	add := func(d *decl) {
		if d != nil && !seen[d] {
			seen[d] = true
			list = append(list, d)
		}
	}
	st.all(func(e *entity) {
		add(e.decl)
		if e.kind == typeKind {
			for _, m := range st.methodsOf(e.name) {
				add(m)
			}
		}
	})
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.cell != b.cell {
			return a.cell < b.cell
		}
		return a.line < b.line || a.line == b.line && a.col < b.col
	})
	return list
}

// display is how a panic calls a function: what is not a cell's has its package in front.
func (w *world) display(name string) string {
	if w.path == pkgPath {
		return name
	}
	return w.name + "." + name
}

// fresh is a name that the interpreter has not seen yet.
func (w *world) fresh(name string) string {
	w.version[name]++
	if n := w.version[name]; n > 1 || types.Universe.Lookup(name) != nil || name == "init" || name == "main" || name == "cell" {
		return fmt.Sprintf("%s__%d", name, n)
	}
	return name
}

// A change is what a part of a cell does to the world when it starts to run.
type change struct {
	define  []*entity
	methods map[string]map[string]*decl // replaced, by type name
	imports map[string]string
	dots    []string
	gone    []*entity // variables that lose their name
	// replaced are variables, functions and types whose names get another type.
	replaced []*entity
	holders  []*holder
}

func (w *world) commit(c *change) {
	for _, e := range c.define {
		w.names[e.name] = e
	}
	for name, m := range c.methods {
		w.methods[name] = m
	}
	for name, path := range c.imports {
		delete(w.names, name)
		w.imports[name] = path
	}
	w.dots = append(w.dots, c.dots...)
	w.hold(c.holders)
}

// apply makes the change visible to the parts of the cell that are checked after this one.
func (st *stage) apply(c *change) {
	for _, e := range c.define {
		st.names[e.name] = e
	}
	for name, m := range c.methods {
		st.methods[name] = m
	}
	for name, path := range c.imports {
		st.names[name] = nil
		st.imports[name] = path
	}
	st.dots = append(st.dots[:len(st.dots):len(st.dots)], c.dots...)
}

// functionBefore is the session's declaration that that of a function or method takes the place of, or nil.
func (st *stage) functionBefore(d *decl) *decl {
	switch {
	case d.tok != token.FUNC:
		return nil
	case d.recv != "":
		if e := st.lookup(d.recv); e == nil || e.kind != typeKind {
			return nil
		}
		return st.methodsOf(d.recv)[d.name]
	}
	if e := st.lookup(d.names[0]); e != nil && e.kind == funcKind {
		return e.decl
	}
	return nil
}

// isMethod says whether the interpreter's function of this name is a method, or that of an instance of a
// generic type.
func (w *world) isMethod(d *decl, name string) bool {
	recv, method, ok := strings.Cut(name, "·")
	return ok && method == d.name && (recv == w.internalName(d.recv) || strings.HasPrefix(recv, d.recv+"__of"))
}

func (w *world) internalName(name string) string {
	if e := w.names[name]; e != nil {
		return e.internal
	}
	return ""
}

// cellName is how errors call a cell, In[3].
func cellName(n int) string { return fmt.Sprintf("In[%d]", n) }
