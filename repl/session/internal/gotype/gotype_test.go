package gotype

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"unsafe"
)

// The compiler's types, which those that are made are compared with.
type (
	celsius float64
	list    []int
	mapping map[string]int
	pair    [2]string
	unary   func(int, ...string) error
	channel chan int
	pointer *int
	empty   interface{}
	point   struct {
		X, y int
		_    int
		Tag  string `json:"tag,omitempty"`
		celsius
	}
)

// structFields are the fields of a compiled struct.
func structFields(t reflect.Type) (list []Field) {
	for f := range t.Fields() {
		list = append(list, Field{f.Name, string(f.Tag), f.Type, f.Anonymous})
	}
	return list
}

// remade is the type that is made in the image of a compiled one.
func remade(like, under reflect.Type) *Type {
	h := Head{Kind: like.Kind(), Text: like.String(), Path: like.PkgPath(), Defined: like.Name() != ""}
	if h.Kind == reflect.Func {
		h.In, h.Out = like.NumIn(), like.NumOut()
	}
	t := Declare(h)
	if h.Kind == reflect.Struct {
		t.DefineStruct(reflect.TypeFor[point]().PkgPath(), structFields(like))
	} else {
		t.Define(under)
	}
	return t
}

var remadeTypes = []struct{ like, under reflect.Type }{
	{reflect.TypeFor[celsius](), reflect.TypeFor[float64]()},
	{reflect.TypeFor[list](), reflect.TypeFor[[]int]()},
	{reflect.TypeFor[mapping](), reflect.TypeFor[map[string]int]()},
	{reflect.TypeFor[pair](), reflect.TypeFor[[2]string]()},
	{reflect.TypeFor[unary](), reflect.TypeFor[func(int, ...string) error]()},
	{reflect.TypeFor[channel](), reflect.TypeFor[chan int]()},
	{reflect.TypeFor[pointer](), reflect.TypeFor[*int]()},
	{reflect.TypeFor[empty](), reflect.TypeFor[any]()},
	{reflect.TypeFor[point](), nil},
	{reflect.TypeFor[struct{ a, B int }](), nil},
}

// The layouts that are written here are this Go's.
func TestKnown(t *testing.T) {
	if err := Known(); err != nil {
		t.Error(err)
	}
}

// A made type answers package reflect like the compiler's type.
func TestTypesAreAsTheCompilers(t *testing.T) {
	for _, test := range remadeTypes {
		got, want := remade(test.like, test.under).Reflect(), test.like
		about := func(t reflect.Type) string {
			p := reflect.PointerTo(t)
			text := fmt.Sprintln(t, t.Name(), t.PkgPath(), t.Kind(), t.Size(), t.Align(), t.FieldAlign(), t.Comparable(), t.NumMethod(), p, p.Elem() == t, p.Name(), reflect.SliceOf(t), reflect.MapOf(reflect.TypeFor[string](), t))
			switch t.Kind() {
			case reflect.Struct:
				for f := range t.Fields() {
					text += fmt.Sprintf("%+v\n", f)
				}
			case reflect.Func:
				text += fmt.Sprintln(t.In(0), t.In(1), t.Out(0), t.IsVariadic())
			case reflect.Array, reflect.Slice, reflect.Chan, reflect.Map, reflect.Pointer:
				text += fmt.Sprintln(t.Elem())
			}
			return text
		}
		if about(got) != about(want) {
			t.Errorf("got  %s\nwant %s", about(got), about(want))
		}
		if !SameLayout(got, want) {
			t.Errorf("%s: values do not lie in memory as the compiler's do", want)
		}
	}
}

