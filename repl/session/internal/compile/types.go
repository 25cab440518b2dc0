package compile

import (
	"go/types"
	"sync"

	"golang.org/x/tools/go/types/typeutil"
)

// Types are the types that code asks for while it runs, each with a number. Goroutines of cells ask while
// others are added.
type Types struct {
	mu   sync.RWMutex
	keys typeutil.Map // type -> number
	list []types.Type // by their numbers, which begin with 1
	// renewed are the types that were declared again and are made of the same: the old one, and the newer.
	renewed map[*types.TypeName]*types.TypeName
}

// Key is the number of a type.
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

// Of is the type with a number.
func (ts *Types) Of(key int) types.Type {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	return ts.list[key-1]
}

// Name is how Go writes the type with a number.
func (ts *Types) Name(key int) string { return GoName(ts.Of(key)) }

// Base is the number of the type that has the methods of the type with this number: its own, or what it
// points to.
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

// Renew has a type stand for an earlier declaration of it, whose values are its own bit for bit, and returns
// for each number of a type that is written with the earlier one that of the type which is written with the
// newest.
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

// NewestKey is the number of a type as it is written with the newest declarations.
func (ts *Types) NewestKey(t types.Type) int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.key(ts.newest(t))
}

// newest is a type written with the newest declarations of the types in it.
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
	if err != nil { // it has other parameters now
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
