package yaegi

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// harness is a package for interpreted code: See keeps the text of values, Each and Sum call a function.
func harness(t *testing.T, in *Interp) (seen *[]string) {
	seen = new([]string)
	symbols := map[string]reflect.Value{
		"See": reflect.ValueOf(func(values ...any) {
			for _, v := range values {
				*seen = append(*seen, fmt.Sprint(v))
			}
		}),
		"Each": reflect.ValueOf(func(n int, f func(int)) {
			for i := range n {
				f(i)
			}
		}),
		"Map":     reflect.ValueOf(func(x float64, f func(float64) (float64, string)) string { y, s := f(x); return fmt.Sprint(y, s) }),
		"Twice":   reflect.ValueOf(func(n int) int { return 2 * n }),
		"Zero":    reflect.ValueOf(func() float64 { return math.Copysign(0, -1) }),
		"Fail":    reflect.ValueOf(func() { panic(errors.New("failed")) }),
		"Caught":  reflect.ValueOf(func(f func()) (err string) { defer func() { err = fmt.Sprint(recover()) }(); f(); return "" }),
		"Bracket": reflect.ValueOf(func(x any) string { return fmt.Sprintf("<%v>", x) }),
	}
	if err := in.Use("test/host", "host", symbols); err != nil {
		t.Fatal(err)
	}
	return seen
}

