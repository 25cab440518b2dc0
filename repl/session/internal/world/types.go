package world

import (
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/walk"
)

// Qualifier writes types without the package of cells.
func Qualifier(p *types.Package) string {
	if p.Path() == PkgPath {
		return ""
	}
	return p.Name()
}

func TypeString(t types.Type) string { return types.TypeString(types.Default(t), Qualifier) }

// WalkNamed calls f for the named types inside of a type.
func WalkNamed(t types.Type, f func(*types.Named)) {
	t = types.Unalias(t)
	if n, ok := t.(*types.Named); ok {
		f(n)
		for arg := range n.TypeArgs().Types() {
			WalkNamed(arg, f)
		}
	}
	for _, part := range walk.Parts(t) {
		WalkNamed(part, f)
	}
}

// Renewed returns the newer version of a type's package after a reload, or nil.
func (st *Stage) Renewed(n *types.Named) *types.Package {
	if st.Reloaded == nil || n.Obj().Pkg() == nil {
		return nil
	}
	return st.Reloaded[n.Obj().Pkg().Path()]
}

// Movable says whether values of a type have the same bits as values of the same type with the reloaded
// packages.
func (st *Stage) Movable(t types.Type) bool {
	seen := map[*types.Named]bool{}
	same := true
	var visit func(n *types.Named)
	visit = func(n *types.Named) {
		p := st.Renewed(n)
		if p == nil || seen[n] || !same {
			return
		}
		seen[n] = true
		now, ok := p.Scope().Lookup(n.Obj().Name()).(*types.TypeName)
		if !ok || shape(now.Type()) != shape(n.Origin()) {
			same = false
			return
		}
		WalkNamed(n.Underlying(), visit)
	}
	WalkNamed(t, visit)
	return same
}

// KeepsShape says whether a reload leaves the underlying type of a cell's type the same.
func (st *Stage) KeepsShape(d *Decl) bool {
	e := st.Lookup(d.Names[0])
	return e == nil || st.Reloaded == nil || st.Movable(e.Obj.Type().Underlying())
}

// shape writes a type's underlying type without the versions of packages.
func shape(t types.Type) string { return Unversioned(t.Underlying()) }

// Unversioned writes a type without the versions of packages.
func Unversioned(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		path, _, _ := strings.Cut(p.Path(), "@")
		return path
	})
}

func IsError(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}

// TypeOf writes an entity's type as Go does.
func TypeOf(e *Entity) string {
	if t, ok := e.Obj.(*types.TypeName); ok {
		return types.TypeString(t.Type().Underlying(), Qualifier)
	}
	return TypeString(e.Obj.Type())
}
