// Package world has a session's knowledge of its code: the names that cells have declared, with the source
// of their declarations; the imports; and the changes of a cell that is being checked.
//
// A [World] belongs to the cells, or to one of the user's packages. A [Stage] lies over it while a cell is
// checked. A [Change] is the effect of a part of a cell on the world when the part runs. The package
// neither checks nor runs code. Reading order: world.go, decls.go (names in declarations), types.go (types
// as cells write them, and whether they are still the same).
package world

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"sort"
	"strings"
)

// PkgPath is the path and the name of the package that all cells belong to.
const PkgPath = "mcs"

type Kind int

const (
	Var Kind = iota
	Const
	Func
	Type
)

func (k Kind) String() string { return [...]string{"var", "const", "func", "type"}[k] }

// An Entity is a top-level declaration of a cell. It does not change: a new declaration of the name makes
// a new entity.
type Entity struct {
	Name     string
	Internal string // its name in the interpreter
	Kind     Kind
	Obj      types.Object // as later cells see it
	Cell     int
	Decl     *Decl // of a const, func or type
	Kept     bool  // var: a closure or a pointer may use it after the name has another meaning
}

// A Decl is the source of a const, func or type declaration, or of a method. It is checked and compiled
// again when a name that it uses is declared again.
type Decl struct {
	Tok        token.Token // CONST, FUNC or TYPE
	Cell       int
	Line, Col  int
	Src        string
	Comment    string   // on the lines above it
	Names      []string // the declared names; none for a method
	Recv, Name string   // of a method: its type's name and its own
	Pointer    bool     // of a method: its receiver is one
	Generic    bool
	Uses       map[string]bool   // the names of the session that it mentions; of methods, with those of their types
	TypeUses   map[string]bool   // func: those in its signature
	Imports    map[string]string // of its file, if that is one of a package: name -> path
	Slot       int               // func: for its marks
	Rebinds    []Rebind          // func: of variables of the session
}

// A Rebind is an assignment of a tensor to a variable that it is computed from: w -= g, w = w.Sub(g). If the
// variable had a parameter, the name means another tensor then, and the parameter stays as it was.
type Rebind struct {
	Name      string
	Cell      int
	Line      int
	Param     bool   // the same statements have made the variable a parameter
	Set       string // what changes the parameter instead: "w.Set(w - g)"
	Parameter string // the function whose own parameter the variable is, if it is one, and nothing but the function sees the new tensor
}

// Key returns a string that identifies the declared objects.
func (d *Decl) Key() string {
	if d.Recv != "" {
		return d.Recv + "." + d.Name
	}
	return fmt.Sprint(d.Names)
}

// Display returns the name of a function in panics: f, T.M or (*T).M.
func (d *Decl) Display() string {
	switch {
	case d.Pointer:
		return "(*" + d.Recv + ")." + d.Name
	case d.Recv != "":
		return d.Key()
	}
	return d.Names[0]
}

// CodeName returns the name of a function in the uses of its callers.
func (d *Decl) CodeName() string {
	if d.Recv != "" {
		return d.Key()
	}
	return d.Names[0]
}

// Touches says whether a declaration mentions one of some names.
func Touches(uses, names map[string]bool) bool {
	for name := range uses {
		if names[name] {
			return true
		}
	}
	return false
}

// Title returns the name of a declaration for messages.
func (d *Decl) Title() string {
	if d.Recv != "" {
		return d.Key()
	}
	return strings.Join(d.Names, ", ")
}

// A World has all declarations of cells, or of the files of a package.
type World struct {
	Path, Name string // of the package
	Names      map[string]*Entity
	Methods    map[string]map[string]*Decl // type name -> method name -> declaration
	Imports    map[string]string           // name -> path, of explicit imports
	Dots       []string                    // paths imported with a dot
	Version    map[string]int              // how often a name has been given to the interpreter
	Holders    []*Holder
}

func New() *World {
	return &World{Path: PkgPath, Name: PkgPath, Names: map[string]*Entity{}, Methods: map[string]map[string]*Decl{}, Imports: map[string]string{}, Version: map[string]int{}}
}

// A Stage collects the changes of a cell that is being checked. The world changes only after the whole
// cell has been checked.
type Stage struct {
	*World
	Ctx     context.Context    // gives the check up; nil: nothing does
	names   map[string]*Entity // nil: deleted
	methods map[string]map[string]*Decl
	Imports map[string]string
	Dots    []string
	// Reloaded are the packages that take the place of others, by the paths of those.
	Reloaded map[string]*types.Package
}

func (w *World) Stage() *Stage {
	return &Stage{World: w, names: map[string]*Entity{}, Dots: w.Dots}
}