// Calls do the same as Go, those that are made here and those that are left to the interpreter.
func TestCalls(t *testing.T) {
	for _, test := range []struct{ name, declared, code, want string }{
		{"of every kind", "func f(a int, b float64, c string, d bool, e []int, g map[string]int, h *int, i int8, j complex128, k [2]int, l P, m chan int) int { e[0] = a; g[c] = a; *h = a; m <- k[0]; k[1]++; l.n++; return a + int(b) + len(c) + k[1] + l.n + int(i) + int(real(j)) }",
			"var h0 int; h := &h0; e := []int{0}; g := map[string]int{}; k := [2]int{1, 2}; l := P{n: 3}; m := make(chan int, 1); host.See(f(1, 2, `xyz`, true, e, g, h, 4, 5, k, l, m), e, g, *h, k, l.n, <-m)", "22 [1] map[xyz:1] 1 [1 2] 3 1"},
		{"of zeros", "func f(a int, b string, c *int, d []int, e float64) { host.See(a, b, c, d, e); a, b, d = 1, `b`, []int{1} }", "a := 0; f(a, ``, nil, nil, 0); f(a, ``, nil, nil, host.Zero()); host.See(a)", "0  <nil> [] 0 0  <nil> [] -0 0"},
		{"by value", "func f(a int, p P) { a = 5; p.n = 6 }", "a := 1; p := P{n: 2}; f(a, p); host.See(a, p.n)", "1 2"},
		{"results", "func f(a int) (int, string) { return a + 1, `r` }; func g(a int) (n int, s string) { n, s = f(a); return }; func h(a int) (int, string) { return g(a) }",
			"n, s := f(1); host.See(n, s); n, s = g(2); host.See(n, s); n, _ = h(3); _, s = h(4); host.See(n, s); var m [2]int; m[0], s = h(5); host.See(m, s)", "2 r 3 r 4 r [6 0] r"},
		{"results that stay", "func f(a int) *int { return &a }", "p, q := f(1), f(2); host.See(*p, *q)", "1 2"},
		{"arguments that are calls", "func f(a, b int) int { return 10*a + b }; func two() (int, int) { return 3, 4 }", "host.See(f(f(1, 2), f(3, 4)), f(host.Twice(1), host.Twice(2)), f(two()))", "154 24 34"},
		{"in conditions", "func odd(n int) bool { return n%2 == 1 }", "n := 0; for i := 0; i < 5 && !odd(i+6); i++ { n++ }; if odd(3) && odd(5) || odd(2) { n += 10 }; if odd(4) { n += 100 }; host.See(n)", "11"},
		{"that return calls", "func f(n int) bool { if n == 0 { return true }; return g(n - 1) }; func g(n int) bool { if n == 0 { return false }; return f(n - 1) }", "host.See(f(10), f(7), g(3))", "true false true"},
		{"of more arguments", "func f(a int, b ...int) int { return a + len(b) }", "host.See(f(1), f(1, 2), f(1, 2, 3), f(1, []int{1, 2, 3}...))", "1 2 3 4"},
		{"interfaces", "func f(a any, e error) any { if e != nil { return e }; return a }", "host.See(f(1, nil), f(`x`, nil), f(nil, nil))", "1 x <nil>"},
		{"functions", "func f(g func(int) int, n int) int { return g(n) }; func h(n int) int { return n + 1 }; func adds(k int) func(int) int { return func(n int) int { return n + k } }",
			"host.See(f(h, 1), f(func(n int) int { return 3 * n }, 2), f(adds(5), 1), adds(6)(1), f(host.Twice, 4)); g := h; host.See(g(1), f(g, 2)); var none func(); host.See(host.Caught(func() { none() }) != ``)", "2 6 6 7 8 2 3 true"},
		{"closures", "", "s := 0; add := func(k int) { s += k }; for i := 0; i < 5; i++ { add(i) }; func() { add(100) }(); host.Each(3, add); host.See(s)", "113"},
		{"closures with states", "func counter() func() int { n := 0; return func() int { n++; return n } }", "a, b := counter(), counter(); a(); a(); b(); host.See(a(), b())", "3 2"},
		{"closures that call themselves", "", "var fib func(int) int; fib = func(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }; host.See(fib(12))", "144"},
		{"closures in places", "", "fs := []func(int) int{func(n int) int { return n + 1 }, func(n int) int { return n * 10 }}; m := map[string]func() string{`a`: func() string { return `A` }}; host.See(fs[0](1), fs[1](2), m[`a`]())", "2 20 A"},
		{"for compiled code", "", "host.See(host.Map(2, func(x float64) (float64, string) { return x * 2, `ok` })); s := 0; host.Each(4, func(i int) { s += i; host.Each(i, func(k int) { s += 10 }) }); host.See(s)", "4ok 66"},
		{"a closure for compiled code twice", "", "s := 0; f := func(i int) { s += i }; host.Each(3, f); host.Each(3, f); f(1); host.See(s)", "7"},
		{"panics", "func f(n int) int { if n == 0 { host.Fail() }; return f(n-1) + 1 }", "n := 1; err := host.Caught(func() { n = f(3) }); host.See(n, strip(err))", "1 failed"},
		{"goroutines", "func f(c chan int, n int) { c <- n * n }", "c := make(chan int); go f(c, 3); host.See(<-c); go func(n int) { f(c, n) }(4); host.See(<-c)", "9 16"},
		{"elements", "", "xs := []int{1, 2, 3}; ys := []string{`a`, `b`}; zs := [][]float64{{1, 2}, {3, 4}}; bs := []bool{true, false}; i := 1; xs[i] = 7; xs[0] += xs[i]; ys[i] += `c`; zs[i][0] = zs[0][i]; p := &xs[2]; *p = 9; n := 0; if bs[i] { n = 1 } else if bs[0] { n = 2 }; host.See(xs, ys, zs, n, host.Caught(func() { i = 5; n = xs[i] }) != ``)", "[8 7 9] [a bc] [[1 2] [2 4]] 2 true"},
		{"ranges", "", "n, s := 0, ``; for i, x := range []int{5, 6} { n += i * x }; for _, x := range []string{`a`, `b`} { s += x }; for i, p := range []P{{n: 1}, {n: 2}} { p.n += i; n += 10 * p.n }; for _, x := range []any{1, `x`} { s += host.Bracket(x) }; xs := []int{1, 2}; for _, x := range xs { xs = append(xs, x) }; for range xs { n += 1000 }; host.See(n, s, xs)", "4046 ab<1><x> [1 2 1 2]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, err := New(Hooks{Trace: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			seen := harness(t, in)
			const before = "import \"test/host\"\ntype P struct { n int; s string }\nfunc strip(s string) string { return s }\n"
			if err := in.Run(compile(t, in, 1, before+test.declared+"\nfunc work() { "+test.code+" }; func init() { work() }")); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(*seen, " "); got != test.want {
				t.Errorf("%s\n%s\ngot  %s\nwant %s", test.declared, test.code, got, test.want)
			}
		})
	}
}

