// Package made makes the reflection types that a compiler would make for the types of cells. It starts
// from the checker's types; compiled code sees the results in interfaces.
package made

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"sync"
	"unsafe"
	"weak"

	"github.com/mcs-notebook/mcs/repl/session/internal/gotype"
	"github.com/mcs-notebook/mcs/repl/session/internal/lower"
	"github.com/mcs-notebook/mcs/stdlib"

	"golang.org/x/tools/go/types/typeutil"
)

// A Session knows the types of cells by their numbers.
type Session struct {
	Type func(key int) types.Type
	// Key returns the number of a type with its newest declarations, so types made for earlier
	// declarations stand for it.
	Key func(t types.Type) int
	// Name is how Go writes the type, and Path the path of the package that declares it.
	Name func(t types.Type) string
	Path func(p *types.Package) string
	// Invoke calls a method of the type with this number; f is the method's type without its receiver.
	Invoke func(f reflect.Type, key int, name string, recv reflect.Value, args []reflect.Value) []reflect.Value
}

// Types are the made types of a session.
type Types struct {
	s     Session
	mu    sync.Mutex
	made  typeutil.Map                // types.Type -> reflect.Type
	from  map[reflect.Type]types.Type // the other way, of types that compiled code has
	found map[reflect.Type]types.Type // the same of other ones
	todo  []func()                    // tasks left before the types that were begun are complete
}

// Known says why types cannot be made, or nil.
func Known() error { return gotype.Known() }

// New returns an empty set of types.
func New(s Session) *Types {
	m := &Types{s: s, from: map[reflect.Type]types.Type{reflect.TypeFor[any](): types.Universe.Lookup("any").Type()}, found: map[reflect.Type]types.Type{}}
	for kind, t := range basicTypes {
		m.from[t] = types.Typ[kind]
	}
	return m
}

// Of returns the type with this number.
func (m *Types) Of(key int) reflect.Type {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.reflect(m.s.Type(key))
	for len(m.todo) > 0 {
		next := m.todo[0]
		m.todo = m.todo[1:]
		next()
	}
	return t
}

// reflect is the type of t, which may be incomplete until todo is done.
func (m *Types) reflect(t types.Type) reflect.Type {
	t = types.Unalias(t)
	if r, ok := m.made.At(t).(reflect.Type); ok {
		return r
	}
	r := m.make(t)
	m.made.Set(t, r)
	if _, own := m.typeOf(r); own {
		m.found[r] = t
	} else {
		m.from[r] = t
	}
	return r
}

func (m *Types) make(t types.Type) reflect.Type {
	switch t := t.(type) {
	case *types.Basic:
		return basicTypes[t.Kind()]
	case *types.Named:
		if r := compiledType(t); r != nil {
			return r
		}
		return m.declare(t, m.s.Path(t.Obj().Pkg()))
	case *types.Pointer:
		return reflect.PointerTo(m.reflect(t.Elem()))
	case *types.Slice:
		return reflect.SliceOf(m.reflect(t.Elem()))
	case *types.Array:
		return reflect.ArrayOf(int(t.Len()), m.reflect(t.Elem()))
	case *types.Map:
		return reflect.MapOf(m.reflect(t.Key()), m.reflect(t.Elem()))
	case *types.Chan:
		return reflect.ChanOf(chanDirs[t.Dir()], m.reflect(t.Elem()))
	case *types.Signature:
		return reflect.FuncOf(m.tuple(t.Params()), m.tuple(t.Results()), t.Variadic())
	case *types.Interface:
		if t.NumMethods() == 0 {
			return reflect.TypeFor[any]()
		}
		return m.declare(t, "")
	case *types.Struct:
		return m.declare(t, "")
	}
	panic(fmt.Sprintf("internal error: no value has the type %s", t))
}

var chanDirs = map[types.ChanDir]reflect.ChanDir{types.SendRecv: reflect.BothDir, types.SendOnly: reflect.SendDir, types.RecvOnly: reflect.RecvDir}

