package yaegi

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Types of compiled code, whose values take registers of several kinds, or none.
type (
	mixed struct {
		a int8
		b float32
		c *int
		d bool
	}
	padded struct {
		a int
		_ struct{}
	}
	large  struct{ a, b, c, d int }
	inner  struct{ n *int }
	single struct{ inner }
)

func (x single) Value(k int) int            { return *x.n + k }
func (x *single) Point(p *int) *single      { x.n = p; return x }
func (x inner) Promoted(a ...string) string { return fmt.Sprint(*x.n, len(a), a) }
func (x mixed) Float(y float32) float32     { return x.b*y + float32(x.a) }
func (x large) Sum() int                    { return x.a + x.b + x.c + x.d }

// runs runs code with a package of symbols, and returns the texts of what it shows with See.
func runs(t *testing.T, symbols map[string]reflect.Value, code string) (seen []string) {
	t.Helper()
	in, err := New(Hooks{Trace: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	symbols["See"] = reflect.ValueOf(func(values ...any) {
		for _, v := range values {
			if p, ok := v.(*int); ok && p != nil {
				v = []int{*p}
			}
			seen = append(seen, fmt.Sprint(v))
		}
	})
	if err := in.Use("test/each", "each", symbols); err != nil {
		t.Fatal(err)
	}
	if err := in.Run(compile(t, in, 1, "import \"test/each\"\n"+code)); err != nil {
		t.Fatal(err)
	}
	return seen
}

// collects keeps its argument for a collector that runs meanwhile.
func collects(p *int, s string, xs []int) (*int, string) {
	q := new(int)
	*q = *p + len(xs)
	runtime.GC()
	_ = make([]byte, 1<<16)
	return q, s + s
}

// Compiled functions get the same arguments and give the same results as from package reflect, whatever
// registers their types need, in the first call and in later ones.
func TestCompiled(t *testing.T) {
	one, two := 1, 2
	s, m, l := &single{inner{&one}}, mixed{-3, 2.5, &two, true}, large{1, 2, 3, 4}
	for name, test := range map[string]struct {
		f    any
		args []any
	}{
		"nothing": {func() string { return "called" }, nil},
		"integers": {func(a int8, b uint8, c int16, d uint16, e int32, f uint32, g int64, h uint64, i bool) string {
			return fmt.Sprint(a, b, c, d, e, f, g, h, i)
		}, []any{int8(-1), uint8(255), int16(-2), uint16(65535), int32(-3), uint32(1 << 31), int64(-4), uint64(1 << 63), true}},
		"ten integers": {func(a, b, c, d, e, f, g, h, i, j int) int {
			return a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g + 8*h + 9*i + 10*j
		}, []any{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}},
		"small results":     {func(a int) (int8, uint16, bool) { return int8(a), uint16(a), a < 0 }, []any{-2}},
		"floats":            {func(a float32, b float64) (float32, int) { return a * float32(b), int(b) }, []any{float32(1.5), 4.0}},
		"three floats":      {func(a, b, c float64) float64 { return a - b - c }, []any{1.0, 2.0, 4.0}},
		"complex":           {func(a complex64) (float32, bool) { return real(a) - imag(a), true }, []any{complex64(3 - 2i)}},
		"two float results": {func(a complex128) complex128 { return a * a }, []any{1 + 2i}},
		"words":             {func(a string, b []int, c any, d map[string]int) string { return fmt.Sprint(a, b, c, d) }, []any{"a", []int{1, 2}, "c", map[string]int{"d": 4}}},
		"results of words":  {func(a string) ([]string, error) { return []string{a}, errors.New(a) }, []any{"x"}},
		"an error":          {func(a *int) (*int, error) { return a, errors.New("no") }, []any{&one}},
		"no error":          {func(a *int) (*int, error) { return a, nil }, []any{&one}},
		"a number first":    {func(a *int) (int, *int) { return *a, a }, []any{&two}},
		"a pointer between": {func(a *int) (int, *int, uint8) { return *a, a, 7 }, []any{&two}},
		"a pointer last":    {func(a *int) (bool, float64, *int) { return true, 0.5, a }, []any{&two}},
		"two pointers last": {func(a *int) (int32, *int, *int) { return -1, a, nil }, []any{&two}},
		"pointers around":   {func(a *int) (*int, uint, *int) { return a, 9, a }, []any{&two}},
		"boxes":             {func(a, b any) string { return fmt.Sprintf("%T%v%T%v", a, a, b, b) }, []any{1, *s}},
		"boxed":             {func(a any) any { return a }, []any{m}},
		"several ints":      {func(a string, b ...int) string { return fmt.Sprint(a, b, len(b)) }, []any{"x", 1, 2, 3}},
		"several values":    {func(a ...any) string { return fmt.Sprint(a...) }, []any{1, "x", 2.5, true}},
		"several of none":   {func(a ...int) bool { return len(a) == 0 }, nil},
		"structs":           {func(a mixed, b single) mixed { a.a++; a.c = b.n; return a }, []any{m, *s}},
		"padding":           {func(a int, b padded, c int) int { return a + 10*b.a + 100*c }, []any{1, padded{a: 2}, 3}},
		"a large struct":    {func(a large) (large, int) { a.d = 9; return a, a.a }, []any{l}},
		"arrays":            {func(a [2]int, b [1]string, c [0]int) string { return fmt.Sprint(a, b, c) }, []any{[2]int{1, 2}, [1]string{"x"}, [0]int{}}},
		"a value's method":  {s.Value, []any{3}},
		"a function":        {func(f func(int) int) int { return f(2) }, []any{s.Value}},
		"a collection":      {collects, []any{&one, "ab", []int{1, 2, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			fn, args, symbols := reflect.ValueOf(test.f), []reflect.Value{}, map[string]reflect.Value{"F": reflect.ValueOf(test.f)}
			var list []string
			for i, a := range test.args {
				args = append(args, reflect.ValueOf(a))
				variable := reflect.New(args[i].Type()).Elem()
				variable.Set(args[i])
				symbols[fmt.Sprint("A", i)] = variable
				list = append(list, fmt.Sprint("a", i))
			}
			code, to := "", strings.Split("r,s,t", ",")[:fn.Type().NumOut()]
			for i := range args {
				code += fmt.Sprintf("a%d := each.A%[1]d; ", i)
			}
			results, call := strings.Join(to, ", "), "each.F("+strings.Join(list, ", ")+")"
			code += results + " := " + call + "; for i := 0; i < 3; i++ { " + results + " = " + call + "; each.See(" + results + ") }"
			if len(to) == 1 {
				code += "; g := each.F; for i := 0; i < 2; i++ { each.See(g(" + strings.Join(list, ", ") + ")) }"
			} else {
				code += "; for i := 0; i < 2; i++ { _, " + strings.Join(to[1:], ", ") + " = " + call + "; each.See(" + strings.Join(to[1:], ", ") + ") }"
			}
			got := runs(t, symbols, "func work() { "+code+" }; func init() { work() }")
			var want []string
			for i := range 5 {
				outs := fn.Call(args)
				if i >= 3 && len(outs) > 1 {
					outs = outs[1:]
				}
				for _, out := range outs {
					v := out.Interface()
					if p, ok := v.(*int); ok && p != nil {
						v = []int{*p}
					}
					want = append(want, fmt.Sprint(v))
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s\ngot  %q\nwant %q", code, got, want)
			}
		})
	}
}

// Methods, and calls in the places that a call may have.
func TestCompiledInPlaces(t *testing.T) {
	one, two := 1, 2
	for _, test := range []struct{ name, declared, code, want string }{
		{"methods", "", "x, m, l, p := each.X, each.M, each.L, each.P; for i := 0; i < 2; i++ { each.See(x.Value(i), x.Promoted(), p.Promoted(`a`, `b`), m.Float(2), l.Sum(), p.Value(i)) }", "1 1 0 [] 1 2 [a b] 4.5 10 1 2 1 0 [] 1 2 [a b] 4.5 10 2"},
		{"of a pointer", "", "p := each.P; for i := 0; i < 3; i++ { each.See(p.Point(each.N).Value(i), each.X.Value(i)) }", "2 2 3 3 4 4"},
		{"of an interface", "", "for i := 0; i < 2; i++ { each.See(each.Valuer.Value(i)) }", "1 2"},
		{"returned", "func f(n int) (int, string) { return each.Twice(n), each.Text(n) }; func g() string { return each.Text(each.Twice(3)) }", "for i := 0; i < 2; i++ { n, s := f(i); each.See(n, s, g()) }", "0 int0 int6 2 int1 int6"},
		{"in conditions", "", "n := 0; for i := 0; each.Less(i, 5); i++ { if each.Less(i, 3) && !each.Less(i, 1) { n++ } else if each.Less(i, 4) || each.Less(9, 8) { n += 10 } }; each.See(n)", "22"},
		{"of several results", "", "for i := 0; i < 2; i++ { each.See(each.Sum(each.Pair(i)), each.All(each.Pair(i))) }", "1 2 3 2"},
		{"to elements", "", "var xs [2]int; var ys [3]int; for i := 0; i < 2; i++ { xs[i], ys[i+1] = each.Pair(i + 3) }; each.See(xs, ys)", "[3 4] [0 4 5]"},
		{"of other types", "", "for _, x := range []any{1, `x`, nil, 2.5} { each.See(each.Text(x)) }; for i := 0; i < 3; i++ { var x any = i; if i == 1 { x = `y` }; each.See(each.Text(x)) }", "int1 stringx <nil><nil> float642.5 int0 stringy int2"},
		{"that are variables", "", "f := each.Twice; for i := 0; i < 4; i++ { if i == 2 { f = each.Thrice }; each.See(f(i)) }", "0 2 6 9"},
		{"spread", "", "xs := []int{1, 2}; for i := 0; i < 2; i++ { each.See(each.All(xs...), each.All(1, i), each.All()) }", "2 2 0 2 2 0"},
		{"that panic", "", "for i := 0; i < 2; i++ { each.See(each.Caught(func() { each.Fail(i) })) }; none := each.None; for i := 0; i < 2; i++ { each.See(each.Caught(func() { each.X.Value(1); none.Value(1) }) != ``) }", "0 1 true true"},
		{"of variables of loops", "", "var ps []func() int; for i := 0; i < 3; i++ { n := each.Twice(i); ps = append(ps, func() int { return n }) }; for _, p := range ps { each.See(p()) }", "0 2 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := single{inner{&one}}
			var valuer interface{ Value(int) int } = x
			seen := runs(t, map[string]reflect.Value{
				"X": reflect.ValueOf(&x).Elem(), "P": reflect.ValueOf(&x), "N": reflect.ValueOf(&two), "None": reflect.ValueOf((*single)(nil)),
				"M": reflect.ValueOf(mixed{a: -1, b: 2.75}), "L": reflect.ValueOf(large{1, 2, 3, 4}), "Valuer": reflect.ValueOf(&valuer).Elem(),
				"Twice": reflect.ValueOf(func(n int) int { return 2 * n }), "Thrice": reflect.ValueOf(func(n int) int { return 3 * n }),
				"Text": reflect.ValueOf(func(x any) string { return fmt.Sprintf("%T%v", x, x) }), "Less": reflect.ValueOf(func(a, b int) bool { return a < b }),
				"Pair": reflect.ValueOf(func(n int) (int, int) { return n, n + 1 }), "Sum": reflect.ValueOf(func(a, b int) int { return a + b }),
				"All": reflect.ValueOf(func(a ...int) int { return len(a) }), "Fail": reflect.ValueOf(func(n int) { panic(n) }),
				"Caught": reflect.ValueOf(func(f func()) (err string) { defer func() { err = fmt.Sprint(recover()) }(); f(); return "" }),
			}, test.declared+"\nfunc work() { "+test.code+" }; func init() { work() }")
			if got := strings.Join(seen, " "); got != test.want {
				t.Errorf("%s\n%s\ngot  %s\nwant %s", test.declared, test.code, got, test.want)
			}
		})
	}
}

// A call of a compiled function makes no objects but those of the function.
func TestCompiledMakeFewObjects(t *testing.T) {
	if !inRegisters {
		t.Skip("compiled functions are called by package reflect on this processor")
	}
	n := 1
	x := &single{inner{&n}}
	for name, call := range map[string]string{"a function": "n = each.Sum(n, i)", "a method": "n = x.Value(i)", "a method that returns a pointer": "x = x.Point(each.N)", "two results": "n, p = each.Both(p)", "none": "each.Sum(i, i)"} {
		t.Run(name, func(t *testing.T) {
			in, err := New(Hooks{Trace: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			symbols := map[string]reflect.Value{"X": reflect.ValueOf(x), "N": reflect.ValueOf(&n), "Sum": reflect.ValueOf(func(a, b int) int { return a + b }), "Both": reflect.ValueOf(func(p *int) (int, *int) { return *p, p })}
			if err := in.Use("test/each", "each", symbols); err != nil {
				t.Fatal(err)
			}
			p := compile(t, in, 1, "import \"test/each\"\nfunc init() { n, x, p := 0, each.X, each.N; for i := 0; i < 1000; i++ { "+call+" }; _, _, _ = n, x, p }")
			if n := testing.AllocsPerRun(5, func() {
				if err := in.Run(p); err != nil {
					t.Error(err)
				}
			}); n > 100 {
				t.Errorf("1000 calls make %.0f objects", n)
			}
		})
	}
}
