package session

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/traefik/yaegi/interp"

	"github.com/mcs-notebook/mcs/stdlib"
)

// rivals are the programs that BenchmarkAgainstInterpreter runs in a cell and in the interpreter alone.
// Each declares its variables, and a function that does its work and returns the result.
var rivals = []struct{ name, source string }{
	{"additions", `func work() int { s := 0; for i := 0; i < 40000; i++ { s += i }; return s }`},
	{"dot product", `func vector() []float64 { v := make([]float64, 10000); for i := range v { v[i] = float64(i) }; return v }
var a, b = vector(), vector()
func work() int { s := 0.0; for i := 0; i < len(a); i++ { s += a[i] * b[i] }; return int(s) }`},
	{"matrix product", `func work() int {
	const n = 20
	a, b, c := make([][]float64, n), make([][]float64, n), make([][]float64, n)
	for i := range a {
		a[i], b[i], c[i] = make([]float64, n), make([]float64, n), make([]float64, n)
		for j := range a[i] { a[i][j] = float64(i + j); b[i][j] = float64(i - j) }
	}
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			s := 0.0
			for k := 0; k < n; k++ { s += a[i][k] * b[k][j] }
			c[i][j] = s
		}
	}
	return int(c[3][4])
}`},
	{"sieve", `func work() int {
	composite, count := make([]bool, 10000), 0
	for i := 2; i < len(composite); i++ {
		if composite[i] { continue }
		count++
		for j := i * 2; j < len(composite); j += i { composite[j] = true }
	}
	return count
}`},
	{"fibonacci", `func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
func work() int { return fib(14) }`},
	{"string building", `func work() int {
	n := 0
	for i := 0; i < 40; i++ {
		s := ""
		for j := 0; j < 100; j++ { s += "ab" }
		n += len(s)
	}
	return n
}`},
	{"map counting", `func work() int {
	m := map[int]int{}
	for i := 0; i < 8000; i++ { m[i%97]++ }
	return m[5]
}`},
	{"closure calls", `func work() int {
	s := 0
	add := func(k int) { s += k }
	for i := 0; i < 1500; i++ { add(i) }
	return s
}`},
	{"method calls", `type counter struct{ n int }
func (c *counter) add(k int) { c.n += k }
func work() int {
	c := &counter{}
	for i := 0; i < 1500; i++ { c.add(i) }
	return c.n
}`},
	{"sort", `func work() int {
	v := make([]int, 200)
	for i := range v { v[i] = i * 7919 % 211 }
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	return v[70]
}`},
	{"calls of fmt", `func work() int { n := 0; for i := 0; i < 2000; i++ { n += len(fmt.Sprint(i%1000)) }; return n }`},
	{"calls of strconv", `func work() int { n := 0; for i := 0; i < 2000; i++ { n += len(strconv.Itoa(i)) }; return n }`},
	{"calls of strings", `func work() int { n := 0; for i := 0; i < 2000; i++ { n += len(strings.ToUpper("abc")) }; return n }`},
	{"values in interfaces", `func work() int { a := make([]any, 10); for i := 0; i < 2000; i++ { a[i%10] = i + 1 }; return a[3].(int) }`},
	{"appending", `func work() int { var s []int; for i := 0; i < 2000; i++ { s = append(s, i) }; return len(s) }`},
}

// loops are statements that stand directly in a cell, and leave their result in a variable of that name.
var loops = []struct{ name, source string }{
	{"loop of additions", `s := 0; for i := 0; i < 20000; i++ { s += i }; result = s`},
	{"loop over elements", `v := make([]float64, 5000); for i := range v { v[i] = float64(i) * 0.5 }
t := 0.0; for _, x := range v { t += x }; result = int(t)`},
	{"loop of conditions", `n := 0; for i := 1; i <= 3000; i++ { if i%3 == 0 || i%5 == 0 { n += i } else if i > 2990 { continue } }; result = n`},
}

// BenchmarkAgainstInterpreter runs the same programs in a cell and in the interpreter alone, in turn: a
// loop of Go must not be slower because of the session. A ratio is that of the fastest runs.
func BenchmarkAgainstInterpreter(b *testing.B) {
	for _, p := range slices.Concat(rivals, loops) {
		b.Run(p.name, func(b *testing.B) {
			declare, run := asFunction(p.source)
			if slices.Contains(loops, p) {
				declare, run = asStatements(p.source)
			}
			cell, bare := inCell(b, declare, run), inInterpreter(b, declare, run)
			cell.run()
			bare.run()
			if got, want := cell.result(), bare.result(); got != want {
				b.Fatalf("got %d in a cell, want %d", got, want)
			}
			best := [2]time.Duration{time.Hour, time.Hour}
			for i := 0; b.Loop(); i++ {
				for k := range 2 {
					k ^= i & 1
					best[k] = min(best[k], []rival{cell, bare}[k].run())
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(best[0].Microseconds()), "cell-µs")
			b.ReportMetric(float64(best[1].Microseconds()), "bare-µs")
			b.ReportMetric(float64(best[0])/float64(best[1]), "ratio")
		})
	}
}

// A rival is a program that was compiled.
type rival struct {
	run    func() time.Duration
	result func() int // of the last run
}

// asFunction is the text of a program that is a function: what declares it, and what runs it and sets took
// and result. It takes its own time, so that only the program counts: of its second run, since making a cell
// of the statement has filled the processor's caches with other things.
func asFunction(source string) (declare, run string) {
	const timing = "\nfunc timed() int { work(); start := time.Now(); result = work(); return int(time.Since(start)) }\n"
	return source + timing, "took = timed()"
}

// asStatements is the text of a program that is statements.
func asStatements(source string) (declare, run string) {
	return "", "start := time.Now(); " + source + "; took = int(time.Since(start))"
}

func inCell(b *testing.B, declare, run string) rival {
	s, _ := newSession(b, Options{})
	if r := s.Run(context.Background(), "var took, result int\n"+declare); r.Err != nil {
		b.Fatal(r.Err)
	}
	value := func(name string) int {
		vars := s.Vars()
		at := slices.IndexFunc(vars, func(v Var) bool { return v.Name == name })
		return vars[at].Value.(int)
	}
	return rival{func() time.Duration {
		if r := s.Run(context.Background(), run); r.Err != nil {
			b.Fatal(r.Err)
		}
		return time.Duration(value("took"))
	}, func() int { return value("result") }}
}

func inInterpreter(b *testing.B, declare, run string) rival {
	in := interp.New(interp.Options{})
	text := "package main\n"
	for _, path := range []string{"fmt", "sort", "strconv", "strings", "time"} {
		symbols, _ := stdlib.Symbols(path)
		if err := in.Use(interp.Exports{path + "/" + path: symbols}); err != nil {
			b.Fatal(err)
		}
		text += fmt.Sprintf("import %q\n", path)
	}
	eval := func(text string) reflect.Value {
		v, err := in.Eval(text)
		if err != nil {
			b.Fatal(err)
		}
		return v
	}
	eval(text + "var took, result int\n" + declare)
	value := func(name string) int { return int(eval("main." + name).Int()) }
	return rival{func() time.Duration { eval(run); return time.Duration(value("took")) }, func() int { return value("result") }}
}
