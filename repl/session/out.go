package session

import (
	"fmt"
	"go/types"
	"reflect"
	"unsafe"
	"weak"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session/internal/compile"
	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// keepBytes is the size up to which a result is kept as Out[n]. A bigger one, and whatever is behind a
// pointer (a tensor, a model), is kept only as long as something else does.
const keepBytes = 4 << 10

// An out is the value of a cell's trailing expression.
type out struct {
	compile.Out
	value reflect.Value      // if it is small
	weak  weak.Pointer[byte] // what a pointer, or a struct that is one pointer, points to
	rtype reflect.Type       // of the value, for weak ones
	size  string             // why it was not kept
}

// outs are the results that cells can mention.
type outs struct {
	list map[int]*out
	last int // the newest
}

// keep stores a result. The newest one is held as it is, whatever its size: it is _.
func (os *outs) keep(n int, t types.Type, v reflect.Value) {
	if old := os.list[os.last]; old != nil {
		old.shrink()
	}
	o := &out{Out: compile.Out{N: n, Var: fmt.Sprintf("__out_%d", n), Type: types.Default(t)}, value: v}
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.UntypedNil {
		o.Type = types.NewInterfaceType(nil, nil)
	}
	os.list[n], os.last = o, n
}

// Out is Out[n] as code gets at it, or nil.
func (os *outs) Out(n int) *compile.Out {
	if o := os.list[n]; o != nil {
		return &o.Out
	}
	return nil
}

// Last is the newest result as code gets at it, or nil.
func (os *outs) Last() *compile.Out { return os.Out(os.last) }

// shrink lets go of a value that is not small.
func (o *out) shrink() {
	v := o.value
	if !v.IsValid() || small(v, 0) <= keepBytes {
		return
	}
	o.value, o.rtype = reflect.Value{}, v.Type()
	if p := onlyPointer(v); p != nil {
		o.weak = weak.Make((*byte)(p))
		return
	}
	o.size = fmt.Sprintf("it is larger than %d bytes", keepBytes)
}

// onlyPointer is the pointer that v consists of, or nil.
func onlyPointer(v reflect.Value) unsafe.Pointer {
	switch v.Kind() {
	case reflect.Pointer:
		return v.UnsafePointer()
	case reflect.Struct:
		if v.NumField() == 1 && v.Type().Size() == unsafe.Sizeof(uintptr(0)) && v.Field(0).Kind() == reflect.Pointer {
			return v.Field(0).UnsafePointer()
		}
	}
	return nil
}

// smallDepth is how deep a value may be nested that is kept.
const smallDepth = 20

// small is the size of a value with all that it holds, counted up to a bit more than keepBytes. What it
// points to does not count as small, however little it is, and what is nested deep, as all that holds itself
// is, does not either.
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

// get is the value, if something has kept it.
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

// resultName is how people call the result of a cell.
func resultName(n int) string { return fmt.Sprintf("Out[%d]", n) }

// load puts results into their variables, which may not exist yet.
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

// Whole is a value as a result shows it, with nothing left out: that of a variable, of Out[n], or of the last
// result for "_" and "".
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
