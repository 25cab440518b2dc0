package session

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Random programs put values of all sorts of types into interfaces and ask what Go can ask about them there:
// ==, type switches, assertions, map keys, fmt's verbs, calls, errors.Is, panics. They run under go run and
// here; what they print must be the same. Each is a function of one program, so that the go command compiles
// once.

// TestIdentity compares random programs over named types and interfaces with go run.
func TestIdentity(t *testing.T) {
	batches, programs, name := 1, 40, "identity"
	if *allPrograms {
		batches, programs, name = 20, 200, ""
	}
	for seed := range batches {
		src := identityProgram(uint64(seed), programs)
		dir := t.TempDir()
		file := filepath.Join(dir, "identity.go")
		if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
		want := printed(t, name, map[string]string{"main.go": src})
		got := runIdentity(t, dir, []string{beProgram + "=" + file}, os.Args[0])
		compareSections(t, src, got, want)
	}
}

func runIdentity(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		text := out.String()
		t.Fatalf("%s: %v: %s", name, err, text[max(0, len(text)-2000):])
	}
	return out.String()
}

// compareSections compares the output of each of the programs.
func compareSections(t *testing.T, src, got, want string) {
	t.Helper()
	programs := strings.Split(src, "// program ")[1:]
	g, w := strings.Split(got, "program "), strings.Split(want, "program ")
	if len(g) != len(w) {
		t.Errorf("%d programs ran, want %d", len(g)-1, len(w)-1)
	}
	shown := 0
	for i := 1; i < min(len(g), len(w)); i++ {
		if g[i] == w[i] || shown == 5 {
			continue
		}
		shown++
		gl, wl := strings.Split(g[i], "\n"), strings.Split(w[i], "\n")
		for k := range min(len(gl), len(wl)) {
			if gl[k] != wl[k] {
				t.Errorf("program %s: line %d:\ngot  %s\nwant %s", wl[0], k, gl[k], wl[k])
				break
			}
		}
		t.Logf("%s", programs[i-1])
	}
}

// A genType is a type of a generated program.
type genType struct {
	name       string
	values     []string // expressions of the type; equal ones are equal values
	comparable bool
	method     bool // func (T) M() int
	stringer   bool // func (T) String() string
	isError    bool // func (T) Error() string
	address    bool // printing it may print an address
}

// A generator writes one program.
type generator struct {
	*rand.Rand
	k, n  int             // the number of the program, and of the names that it has declared
	top   strings.Builder // declarations
	body  strings.Builder
	types []genType
}

func identityProgram(seed uint64, n int) string {
	var b strings.Builder
	b.WriteString(identityHead)
	for k := range n {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, uint64(k))), k: k}
		g.program()
		fmt.Fprintf(&b, "// program %d\n\n%sfunc p%d() {\n%s}\n\n", k, &g.top, k, &g.body)
	}
	b.WriteString("func main() {\n")
	for k := range n {
		fmt.Fprintf(&b, "\tfmt.Println(\"program\", %d)\n\ttry(p%d)\n", k, k)
	}
	b.WriteString("}\n")
	return b.String()
}

const identityHead = `package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

type I interface{ M() int }

type Gen[T any] struct{ V T }

func (g Gen[T]) M() int { return len(fmt.Sprint(g.V)) }

type List[T any] []T

type Both interface {
	I
	fmt.Stringer
}

type Empty interface{}

type Anon = interface{ M() int }

func try(f func()) {
	defer func() {
		if r := recover(); r != nil {
			if err, ok := r.(error); ok {
				for _, s := range []string{"unhashable", "uncomparable"} { // the type's name may be the interpreter's
					if strings.Contains(err.Error(), s) {
						fmt.Println("panic:", s)
						return
					}
				}
				fmt.Println("panic error", err)
				return
			}
			fmt.Printf("panic %T\n", r)
		}
	}()
	f()
}

func pass(x any) any { return x }

func spread(xs ...any) int { return len(xs) }

func two[T any](x T) (T, error) { return x, nil }

func marshal(x any) string {
	b, err := json.Marshal(x)
	if err != nil {
		return "error"
	}
	return string(b)
}

var _, _ = errors.Is, time.Second

`

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *generator) line(format string, args ...any) {
	fmt.Fprintf(&g.body, "\t"+format+"\n", args...)
}

