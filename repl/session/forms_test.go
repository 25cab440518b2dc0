package session

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/stdlib"
)

// formTypes are expressions of each type, of every form that the lowering passes on whole or takes apart.
var formTypes = []struct {
	typ   string
	forms []string
}{
	{"bool", []string{"b", "bool(fl)", "bool(Flag(b))", "!b", "!bool(fl)", "p != nil", "n < 3", "f64 == 1.5", "s > \"a\"", "iface == n", "iface == nil",
		"xs[1] == 2", "m[\"a\"] == 1", "mb[\"a\"]", "st.B", "p.B", "pp.P.B", "arr[0]", "parr[1]", "*pb", "yes()", "x.ok()", "no()", "iface.(int) == 3",
		"len(xs) == 3", "struct{ B bool }{true}.B", "T{B: true}.B", "(&T{B: b}).B", "len([]struct{ A, B int }{{1, 2}}) == 1", "new(struct{ A int }).A == 0",
		"map[string]bool{\"k\": true}[\"k\"]", "[]bool{false, true}[one()]", "[2]bool{true}[0]", "func() bool { return n == 3 }()", "b && yes()", "b || no()",
		"no() && p.B", "(b || no()) && n == 3", "n == 3 && (s == \"a\" || xs[n] == 1)", "bool(p != nil) && p.B", "fs[0](n) && b", "any(n) == any(3)", "st == T{A: 1, B: true}",
		"string(bs) == \"hi\"", "string(bs[:1]) == \"h\"", "float64(n) < f64", "n&1 == 1", "n%2 == 0", "min(n, 1) == 1", "xs[n-1:][0] == 3", "id(b)", "first(b, no())"}},
	{"int", []string{"n", "-n", "^n", "n + 1", "n*2 - one()", "n + one()*n", "xs[0]", "xs[one()]", "m[\"a\"]", "m[key()]", "st.A", "p.A", "pp.P.A", "len(xs)", "cap(xs[:1])", "int(f64)",
		"int(s[0])", "iface.(int)", "one() + two()", "xs[two()] - one()", "m[\"a\"] + one() + m[\"b\"]", "x.get()", "(*T).get(p)", "T.val(st)", "T{A: 4}.val()", "[]int{4, 5}[1]", "add(n, one())",
		"add(xs[0], add(n, 2))", "func() int { n++; return n }() + n", "n << 2", "n >> uint(one())", "n / 2", "n % 2", "7 / one()", "max(n, one(), 2)", "<-ch", "<-ch + <-ch", "*pn",
		"len(append(xs, one()))", "copy(xs, xs)", "id(n)", "id[int](4)", "[3]int{1, 2, one()}[n-1]", "len(\"a\" + s)", "real2(c)", "xs[len(xs)-1]", "grid[1][0]", "pgrid[0][1]"}},
	{"string", []string{"s", "s + \"b\"", "s[:1] + key()", "fmt.Sprint(n)", "string(bs)", "st.S", "p.S", "ms[n]", "iface2.(string)", "string(Name(s))", "fmt.Sprint(n, one()) + s", "strings.Repeat(s, two())", "x.String()", "err.Error()", "fmt.Sprint(st)"}},
	{"float64", []string{"f64", "f64 * 2", "float64(n)", "f64 + float64(one())", "real(c)", "imag(c * c)", "fs64[0]", "math.Sqrt(f64)", "-f64 / 2", "float64(f32)"}},
	{"T", []string{"st", "T{A: 1}", "T{A: one(), S: key()}", "*p", "make2()", "ts[0]", "pp.P.self()", "mt[1]", "at[1]", "T(st)", "<-cht", "anyT.(T)", "(&T{A: 2}).self()", "fT()"}},
	{"*T", []string{"p", "&T{A: 1}", "new(T)", "&st", "pp.P", "ptr()", "&ts[0]", "&at[1]"}},
	{"[]int", []string{"xs", "[]int{1, one()}", "xs[1:]", "xs[one():two()]", "append(xs, 1)", "append([]int(nil), xs...)", "append(append([]int{}, one()), two())", "make([]int, two())", "mk[0]", "nil", "rest(1, one())"}},
	{"[2]int", []string{"a2", "[2]int{1, one()}", "a2s[0]", "*pa2", "[...]int{n, 2}", "pp.A", "arrays()"}},
	{"any", []string{"n", "s", "st", "p", "nil", "iface", "T{A: one()}", "Flag(b)", "xs", "one()", "n < 3", "any(n)", "err", "key() + s", "fT()", "Name(s)", "[]any{n, s}"}},
	{"error", []string{"err", "nil", "&E{n}", "fmt.Errorf(\"%d\", one())", "errs[0]", "fail()"}},
	{"func(int) int", []string{"twice", "func(k int) int { return k + n }", "fi[0]", "pick()"}},
	{"map[string]int", []string{"m", "map[string]int{\"a\": one()}", "map[string]int{key(): 1}", "nil", "mm[\"a\"]"}},
	{"Flag", []string{"fl", "Flag(b)", "!fl", "fl && Flag(yes())", "Flag(n == 3)", "fls[0]"}},
	{"Shape", []string{"sq", "T{A: one()}", "nil", "&T{A: 3}", "shapes[0]", "Shape(&st)"}},
}

