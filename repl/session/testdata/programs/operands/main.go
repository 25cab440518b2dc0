// Calls of built-in functions and operations as operands of statements: of return statements first of all.
package main

import "fmt"

type Grid [2][3]int

var (
	xs         = []int{5, 6, 7}
	ys         = make([]int, 2, 10)
	total      = 3
	shared any = 8
)

func lengths() (int, int)                 { return len(xs), cap(ys) }
func three(s string) (string, int, int)   { return s, len(s), cap(ys) }
func grown() ([]int, []int)               { return append(xs, 1), append(ys, 2) }
func parts(z complex128) (x, y float64)   { return real(z), imag(z) }
func parts64(z complex64) (_, _ float32)  { return real(z), imag(z) }
func made(m, n int) ([]int, []int)        { return make([]int, m), make([]int, n) }
func pointers() (*int, *int)              { return new(int), new(int) }
func turned(x, y float64) (u, v any)      { return complex(x, y), complex(y, x) }
func plain(x, y float64) (any, any)       { return complex(x, y), real(complex(y, x)) }
func copied(to []int) (string, int, bool) { return "n", copy(to, xs), len(to) > 1 }
func mixed(n int) (any, int, bool, error) { return n, -n, !(n > 1), nil }
func sums(n int) (any, int, float64)      { return n + 1, n + 2, float64(n) * 1.5 }
func wide(n int) (any, uint8, Grid)       { return nil, ^uint8(n), Grid{1: {n, len(xs)}} }
func anys(n int) (a any, b any, c any)    { return n << 1, len(xs), append(xs, n) }
func first() (n int, list []int)          { return len(list), append(list, 1) }
func bounds(a, b int) (int, int)          { return min(a, b), max(a, b) }
func changes() (int, int, int)            { return change(), len(xs), cap(xs[:1:2]) }
func change() int                         { xs = append(xs, 8); return len(xs) }
func again() ([]int, int)                 { return append(xs, 9), len(xs) }
func deferred() (int, int)                { defer func() { total++ }(); return len(xs), cap(ys) }
func generic[T any](s []T) (int, []T)     { return len(s), append(s, s...) }
func error2() (error, int, bool)          { return fmt.Errorf("e%d", total), -total, total > 2 }
func called(n int) (int, any, error)      { return n, change(), fmt.Errorf("e%d", n) }
func walk(list []int) (int, int) {
	for i := range list {
		for range func(yield func() bool) { _ = yield() && yield() } {
			if i == 1 {
				return i, len(list)
			}
		}
	}
	return 0, 0
}

func main() {
	fmt.Println(lengths())
	fmt.Println(three("four"))
	fmt.Println(grown())
	fmt.Println(parts(1 + 2i))
	fmt.Println(parts64(3 + 4i))
	fmt.Println(made(1, 2))
	p, q := pointers()
	*p = 4
	fmt.Println(*p, *q, p != q)
	fmt.Println(turned(1, 2))
	fmt.Println(plain(1, 2))
	fmt.Println(copied(ys))
	fmt.Println(mixed(4))
	fmt.Println(sums(4))
	fmt.Println(wide(4))
	fmt.Println(anys(4))
	fmt.Println(first())
	fmt.Println(bounds(9, 2))
	fmt.Println(changes())
	fmt.Println(deferred())
	fmt.Println(generic([]string{"a"}))
	fmt.Println(error2())
	fmt.Println(walk(xs))
	xs, total = again()
	fmt.Println(xs, total)
	n, m := func(z complex64) (int, float32) { return len(xs), imag(z) }(5i)
	fmt.Println(n, m)
	_, shared = lengths()
	fmt.Println(shared)
	fmt.Println(called(2))

	z, half := complex64(3+4i), float32(0.5)
	for _, x := range []any{real(z), imag(z), complex(half, half), real(z) * half, -real(z)} {
		fmt.Printf("%T %v\n", x, x)
	}
	shared = real(z)
	_, isFloat32 := shared.(float32)
	fmt.Println(isFloat32, []float32{imag(z)}, map[complex64]float32{z: real(z)}, []complex64{complex(half, 1)})
	fmt.Println(append([]*int{p}, nil, q)[1] == nil, len(append([]func(){}, nil, main)), append([]any{}, nil, 1, nil), append([][]int{}, nil, xs[:1]))
}
