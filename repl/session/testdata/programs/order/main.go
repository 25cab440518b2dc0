// What a statement computes, and in which order: results of functions with deferred calls, conditions, places
// that are not there, and assignments of a value and its part.
package main

import (
	"fmt"
	"sync"
)

type T struct{ A int }
type Flag bool
type P struct{ X bool }

var mu sync.Mutex

func g() T                { mu.Lock(); defer mu.Unlock(); return T{1} }
func g2() (r T)           { defer func() { r.A++ }(); r = T{5}; return }
func g3() (r T)           { defer func() { r.A++ }(); return T{1} }
func g4() (r T)           { defer func() { recover() }(); r = T{7}; panic(1) }
func g5() struct{ B int } { defer func() {}(); return struct{ B int }{3} }
func called() bool        { fmt.Println("called"); return true }
func f(s string) int      { fmt.Println("f", s); return 1 }
func id(n int) int        { fmt.Println("id", n); return n }
func try(name string, f func()) {
	defer func() { fmt.Println(name, recover()) }()
	f()
}

type S struct {
	A int
	B []int
}

func main() {
	fmt.Println(g(), g2(), g3(), g4(), g5())
	fl := Flag(false)
	if bool(fl) {
		fmt.Println("wrong")
	}
	n := 0
	for bool(fl) {
		n++
		if n > 3 {
			break
		}
	}
	switch {
	case bool(fl):
		fmt.Println("wrong")
	}
	var p *P
	fmt.Println(bool(p != nil) && p.X, bool(fl) && called())
	t := true
	fmt.Println(struct{ B bool }{true}.B && t, len([]struct{ A, B int }{{1, 2}}) == 1 && t, new(struct{ A int }).A == 0 && t, struct{ B bool }{false}.B || t)
	a := [2]int{}
	a, a[0] = [2]int{}, 5
	s := S{}
	s, s.A = S{1, nil}, s.A+5
	fmt.Println(a, s)
	var gs []int
	var z int
	var e any = "x"
	try("1", func() { gs[id(1)] = f("1") })
	try("2", func() { gs[1] = f("2") })
	var ps *struct{ A [1]int }
	try("3", func() { ps.A[0] = f("3") })
	try("4", func() { gs[0] += f("4") })
	var gg [][]int
	try("5", func() { gg[id(0)][id(1)] = f("5") })
	try("6", func() { gs[1] = 1 / z })
	try("7", func() { gs[1] = e.(int) })
	try("8", func() { var e any; _ = e.(any) })
	switch 1 {
	case 1:
	L:
		for i := range []int{1, 2} {
			for z := range 2 {
				if z == 1 {
					continue L
				}
				fmt.Println(i, z)
			}
		}
	}
	switch "a" {
	case "":
		fallthrough
	default:
	}
	fmt.Println(append([][]int{{1}}, append([]int(nil), 2, 3), append([]int{4}, 5)))
	padded := struct{ _, n int }{f("blank"), f("n")}
	fmt.Println(padded.n)
	var (
		first  = f("first")
		second = f("second") + 2*f(fmt.Sprint(first))
	)
	fmt.Println(first, second)
	xs := []int{1}
	fmt.Println(append([][]int{}, append([]int(nil), xs...), xs))
}
