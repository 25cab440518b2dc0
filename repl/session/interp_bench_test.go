package session

import (
	"context"
	"fmt"
	"testing"
)

// interpWork has the programs of BenchmarkInterp: each function does its work n times, so ns/op is the
// cost of one turn.
var interpWork = []struct{ name, source string }{
	{"loop", "func work(n int) { for i := 0; i < n; i++ { } }"},
	{"range", "func work(n int) { for range n { } }"},
	{"sum", "func work(n int) { s := 0; for i := range n { s += i }; _ = s }"},
	{"closure_variable", "func work(n int) { fs := [8]func() int{}; for i := 0; i < n; i++ { fs[i&7] = func() int { return i } }; _ = fs }"},
	{"float", "func work(n int) { x := 0.0; for i := range n { x = x*0.5 + float64(i) }; _ = x }"},
	{"divide", "func work(n int) { s := 1; for i := range n { s = (s+i)/3 + i%7 }; _ = s }"},
	{"shift", "func work(n int) { s := uint32(1); for i := range n { s = s<<(i&7) | s>>3 }; _ = s }"},
	{"slice", "func work(n int) { xs := make([]int, 1024); for i := range n { xs[i&1023] += i } }"},
	{"range_slice", "func work(n int) { xs := make([]int, 1024); s := 0; for n > 0 { for _, x := range xs { s += x }; n -= len(xs) }; _ = s }"},
	{"matrix", "func work(n int) { m := make([][]float64, 32); for i := range m { m[i] = make([]float64, 32) }; for n > 0 { for i := range m { for j := range m[i] { m[i][j] += m[j][i] } }; n -= 32 * 32 } }"},
	{"map", "func work(n int) { m := map[int]int{}; for i := range n { m[i&63]++ } }"},
	{"field", "type P struct{ x, y int }; func work(n int) { p := P{}; for i := range n { p.x += i; p.y = p.x } }"},
	{"call", "func add(a, b int) int { return a + b }; func work(n int) { s := 0; for i := range n { s = add(s, i) }; _ = s }"},
	{"fib", "func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }; func work(n int) { for ; n > 0; n -= 1973 { fib(15) } }"},
	{"method", "type C struct{ n int }; func (c *C) Add(k int) { c.n += k }; func work(n int) { c := &C{}; for i := range n { c.Add(i) } }"},
	{"interface_method", "type A interface{ Add(int) }; type C struct{ n int }; func (c *C) Add(k int) { c.n += k }; func work(n int) { var a A = &C{}; for i := range n { a.Add(i) } }"},
	{"closure", "func work(n int) { s := 0; f := func(k int) { s += k }; for i := range n { f(i) } }"},
	{"defer", "func one(p *int) { defer func() { *p++ }() }; func work(n int) { s := 0; for range n { one(&s) } }"},
	{"compiled", "func work(n int) { s := 0; for range n { s += len(strings.ToUpper(\"a\")) }; _ = s }"},
	{"compiled_method", "func work(n int) { x := tensor.Ones(4); for range n { x.Len(0) } }"},
	{"tensors", "func work(n int) { x := tensor.Ones(4); for range n { x.Add(x).Eval() } }"},
	{"string", "func work(n int) { s := \"\"; for i := range n { if len(s) > 64 { s = \"\" }; s += string(rune('a'+i%26)) } }"},
	{"string_range", "func work(n int) { t := strings.Repeat(\"abcd\", 256); c := 0; for n > 0 { for _, r := range t { if r == 'a' { c++ } }; n -= len(t) } }"},
	{"builder", "func work(n int) { var b strings.Builder; for i := range n { b.WriteByte(byte(i)) } }"},
	{"switch", "func work(n int) { a := 0; for i := range n { switch i & 3 { case 0: a++; case 1: a += 2; default: a-- } } }"},
	{"type_switch", "func work(n int) { xs := []any{1, \"a\", 2.5}; a := 0; for i := range n { switch x := xs[i%3].(type) { case int: a += x; case string: a += len(x) } } }"},
	{"append", "func work(n int) { var xs []int; for i := range n { if len(xs) == 1024 { xs = xs[:0] }; xs = append(xs, i) } }"},
	{"min", "func work(n int) { s := 0; for i := range n { s = max(s, min(i, 100)) }; _ = s }"},
	{"channel", "func work(n int) { c := make(chan int, 16); go func() { for i := range n { c <- i }; close(c) }(); for range c { } }"},
	{"sieve", "func work(n int) { for n > 0 { composite := make([]bool, 4096); for i := 2; i*i < 4096; i++ { if !composite[i] { for j := i * i; j < 4096; j += i { composite[j] = true; n-- } } } } }"},
}

// BenchmarkInterp measures the interpreter with lowered code: one turn of a loop, one call.
func BenchmarkInterp(b *testing.B) {
	for _, w := range interpWork {
		b.Run(w.name, func(b *testing.B) {
			s, _ := newSession(b, Options{})
			ctx := context.Background()
			run := func(cell string) {
				if r := s.Run(ctx, cell); r.Err != nil {
					b.Fatal(r.Err)
				}
			}
			run(w.source)
			b.ResetTimer()
			run(fmt.Sprintf("work(%d)", b.N))
		})
	}
}