// program declares types, puts values of them into a slice of any, and does some things with these.
func (g *generator) program() {
	g.types = []genType{
		{name: "int", values: []string{"1", "2"}, comparable: true},
		{name: "float64", values: []string{"1.0", "2.5"}, comparable: true},
		{name: "string", values: []string{`"a"`, `"b"`}, comparable: true},
		{name: "[]int", values: []string{"[]int{1}"}},
		{name: "time.Duration", values: []string{"time.Duration(1)"}, comparable: true, stringer: true},
		{name: "Gen[int]", values: []string{"Gen[int]{1}"}, comparable: true, method: true},
		{name: "Gen[string]", values: []string{`Gen[string]{"1"}`}, comparable: true, method: true},
		{name: "List[int]", values: []string{"List[int]{1}"}},
		{name: "struct{ a int }", values: []string{"struct{ a int }{1}"}, comparable: true},
		{name: "struct{ b int }", values: []string{"struct{ b int }{1}"}, comparable: true},
	}
	for range 3 + g.IntN(4) {
		g.declare()
	}
	g.local()
	n := 5 + g.IntN(6)
	var list []string
	for range n {
		t := g.types[g.IntN(len(g.types))]
		list = append(list, t.values[g.IntN(len(t.values))])
	}
	g.line("xs := []any{%s}", strings.Join(list, ", "))
	steps := []func(){g.equal, g.switches, g.assert, g.keys, g.verbs, g.composites, g.calls, g.panics, g.concrete, g.convert, g.channels, g.encode, g.errors, g.closures}
	g.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	for _, step := range steps[:4+g.IntN(5)] {
		step()
	}
	g.line("_ = xs")
}

// declare adds a type of some kind, perhaps with methods.
func (g *generator) declare() {
	g.n++
	name := fmt.Sprintf("T%d_%d", g.k, g.n)
	t := genType{name: name, comparable: true}
	other := g.types[g.IntN(len(g.types))]
	under := ""
	held := g.types[g.IntN(len(g.types))]
	switch g.IntN(13) {
	case 0:
		under, t.values = "int", []string{name + "(1)", name + "(2)"}
	case 1:
		under, t.values = "float64", []string{name + "(1)", name + "(2.5)"}
	case 2:
		under, t.values = "string", []string{name + `("a")`, name + `("b")`}
	case 3:
		under, t.values, t.comparable = "[]int", []string{name + "{1}", name + "(nil)"}, false
	case 4:
		under, t.values, t.comparable = "map[string]int", []string{name + `{"a": 1}`}, false
	case 5:
		under, t.values = "struct{ A int; B any }", []string{name + "{1, 2}", fmt.Sprintf("%s{1, %s}", name, held.values[0])}
		t.address = held.address
	case 6:
		under, t.values = "struct{}", []string{name + "{}"}
	case 7:
		under, t.values = "[2]any", []string{name + "{1, 2}", fmt.Sprintf("%s{nil, %s}", name, held.values[0])}
		t.address = held.address
	case 8:
		under, t.values, t.comparable = "struct{ "+embedded(other.name)+" }", []string{fmt.Sprintf("%s{%s}", name, other.values[0])}, other.comparable
		t.method, t.stringer = other.method && embedded(other.name) == other.name, other.stringer && embedded(other.name) == other.name
		t.address = other.address
	case 9:
		under, t.values = "bool", []string{name + "(true)", name + "(1 < 2)"}
	case 10:
		under, t.values, t.comparable = "[]any", []string{fmt.Sprintf("%s{1, %s}", name, held.values[0])}, false
		t.address = held.address
	case 11:
		under, t.values = "struct{ _ int; x "+other.name+" }", []string{fmt.Sprintf("%s{x: %s}", name, other.values[0])}
		t.comparable, t.address = other.comparable, other.address
	case 12:
		under, t.values = "uint8", []string{name + "(1)", name + "(2)"}
	}
	if g.IntN(6) == 0 && !strings.Contains(other.name, "struct") {
		fmt.Fprintf(&g.top, "type %s = %s\n\n", name, other.name)
		return
	}
	fmt.Fprintf(&g.top, "type %s %s\n\n", name, under)
	if g.IntN(3) == 0 {
		fmt.Fprintf(&g.top, "func (t %s) M() int { return %d }\n\n", name, g.IntN(100))
		t.method = true
	}
	switch g.IntN(6) {
	case 0:
		fmt.Fprintf(&g.top, "func (t %s) String() string { return \"<%s>\" }\n\n", name, name)
		t.stringer = true
	case 1:
		fmt.Fprintf(&g.top, "func (t %s) Error() string { return \"error %s\" }\n\n", name, name)
		t.isError, t.stringer = true, false
	}
	g.types = append(g.types, t)
	if g.IntN(3) == 0 { // a pointer to one that all mentions share
		v := fmt.Sprintf("v%d_%d", g.k, g.n)
		fmt.Fprintf(&g.top, "var %s = %s\n\n", v, t.values[0])
		p := genType{name: "*" + name, values: []string{"&" + v}, comparable: true, method: t.method, stringer: t.stringer, isError: t.isError, address: true}
		g.types = append(g.types, p)
	}
}