func (st *Stage) Lookup(name string) *Entity {
	if e, ok := st.names[name]; ok {
		return e
	}
	return st.World.Names[name]
}

func (st *Stage) ImportPath(name string) string {
	if p, ok := st.Imports[name]; ok {
		return p
	}
	return st.World.Imports[name]
}

func (st *Stage) MethodsOf(name string) map[string]*Decl {
	if m, ok := st.methods[name]; ok {
		return m
	}
	return st.World.Methods[name]
}

// All calls f for every entity of the world and the stage.
func (st *Stage) All(f func(*Entity)) {
	for _, e := range st.names {
		if e != nil {
			f(e)
		}
	}
	for name, e := range st.World.Names {
		if _, changed := st.names[name]; !changed {
			f(e)
		}
	}
}

// Decls returns all declarations, with methods, in the order of their cells.
func (st *Stage) Decls() []*Decl {
	seen := map[*Decl]bool{}
	var list []*Decl
	add := func(d *Decl) {
		if d != nil && !seen[d] {
			seen[d] = true
			list = append(list, d)
		}
	}
	st.All(func(e *Entity) {
		add(e.Decl)
		if e.Kind == Type {
			for _, m := range st.MethodsOf(e.Name) {
				add(m)
			}
		}
	})
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Cell != b.Cell {
			return a.Cell < b.Cell
		}
		return a.Line < b.Line || a.Line == b.Line && a.Col < b.Col
	})
	return list
}

// Display returns the name of a function in panics. If the function is not a cell's, its package stands in
// front.
func (w *World) Display(name string) string {
	if w.Path == PkgPath {
		return name
	}
	return w.Name + "." + name
}

// Fresh returns a name that the interpreter has not seen yet.
func (w *World) Fresh(name string) string {
	w.Version[name]++
	if n := w.Version[name]; n > 1 || types.Universe.Lookup(name) != nil || name == "init" || name == "main" || name == "cell" {
		return fmt.Sprintf("%s__%d", name, n)
	}
	return name
}

// A Change is the effect of a part of a cell on the world when the part starts to run.
type Change struct {
	Define  []*Entity
	Methods map[string]map[string]*Decl // replaced, by type name
	Imports map[string]string
	Dots    []string
	Gone    []*Entity // variables that lose their name
	// Replaced are variables, functions and types whose names get another type.
	Replaced []*Entity
	Holders  []*Holder
}

func (w *World) Commit(c *Change) {
	for _, e := range c.Define {
		w.Names[e.Name] = e
	}
	maps.Copy(w.Methods, c.Methods)
	for name, path := range c.Imports {
		delete(w.Names, name)
		w.Imports[name] = path
	}
	w.Dots = append(w.Dots, c.Dots...)
	w.hold(c.Holders)
}

// Apply makes the change visible to the parts of the cell that are checked after this one.
func (st *Stage) Apply(c *Change) {
	for _, e := range c.Define {
		st.names[e.Name] = e
	}
	for name, m := range c.Methods {
		if st.methods == nil {
			st.methods = map[string]map[string]*Decl{}
		}
		st.methods[name] = m
	}
	for name, path := range c.Imports {
		if st.Imports == nil {
			st.Imports = map[string]string{}
		}
		st.names[name] = nil
		st.Imports[name] = path
	}
	st.Dots = append(slices.Clip(st.Dots), c.Dots...)
}

// FunctionBefore returns the session's declaration that the declaration of a function or method replaces,
// or nil.
func (st *Stage) FunctionBefore(d *Decl) *Decl {
	switch {
	case d.Tok != token.FUNC:
		return nil
	case d.Recv != "":
		if e := st.Lookup(d.Recv); e == nil || e.Kind != Type {
			return nil
		}
		return st.MethodsOf(d.Recv)[d.Name]
	}
	if e := st.Lookup(d.Names[0]); e != nil && e.Kind == Func {
		return e.Decl
	}
	return nil
}

// IsMethod says whether the interpreter's function with this name is a method, or a method of an instance
// of a generic type.
func (w *World) IsMethod(d *Decl, name string) bool {
	recv, method, ok := strings.Cut(name, "·")
	return ok && method == d.Name && (recv == w.InternalName(d.Recv) || strings.HasPrefix(recv, d.Recv+"__of"))
}

func (w *World) InternalName(name string) string {
	if e := w.Names[name]; e != nil {
		return e.Internal
	}
	return ""
}

// CellName returns the name of a cell in errors, In[3].
func CellName(n int) string { return fmt.Sprintf("In[%d]", n) }