// formPlaces are statements that use an expression E of type T; show prints a value.
var formPlaces = []struct{ types, text string }{
	{"", "show($E)"},
	{"", "v := $T(zero[$T]()); v = $E; show(v)"},
	{"", "var v $T = $E; show(v)"},
	{"", "v, k := ($T)($E), one(); show(v, k)"},
	{"", "var v $T; k := 0; k, v = one(), $E; show(v, k)"},
	{"", "v := struct{ F $T; K int }{$E, one()}; show(v.F, v.K)"},
	{"", "v := []$T{$E, $E}; show(v)"},
	{"", "v := map[string]$T{key(): $E}; show(v)"},
	{"", "v := make([]$T, 2); v[one()] = $E; show(v)"},
	{"", "v := map[int]$T{}; v[one()] = $E; show(v)"},
	{"", "var v struct{ F $T }; p := &v; p.F = $E; show(v.F)"},
	{"", "var v $T; p := &v; *p = $E; show(v)"},
	{"", "var v []$T; v[one()] = $E; show(v)"},
	{"", "var v map[int]$T; v[one()] = $E; show(v)"},
	{"", "v := append([]$T{}, $E, $E); show(v)"},
	{"", "show(one(), $E, two())"},
	{"", "show(func() $T { return $E }())"},
	{"", "show(func() ($T, int) { return $E, one() }())"},
	{"", "show(func() $T { defer func() {}(); return $E }())"},
	{"", "show(func() (r $T) { defer func() {}(); r = $E; return }())"},
	{"", "show(func() (r $T) { defer func() { recover() }(); r = $E; panic(1) }())"},
	{"", "show(func() (r $T, err error) { defer func() { err = fail() }(); return $E, nil }())"},
	{"", "show(func(a $T, b ...$T) int { show(a, b); return 1 }($E, $E))"},
	{"", "defer func(a $T) { show(a) }($E)"},
	{"", "defer show($E)"},
	{"", "done := make(chan $T, 1); go func(a $T) { done <- a }($E); show(<-done)"},
	{"", "c := make(chan $T, 1); c <- $E; show(<-c)"},
	{"", "c := make(chan $T, 1); select { case c <- $E: show(<-c); default: }"},
	{"", "for i := range 2 { v := $E; defer func() { show(v, i) }() }"},
	{"", "switch v := any($E).(type) { case $T: show(v); default: show(\"other\") }"},
	{"", "for _, v := range []$T{$E} { show(v) }"},
	{"", "show(id[$T]($E))"},
	{"", "f := func() $T { return $E }; show(f())"},
	{"", "_ = $E; show(n)"},
	{"", "v := func(yield func($T) bool) { yield($E) }; for x := range v { show(x) }"},
	{"bool Flag", "if $E { show(1) } else { show(2) }"},
	{"bool Flag", "if k := one(); $E { show(k) }"},
	{"bool Flag", "if b && n == 7 { show(1) } else if $E { show(2) } else { show(3) }"},
	{"bool Flag", "k := 0; for $E { if k++; k > 3 { break } }; show(k)"},
	{"bool Flag", "for k := 0; $E && k < 3; k += one() { show(k) }"},
	{"bool Flag", "L: for k := range 2 { for $E { continue L }; show(k) }"},
	{"bool Flag", "switch { case $E: show(1); default: show(2) }"},
	{"bool Flag", "switch { case n == 7, bool($E): show(1); fallthrough; default: show(2) }"},
	{"bool Flag", "switch $E { case true: show(1); case false: show(2) }"},
	{"bool", "show($E && b, $E || b, b && $E, b || $E, !($E))"},
	{"bool", "show($E && yes(), $E || no(), yes() && $E, no() || $E)"},
	{"bool", "show(($E) == b, ($E) != yes())"},
	{"int string float64", "v := zero[$T](); v += $E; show(v)"},
	{"int string float64", "vs := []$T{zero[$T](), 1: zero[$T]()}; vs[one()] += $E; show(vs)"},
	{"int string float64", "show($E + $E, $E < $E, $E == $E)"},
	{"int string float64", "switch $E { case zero[$T](): show(0); case $E: show(1) }"},
	{"int", "show(xs[:][($E)&1], -($E), ($E) * one(), one() - ($E))"},
	{"int", "for k := $E; k < ($E) + 2; k++ { show(k) }"},
	{"int", "for k := range ($E) & 3 { show(k) }"},
	{"[]int [2]int", "for k, v := range $E { show(k, v) }"},
	{"[]int [2]int", "for range $E { show(1) }"},
	{"T *T", "v := $E; if v2 := $E; v2.A == v.A { show(v2.A, v.B) }"},
	{"T", "v := $E; v, v.A = $E, 9; show(v)"},
	{"[2]int", "v := $E; v, v[one()] = $E, 9; show(v)"},
	{"T", "show(($E) == st, $E.A + one(), $E.val())"},
	{"*T", "show(($E) == p, ($E).A, ($E).get())"},
	{"error", "if err := $E; err != nil { show(err) }"},
	{"func(int) int", "show(($E)(one()))"},
	{"map[string]int", "v, ok := ($E)[key()]; show(v, ok, len($E))"},
	{"any", "v, ok := ($E).(int); show(v, ok)"},
	{"any", "show(($E).(int))"},
	{"any", "show(($E) == any(n))"},
	{"Shape", "if v := $E; v != nil { show(v.Area()) }"},
	{"Shape", "show(($E).Area() + one())"},
}

