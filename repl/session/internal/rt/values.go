package rt

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// Var registers the place of a session variable in the interpreter; p points to it. If the session has a
// first value for it, the variable gets that value.
func (r *Runtime) Var(name string, p any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := reflect.ValueOf(p)
	r.vars[name] = v
	if first, ok := r.initial[name]; ok {
		delete(r.initial, name)
		Move(v.Elem(), first)
	}
}

// Initially gives a variable that is to be declared its first value.
func (r *Runtime) Initially(name string, v reflect.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.initial[name] = v
}

// Variable returns the live variable with this name, addressable and settable, or an invalid Value if
// there is none.
func (r *Runtime) Variable(name string) reflect.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.vars[name]
	if !p.IsValid() {
		return p
	}
	return p.Elem()
}

// Word returns the variable of type int with this name, or nil.
func (r *Runtime) Word(name string) *int {
	if v := r.Variable(name); v.IsValid() {
		p, _ := reflect.TypeAssert[*int](v.Addr())
		return p
	}
	return nil
}

// Free zeroes a variable and forgets it, so that its value can be collected.
func (r *Runtime) Free(name string) {
	if v := r.Variable(name); v.IsValid() {
		v.SetZero()
	}
	r.Forget(name)
}

// Forget drops a variable without changing it: closures may still use it.
func (r *Runtime) Forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.vars, name)
}

// Show passes one value of the cell's trailing expression to the session; p points to it.
func (r *Runtime) Show(p any) { r.shown = append(r.shown, reflect.ValueOf(p).Elem()) }

// Shown returns the values that Show has received since the run began.
func (r *Runtime) Shown() []reflect.Value { return r.shown }

// A Failed is the panic value of a cell that stops because an error was left out of a top-level assignment.
type Failed struct {
	Err  error
	Text string // the text of Err
	Mark int    // the statement
}

// CheckValue is Check for an error whose call has also returned *p. If *p is not zero and the call was
// only interrupted, the cell continues until it has assigned *p.
func (r *Runtime) CheckValue(err error, mark int, p any) {
	if err == nil {
		return
	}
	v := Inner(reflect.ValueOf(p).Elem())
	if r.Partial != nil && v.IsValid() && !v.IsZero() && r.Partial(err) {
		return
	}
	r.Check(err, mark)
}

// Check stops the cell if err is not nil.
func (r *Runtime) Check(err error, mark int) {
	if err != nil {
		panic(Failed{err, err.Error(), mark})
	}
}

// Unwrap follows interfaces to the value in them, as the interpreter has it in variables. A value in a
// compiled interface is returned unchanged: it has the methods.
func (r *Runtime) Unwrap(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Interface {
		if v.NumMethod() > 0 && !r.plain() {
			return Inner(v)
		}
		v = v.Elem()
	}
	v, _ = r.Dynamic(v)
	return v
}

