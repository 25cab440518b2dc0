package session

import (
	"go/types"
	"strings"
)

// qualifier writes types without the package that cells belong to.
func qualifier(p *types.Package) string {
	if p.Path() == pkgPath {
		return ""
	}
	return p.Name()
}

func typeString(t types.Type) string { return types.TypeString(types.Default(t), qualifier) }

// walkNamed calls f for the named types that a type is written with.
func walkNamed(t types.Type, f func(*types.Named)) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		f(t)
		for i := range t.TypeArgs().Len() {
			walkNamed(t.TypeArgs().At(i), f)
		}
	case *types.Pointer:
		walkNamed(t.Elem(), f)
	case *types.Slice:
		walkNamed(t.Elem(), f)
	case *types.Array:
		walkNamed(t.Elem(), f)
	case *types.Map:
		walkNamed(t.Key(), f)
		walkNamed(t.Elem(), f)
	case *types.Chan:
		walkNamed(t.Elem(), f)
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for i := range tuple.Len() {
				walkNamed(tuple.At(i).Type(), f)
			}
		}
	case *types.Struct:
		for i := range t.NumFields() {
			walkNamed(t.Field(i).Type(), f)
		}
	}
}

// renewed is the package that a type's package was reloaded as, or nil.
func (st *stage) renewed(n *types.Named) *types.Package {
	if st.reloaded == nil || n.Obj().Pkg() == nil {
		return nil
	}
	return st.reloaded[n.Obj().Pkg().Path()]
}

// movable says whether values of a type are values, bit for bit, of the same type written with the packages
// that were reloaded.
func (st *stage) movable(t types.Type) bool {
	seen := map[*types.Named]bool{}
	same := true
	var visit func(n *types.Named)
	visit = func(n *types.Named) {
		p := st.renewed(n)
		if p == nil || seen[n] || !same {
			return
		}
		seen[n] = true
		now, ok := p.Scope().Lookup(n.Obj().Name()).(*types.TypeName)
		if !ok || shape(now.Type()) != shape(n.Origin()) {
			same = false
			return
		}
		walkNamed(n.Underlying(), visit)
	}
	walkNamed(t, visit)
	return same
}

// keepsShape says whether the type that a cell has declared is made of what it was, after a reload.
func (st *stage) keepsShape(d *decl) bool {
	e := st.lookup(d.names[0])
	return e == nil || st.reloaded == nil || st.movable(e.obj.Type().Underlying())
}

// shape writes what a type is made of, whatever the version of a package.
func shape(t types.Type) string { return unversioned(t.Underlying()) }

// unversioned writes a type without the versions of packages.
func unversioned(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		path, _, _ := strings.Cut(p.Path(), "@")
		return path
	})
}

func isPointer(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

func isErrorInterface(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}

// typeOf is an entity's type as Go writes it.
func typeOf(e *entity) string {
	if t, ok := e.obj.(*types.TypeName); ok {
		return types.TypeString(t.Type().Underlying(), qualifier)
	}
	return typeString(e.obj.Type())
}