// A call makes a frame, the list of its variables, and their memory, not an object for each variable and more
// for each argument.
func TestCallsMakeFewObjects(t *testing.T) {
	for _, test := range []struct{ name, code string }{
		{"a function", "for i := 0; i < 1000; i++ { s = add(s, i) }"},
		{"a closure", "f := func(a, b int) int { c := a + b; return c }; for i := 0; i < 1000; i++ { s = f(s, i) }"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, err := New(Hooks{Trace: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			const before = "func add(a, b int) int { c := a + b; return c }; func init() { s := 0; "
			p := compile(t, in, 1, before+test.code+"; if s != 499500 { panic(s) } }")
			if n := testing.AllocsPerRun(5, func() {
				if err := in.Run(p); err != nil {
					t.Error(err)
				}
			}); n > 4500 {
				t.Errorf("1000 calls make %.0f objects, want at most 4 each", n)
			}
		})
	}
}

// A closure is garbage when nothing has it, also where the same statement makes the next one.
func TestClosuresInLoopsKeepNothing(t *testing.T) {
	for _, test := range []struct{ name, code string }{
		{"called at once", "func() { s += i }()"},
		{"in a variable", "f := func() { s += i }; f()"},
		{"not called", "f := func() { s += i }; _ = f"},
		{"two in turn", "f := func() { s += i }; g := func() { f() }; g()"},
		{"one in another", "f := func() func() { return func() { s += i } }; f()()"},
		{"that defers", "f := func() { defer func() { s++ }(); s += i }; f()"},
		{"that defers and is not called", "f := func() { defer func() { s++ }(); s += i }; _ = f"},
		{"with an interface", "f := func(x any) { s += i }; f(i)"},
		{"for compiled code", "host.Each(1, func(k int) { s += k })"},
		{"in a goroutine", "c := make(chan int); go func() { c <- i }(); s += <-c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, err := New(Hooks{Trace: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			harness(t, in)
			var heap []uint64
			look := func() {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				heap = append(heap, m.HeapAlloc)
			}
			if err := in.Use("test/memory", "memory", map[string]reflect.Value{"Look": reflect.ValueOf(look)}); err != nil {
				t.Fatal(err)
			}
			const before = `import ("test/host"; "test/memory"); var _ = host.Twice; func init() { s := 0; for i := 0; i <= 6000; i++ { if i % 3000 == 0 { memory.Look() }; `
			if err := in.Run(compile(t, in, 1, before+test.code+" }; _ = s }")); err != nil {
				t.Fatal(err)
			}
			if grown := int(heap[2]) - int(heap[1]); grown > 300_000 {
				t.Errorf("3000 turns of a loop keep %d bytes", grown)
			}
		})
	}
}

// A panic tells which functions it leaves, innermost first, as the interpreter does, which confuses a literal
// with the function around it.
func TestCallsTrace(t *testing.T) {
	var lines []string
	in, err := New(Hooks{Trace: func(line string) { lines = append(lines, line) }})
	if err != nil {
		t.Fatal(err)
	}
	harness(t, in)
	const code = `import "test/host"
func inner(n int) int { f := func(k int) { host.Fail() }; f(n); return n }
func outer() int { return inner(1) + 1 }
func init() { outer() }`
	if err := in.Run(compile(t, in, 7, code)); err == nil || !strings.Contains(err.Error(), "failed") {
		t.Errorf("got error %v, want that of the panic", err)
	}
	var left []string
	for _, line := range lines {
		at, name, _ := strings.Cut(line, ": panic: ")
		if !strings.HasPrefix(at, FileName(7)+":") {
			t.Errorf("the line %q has no place", line)
		}
		left = append(left, name)
	}
	if got, want := strings.Join(left, " "), "mcs.inner.func(...) mcs.inner.func(...) mcs.outer(...) mcs.init(...)"; !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