// Inner returns the value in an interface.
func Inner(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// Move copies src to dst bit for bit: both have the same Go type declared twice, which reflect may treat
// as two types.
func Move(dst, src reflect.Value) bool {
	if dst.Type() == src.Type() {
		dst.Set(src)
		return true
	}
	if dst.Type().Size() != src.Type().Size() || dst.Kind() != src.Kind() {
		return false
	}
	if !src.CanAddr() {
		c := reflect.New(src.Type()).Elem()
		c.Set(src)
		src = c
	}
	dst.Set(reflect.NewAt(dst.Type(), src.Addr().UnsafePointer()).Elem())
	return true
}

// goTexts are Go's own words for what reflect and the interpreter say when they do on behalf of interpreted
// code what compiled code does itself.
var goTexts = []struct{ has, means string }{
	{"slice index out of range", "runtime error: index out of range"},
	{"array index out of range", "runtime error: index out of range"},
	{"string index out of range", "runtime error: index out of range"},
	{"reflect.Value.Slice: string slice index out of bounds", "runtime error: slice bounds out of range"},
	{"reflect.Value.Slice: slice index out of bounds", "runtime error: slice bounds out of range"},
	{"reflect.Value.Slice3: slice index out of bounds", "runtime error: slice bounds out of range"},
	{"slice index out of bounds", "runtime error: slice bounds out of range"},
	{"on zero Value", "runtime error: invalid memory address or nil pointer dereference"},
	{"value method called using nil", "runtime error: invalid memory address or nil pointer dereference"},
	{"Call using zero Value", "runtime error: invalid memory address or nil pointer dereference"},
	{"Grow: slice overflow", "runtime error: growslice: len out of range"},
	{"Method on nil interface value", "runtime error: invalid memory address or nil pointer dereference"},
	{"call of nil function", "runtime error: invalid memory address or nil pointer dereference"},
	{"using nil *", "runtime error: invalid memory address or nil pointer dereference"},
	{"reflect.MakeSlice: negative len", "runtime error: makeslice: len out of range"},
	{"reflect.MakeSlice: negative cap", "runtime error: makeslice: cap out of range"},
	{"reflect.MakeSlice: len > cap", "runtime error: makeslice: cap out of range"},
	{"hash of unhashable type", ""},
	{"integer divide by zero", "runtime error: integer divide by zero"},
}

// sliceToArray matches reflect's message about a slice that is shorter than the array to which it is
// converted.
var sliceToArray = lazy.Regexp(`^reflect: cannot convert slice with length (\d+) to (?:pointer to )?array with length (\d+)`)

// A RuntimeError is a fault that compiled Go reports as runtime.Error.
type RuntimeError string

func (e RuntimeError) Error() string { return string(e) }

// RuntimeError makes it a runtime.Error.
func (e RuntimeError) RuntimeError() {}

// GoError rewrites reflect's message about a fault as Go's; it returns other values unchanged.
func GoError(v any) any {
	var text string
	switch v := v.(type) {
	case *reflect.ValueError:
		text = v.Error()
	case string:
		text = v
		if !strings.HasPrefix(v, "reflect") {
			return v
		}
	case runtime.Error: // not any error, because its method may be a cell's
		text = strings.TrimPrefix(v.Error(), "runtime error: ")
		if !strings.HasPrefix(text, "reflect") && !strings.HasPrefix(text, "hash of") {
			return v
		}
	default:
		return v
	}
	if unhashable, ok := strings.CutPrefix(text, "hash of unhashable type: "); ok { // of an empty map
		return RuntimeError("runtime error: hash of unhashable type " + unhashable)
	}
	if m := sliceToArray().FindStringSubmatch(text); m != nil {
		return RuntimeError(fmt.Sprintf("runtime error: cannot convert slice with length %s to array or pointer to array with length %s", m[1], m[2]))
	}
	for _, t := range goTexts {
		if strings.Contains(text, t.has) && t.means != "" {
			return RuntimeError(t.means)
		}
	}
	return v
}

// PanicText returns the text that Go prints after "panic: " for this value.
func PanicText(v any) string {
	v = GoError(v)
	switch v := v.(type) {
	case nil:
		return "panic called with nil argument"
	case error:
		return v.Error()
	case string:
		return v
	case fmt.Stringer:
		return v.String()
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		if rv.Type().PkgPath() != "" {
			return fmt.Sprintf("%T(%v)", v, v)
		}
	case reflect.String:
		if rv.Type().PkgPath() != "" {
			return fmt.Sprintf("%T(%q)", v, v)
		}
	}
	return fmt.Sprintf("%v", v)
}

// IsStop says whether a recovered value is the unwinding of a stopped cell, and why the cell was stopped.
func IsStop(p any) (error, bool) {
	var s Stopped
	if v, ok := p.(Stopped); ok {
		return v.Cause, true
	}
	if err, ok := Value(p).(error); ok && errors.As(err, &s) {
		return s.Cause, true
	}
	return nil, false
}