const formHead = `package main

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

var _, _ = math.Sqrt, strings.Repeat

type Flag bool
type Name string
type Shape interface{ Area() int }
type T struct {
	A int
	B bool
	S string
}
type E struct{ n int }
type pair struct {
	P *T
	A [2]int
}

func (e *E) Error() string     { return fmt.Sprint("E", e.n) }
func (t T) Area() int          { return t.A * 10 }
func (t *T) get() int          { note("get"); return t.A }
func (t T) val() int           { note("val"); return t.A }
func (t *T) self() T           { return *t }
func (t *T) ok() bool          { note("ok"); return t.B }
func (t *T) String() string    { return "T" + fmt.Sprint(t.A) }

var notes []string

func note(s string)              { if len(notes) < 50 { notes = append(notes, s) } }
func yes() bool                  { note("yes"); return true }
func no() bool                   { note("no"); return false }
func one() int                   { note("1"); return 1 }
func two() int                   { note("2"); return 2 }
func key() string                { note("key"); return "a" }
func fail() error                { note("fail"); return errors.New("failed") }
func make2() T                   { note("make"); return T{A: 6} }
func ptr() *T                    { return &T{A: 7} }
func add(a, b int) int           { return a + b }
func id[X any](x X) X            { return x }
func first[X any](x X, _ ...X) X { return x }
func zero[X any]() (x X)         { return x }
func rest(xs ...int) []int       { return xs }
func arrays() [2]int             { return [2]int{8, 9} }
func twice(n int) int            { return 2 * n }
func real2(c complex128) int     { return int(real(c)) }
func pick() func(int) int        { return func(k int) int { return k * k } }

func show(vs ...any) {
	for _, v := range vs {
		switch v := v.(type) {
		case *T:
			if v == nil { fmt.Print(" nil") } else { fmt.Print(" &", *v) }
		case Shape:
			fmt.Print(" shape ", v.Area())
		case []*T, map[string]*T, map[int]*T, []Shape, map[string]Shape, map[int]Shape, []func(int) int, map[string]func(int) int, map[int]func(int) int, func(int) int:
			fmt.Printf(" %T", v)
		case []any, map[string]any, map[int]any:
			if s := fmt.Sprint(v); !strings.Contains(s, "0x") { fmt.Print(" ", s) }
		default:
			fmt.Print(" ", v)
		}
	}
}

func try(name string, f func()) {
	notes = nil
	fmt.Print(name)
	defer func() {
		if r := recover(); r != nil { fmt.Print(" panics: ", r) }
		fmt.Println(" ", notes)
	}()
	f()
}

`

