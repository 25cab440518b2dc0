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
}

// Key is the number of a type.
func (ts *Types) Key(t types.Type) int {
	ts.mu.Lock()
	defer ts.mu.Unlock()
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
