// Declared functions as values, in all positions: through append, interfaces, parentheses and containers.
package main

import (
	"fmt"
	"strings"
)

func try(name string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(name, r)
		}
	}()
	f()
}
func foo(s string) string { return s + "!" }
func id[T any](x T) T     { return x }

type F func(string) string
type T struct{ f F }

func (t T) M(s string) string { return s + "M" }
func take(f F, fs ...F) int   { return len(fs) + len(f("a")) }
func each(fs ...func(string) string) (out string) {
	for _, f := range fs {
		out += f("x")
	}
	return
}
func two() (F, func(string) string) { return foo, id }
func named() (f F, err error)       { f = foo; return }
func any1(x any) string             { return fmt.Sprintf("%T", x) }

var global F = foo
var table = map[string]F{"foo": foo, "id": id[string], "up": strings.ToUpper}

func main() {
	var fs []F
	try("append", func() { fs = append(fs, foo); fmt.Println(fs[0]("a")) })
	try("append generic", func() { fs = append(fs, id[string]); fmt.Println(fs[len(fs)-1]("a")) })
	try("append compiled", func() { fs = append(fs, strings.ToUpper); fmt.Println(fs[len(fs)-1]("a")) })
	try("append method", func() { fs = append(fs, T{}.M); fmt.Println(fs[len(fs)-1]("a")) })
	try("append expr", func() { gs := []func(T, string) string{}; gs = append(gs, T.M); fmt.Println(gs[0](T{}, "a")) })
	try("append paren", func() { fs = append(fs, (foo), F(foo)); fmt.Println(fs[len(fs)-1]("a")) })
	try("append any", func() {
		var xs []any
		xs = append(xs, foo)
		fmt.Println(xs[0].(func(string) string)("a"), any1(foo), any1(F(foo)))
	})
	try("append struct", func() { ts := append([]T{}, T{foo}, T{f: foo}); fmt.Println(ts[1].f("a")) })
	try("index", func() {
		fs[0] = foo
		table["x"] = foo
		fmt.Println(fs[0]("b"), table["x"]("c"), table["id"]("d"), table["up"]("e"))
	})
	try("take", func() { fmt.Println(take(foo), take(foo, foo, id, strings.ToUpper), take(id[string], fs...)) })
	try("each", func() { fmt.Println(each(foo, id, strings.ToUpper, T{}.M, global)) })
	try("two", func() { f, g := two(); fmt.Println(f("a"), g("b")) })
	try("named", func() { f, err := named(); fmt.Println(f("a"), err) })
	try("global", func() { fmt.Println(global("g")); global = id; fmt.Println(global("g")) })
	try("field", func() {
		t := T{}
		t.f = foo
		p := &t
		fmt.Println(t.f("a"))
		p.f = id
		fmt.Println(p.f("a"))
	})
	try("chan", func() { c := make(chan F, 2); c <- foo; c <- id[string]; fmt.Println((<-c)("a"), (<-c)("b")) })
	try("array", func() { a := [...]F{foo, 2: foo}; a[1] = foo; b := a; fmt.Println(b[1]("a"), b[2]("b")) })
	try("ptr", func() { p := new(F); *p = foo; q := &global; *q = foo; fmt.Println((*p)("a"), (*q)("b")) })
	try("multi", func() { f, g := foo, id[string]; f, g = g, f; fmt.Println(f("a"), g("b")) })
	try("cond", func() {
		f := foo
		if f != nil {
			f = strings.ToLower
		}
		fmt.Println(f("A"))
	})
	try("switch", func() {
		var x any = foo
		switch f := x.(type) {
		case func(string) string:
			fmt.Println(f("s"))
		}
	})
	try("mapslice", func() {
		m := map[string][]F{}
		m["a"] = append(m["a"], foo)
		m["a"] = append(m["a"], foo, id[string])
		fmt.Println(len(m["a"]), m["a"][2]("z"))
	})
	try("defer", func() { defer foo("a"); defer fmt.Println(func(f F) string { return f("d") }(foo)) })
	try("go", func() { c := make(chan string); go func(f F) { c <- f("g") }(foo); fmt.Println(<-c) })
	try("strings.Map", func() { fmt.Println(strings.Map(rot, "abc"), strings.FieldsFunc("a-b", dash)) })
	try("copy", func() { gs := make([]F, 2); copy(gs, []F{foo, id[string]}); fmt.Println(gs[0]("a")) })
	try("generic", func() { fmt.Println(id(foo)("a"), id[F](foo)("b"), apply("c", foo, id[string])) })
	try("struct lit", func() {
		x := struct {
			f F
			g func(rune) rune
		}{foo, rot}
		fmt.Println(x.f("a"), x.g('b'))
	})
	try("nested", func() {
		x := map[string]map[int][]F{"a": {1: {foo, nil, id[string]}}}
		fmt.Println(x["a"][1][0]("n"), x["a"][1][1] == nil)
	})
	try("ternary", func() { fmt.Println(pick(true)("p"), pick(false)("q")) })
	try("closure", func() { f := func() F { return foo }; fmt.Println(f()("c")) })
	try("more i", func() { fmt.Println(len(append(fs, foo, mk()))) })
	try("more j", func() { fmt.Println(any1(foo), any1(F(foo)), any1(id[int]), anys(foo, id[F])) })
	try("more k", func() {
		var x any = foo
		y := any(foo)
		z := []any{foo, 1}
		w := map[string]any{"a": foo}
		fmt.Println(any1(x), any1(y), any1(z[0]), any1(w["a"]))
	})
	try("more l", func() {
		c := make(chan any, 1)
		c <- foo
		fmt.Println(any1(<-c), any1(ret()))
		_, x := ret2()
		fmt.Println(any1(x))
	})
	try("more m", func() {
		var x any
		x = foo
		x = map[string]any{"f": foo, "g": []any{foo}}
		fmt.Println(any1(x.(map[string]any)["g"].([]any)[0]))
	})
	try("more n", func() {
		x := struct{ v any }{foo}
		p := &x
		p.v = foo
		fmt.Println(any1(x.v))
		x.v = id[int]
		fmt.Println(any1(x.v))
	})
	try("more o", func() {
		x := [2]any{foo, 1: foo}
		fmt.Println(any1(x[0]), any1(x[1]))
		m := map[int]any{}
		m[1] = foo
		fmt.Println(any1(m[1]))
	})
	try("more p", func() { fmt.Printf("%T %T %v\n", foo, id[F], any(foo) != nil) })
	try("more q", func() {
		x := map[string]func(string) string{"a": foo}
		x["b"] = foo
		for _, k := range []string{"a", "b"} {
			fmt.Print(x[k]("z"))
		}
		fmt.Println()
	})
	try("more r", func() { x := map[int]F{1: F(foo), 2: mk()}; fmt.Println(x[1]("q"), x[2]("r")) })
	try("more s", func() { x := [][]F{{F(foo), mk()}, {mk(), F(foo)}}; fmt.Println(x[1][1]("q"), x[0][0]("r")) })
	try("more t", func() { x := struct{ a, b F }{F(foo), mk()}; fmt.Println(x.a("q"), x.b("r")) })
	try("more u", func() { x, y := F(foo), F(id[string]); fmt.Println(x("q"), y("r")) })
	try("more v", func() {
		g := func(a, b F) string { return a("1") + b("2") }
		fmt.Println(g(F(foo), F(foo)), g(mk(), F(foo)))
	})
	try("in parentheses", func() { gs := append(fs, (foo)); fmt.Println(len(gs)) })
	try("in parentheses", func() { var f F; f = (foo); g := (foo); h := F((foo)); fmt.Println(f("a"), g("b"), h("c")) })
	try("in parentheses", func() { gs := append([]F{}, (foo), (foo)); fmt.Println(len(gs)) })
	try("in parentheses", func() { gs := append([]F{}, F((foo)), F(foo)); fmt.Println(len(gs)) })
	try("range", func() {
		for i, f := range []F{foo, id[string]} {
			fmt.Print(i, f("r"), " ")
		}
		fmt.Println()
	})
}
func anys(xs ...any) string { return fmt.Sprintf("%T %T", xs...) }
func ret() any              { return foo }
func ret2() (int, any)      { return 1, foo }
func mk() F                 { return foo }
func rot(r rune) rune       { return r + 1 }
func dash(r rune) bool      { return r == '-' }
func pick(b bool) F {
	if b {
		return foo
	}
	return id
}
func apply[T any](x T, fs ...func(T) T) T {
	for _, f := range fs {
		x = f(x)
	}
	return x
}
