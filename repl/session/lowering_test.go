package session

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/stdlib"
)

// TestLowering compares random well-typed programs with go run: statements and expressions of all kinds, put
// into each other as no person would. What the checker takes runs as compiled Go does. No operand changes
// what another one reads, because Go does not say in which order it reads variables.
func TestLowering(t *testing.T) {
	batches, programs, name := 1, 10, "lowering"
	if *allPrograms {
		batches, programs, name = 20, 150, ""
	}
	for seed := range batches {
		src := randomProgram(uint64(seed), programs)
		dir := t.TempDir()
		file := filepath.Join(dir, "main.go")
		if err := os.WriteFile(file, []byte(src), 0o666); err != nil {
			t.Fatal(err)
		}
		want := printed(t, name, map[string]string{"main.go": src})
		got := runIdentity(t, dir, []string{beProgram + "=" + file}, os.Args[0])
		compareSections(t, src, got, want)
	}
}

const randomHead = `package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

var _, _, _ = errors.New, slices.Max[[]int], sort.Ints

var _ sync.Mutex

var _, _ = maps.Keys[map[int]bool], time.Second

func v[T any](x T) T { return x }

// at is an index of a list with n elements.
func at(i, n int) int { return (i%n + n) % n }

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// try prints that f panics; what Go says of an index differs.
func try(f func()) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(error); ok {
				fmt.Println("panics with an error")
				return
			}
			fmt.Println("panics", r)
		}
	}()
	f()
}

func sorted(m map[string]int) (list []string) {
	for k, v := range m {
		list = append(list, fmt.Sprint(k, v))
	}
	slices.Sort(list)
	return list
}

func upto(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

func both[A, B any](a A, b B) func(yield func(A, B) bool) {
	return func(yield func(A, B) bool) { _ = yield(a, b) && yield(a, b) }
}

// fuel bounds the calls of functions that may call themselves.
var fuel int

func apply[T any](x T, fs ...func(T) T) T {
	for _, f := range fs {
		if fuel--; fuel < 0 {
			break
		}
		x = f(x)
	}
	return x
}

func choose[T any](c bool, x, y T) T {
	if c {
		return x
	}
	return y
}

type pair[A, B any] struct {
	a A
	b B
}

func (p *pair[A, B]) set(a A, b B) *pair[A, B] { p.a, p.b = a, b; return p }

func (p pair[A, B]) String() string { return fmt.Sprint("<", p.a, " ", p.b, ">") }

type number interface{ ~int | ~float64 }

func sum[N number](xs ...N) (t N) {
	for _, x := range xs {
		t += x
	}
	return t
}

`

// A writer of random programs. Each writes one function, with the types and functions that it uses.
type randomWriter struct {
	*rand.Rand
	k, n  int
	b     strings.Builder
	depth int // of blocks
	vars  [][]randomVar
}

type randomVar struct {
	name, typ string
	loop      bool // that of a loop ends with it
}

func randomProgram(seed uint64, n int) string {
	var b strings.Builder
	b.WriteString(randomHead)
	conf := types.Config{Importer: stdlib.Importer()}
	for k, try := 0, uint64(0); k < n; try++ {
		w := &randomWriter{Rand: rand.New(rand.NewPCG(seed, try)), k: k}
		text := w.program()
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "main.go", randomHead+text, parser.SkipObjectResolution)
		if err == nil {
			_, err = conf.Check("main", fset, []*ast.File{file}, nil)
		}
		if err == nil { // a constant may be too large, a variable be declared twice
			fmt.Fprintf(&b, "// program %d\n\n%s\n", k, text)
			k++
		}
	}
	b.WriteString("func main() {\n")
	for k := range n {
		fmt.Fprintf(&b, "\tfmt.Println(\"program\", %d)\n\tfuel = 50\n\ttry(p%d)\n", k, k)
	}
	b.WriteString("}\n")
	return b.String()
}

// The types of variables; S, N, E and I are the program's own.
var randomTypes = []string{"int", "int", "int", "string", "bool", "float64", "uint8", "[]int", "[]int", "map[string]int", "[3]int", "S", "*S", "N", "E", "I", "any", "func(int) int", "error", "[]S", "map[N]S", "chan int", "pair[int, string]", "[]func(int) int"}

func (w *randomWriter) program() string {
	suffix := fmt.Sprint(w.k)
	w.b.WriteString("func p" + suffix + "() {\n")
	w.vars = [][]randomVar{{}}
	for range 3 + w.IntN(4) {
		w.declare()
	}
	for range 6 + w.IntN(8) {
		w.statement()
	}
	w.show()
	w.b.WriteString("}\n\n")
	text := w.b.String()
	w.b.Reset()
	w.b.WriteString(`type S struct { A int; B string; L []int; m [2]int; f func(int) int; next *S }

func (s S) Get() int { return s.A + len(s.L) + s.m[0] }

func (s *S) Set(n int) *S { s.A = n; s.m[1]++; return s }

func (s S) String() string { return fmt.Sprint("S", s.A, s.B, s.L, s.m) }

type N int

func (n N) Get() int { return int(n) * 3 }

type E struct { S; N2 N; extra map[string]int }

type I interface{ Get() int }

type Err struct{ code int }

func (e Err) Error() string { return fmt.Sprint("err", e.code) }

func twoOf(n int) (a int, b string) {
	defer func() { a += 10 }()
	if n < 0 { return -n, "neg" }
	return n, "pos"
}

func fallible(n int) (r int, err error) {
	defer func() {
		if x := recover(); x != nil { err = fmt.Errorf("recovered: %v", x) }
	}()
	if n%3 == 0 { return 0, Err{n} }
	if n%3 == 1 { panic(fmt.Sprint("p", n)) }
	return n, nil
}

func rec(n int, s *S) int {
	if n <= 0 { return s.A }
	s.A++
	return rec(n-1, s) + rec(n-2, s)
}

func variadic(p string, xs ...int) int {
	t := len(p)
	for i, x := range xs { t += i * x }
	return t
}

var global = map[string]int{"g": 1}

`)
	w.b.WriteString(moreDecls + text)
	out := w.b.String()
	for _, name := range []string{"S", "N", "E", "I", "Err"} {
		out = replaceWord(out, name, name+suffix)
	}
	for _, name := range moreNames {
		out = replaceWord(out, name, name+suffix)
	}
	for _, name := range []string{"twoOf", "fallible", "rec", "variadic", "global"} {
		out = replaceWord(out, name, name+suffix)
	}
	return out
}

