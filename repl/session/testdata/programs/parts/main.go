// Parts of statements that act beside others: in which order they do, and what the rest reads.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

type T struct {
	A int
	B []int
	C map[string]int
	D *T
}
type N int
type I interface{ M() int }

func (n N) M() int  { return int(n) }
func (t *T) M() int { t.A++; return t.A }
func (t T) V() T    { t.A *= 2; return t }

var log []string

func tr[X any](s string, x X) X { log = append(log, s); return x }
func show(name string)          { fmt.Println(name, strings.Join(log, " ")); log = nil }
func two(s string) (int, error) {
	log = append(log, s)
	return len(s), errors.New(s)
}
func try(name string, f func()) {
	defer func() { fmt.Println(name, recover(), strings.Join(log, " ")); log = nil }()
	f()
}
func variadic(xs ...any) int { return len(xs) }
func named() (a, b int, t T, e error) {
	defer func() {
		if r := recover(); r != nil {
			e = fmt.Errorf("got %v", r)
			t.A++
		}
	}()
	a, b = 1, 2
	t = T{A: 5}
	a, b = b, a+b
	panic("p")
}
func nested(n int) (t T, err error) {
	if n == 0 {
		return T{A: 1}, nil
	}
	defer func() { t.A += n }()
	for i := range n {
		defer func() { t.A += i * 10 }()
		if i == 2 {
			return nested(n - 1)
		}
	}
	return T{A: 100}, errors.New("x")
}
func fibs(n int) int {
	if n < 2 {
		return n
	}
	return fibs(n-1) + fibs(n-2)
}
func closures() []func() int {
	var fs []func() int
	for i := 0; i < 3; i++ {
		x := tr("c", i)
		fs = append(fs, func() int { x += i; return x })
	}
	return fs
}

func main() {
	m := map[string]int{"a": 1}
	fmt.Println(named())
	fmt.Println(nested(4))
	fmt.Println(fibs(12))
	for _, f := range closures() {
		fmt.Print(f(), f(), " ")
	}
	show("closures")
	x := 1
	inc := func() int { x++; return x }
	fmt.Println(x, inc(), x, x+inc(), x*10+inc())
	y := x + inc()*inc() - x
	fmt.Println(y, x)
	xs := []int{1, 2, 3}
	set := func(i, v int) int { xs[i] = v; return v }
	z := xs[0] + set(0, 10) + xs[0]
	fmt.Println(z, xs)
	q := m["a"] + func() int { m["a"] = 50; return 1 }() + m["a"]
	fmt.Println(q)
	xs[inc()%3], xs[inc()%3] = tr("a", inc()), tr("b", inc())
	fmt.Println(xs, x)
	show("tuple")
	i := 0
	i, xs[i] = 2, 77
	fmt.Println(i, xs)
	xs, xs[0] = []int{9, 9}, 5
	fmt.Println(xs)
	var t T
	p := &t
	p, p.A = nil, 4
	fmt.Println(p == nil, t)
	t.B = []int{1}
	t, t.B[0] = T{A: 3}, 9
	fmt.Println(t)
	arr := [3]T{}
	j := 1
	arr[j], j = T{A: j}, 2
	arr[j].A, arr = 5, [3]T{{A: 1}}
	fmt.Println(arr, j)
	m["k"], m["a"] = tr("v", 1), tr("w", 2)
	fmt.Println(m)
	var nm map[string]int
	try("nilmap", func() { nm[tr("k", "k")] = tr("v", 1) })
	try("nilptr", func() { var p *T; p.A = tr("v", 1) })
	try("nilptr2", func() { var p *T; *p = T{A: tr("v", 1)} })
	try("index", func() { xs[tr("i", 9)] = tr("v", 1) })
	try("index2", func() { xs[tr("i", 9)], m["z"] = tr("v", 1), tr("w", 2) })
	try("div", func() { zero := 0; xs[9] = 1 / zero })
	try("op", func() { xs[9] += tr("v", 1) })
	try("append", func() { t.B = append(t.B, tr("a", 1), xs[tr("b", 5)], tr("c", 2)) })
	try("and", func() {
		fmt.Println(tr("l", false) && tr("r", true), tr("l2", true) || tr("r2", true), tr("x", true) && tr("y", false) || tr("z", true))
	})
	try("call", func() { fmt.Println(variadic(tr("1", 1), tr("2", "x"), xs[tr("3", 9)])) })
	var e any = 3
	try("assert", func() { fmt.Println(tr("a", 1) + e.(int) + tr("b", 2)) })
	try("assert2", func() { xs[tr("i", 0)] = tr("v", 1) + int(e.(N)) })
	for i := 0; tr("cond", i) < 2 && e.(int) == 3; i += tr("post", e.(int)-2) {
		if i == 0 {
			continue
		}
		log = append(log, "body")
	}
	show("for")
	ch := make(chan int, 3)
	ch <- tr("s", 5)
	ch <- e.(int)
	fmt.Println(<-ch+<-ch*10, len(ch))
	switch v := e.(type) {
	case int:
		fmt.Println(v + 1)
	}
	switch w := tr("tag", 3); w {
	case tr("1", 1), tr("2", 2):
	case tr("3", e.(int)):
		fmt.Println("three")
		fallthrough
	case 7:
		fmt.Println("seven")
	default:
		fmt.Println("no")
	}
	show("switch")
	var ii I = N(4)
	fmt.Println(ii.M()+(&T{A: 2}).M(), T{A: 4}.V().V().A, []T{{A: 1}}[0].V().A, map[string]T{"a": {A: 6}}["a"].V().A)
	if v, ok := m["none"]; !ok && v == 0 {
		fmt.Println("none")
	}
	v, ok := 5, true
	v, ok = m["none"]
	fmt.Println(v, ok)
	var anyV any
	anyV, ok = m["a"]
	fmt.Println(anyV, ok)
	anyV, ok = e.(N)
	fmt.Println(anyV, ok)
	var err error
	m["two"], err = two("two")
	fmt.Println(m["two"], err)
	fs := []func(int) int{func(n int) int { return n + 1 }, func(n int) int { return n * 2 }}
	fmt.Println(fs[0](fs[1](fs[0](3))))
	var g func(int) int
	g = fs[1]
	g, fs[0] = fs[0], g
	fmt.Println(g(3), fs[0](3))
	b := []byte("abc")[tr("i", 1)] == 'b' && string([]rune("héé")[1:]) == "éé"
	fmt.Println(b)
	s := strings.Repeat("x", tr("n", 2)) + fmt.Sprint(tr("m", 3))
	fmt.Println(s)
	type pair struct{ a, b any }
	pr := pair{tr("a", 1), tr("b", N(2))}
	pr.a, pr.b = pr.b, pr.a
	fmt.Printf("%v %T\n", pr, pr.a)
	lits := map[N][]T{1: {{A: 1}, {A: tr("q", 2)}}}
	lits[1][0], lits[1][1] = lits[1][1], lits[1][0]
	fmt.Println(lits)
	goto end
end:
	for k := range 2 {
		func() {
			defer func(t T) { fmt.Println("deferred", t, k) }(T{A: k})
			defer fmt.Println(tr("d", k), t.V().A)
		}()
	}
	for f := (func() bool { return tr("w", false) }); f(); {
	}
	show("end")
	if len(os.Args) > 100 {
		return
	}
	loop := 0
outer:
	for loop < 10 {
		switch {
		case tr("s", loop) == 3:
			break outer
		case e.(int) == 3 && loop%2 == 0:
			loop += 1
			continue outer
		}
		loop++
	}
	show("outer")
}