// embedded is how a type is written in a struct: with a field name if it cannot be embedded, or if that would
// make differences that are not meant here.
func embedded(name string) string {
	if strings.ContainsAny(name, "*[]{. ") || name[0] != 'T' {
		return "E " + name
	}
	return name
}

// local declares types with one name in two functions.
func (g *generator) local() {
	under := g.pick("int", "string", "[1]int", "struct{ a int }")
	value := map[string]string{"int": "1", "string": `"1"`, "[1]int": "[1]int{1}", "struct{ a int }": "struct{ a int }{1}"}[under]
	for _, f := range []string{"f", "g"} {
		fmt.Fprintf(&g.top, "func %s%d() any {\n\ttype L %s\n\treturn L(%s)\n}\n\n", f, g.k, under, value)
	}
	g.line("fmt.Printf(\"%%T %%T %%v %%v\\n\", f%d(), g%d(), f%d() == g%d(), f%d() == f%d())", g.k, g.k, g.k, g.k, g.k, g.k)
}

func (g *generator) equal() {
	g.line("for i, x := range xs {\n\t\tfor j, y := range xs {\n\t\t\ttry(func() { fmt.Print(i, j, x == y, \" \") })\n\t\t}\n\t}\n\tfmt.Println()")
	g.line("try(func() { fmt.Println([2]any{xs[0], xs[1]} == [2]any{xs[1], xs[0]}, struct{ x any }{xs[2]} == struct{ x any }{xs[3]}) })")
}

// some are different types, in a random order.
func (g *generator) some(n int) (list []genType) {
	for _, i := range g.Perm(len(g.types)) {
		if len(list) < n {
			list = append(list, g.types[i])
		}
	}
	return list
}

func (g *generator) switches() {
	g.line("for _, x := range xs {\n\t\tswitch v := x.(type) {")
	list := g.some(5)
	for i, t := range list {
		if i == 2 {
			g.line("\tcase %s, %s:\n\t\t\tfmt.Printf(\"%s or %s %%T\\n\", v)", t.name, list[i+1].name, t.name, list[i+1].name)
			continue
		}
		if i == 3 {
			continue
		}
		g.line("\tcase %s:\n\t\t\tfmt.Printf(\"%s %%T\\n\", v)\n\t\t\tvar w %s = v\n\t\t\tfmt.Println(pass(w) == nil)", t.name, t.name, t.name)
	}
	g.line("\tcase I:\n\t\t\tfmt.Println(\"M\", v.M())\n\t\tcase error:\n\t\t\tfmt.Println(\"error\", v.Error())\n\t\tcase fmt.Stringer:\n\t\t\tfmt.Println(\"Stringer\", v.String())")
	g.line("\tcase nil:\n\t\t\tfmt.Println(\"nil\")\n\t\tdefault:\n\t\t\tfmt.Printf(\"default %%T\\n\", v)\n\t\t}\n\t}")
}

func (g *generator) assert() {
	for _, t := range g.some(3) {
		g.line("for _, x := range xs {\n\t\tv, ok := x.(%s)\n\t\tfmt.Printf(\"%%T %%v \", v, ok)\n\t\ttry(func() { _ = x.(%s); fmt.Println(\"ok\") })\n\t}", t.name, t.name)
	}
	i := g.pick("I", "error", "fmt.Stringer", "Both", "interface{ M() int }", "Empty")
	g.line("for _, x := range xs {\n\t\tv, ok := x.(%s)\n\t\tfmt.Println(ok, v == nil)\n\t\ttry(func() { fmt.Println(v == x) })\n\t\ttry(func() { _ = x.(%s); fmt.Println(\"ok\") })\n\t}", i, i)
}