// replaceWord replaces an identifier, but not in string literals.
func replaceWord(text, word, by string) string {
	var b strings.Builder
	isLetter := func(c byte) bool {
		return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	quoted := false
	for i := 0; i < len(text); i++ {
		if text[i] == '"' {
			quoted = !quoted
		}
		if !quoted && strings.HasPrefix(text[i:], word) && (i == 0 || !isLetter(text[i-1])) && (i+len(word) == len(text) || !isLetter(text[i+len(word)])) {
			b.WriteString(by)
			i += len(word) - 1
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func (w *randomWriter) line(format string, args ...any) {
	fmt.Fprintf(&w.b, strings.Repeat("\t", w.depth+1)+format+"\n", args...)
}

func (w *randomWriter) one(list ...string) string { return list[w.IntN(len(list))] }

func (w *randomWriter) name(prefix string) string {
	w.n++
	if w.IntN(4) == 0 { // which may hide one from outside
		return prefix + fmt.Sprint(w.IntN(3))
	}
	return fmt.Sprintf("%s%d_%d", prefix, w.k, w.n)
}

// target is a variable that can be seen, of the type, and may be assigned to; empty if there is none.
func (w *randomWriter) target(typ string) string { return w.find(typ, false) }

// variable is target that may be one of a loop.
func (w *randomWriter) variable(typ string) string { return w.find(typ, true) }

func (w *randomWriter) find(typ string, loops bool) string {
	var found []string
	hidden := map[string]bool{}
	for i := len(w.vars) - 1; i >= 0; i-- {
		for j := len(w.vars[i]) - 1; j >= 0; j-- {
			v := w.vars[i][j]
			if v.typ == typ && !hidden[v.name] && (loops || !v.loop) {
				found = append(found, v.name)
			}
			hidden[v.name] = true
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[w.IntN(len(found))]
}

func (w *randomWriter) know(name, typ string) {
	w.vars[len(w.vars)-1] = append(w.vars[len(w.vars)-1], randomVar{name, typ, false})
}

func (w *randomWriter) knowLoop(name string) {
	w.vars[len(w.vars)-1] = append(w.vars[len(w.vars)-1], randomVar{name, "int", true})
}

func (w *randomWriter) declared(name string) bool {
	for _, v := range w.vars[len(w.vars)-1] {
		if v.name == name {
			return true
		}
	}
	return false
}

func (w *randomWriter) declare() {
	typ := w.one(randomTypes...)
	name := w.name("v")
	if w.declared(name) {
		return
	}
	switch x := w.expr(typ, 3); w.IntN(4) {
	case 0:
		w.line("var %s %s = %s", name, typ, x)
	case 1:
		w.line("var %s %s", name, typ)
		if typ == "[]func(int) int" || typ == "func(int) int" || typ == "*S" || typ == "I" || typ == "chan int" || typ[0] == 'm' {
			w.line("%s = %s", name, x)
		}
	default:
		w.line("%s := %s(%s)", name, paren(typ), x)
	}
	w.line("_ = %s", name)
	w.know(name, typ)
}

// block writes statements in a scope of their own.
func (w *randomWriter) block(before func(), n int) {
	w.depth++
	w.vars = append(w.vars, nil)
	if before != nil {
		before()
	}
	for range n {
		w.statement()
	}
	w.vars = w.vars[:len(w.vars)-1]
	w.depth--
}

func (w *randomWriter) few() int {
	if w.depth > 2 {
		return 1
	}
	return 1 + w.IntN(3)
}

// show prints what can be seen.
func (w *randomWriter) show() {
	for _, typ := range []string{"int", "string", "bool", "float64", "uint8", "[]int", "[3]int", "S", "N", "pair[int, string]", "[]S"} {
		if v := w.variable(typ); v != "" {
			w.line("fmt.Println(%q, %s)", typ, v)
		}
	}
	if v := w.variable("map[string]int"); v != "" {
		w.line("fmt.Println(sorted(%s))", v)
	}
	if v := w.variable("I"); v != "" {
		w.line("fmt.Println(%s.Get())", v)
	}
	if v := w.variable("func(int) int"); v != "" {
		w.line("try(func() { fmt.Println(%s(3)) })", v)
	}
	if v := w.variable("error"); v != "" {
		w.line("fmt.Println(%s)", v)
	}
	if v := w.variable("any"); v != "" {
		w.line("fmt.Printf(\"%%T\\n\", %s)", v)
	}
}
