package world

import (
	"go/types"
	"strings"
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
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		f(t)
		for arg := range t.TypeArgs().Types() {
			WalkNamed(arg, f)
		}
	case *types.Pointer:
		WalkNamed(t.Elem(), f)
	case *types.Slice:
		WalkNamed(t.Elem(), f)
	case *types.Array:
		WalkNamed(t.Elem(), f)
	case *types.Map:
		WalkNamed(t.Key(), f)
		WalkNamed(t.Elem(), f)
	case *types.Chan:
		WalkNamed(t.Elem(), f)
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range tuple.Variables() {
				WalkNamed(v.Type(), f)
			}
		}
	case *types.Struct:
		for field := range t.Fields() {
			WalkNamed(field.Type(), f)
		}
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

func IsPointer(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Pointer)
	return ok
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