var basicTypes = map[types.BasicKind]reflect.Type{
	types.Bool: reflect.TypeFor[bool](), types.String: reflect.TypeFor[string](),
	types.Int: reflect.TypeFor[int](), types.Int8: reflect.TypeFor[int8](), types.Int16: reflect.TypeFor[int16](),
	types.Int32: reflect.TypeFor[int32](), types.Int64: reflect.TypeFor[int64](),
	types.Uint: reflect.TypeFor[uint](), types.Uint8: reflect.TypeFor[uint8](), types.Uint16: reflect.TypeFor[uint16](),
	types.Uint32: reflect.TypeFor[uint32](), types.Uint64: reflect.TypeFor[uint64](), types.Uintptr: reflect.TypeFor[uintptr](),
	types.Float32: reflect.TypeFor[float32](), types.Float64: reflect.TypeFor[float64](),
	types.UnsafePointer: reflect.TypeFor[unsafe.Pointer](),
	types.Complex64:     reflect.TypeFor[complex64](), types.Complex128: reflect.TypeFor[complex128](),
}

func (m *Types) tuple(t *types.Tuple) (list []reflect.Type) {
	for v := range t.Variables() {
		list = append(list, m.reflect(v.Type()))
	}
	return list
}

// compiledType is the type of that name in compiled code, or nil.
func compiledType(t *types.Named) reflect.Type {
	o := t.Obj()
	if o.Pkg() == nil {
		return map[string]reflect.Type{"error": reflect.TypeFor[error]()}[o.Name()]
	}
	if lower.Interpreted(o.Pkg()) || t.TypeArgs().Len() > 0 || o.Parent() != o.Pkg().Scope() {
		return nil
	}
	symbols, _ := stdlib.Symbols(o.Pkg().Path())
	v := symbols[o.Name()]
	if !v.IsValid() || v.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("internal error: the type %s is in no table", t))
	}
	return v.Type().Elem()
}

// declare begins a type that compiled code does not have: a named one, a struct, or an interface. An
// interface of cells has no methods for reflection, because its values are kept as those of an any.
func (m *Types) declare(t types.Type, path string) reflect.Type {
	_, named := t.(*types.Named)
	values, pointers := types.NewMethodSet(t), types.NewMethodSet(types.NewPointer(t))
	if types.IsInterface(t) {
		values, pointers = new(types.MethodSet), new(types.MethodSet)
	}
	head := gotype.Head{Kind: kindOf(t), Text: m.s.Name(t), Defined: named, Path: path, Methods: visible(values), PointerMethods: visible(pointers)}
	if sig, ok := t.Underlying().(*types.Signature); ok {
		head.In, head.Out = sig.Params().Len(), sig.Results().Len()
	}
	made := gotype.Declare(head)
	r := made.Reflect()
	m.made.Set(t, r)
	m.found[r] = t
	if s, ok := t.Underlying().(*types.Struct); ok {
		m.defineStruct(made, s)
	} else if made.Define(m.shape(t.Underlying())); !types.IsInterface(t) {
		m.todo = append(m.todo, func() { made.Define(m.reflect(t.Underlying())) })
	}
	if head.PointerMethods > 0 {
		m.todo = append(m.todo, func() { m.setMethods(made, t, values, pointers) })
	}
	return r
}

func (m *Types) defineStruct(made *gotype.Type, s *types.Struct) {
	path := "main"
	fields := make([]gotype.Field, s.NumFields())
	for i := range fields {
		f := s.Field(i)
		if p := f.Pkg(); !f.Exported() && p != nil {
			path = m.s.Path(p)
		}
		fields[i] = gotype.Field{Name: f.Name(), Tag: s.Tag(i), Type: m.shape(f.Type()), Embedded: f.Embedded()}
	}
	made.DefineStruct(path, fields)
	m.todo = append(m.todo, func() {
		for i := range fields {
			made.SetField(i, m.reflect(s.Field(i).Type()))
		}
	})
}

// shape returns a type with the same layout and comparison as t that mentions other types only if their
// values are inside of its own. So it exists while the types that t refers to are still being made.
func (m *Types) shape(t types.Type) reflect.Type {
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return reflect.TypeFor[*byte]()
	case *types.Slice:
		return reflect.TypeFor[[]byte]()
	case *types.Map:
		return reflect.TypeFor[map[int]int]()
	case *types.Chan:
		return reflect.TypeFor[chan int]()
	case *types.Signature:
		return reflect.TypeFor[func()]()
	case *types.Interface:
		if n, ok := types.Unalias(t).(*types.Named); ok && compiledType(n) != nil {
			return compiledType(n)
		}
		return reflect.TypeFor[any]()
	case *types.Array:
		return reflect.ArrayOf(int(u.Len()), m.shape(u.Elem()))
	}
	return m.reflect(t)
}

