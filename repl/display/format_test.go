package display

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/plot"
)

type point struct {
	X, Y int
	note string
}

type chain struct {
	Value int
	Next  *chain
}

type celsius float64

type broken struct{}

func (broken) String() string { panic("not today") }

type spoken struct{ n int }

func (s spoken) String() string { return fmt.Sprintf("<%d>", s.n) }

type ownText struct{}

func (ownText) Text(width int) string { return fmt.Sprintf("drawn for %d", width) }

type layer struct{ W weights }

type weights struct{}

func (weights) Brief() string  { return "f32[2 3]" }
func (weights) String() string { return "f32[2 3]\n[[…]]" }

type curve struct{}

func (curve) Drawing() any { return plot.Line([]int{3, 2, 1}).Titled("loss").Labels("step", "") }

func TestFormatCompiled(t *testing.T) {
	loop := &chain{Value: 1}
	loop.Next = loop
	long := make([]int, 1000)
	for i := range long {
		long[i] = i
	}
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "nil"},
		{42, "42"},
		{true, "true"},
		{"a\tb", `"a\tb"`},
		{"two\nlines", "`two\nlines`"},
		{"bell\n\a", `"bell\n\a"`},
		{0.0000012, "0.0000012 float64"},
		{float32(0.1), "0.1 float32"},
		{uint8(3), "3 uint8"},
		{3 + 4i, "(3+4i) complex128"},
		{celsius(36.6), "36.6 display.celsius"},
		{[]int{4, 1024}, "[4 1024]"},
		{[]int{}, "[] []int"},
		{[]int(nil), "nil []int"},
		{[]string{"a", "b c"}, `["a" "b c"]`},
		{[]float64{1, 2.5}, "[1 2.5] []float64"},
		{[]any{1, "a", nil}, `[1 "a" nil] []any`},
		{[]byte("hello"), `[]byte("hello")`},
		{[]byte{0, 255}, "[]byte(hex 00 ff)"},
		{map[string]int{"b": 1, "a": 2}, `map[string]int{"a": 2, "b": 1}`},
		{map[int]bool{10: true, 9: false}, "map[int]bool{9: false, 10: true}"},
		{map[string]int(nil), "nil map[string]int"},
		{point{1, 2, "n"}, `display.point{X: 1, Y: 2, note: "n"}`},
		{&point{X: 1}, `&display.point{X: 1, Y: 0, note: ""}`},
		{(*point)(nil), "nil *display.point"},
		{[]point{{X: 1}}, `[{X: 1, Y: 0, note: ""}] []display.point`},
		{loop, "&display.chain{Value: 1, Next: (cycle)}"},
		{errors.New("bad luck"), "bad luck"},
		{1500 * time.Millisecond, "1.5s time.Duration"},
		{time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC), "2026-11-21 07:00:00 +0000 UTC time.Time"},
		{spoken{7}, "<7> display.spoken"},
		{[]spoken{{7}}, "[<7>] []display.spoken"},
		{(*spoken)(nil), "nil *display.spoken"},
		{broken{}, "<String panics: not today> display.broken"},
		{func(int) string { return "" }, "func(int) string"},
		{make(chan int, 3), "chan int (0 of 3)"},
		{[2]bool{true}, "[true false] [2]bool"},
		{ownText{}, "drawn for 80"},
		{layer{}, "display.layer{W: f32[2 3]}"},
		{struct{ In ownText }{}, "struct{In: drawn for 0}"},
	} {
		if got := Format(c.value).Text(80); got != c.want {
			t.Errorf("%T: got %s, want %s", c.value, got, c.want)
		}
	}
	if got := Format(long).Text(80); !strings.Contains(got, "19 … 960 more … 980") || !strings.HasSuffix(got, "1,000 elements, %show shows all") {
		t.Errorf("long slice: got %s", got)
	}
	if got := Format(strings.Repeat("ü", 3000)).Text(80); !strings.HasPrefix(got, `"üü`) || !strings.Contains(got, `üü" … 4,000 more bytes … "üü`) || !strings.HasSuffix(got, "ü\" 6,000 bytes, %show shows all") {
		t.Errorf("long string: got …%s", got[len(got)-60:])
	}
	if v, ok := Format(curve{}).(Drawer); !ok || !strings.Contains(v.Text(40), "loss") {
		t.Errorf("a type with a drawing must be drawn, got %T", Format(curve{}))
	}
}

