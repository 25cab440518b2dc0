package world

import (
	"go/types"
	"strings"
)

// Qualifier writes types without the package that cells belong to.
func Qualifier(p *types.Package) string {
	if p.Path() == PkgPath {
		return ""
	}
	return p.Name()
}

func TypeString(t types.Type) string { return types.TypeString(types.Default(t), Qualifier) }

// WalkNamed calls f for the named types that a type is written with.
func WalkNamed(t types.Type, f func(*types.Named)) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		f(t)
		for i := range t.TypeArgs().Len() {
			WalkNamed(t.TypeArgs().At(i), f)
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
			for i := range tuple.Len() {
				WalkNamed(tuple.At(i).Type(), f)
			}
		}
	case *types.Struct:
		for i := range t.NumFields() {
			WalkNamed(t.Field(i).Type(), f)
		}
	}
}

// Renewed is the package that a type's package was reloaded as, or nil.
func (st *Stage) Renewed(n *types.Named) *types.Package {
	if st.Reloaded == nil || n.Obj().Pkg() == nil {
		return nil
	}
	return st.Reloaded[n.Obj().Pkg().Path()]
}

// Movable says whether values of a type are values, bit for bit, of the same type written with the packages
// that were reloaded.
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

// KeepsShape says whether the type that a cell has declared is made of what it was, after a reload.
func (st *Stage) KeepsShape(d *Decl) bool {
	e := st.Lookup(d.Names[0])
	return e == nil || st.Reloaded == nil || st.Movable(e.Obj.Type().Underlying())
}

// shape writes what a type is made of, whatever the version of a package.
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

// TypeOf is an entity's type as Go writes it.
func TypeOf(e *Entity) string {
	if t, ok := e.Obj.(*types.TypeName); ok {
		return types.TypeString(t.Type().Underlying(), Qualifier)
	}
	return TypeString(e.Obj.Type())
}
