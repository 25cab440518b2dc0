package compile

import (
	"go/types"
	"sync"

	"golang.org/x/tools/go/types/typeutil"
)

// Types numbers the types that code needs while it runs. Goroutines of cells read it while the compiler
// adds types.
type Types struct {
	mu   sync.RWMutex
	keys typeutil.Map // type -> number
	list []types.Type // by number, from 1
	// renewed maps a type that was declared again, with the same underlying type, to its newer
	// declaration.
	renewed map[*types.TypeName]*types.TypeName
}

// Key returns the number of a type.
func (ts *Types) Key(t types.Type) int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.key(t)
}

func (ts *Types) key(t types.Type) int {
	if k, ok := ts.keys.At(t).(int); ok {
		return k
	}
	k := ts.keys.Len() + 1
	ts.keys.Set(t, k)
	ts.list = append(ts.list, t)
	return k
}

// Of returns the type with a number.
func (ts *Types) Of(key int) types.Type {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	return ts.list[key-1]
}

// Name returns the type with a number as Go writes it.
func (ts *Types) Name(key int) string { return GoName(ts.Of(key)) }

// Base returns the number of the type that declares the methods of a numbered type: the type itself, or
// the target of a pointer.
func (ts *Types) Base(key int) int {
	if p, ok := ts.Of(key).(*types.Pointer); ok {
		return ts.Key(types.Unalias(p.Elem()))
	}
	return key
}

// Implement says whether a type has the methods of an interface.
func (ts *Types) Implement(key, iface int) bool {
	i, ok := ts.Of(iface).Underlying().(*types.Interface)
	return ok && types.Implements(ts.Of(key), i)
}

// Renew makes a type stand for an earlier declaration of it whose values have the same bits. For each
// numbered type that mentions the earlier declaration, it returns the number of the same type with the
// newest declarations.
func (ts *Types) Renew(old, now *types.TypeName) map[int]int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.renewed == nil {
		ts.renewed = map[*types.TypeName]*types.TypeName{}
	}
	ts.renewed[old] = now
	numbers := map[int]int{}
	for i, t := range ts.list { // the list grows
		if k := ts.key(ts.newest(t)); k != i+1 {
			numbers[i+1] = k
		}
	}
	return numbers
}

// NewestKey returns the number of a type after its parts are replaced by their newest declarations.
func (ts *Types) NewestKey(t types.Type) int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.key(ts.newest(t))
}

// newest returns a type whose parts are replaced by their newest declarations.
func (ts *Types) newest(t types.Type) types.Type {
	if len(ts.renewed) == 0 {
		return t
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		return ts.newestNamed(t)
	case *types.Pointer:
		return types.NewPointer(ts.newest(t.Elem()))
	case *types.Slice:
		return types.NewSlice(ts.newest(t.Elem()))
	case *types.Array:
		return types.NewArray(ts.newest(t.Elem()), t.Len())
	case *types.Map:
		return types.NewMap(ts.newest(t.Key()), ts.newest(t.Elem()))
	case *types.Chan:
		return types.NewChan(t.Dir(), ts.newest(t.Elem()))
	case *types.Signature:
		if t.Recv() == nil && t.TypeParams() == nil {
			return types.NewSignatureType(nil, nil, nil, ts.newestTuple(t.Params()), ts.newestTuple(t.Results()), t.Variadic())
		}
	case *types.Struct:
		var fields []*types.Var
		var tags []string
		for i := range t.NumFields() {
			f := t.Field(i)
			fields = append(fields, types.NewField(f.Pos(), f.Pkg(), f.Name(), ts.newest(f.Type()), f.Embedded()))
			tags = append(tags, t.Tag(i))
		}
		return types.NewStruct(fields, tags)
	}
	return t
}

func (ts *Types) newestNamed(t *types.Named) types.Type {
	origin := t.Origin().Obj()
	for ts.renewed[origin] != nil {
		origin = ts.renewed[origin]
	}
	var args []types.Type
	changed := origin != t.Origin().Obj()
	for a := range t.TypeArgs().Types() {
		n := ts.newest(a)
		args, changed = append(args, n), changed || n != a
	}
	switch {
	case !changed:
		return t
	case args == nil:
		return origin.Type()
	}
	n, err := types.Instantiate(nil, origin.Type(), args, false)
	if err != nil { // its type parameters have changed
		return t
	}
	return n
}

func (ts *Types) newestTuple(t *types.Tuple) *types.Tuple {
	var list []*types.Var
	for v := range t.Variables() {
		list = append(list, types.NewParam(v.Pos(), v.Pkg(), "", ts.newest(v.Type())))
	}
	return types.NewTuple(list...)
}