// What does not fit a line is broken where Go source would be.
func TestFormatBreaksLines(t *testing.T) {
	v := struct {
		Name   string
		Points []point
	}{"a name", []point{{1, 2, "first"}, {3, 4, "second"}}}
	want := `struct{
  Name: "a name",
  Points: [
    {X: 1, Y: 2, note: "first"}
    {X: 3, Y: 4, note: "second"}
  ],
}`
	if got := Format(v).Text(40); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = "[100 101 102\n 103 104 105\n 106]"
	if got := Format([]int{100, 101, 102, 103, 104, 105, 106}).Text(14); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Interpreted values: reflect sees structs without a name, whose unexported fields are called Xname, and no
// methods.
func TestFormatInterpreted(t *testing.T) {
	const src = `package session
import "time"
type P struct { x int; Next *P; wait time.Duration }
type C float64
type Op func(a, b int) int
var (p P; pp *P; ps []P; c C; cs map[string]C; op Op; f func(int) error; a any; e error; u interface{ M() })`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "s.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: timeOnly{}}
	pkg, err := conf.Check("session", fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type bare = struct {
		Xx    int
		Next  *struct{ Xx int }
		Xwait time.Duration
	}
	f := &Formatter{
		Qualifier: func(p *types.Package) string {
			if p == pkg {
				return ""
			}
			return p.Name()
		},
		Unwrap: func(v reflect.Value) reflect.Value {
			if w, ok := v.Interface().(wrapped); ok {
				return reflect.ValueOf(w.inner)
			}
			return v
		},
		Method: func(v reflect.Value, t types.Type, name string) (string, bool) {
			if n, ok := t.(*types.Named); ok && n.Obj().Name() == "C" && name == "String" {
				return fmt.Sprintf("%g °C", v.Float()), true
			}
			return "", false
		},
	}
	for _, c := range []struct {
		name  string
		value any
		want  string
	}{
		{"p", bare{Xx: 1, Xwait: time.Second}, "P{x: 1, Next: nil, wait: 1s}"},
		{"pp", &bare{Xx: 1}, "&P{x: 1, Next: nil, wait: 0s}"},
		{"pp", (*bare)(nil), "nil *P"},
		{"ps", []bare{{Xx: 1}}, "[{x: 1, Next: nil, wait: 0s}] []P"},
		{"c", 36.6, "36.6 °C C"},
		{"cs", map[string]float64{"in": 20}, `map[string]C{"in": 20 °C}`},
		{"op", func(int, int) int { return 0 }, "Op"},
		{"op", (func(int, int) int)(nil), "nil Op"},
		{"f", func(int) error { return nil }, "func(int) error"},
		{"a", bare{Xx: 1}, "struct{x: 1, Next: nil, wait: 0s}"},
		{"a", wrapped{bare{Xx: 1}}, "struct{x: 1, Next: nil, wait: 0s}"},
		{"a", wrapped{3}, "3"},
		{"e", nil, "nil"},
	} {
		typ := pkg.Scope().Lookup(c.name).Type()
		if got := f.Format(reflect.ValueOf(c.value), typ).Text(80); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// timeOnly is an importer that knows time.Duration: tests need no sources of the standard library.
type timeOnly struct{}

func (timeOnly) Import(path string) (*types.Package, error) {
	if path != "time" {
		return nil, fmt.Errorf("import %s: only time is known", path)
	}
	pkg := types.NewPackage("time", "time")
	name := types.NewTypeName(token.NoPos, pkg, "Duration", nil)
	types.NewNamed(name, types.Typ[types.Int64], nil)
	pkg.Scope().Insert(name)
	pkg.MarkComplete()
	return pkg, nil
}

// wrapped stands for what an interpreter puts around a value in an interface.
type wrapped struct{ inner any }

func TestTuple(t *testing.T) {
	short := []Value{Format(1), Format("a"), Format(nil)}
	if got, want := Tuple(short).Text(80), `1, "a", nil`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Tuple([]Value{Format(1), Format("a\nb")}).Text(80), "1\n`a\nb`"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Tuple(short[:1]).Text(80), "1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStyledTextIsTextWithStyles(t *testing.T) {
	style := func(role Role, text string) string {
		if role == Plain {
			return text
		}
		return "\x1b[1m" + text + "\x1b[m"
	}
	strip := strings.NewReplacer("\x1b[1m", "", "\x1b[m", "").Replace
	table := NewTable("name", ">n")
	table.Add(Cell{Text: "a", Role: Name}, 1)
	for _, v := range []Value{Format(2.5), Tuple([]Value{Format(2.5), Format(1)}), table, Format(curve{})} {
		styled := Styled(v, 60, style)
		if styled == v.Text(60) {
			t.Errorf("%T: no styles in %q", v, styled)
		}
		if strip(styled) != v.Text(60) {
			t.Errorf("%T: got %q without styles, want %q", v, strip(styled), v.Text(60))
		}
	}
}

// Format shows a compiled value; see [Formatter.Format].
func Format(v any) Value { return new(Formatter).Format(reflect.ValueOf(v), nil) }