func (g *generator) keys() {
	g.line("m := map[any]int{}\n\tfor i, x := range xs {\n\t\ttry(func() { m[x] += i + 1 })\n\t}\n\tfmt.Println(len(m))")
	for _, t := range g.some(4) {
		if t.comparable {
			g.line("try(func() { fmt.Println(m[%s], m[pass(%s)]) })", t.values[0], t.values[0])
		}
	}
	g.line("type key struct {\n\t\tn int\n\t\tx any\n\t}\n\tn := map[key]int{}\n\tfor _, x := range xs {\n\t\ttry(func() { n[key{1, x}]++ })\n\t}\n\tfmt.Println(len(n))")
	g.line("try(func() { delete(m, xs[0]); fmt.Println(len(m)) })")
}

func (g *generator) verbs() {
	for _, t := range g.some(4) {
		if t.address {
			g.line("fmt.Printf(\"%%T\\n\", %s)", g.wrapped(t))
			continue
		}
		g.line("fmt.Printf(\"%%T %%v %%+v %%#v\\n\", %s, %s, %s, %s)", t.values[0], g.wrapped(t), g.wrapped(t), t.values[0])
		g.line("fmt.Println(%s, []any{%s}, map[string]any{\"k\": %s})", t.values[0], t.values[0], g.wrapped(t))
	}
	g.line("for _, x := range xs {\n\t\tfmt.Printf(\"%%T \", x)\n\t}\n\tfmt.Println(fmt.Sprintf(\"%%T\", xs), spread(xs...), spread(xs[0], 1), spread(xs[0], []any{1, 2}, 3))")
}

// wrapped is a value of the type, perhaps as an any.
func (g *generator) wrapped(t genType) string {
	return g.pick(t.values[0], "pass("+t.values[0]+")", "any("+t.values[0]+")")
}

func (g *generator) composites() {
	t := g.types[g.IntN(len(g.types))]
	for _, form := range []string{"[]%s{%s}", "map[int]%s{1: %s}", "[1]%s{%s}", "struct{ x %s }{%s}"} {
		g.line("fmt.Printf(\"%%T\\n\", %s)", fmt.Sprintf(form, t.name, t.values[0]))
	}
	g.line("{\n\t\tvar x any = []%s{%s}\n\t\t_, ok := x.([]%s)\n\t\t_, ok2 := x.([]int)\n\t\t_, ok3 := x.([]string)\n\t\tfmt.Println(ok, ok2, ok3)\n\t}", t.name, t.values[0], t.name)
	g.line("{\n\t\tvar x any = func(%s) {}\n\t\t_, ok := x.(func(%s))\n\t\t_, ok2 := x.(func(int))\n\t\tfmt.Println(ok, ok2)\n\t}", t.name, t.name)
	g.line("{\n\t\tvar x any = make(chan %s, 1)\n\t\t_, ok := x.(chan %s)\n\t\t_, ok2 := x.(chan float64)\n\t\tfmt.Println(ok, ok2)\n\t}", t.name, t.name)
}

func (g *generator) calls() {
	g.line("for _, x := range xs {\n\t\tif m, ok := x.(I); ok {\n\t\t\tf := m.M\n\t\t\tfmt.Println(m.M(), f(), I.M(m))\n\t\t\tvar a Anon = m\n\t\t\tfmt.Println(a.M(), a == m, any(a) == x)\n\t\t}\n\t}")
	g.line("type emb struct{ I }\n\tfor _, x := range xs {\n\t\tif m, ok := x.(I); ok {\n\t\t\te := emb{m}\n\t\t\tvar n I = e\n\t\t\tfmt.Println(e.I.M(), e.I == m, n.M(), n == m, n == I(e))\n\t\t}\n\t}")
	for _, t := range g.some(5) {
		if t.method && t.comparable {
			g.line("{\n\t\tvar m I = %s\n\t\tms := map[I]string{m: \"x\"}\n\t\tfmt.Println(m.M(), ms[%s])\n\t}", t.values[0], t.values[0])
		}
	}
}

func (g *generator) panics() {
	t := g.types[g.IntN(len(g.types))]
	g.line("func() {\n\t\tdefer func() {\n\t\t\tr := recover()\n\t\t\t_, ok := r.(%s)\n\t\t\t_, isErr := r.(error)\n\t\t\tfmt.Printf(\"%%T %%v %%v\\n\", r, ok, isErr)\n\t\t}()\n\t\tpanic(%s)\n\t}()", t.name, t.values[0])
}