const formVars = `	b, fl, n, f64, f32, s, c := true, Flag(false), 3, 1.5, float32(2.5), "a", 2+3i
	xs, bs, m, mb, ms := []int{1, 2, 3}, []byte("hi"), map[string]int{"a": 1, "b": 2}, map[string]bool{}, map[int]string{3: "three"}
	st := T{A: 1, B: true}
	p, x, pp := (*T)(nil), &T{A: 4, B: true}, &pair{P: &T{A: 5}}
	arr, parr, pb, pn := [2]bool{true}, &[2]bool{}, &b, &n
	var iface, iface2, anyT any = 3, "text", T{A: 3}
	var err error = &E{1}
	var sq Shape = T{A: 2}
	fs, fi, fs64 := []func(int) bool{func(n int) bool { return n > 2 }}, []func(int) int{twice}, []float64{2.5}
	ts, mt, at, errs, fls, shapes := []T{{A: 1}}, map[int]T{1: {A: 2}}, [2]T{1: {A: 3}}, []error{nil}, []Flag{true}, []Shape{&T{A: 1}}
	a2, a2s, mk, mm := [2]int{1, 2}, [][2]int{{3, 4}}, [][]int{{5}}, map[string]map[string]int{"a": {"z": 1}}
	pa2, grid, pgrid := &a2, [][]int{{1, 2}, {3}}, &[2][2]int{{4, 5}}
	ch, cht, fT := make(chan int, 9), make(chan T, 9), func() T { note("fT"); return T{A: 8} }
	for k := range 9 { ch <- k; cht <- T{A: k} }
	_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _ = b, fl, n, f64, f32, s, c, xs, bs, m, mb, ms, st, p, x, pp
	_, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _ = arr, parr, pb, pn, iface, iface2, anyT, err, sq, fs, fi, fs64, ts, mt, at, errs
	_, _, _, _, _, _, _, _, _, _, _, _ = fls, shapes, a2, a2s, mk, mm, pa2, grid, pgrid, ch, cht, fT
`

// TestForms runs forms of expressions in places for their types, and compares with go run: all of them with
// -programs, else one in forty.
func TestForms(t *testing.T) {
	var all []string
	for _, of := range formTypes {
		for _, form := range of.forms {
			for _, place := range formPlaces {
				if place.types == "" || slices.Contains(strings.Fields(place.types), of.typ) {
					all = append(all, strings.NewReplacer("$E", form, "$T", of.typ).Replace(place.text))
				}
			}
		}
	}
	step, name := 40, "forms"
	if *allPrograms {
		step, name = 1, ""
	}
	var chosen []string
	for k := step / 2; k < len(all); k += step {
		chosen = append(chosen, all[k])
	}
	for batch := range slices.Chunk(chosen, 700) {
		src := formProgram(batch)
		dir := t.TempDir()
		file := filepath.Join(dir, "main.go")
		if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
		want := strings.Split(printed(t, name, map[string]string{"main.go": src}), "\n")
		got := strings.Split(runIdentity(t, dir, []string{beProgram + "=" + file}, os.Args[0]), "\n")
		for i, line := range want {
			if i >= len(got) || got[i] != line {
				t.Errorf("got  %s\nwant %s", strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), line)
			}
		}
	}
}

// formProgram is a program of those of the bodies that are right.
func formProgram(bodies []string) string {
	wrong := map[int]bool{}
	for {
		var text strings.Builder
		text.WriteString(formHead)
		fset := token.NewFileSet()
		var starts []int
		for k, body := range bodies {
			starts = append(starts, text.Len())
			if !wrong[k] {
				fmt.Fprintf(&text, "func f%d() {\n%s\t%s\n}\n\n", k, formVars, body)
			}
		}
		text.WriteString("func main() {\n")
		for k, body := range bodies {
			if !wrong[k] {
				fmt.Fprintf(&text, "\ttry(%q, f%d)\n", body, k)
			}
		}
		text.WriteString("}\n")
		found := len(wrong)
		fail := func(pos token.Pos) {
			at, ok := slices.BinarySearch(starts, fset.Position(pos).Offset)
			if !ok {
				at--
			}
			wrong[at] = true
		}
		file, err := parser.ParseFile(fset, "main.go", text.String(), parser.SkipObjectResolution|parser.AllErrors)
		var list scanner.ErrorList
		if errors.As(err, &list) {
			for _, e := range list {
				fail(fset.File(file.Pos()).Pos(e.Pos.Offset))
			}
		} else {
			conf := types.Config{Importer: stdlib.Importer(), Error: func(err error) { fail(err.(types.Error).Pos) }}
			conf.Check("main", fset, []*ast.File{file}, nil)
		}
		if len(wrong) == found {
			return text.String()
		}
	}
}
