package session

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"unsafe"
	"weak"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// keepBytes is the largest size of a result that Out[n] keeps. A larger result, and any value behind a
// pointer (a tensor, a model), lives only as long as something else refers to it.
const keepBytes = 4 << 10

// An out is the value of a cell's trailing expression.
type out struct {
	compile.Out
	value reflect.Value      // set if it is small
	weak  weak.Pointer[byte] // the target of a value that is a pointer, or a struct of one pointer
	rtype reflect.Type       // the value's type, if weak is set
	stays bool               // kept whatever its size
	size  string             // why the value was not kept
}

// outs are the results that cells can mention.
type outs struct {
	list map[int]*out
	last int  // number of the newest result
	made *out // what Assign calls, which is Out[0] while it runs
}

// keep stores a result. The newest result is the variable _, so it is kept whatever its size.
func (os *outs) keep(n int, t types.Type, v reflect.Value) {
	if old := os.list[os.last]; old != nil {
		old.shrink()
	}
	o := &out{Out: compile.Out{N: n, Var: fmt.Sprintf("__out_%d", n), Type: compile.OutType(t)}, value: v}
	os.list[n], os.last = o, n
}

// A Keeper is what a command shows of a value that cells can go on with.
type Keeper interface {
	Kept() any
}

// keepValue stores what a command shows as the result of a cell: a value that code of a cell has made, or a
// pointer to a type of a package that cells can import. The latter is figures, not tensors, so it stays
// whatever its size.
func (s *Session) keepValue(n int, shown display.Value) {
	v := reflect.ValueOf(shown)
	if k, ok := shown.(Keeper); ok {
		kept := k.Kept()
		if t, ok := kept.(*Taken); ok {
			if t != nil {
				s.outs.keep(n, t.typ, t.value)
			}
			return
		}
		v = reflect.ValueOf(kept)
	}
	if v.Kind() != reflect.Pointer || v.IsNil() || !token.IsExported(v.Type().Elem().Name()) {
		return
	}
	elem := v.Type().Elem()
	pkg, err := s.compiler.Import(elem.PkgPath())
	if err != nil {
		return
	}
	name, ok := pkg.Scope().Lookup(elem.Name()).(*types.TypeName)
	if !ok {
		return
	}
	s.outs.keep(n, types.NewPointer(name.Type()), v)
	s.outs.list[n].stays = true
}

// Out returns Out[n] as the compiler needs it, or nil.
func (os *outs) Out(n int) *compile.Out {
	if o := os.list[n]; o != nil {
		return &o.Out
	}
	return nil
}

// Last returns the newest result as the compiler needs it, or nil.
func (os *outs) Last() *compile.Out { return os.Out(os.last) }

// shrink drops a value that is not small.
func (o *out) shrink() {
	v := o.value
	if !v.IsValid() || o.stays || small(v, 0) <= keepBytes {
		return
	}
	o.value, o.rtype = reflect.Value{}, v.Type()
	if p := onlyPointer(v); p != nil {
		o.weak = weak.Make((*byte)(p))
		return
	}
	o.size = fmt.Sprintf("it is larger than %d bytes", keepBytes)
}

// onlyPointer returns the pointer of a value that consists of one pointer, or nil.
func onlyPointer(v reflect.Value) unsafe.Pointer {
	for v.Kind() == reflect.Struct && v.NumField() == 1 {
		v = v.Field(0)
	}
	if v.Kind() == reflect.Pointer {
		return v.UnsafePointer()
	}
	return nil
}

// smallDepth is the deepest nesting of a value that Out[n] keeps.
const smallDepth = 20

// small returns the size in bytes of a value with everything it contains. It stops counting a bit above
// keepBytes. The target of a pointer is never small, whatever its size. Nor is a deeply nested value, so a
// value that contains itself ends the count.
func small(v reflect.Value, depth int) int {
	if !v.IsValid() {
		return 0
	}
	if depth > smallDepth {
		return 2 * keepBytes
	}
	n := int(v.Type().Size())
	switch v.Kind() {
	case reflect.String:
		return n + v.Len()
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		if v.IsNil() {
			return n
		}
		return 2 * keepBytes
	case reflect.Interface:
		if v.IsNil() {
			return n
		}
		return n + small(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && n <= keepBytes; i++ {
			n += small(v.Index(i), depth+1)
		}
	case reflect.Map:
		for it := v.MapRange(); n <= keepBytes && it.Next(); {
			n += small(it.Key(), depth+1) + small(it.Value(), depth+1)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && n <= keepBytes; i++ {
			n += small(v.Field(i), depth+1)
		}
	}
	return n
}

// get returns the value, if it still exists.
func (o *out) get() (reflect.Value, error) {
	if o.value.IsValid() || o.rtype == nil {
		return o.value, nil
	}
	p := o.weak.Value()
	if p == nil {
		why := o.size
		if why == "" {
			why = "nothing else has kept it"
		}
		return reflect.Value{}, fmt.Errorf("%s is gone: %s; assign a result to a variable to keep it", resultName(o.N), why)
	}
	v := reflect.New(o.rtype).Elem()
	*(*unsafe.Pointer)(v.Addr().UnsafePointer()) = unsafe.Pointer(p)
	return v, nil
}

// resultName returns the name of a cell's result for messages.
func resultName(n int) string { return fmt.Sprintf("Out[%d]", n) }

// load puts results into their interpreter variables, which it declares if they are missing.
func (s *Session) load(list []*compile.Out) error {
	for _, o := range list {
		v, err := s.outs.list[o.N].get()
		if err != nil {
			return err
		}
		if dst := s.rt.Variable(o.Var); dst.IsValid() {
			rt.Move(dst, v)
		} else if v.IsValid() {
			s.rt.Initially(o.Var, v)
		}
	}
	return nil
}

// Whole returns a value as a result shows it, but complete. The name is a variable or Out[n]; "_" and ""
// mean the last result.
func (s *Session) Whole(name string) (display.Value, error) {
	f := *s.format
	f.Whole = true
	if e := s.compiler.World.Names[name]; e != nil && e.Kind == world.Var {
		return f.Format(s.rt.Variable(e.Internal), e.Obj.Type()), nil
	}
	n := s.outs.last
	if _, err := fmt.Sscanf(name, "Out[%d]", &n); err != nil && name != "" && name != "_" {
		return nil, fmt.Errorf("show: got %q, want a variable, Out[n], or nothing for the last result", name)
	}
	o := s.outs.list[n]
	if o == nil {
		return nil, fmt.Errorf("show: there is no result %s", resultName(n))
	}
	v, err := o.get()
	if err != nil {
		return nil, err
	}
	return f.Format(v, o.Type), nil
}