// concrete compares interfaces with values of other types, also in a switch.
func (g *generator) concrete() {
	for _, t := range g.some(4) {
		if !t.comparable {
			continue
		}
		g.line("for _, x := range xs {\n\t\ttry(func() { fmt.Print(x == %s, %s != x, \" \") })\n\t}\n\tfmt.Println()", paren(t.values[0]), paren(t.values[0]))
		g.line("for _, x := range xs {\n\t\ttry(func() {\n\t\t\tswitch x {\n\t\t\tcase %s:\n\t\t\t\tfmt.Print(\"same \")\n\t\t\tdefault:\n\t\t\t\tfmt.Print(\"other \")\n\t\t\t}\n\t\t})\n\t}\n\tfmt.Println()", t.values[0])
	}
}

func paren(x string) string { return "(" + x + ")" }

// convert passes values through results, generic functions and closures.
func (g *generator) convert() {
	t := g.types[g.IntN(len(g.types))]
	g.line("{\n\t\tvar x any\n\t\tvar err error\n\t\tx, err = two[%s](%s)\n\t\tfmt.Printf(\"%%T %%v\\n\", x, err)\n\t\tf := func() (any, int) { return %s, 1 }\n\t\ty, _ := f()\n\t\t_, ok := y.(%s)\n\t\tfmt.Println(ok)\n\t}", t.name, t.values[0], t.values[0], t.name)
	g.line("{\n\t\ttype holder struct{ x any }\n\t\th := &holder{%s}\n\t\t_, ok := h.x.(%s)\n\t\th.x = xs[0]\n\t\tfmt.Printf(\"%%v %%T\\n\", ok, h.x)\n\t}", t.values[0], t.name)
	g.line("{\n\t\tvar xs []any\n\t\txs = append(xs, %s, 1)\n\t\t_, ok := xs[0].(%s)\n\t\tfmt.Println(ok)\n\t\tvar e Empty = %s\n\t\t_, ok = e.(%s)\n\t\tfmt.Println(ok)\n\t}", t.values[0], t.name, t.values[0], t.name)
}

func (g *generator) channels() {
	g.line("{\n\t\tc := make(chan any, len(xs))\n\t\tfor _, x := range xs {\n\t\t\tselect {\n\t\t\tcase c <- x:\n\t\t\tdefault:\n\t\t\t}\n\t\t}\n\t\tclose(c)\n\t\tfor x := range c {\n\t\t\tfmt.Printf(\"%%T \", x)\n\t\t}\n\t\tfmt.Println()\n\t}")
	t := g.types[g.IntN(len(g.types))]
	g.line("{\n\t\tc := make(chan any, 2)\n\t\tc <- %s\n\t\tselect {\n\t\tcase c <- %s:\n\t\t}\n\t\tx, ok := <-c\n\t\tvar y any\n\t\tselect {\n\t\tcase y = <-c:\n\t\t}\n\t\t_, isT := x.(%s)\n\t\t_, isT2 := y.(%s)\n\t\tfmt.Println(ok, isT, isT2)\n\t}", t.values[0], t.values[0], t.name, t.name)
}

func (g *generator) encode() {
	for _, t := range g.some(3) {
		if t.address || strings.Contains(t.values[0], "struct") || strings.Contains(t.name, "struct") {
			continue
		}
		g.line("fmt.Println(marshal([]any{%s}), marshal(map[string]any{\"x\": %s}))", t.values[0], g.wrapped(t))
	}
}

func (g *generator) errors() {
	for _, t := range g.types {
		if !t.isError || !t.comparable {
			continue
		}
		g.line("{\n\t\tvar err error = %s\n\t\tw := fmt.Errorf(\"wrapped: %%w\", err)\n\t\tvar target %s\n\t\tfmt.Println(w, errors.Is(w, err), errors.Is(w, %s), errors.As(w, &target), errors.Unwrap(w) == err, any(err) == any(%s))\n\t\tm := map[error]int{err: 1}\n\t\tfmt.Println(m[%s], struct{ e error }{err} == struct{ e error }{%s})\n\t}", t.values[0], t.name, t.values[0], t.values[0], t.values[0], t.values[0])
	}
}

func (g *generator) closures() {
	g.line("{\n\t\tvar fs []func() any\n\t\tfor _, x := range xs {\n\t\t\tfs = append(fs, func() any { return x })\n\t\t}\n\t\tfor i, f := range fs {\n\t\t\ttry(func() { fmt.Print(f() == xs[i], \" \") })\n\t\t}\n\t\tfmt.Println()\n\t}")
	g.line("{\n\t\tvar x any\n\t\tfor _, x = range xs {\n\t\t}\n\t\ttry(func() { fmt.Println(x == xs[len(xs)-1]) })\n\t}")
}