func kindOf(t types.Type) reflect.Kind {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return basicTypes[u.Kind()].Kind()
	case *types.Pointer:
		return reflect.Pointer
	case *types.Slice:
		return reflect.Slice
	case *types.Array:
		return reflect.Array
	case *types.Map:
		return reflect.Map
	case *types.Chan:
		return reflect.Chan
	case *types.Signature:
		return reflect.Func
	case *types.Interface:
		return reflect.Interface
	}
	return reflect.Struct
}

// visible counts the methods that compiled code can call.
func visible(set *types.MethodSet) (n int) {
	for sel := range set.Methods() {
		if sel.Obj().Exported() {
			n++
		}
	}
	return n
}

func (m *Types) setMethods(made *gotype.Type, t types.Type, values, pointers *types.MethodSet) {
	key := m.s.Key(t)
	list := func(set *types.MethodSet) (list []gotype.Method) {
		for sel := range set.Methods() {
			if sel.Obj().Exported() {
				list = append(list, m.method(key, sel.Obj().(*types.Func)))
			}
		}
		return list
	}
	if err := made.SetMethods(list(values), list(pointers)); err != nil {
		panic(err)
	}
}

// method is a method of the type with this number. A reflection type is never collected, and its method
// does not keep the session.
func (m *Types) method(key int, f *types.Func) gotype.Method {
	sig, name, session := f.Signature(), f.Name(), weak.Make(m)
	t := reflect.FuncOf(m.tuple(sig.Params()), m.tuple(sig.Results()), sig.Variadic())
	return gotype.Method{Name: name, Type: t, Call: func(recv reflect.Value, args []reflect.Value) []reflect.Value {
		m := session.Value()
		if m == nil {
			panic(fmt.Sprintf("%s: the session that declares this method has ended", name))
		}
		return m.s.Invoke(t, key, name, recv, args)
	}}
}

// Find returns the number of a reflection type that contains types of cells, and otherwise 0.
func (m *Types) Find(r reflect.Type) int {
	m.mu.Lock()
	t, own := m.typeOf(r)
	m.mu.Unlock()
	if t == nil || !own {
		return 0
	}
	return m.s.Key(t)
}

// typeOf returns the type that reflection knows as r, or nil: compiled types are known that a type of cells
// is made of. Own says that r contains a type of cells. No cell need have mentioned r: reflection makes
// slices, pointers and maps of existing types.
func (m *Types) typeOf(r reflect.Type) (t types.Type, own bool) {
	if t := m.found[r]; t != nil {
		return t, true
	}
	if t := m.from[r]; t != nil || r.Name() != "" {
		return t, false
	}
	var in, out []reflect.Type
	switch r.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan:
		in = []reflect.Type{r.Elem()}
	case reflect.Map:
		in = []reflect.Type{r.Key(), r.Elem()}
	case reflect.Func:
		in, out = slices.Collect(r.Ins()), slices.Collect(r.Outs())
	default:
		return nil, false
	}
	known, parts := true, make([]*types.Var, len(in)+len(out))
	for i, p := range append(in, out...) {
		t, o := m.typeOf(p)
		own, known = own || o, known && t != nil
		parts[i] = types.NewParam(token.NoPos, nil, "", t)
	}
	if !known {
		return nil, own
	}
	elem := func() types.Type { return parts[len(parts)-1].Type() }
	switch r.Kind() {
	case reflect.Pointer:
		t = types.NewPointer(elem())
	case reflect.Slice:
		t = types.NewSlice(elem())
	case reflect.Array:
		t = types.NewArray(elem(), int64(r.Len()))
	case reflect.Chan:
		for dir, d := range chanDirs {
			if d == r.ChanDir() {
				t = types.NewChan(dir, elem())
			}
		}
	case reflect.Map:
		t = types.NewMap(parts[0].Type(), elem())
	default:
		t = types.NewSignatureType(nil, nil, nil, types.NewTuple(parts[:len(in)]...), types.NewTuple(parts[len(in):]...), r.IsVariadic())
	}
	return t, own
}
