package rt

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/mcs-notebook/mcs/repl/session/internal/gotype"
)

// The types of these tests, by their numbers: F and G are both float64 to reflection, L is []any, E a
// string that is an error. The base of a pointer's number is that of its target.
const (
	typeF = iota + 1
	typeG
	typeL
	typeE
	typePointerToF
	ifaceArea // an interface with the method Area, which F has
)

// testKinds are the reflection types of the tests' types.
var testKinds = map[int]reflect.Type{typeF: reflect.TypeFor[float64](), typeG: reflect.TypeFor[float64](), typeL: reflect.TypeFor[[]any](), typeE: reflect.TypeFor[string]()}

func testRuntime() *Runtime {
	names := []string{"", "main.F", "main.G", "main.L", "main.E", "*main.F", "main.Shape"}
	made := map[int]reflect.Type{}
	r := New(Types{
		Name: func(key int) string { return names[key] },
		Base: func(key int) int {
			return map[int]int{typePointerToF: typeF}[key] + map[bool]int{true: key}[key != typePointerToF]
		},
		Implements: func(key, iface int) bool { return key == typeF || key == typePointerToF },
		Satisfies:  func(t reflect.Type, iface int) bool { _, ok := t.MethodByName("Area"); return ok },
		Made:       func(key int) reflect.Type { return made[key] },
		Find:       func(reflect.Type) int { return 0 },
	})
	texts := map[int]string{typeG: "String", typeE: "Error"}
	for key, under := range testKinds {
		n := map[bool]int{true: 1}[texts[key] != ""]
		t := gotype.Declare(gotype.Head{Kind: under.Kind(), Text: names[key], Defined: true, Path: "main", Methods: n, PointerMethods: n})
		t.Define(under)
		made[key] = t.Reflect()
		if n == 0 {
			continue
		}
		text := gotype.Method{Name: texts[key], Type: reflect.TypeFor[func() string]()}
		text.Call = func(recv reflect.Value, args []reflect.Value) []reflect.Value {
			return r.InvokeFor(text.Type, key, text.Name, recv, args)
		}
		if err := t.SetMethods([]gotype.Method{text}, []gotype.Method{text}); err != nil {
			panic(err)
		}
	}
	made[typePointerToF] = reflect.PointerTo(made[typeF])
	r.Method(typeF, "Area", func(f float64) float64 { return f * f })
	r.Method(typeF, "Grow", func(f *float64, by ...float64) int { *f += by[0]; return len(by) })
	r.Method(typeG, "String", func(g float64) string { return fmt.Sprintf("<%v>", g) })
	r.Method(typeE, "Error", func(e string) string { return "error " + e })
	return r
}

// Values in interfaces are equal, and the same key, if their types and they are.
func TestBoxesCompare(t *testing.T) {
	r := testRuntime()
	f, g := r.Box(typeF, 1.0), r.Box(typeG, 1.0)
	for _, test := range []struct {
		x, y  any
		equal bool
	}{
		{f, r.Box(typeF, 1.0), true},
		{f, r.Box(typeF, 2.0), false},
		{f, g, false},
		{f, 1.0, false},
		{nil, nil, true},
		{f, nil, false},
		{[2]any{f, 1}, [2]any{r.Box(typeF, 1.0), 1}, true},
		{[2]any{f, 1}, [2]any{g, 1}, false},
	} {
		if got := r.Equal(test.x, test.y); got != test.equal {
			t.Errorf("%v == %v: got %v, want %v", test.x, test.y, got, test.equal)
		}
		if m := map[any]bool{test.x: true}; m[test.y] != test.equal {
			t.Errorf("map[%v][%v]: got %v, want %v", test.x, test.y, m[test.y], test.equal)
		}
	}
	defer func() {
		if want := "runtime error: comparing uncomparable type main.L"; fmt.Sprint(recover()) != want {
			t.Errorf("comparing slices does not panic with %q", want)
		}
	}()
	r.Equal(r.Box(typeL, []any{1}), r.Box(typeL, []any{1}))
}

func TestAs(t *testing.T) {
	r := testRuntime()
	for _, test := range []struct {
		x   any
		key int
		ok  bool
	}{{r.Box(typeF, 2.0), typeF, true}, {r.Box(typeF, 2.0), typeG, false}, {r.Box(typeF, 2.0), 0, false}, {2.0, 0, true}, {2.0, typeF, false}, {nil, 0, false}, {2, 0, false}} {
		var into float64
		if ok := r.As(test.x, &into, test.key); ok != test.ok || ok && into != 2 {
			t.Errorf("As(%v, %d): got %v, %v, want %v", test.x, test.key, into, ok, test.ok)
		}
	}
	var own any
	if f := r.Box(typeF, 1.0); !r.AsOwn(f, &own, ifaceArea) || own != f {
		t.Errorf("a value with the method is no %v: got %v", ifaceArea, own)
	}
	if r.AsOwn(r.Box(typeG, 1.0), &own, ifaceArea) || r.AsOwn(3, &own, ifaceArea) || r.AsOwn(nil, &own, ifaceArea) {
		t.Error("a value without the method has the interface type")
	}
}