// Values become values of a made type without being moved.
func TestRetypedValues(t *testing.T) {
	made := remade(reflect.TypeFor[point](), nil).Reflect()
	p := point{1, 2, 3, "tag", 4}
	x := Retype(p, made)
	for _, format := range []string{"%v", "%+v", "%T"} {
		if got, want := fmt.Sprintf(format, x), fmt.Sprintf(format, p); got != want {
			t.Errorf("%s: got %s, want %s", format, got, want)
		}
	}
	q := p
	q.Tag = strings.Clone(p.Tag)
	reflect.ValueOf(&q).Elem().Field(0).SetInt(1)
	*(*int)(unsafe.Add(unsafe.Pointer(&q), 16)) = 99 // the blank field
	if x != Retype(q, made) {
		t.Error("two points that differ in a blank field are not equal")
	}
	if m := map[any]int{x: 7}; m[Retype(q, made)] != 7 || m[p] != 0 {
		t.Error("a map takes a made type for the compiler's, or does not find its value")
	}
	out, err := json.Marshal(x)
	if want := `{"X":1,"tag":"tag"}`; string(out) != want || err != nil {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
	r := Retype(&p, reflect.PointerTo(made))
	if err := json.Unmarshal([]byte(`{"X":10,"y":20}`), r); p.X != 10 || p.y != 2 || err != nil {
		t.Errorf("got %+v, %v", p, err)
	}
}

// Interfaces, reflection and type assertions find the methods of a made type, with all kinds of receivers
// and arguments.
func TestMethods(t *testing.T) {
	type words struct{ a, b string }
	for _, like := range []any{celsius(36.6), words{"a", "b"}, list{1, 2}, struct{ p *int }{new(int)}, struct{}{}} {
		under := reflect.TypeOf(like)
		h := Head{Kind: under.Kind(), Text: "main.Made", Path: "main", Defined: true, Methods: 2, PointerMethods: 3}
		made := Declare(h)
		if h.Kind == reflect.Struct {
			made.DefineStruct("main", structFields(under))
		} else {
			made.Define(under)
		}
		var seen reflect.Value
		note := func(recv reflect.Value) { seen = recv }
		str := Method{"String", reflect.TypeFor[func() string](), func(recv reflect.Value, _ []reflect.Value) []reflect.Value {
			note(recv)
			return []reflect.Value{reflect.ValueOf("made")}
		}}
		read := Method{Name: "Read", Type: reflect.TypeFor[func([]byte) (int, error)]()}
		read.Call = func(recv reflect.Value, args []reflect.Value) []reflect.Value {
			note(recv)
			runtime.GC()
			n := copy(args[0].Bytes(), "text")
			err := reflect.New(reflect.TypeFor[error]()).Elem()
			err.Set(reflect.ValueOf(io.EOF))
			return []reflect.Value{reflect.ValueOf(n), err}
		}
		onlyPointer := Method{"Len", reflect.TypeFor[func() int](), func(recv reflect.Value, _ []reflect.Value) []reflect.Value {
			note(recv)
			return []reflect.Value{reflect.ValueOf(3)}
		}}
		if err := made.SetMethods([]Method{str, read}, []Method{onlyPointer, str, read}); err != nil {
			t.Fatal(err)
		}
		x := Retype(like, made.Reflect())
		if got := fmt.Sprint(x); got != "made" || made.Reflect().Comparable() && reflect.Indirect(seen).Interface() != x {
			t.Errorf("%T: got %q with the receiver %v", like, got, seen)
		}
		if b, err := io.ReadAll(x.(io.Reader)); string(b) != "text" || err != nil {
			t.Errorf("%T: got %q, %v", like, b, err)
		}
		if got := reflect.ValueOf(x).MethodByName("String").Call(nil)[0].String(); got != "made" {
			t.Errorf("%T: by its name: got %q", like, got)
		}
		if got := made.Reflect().Method(1).Func.Call([]reflect.Value{reflect.ValueOf(x)})[0].String(); got != "made" {
			t.Errorf("%T: as a function: got %q", like, got)
		}
		if _, ok := x.(interface{ Len() int }); ok {
			t.Errorf("%T: a value has the method of its pointers", like)
		}
		p := reflect.New(made.Reflect())
		if got := p.Interface().(interface{ Len() int }).Len(); got != 3 || seen.Interface() != p.Interface() {
			t.Errorf("%T: got %d with the receiver %v", like, got, seen)
		}
	}
}

// Types that refer to each other or to themselves can be used before they are complete.
func TestTypesReferToThemselves(t *testing.T) {
	node := Declare(Head{Kind: reflect.Struct, Text: "main.Node", Path: "main", Defined: true})
	kids := Declare(Head{Kind: reflect.Slice, Text: "main.Kids", Path: "main", Defined: true})
	kids.Define(reflect.SliceOf(reflect.PointerTo(node.Reflect())))
	node.DefineStruct("main", []Field{{Name: "name", Type: reflect.TypeFor[string]()}, {Name: "Kids", Type: kids.Reflect()}})
	v := reflect.New(node.Reflect())
	v.Elem().Field(1).Set(reflect.Append(v.Elem().Field(1), v))
	runtime.GC()
	if got, want := fmt.Sprintf("%T", v.Elem().Field(1).Index(0).Elem().Interface()), "main.Node"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A method of a made type serves while the collector runs and stacks grow.
func TestMethodsSurviveTheCollector(t *testing.T) {
	made := Declare(Head{Kind: reflect.Slice, Text: "main.Sorted", Path: "main", Defined: true, Methods: 3, PointerMethods: 3})
	made.Define(reflect.TypeFor[[]int]())
	var grow func(n int) int
	grow = func(n int) int {
		var big [100]int
		if n == 0 {
			return big[n]
		}
		return grow(n-1) + big[n%100]
	}
	ints := func(v reflect.Value) []int {
		return reflect.Indirect(v).Convert(reflect.TypeFor[[]int]()).Interface().([]int)
	}
	methods := []Method{
		{"Len", reflect.TypeFor[func() int](), func(v reflect.Value, _ []reflect.Value) []reflect.Value {
			return []reflect.Value{reflect.ValueOf(len(ints(v)))}
		}},
		{"Less", reflect.TypeFor[func(i, j int) bool](), func(v reflect.Value, a []reflect.Value) []reflect.Value {
			grow(100)
			return []reflect.Value{reflect.ValueOf(ints(v)[a[0].Int()] < ints(v)[a[1].Int()])}
		}},
		{"Swap", reflect.TypeFor[func(i, j int)](), func(v reflect.Value, a []reflect.Value) []reflect.Value {
			s := ints(v)
			s[a[0].Int()], s[a[1].Int()] = s[a[1].Int()], s[a[0].Int()]
			return nil
		}},
	}
	if err := made.SetMethods(methods, slices.Clone(methods)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer close(stop)
	for range 20 {
		xs := make([]int, 200)
		for i := range xs {
			xs[i] = (i * 7919) % 1000
		}
		sort.Sort(Retype(xs, made.Reflect()).(sort.Interface))
		if !sort.IntsAreSorted(xs) {
			t.Fatal("not sorted:", xs)
		}
	}
}
