package main

import "fmt"

func counter() (inc func() int, reset func()) {
	n := 0
	return func() int { n++; return n }, func() { n = 0 }
}

func compose[A, B, C any](f func(A) B, g func(B) C) func(A) C { return func(a A) C { return g(f(a)) } }

func memo(f func(int) int) func(int) int {
	seen := map[int]int{}
	return func(n int) int {
		if v, ok := seen[n]; ok {
			return v
		}
		v := f(n)
		seen[n] = v
		return v
	}
}

type op func(float64, float64) float64

func (o op) curry(a float64) func(float64) float64 { return func(b float64) float64 { return o(a, b) } }

func main() {
	inc, reset := counter()
	inc()
	inc()
	fmt.Println(inc())
	reset()
	fmt.Println(inc())
	var fs []func()
	for i := 0; i < 3; i++ {
		defer func() { fmt.Println("deferred", i) }()
		fs = append(fs, func() { fmt.Print(i, " "); i += 10 })
	}
	for _, f := range fs {
		f()
		f()
	}
	fmt.Println()
	length := compose(func(s string) []rune { return []rune(s) }, func(r []rune) int { return len(r) })
	fmt.Println(length("héllo"))
	var fib func(int) int
	fib = memo(func(n int) int {
		if n < 2 {
			return n
		}
		return fib(n-1) + fib(n-2)
	})
	fmt.Println(fib(80))
	fmt.Println(op(func(a, b float64) float64 { return a / b }).curry(10)(4))
	table := map[string]op{"+": func(a, b float64) float64 { return a + b }, "max": func(a, b float64) float64 { return max(a, b) }}
	fmt.Println(table["+"](1, 2), table["max"](1, 2), table["?"] == nil)
	func(xs ...int) {
		for i, x := range xs {
			defer func(n int) { fmt.Print(n, " ") }(i * x)
		}
	}(1, 2, 3)
	fmt.Println("end")
}