// Dispatch calls the method of the value's type, whether it was interpreted or compiled.
func TestDispatch(t *testing.T) {
	r := testRuntime()
	var area func(any) float64
	r.Dispatch("Area", &area)
	x := 3.0
	if a, b := area(r.Box(typeF, 2.0)), area(r.Box(typePointerToF, &x)); a != 4 || b != 9 {
		t.Errorf("got %v and %v, want 4 and 9", a, b)
	}
	var grow func(any, ...float64) int
	r.Dispatch("Grow", &grow)
	if n := grow(r.Box(typePointerToF, &x), 2, 1); n != 2 || x != 5 {
		t.Errorf("got %v, %v, want 2, 5", n, x)
	}
	var text func(any) string
	r.Dispatch("String", &text)
	if a, b := text(r.Box(typeG, 1.5)), text(reflect.ValueOf(7)); a != "<1.5>" || b != "<int Value>" {
		t.Errorf("got %q and %q", a, b)
	}
	for _, test := range []struct {
		x    any
		want string
	}{
		{nil, "runtime error: invalid memory address or nil pointer dereference"},
		{r.Box(typePointerToF, (*float64)(nil)), "value method main.F.Area called using nil *main.F pointer"},
	} {
		func() {
			defer func() {
				if p := recover(); fmt.Sprint(p) != test.want {
					t.Errorf("got panic %v, want %s", p, test.want)
				}
			}()
			area(test.x)
		}()
	}
}

// An error of an interpreted type is comparable if its type is, and package errors finds it.
func TestErr(t *testing.T) {
	r := testRuntime()
	wrapped := func(text string) (err error) {
		r.Wrap(typeE, text, &err)
		return err
	}
	a := wrapped("a")
	if a.Error() != "error a" || a != wrapped("a") || a == wrapped("b") || !errors.Is(fmt.Errorf("x: %w", a), wrapped("a")) {
		t.Errorf("%v is not what it should be", a)
	}
	if r.Open(a) != r.Box(typeE, "a") || !r.Equal(a, r.Box(typeE, "a")) {
		t.Error("a wrapper is not the value in it")
	}
	var own any
	if !r.ErrorsAs(errors.Join(io.EOF, areaError{}), &own, ifaceArea) || own != (areaError{}) || r.ErrorsAs(a, &own, ifaceArea) {
		t.Errorf("ErrorsAs: got %v", own)
	}
	var s fmt.Stringer
	if !r.AsInterface(r.Box(typeG, 2.0), &s) || s.String() != "<2>" || r.AsInterface(r.Box(typeF, 2.0), &s) {
		t.Errorf("AsInterface: got %v", s)
	}
}

// areaError is a compiled error with the method Area.
type areaError struct{}

func (areaError) Error() string { return "area" }
func (areaError) Area() float64 { return 0 }

// A value in an interface has its type and its methods wherever compiled code finds it.
func TestCompiledCodeSeesTypes(t *testing.T) {
	r := testRuntime()
	f, g := r.Box(typeF, 1.5), r.Box(typeG, 2.0)
	for _, test := range []struct {
		x            any
		format, want string
	}{
		{f, "%v %[1]T", "1.5 main.F"},
		{[]any{f, g, nil}, "%v", "[1.5 <2> <nil>]"},
		{map[any]any{g: []any{g}}, "%v", "map[<2>:[<2>]]"},
		{r.Box(typeL, []any{f}), "%v %[1]T", "[1.5] main.L"},
		{struct{ X, x any }{g, g}, "%v", "{<2> 2}"},
	} {
		if got := fmt.Sprintf(test.format, test.x); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// The text of a panic names the type, as Go does.
func TestPanicText(t *testing.T) {
	r := testRuntime()
	for _, test := range []struct {
		x    any
		want string
	}{{r.Box(typeF, 1.5), "main.F(1.5)"}, {r.Box(typeG, 2.0), "<2>"}, {r.Box(typeE, "x"), "error x"}, {"s", "s"}, {nil, "panic called with nil argument"}} {
		if got := PanicText(Value(test.x)); got != test.want {
			t.Errorf("PanicText(%v): got %q, want %q", test.x, got, test.want)
		}
	}
}
