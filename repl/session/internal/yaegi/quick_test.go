package yaegi

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Quick steps do the same as Go, for the operands that they handle and for those that they leave to the
// interpreter.
func TestQuickSteps(t *testing.T) {
	for _, test := range []struct{ name, code, want string }{
		{"int", "a, b := 7, -3; host.See(a+b, a-b, a*b, a/2, a%2, b/2, b%2)", "4 10 -21 3 1 -1 -1"},
		{"constants", "a := 7; host.See(a+1, a-1, a*3, 1-a, 2*a, a/-1, a%-4)", "8 6 21 -6 14 -7 3"},
		{"compared", "a, b := 7, -3; host.See(a < b, a <= b, a > b, a >= b, a == b, a != b, a == 7, a <= 7, 7 < a)", "false false true true false true true true false"},
		{"in place", "a, b := 7, 3; a += b; a -= 1; a *= b; a++; a++; a--; host.See(a)", "28"},
		{"int wraps", "a := 1<<62; a += a; host.See(a, a-1, -(a+1))", "-9223372036854775808 9223372036854775807 9223372036854775807"},
		{"int8 wraps", "var a, b int8 = 100, 100; c := a + b; a += b; b++; host.See(a, b, c, a < b)", "-56 101 -56 true"},
		{"uint8 wraps", "var a uint8 = 3; a -= 5; b := a; b++; b++; host.See(a, b, a > 200)", "254 0 true"},
		{"float64", "x, y := 0.5, 0.25; x += y; x *= 2; host.See(x, x-y, x*y, x < y, x > 1, x+1)", "1.5 1.25 0.375 false true 2.5"},
		{"float32", "var x, y float32 = 16777216, 1; x += y; host.See(x, x+y == x)", "1.6777216e+07 true"},
		{"NaN", "x := 0.0; x = x / host.Zero(); host.See(x < 1, x > 1, x <= x, x >= x, x == x, x != x)", "false false false false false true"},
		{"string", "s, p := `a`, `b`; s += p; s += `c`; q := s + p; r := `<` + s; host.See(s, q, r, s < q, s == `abc`)", "abc abcb <abc true true"},
		{"named", "var d, e D = 3, 4; d += e; d++; host.See(d, d < e, d*e)", "8 false 32"},
		{"the package's", "n = 4; n += 2; n++; t = `x`; t += t; host.See(n, t, n < 8, n*n)", "7 xx true 49"},
		{"of a function around", "k, s := 1, `a`; f := func() { k += 2; k++; s += `b`; g := func() { k *= 3; s += s }; g() }; f(); host.See(k, s)", "12 abab"},
		{"parameters", "host.See(sum(20), fib(12))", "210 144"},
		{"conditions", "a := 3; r := 0; if a < 4 && a > 1 || a == 9 { r += 1 }; if !(a < 4) { r += 2 }; for i := 0; i < a; i++ { r += 10 }; host.See(r)", "31"},
		{"a variable as a condition", "ok := true; r := 0; if ok { r = 1 }; ok = false; if ok { r = 2 } else { r += 3 }; host.See(r)", "4"},
		{"elements", "m := map[string]string{}; m[`a`] += `x`; m[`a`] += `y`; c := map[int]int{}; c[1]++; c[1] += 4; x := []int{1, 2}; x[1] += x[0]; x[0]++; host.See(m, c, x)", "map[a:xy] map[1:5] [2 3]"},
		{"fields", "p := P{}; p.n += 2; p.n++; p.s += `s`; q := &p; q.n *= 5; q.s += `t`; host.See(p.n, p.s, p.n < 20)", "15 st true"},
		{"in interfaces", "var x any = 1 + sum(2); var b any = sum(2) < 4; host.See(x, b)", "4 true"},
		{"division by zero", "a := 0; host.See(host.Fails(func() { host.See(1 / a) }))", "true"},
	} {
		t.Run(test.name, func(t *testing.T) {
			in, err := New(Hooks{Trace: func(string) {}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			fails := func(f func()) (failed bool) {
				defer func() { failed = recover() != nil }()
				f()
				return false
			}
			symbols := map[string]reflect.Value{"Zero": reflect.ValueOf(func() float64 { return 0 }), "Fails": reflect.ValueOf(fails), "See": reflect.ValueOf(func(values ...any) {
				for _, v := range values {
					got = append(got, fmt.Sprint(v))
				}
			})}
			if err := in.Use("test/host", "host", symbols); err != nil {
				t.Fatal(err)
			}
			const before = `import "test/host"; type D int; type P struct { n int; s string }; var n int; var t string
func sum(k int) int { s := 0; for i := 1; i <= k; i++ { s += i }; return s }
func fib(k int) int { if k < 2 { return k }; return fib(k-1) + fib(k-2) }
`
			if err := in.Run(compile(t, in, 1, before+"func work() { "+test.code+" }; func init() { work() }")); err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("%s\ngot  %s\nwant %s", test.code, text, test.want)
			}
		})
	}
}

// A sum of strings that has become long checks memory, wherever it is stored.
func TestGrown(t *testing.T) {
	for _, code := range []string{"s := host.Long(); s += `a`", "s := host.Long(); r := s + `a`; s = r", "host.Take(host.Long() + host.Long())",
		"m := map[int]string{1: host.Long()}; m[1] += `a`", "type P struct{ s string }; p := P{host.Long()}; p.s += `a`", "s := host.Long(); func() { s += s }()"} {
		grown := 0
		in, err := New(Hooks{Trace: func(string) {}, Grown: func() { grown++ }})
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("x", largeText)
		symbols := map[string]reflect.Value{"Long": reflect.ValueOf(func() string { return long }), "Take": reflect.ValueOf(func(string) {})}
		if err := in.Use("test/host", "host", symbols); err != nil {
			t.Fatal(err)
		}
		if err := in.Run(compile(t, in, 1, `import "test/host"; func work() { `+code+" }; func init() { work() }")); err != nil {
			t.Fatal(err)
		}
		if grown != 1 {
			t.Errorf("%s asked %d times, want once", code, grown)
		}
	}
}
