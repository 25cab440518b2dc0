// The sign of zero is kept wherever a value goes.
package main

import (
	"fmt"
	"math"
	"sort"
	"strconv"
)

type (
	Celsius float64
	Point   struct{ X, Y float64 }
	Line    struct {
		From, To Point
		name     string
	}
	Sparse struct {
		Values []float64
		Scale  float32
	}
	Pair[A, B any] struct {
		First  A
		Second B
	}
	Shape interface{ Area() float64 }
)

func (c Celsius) Sign() bool          { return math.Signbit(float64(c)) }
func (c Celsius) Plus(x Celsius) bool { return math.Signbit(float64(c + x)) }
func (p Point) Sign() (bool, bool)    { return math.Signbit(p.X), math.Signbit(p.Y) }
func (p *Point) Set(x, y float64)     { p.X, p.Y = x, y }
func (p Point) Area() float64         { return p.X }
func (c Celsius) Area() float64       { return float64(c) }

var zero = math.Copysign(0, -1)

func half(x float64) float64                         { return x / 2 }
func inverse(x float64) float64                      { return 1 / x }
func half32(x float32) float32                       { return x / 2 }
func conjugate(z complex128) complex128              { return complex(real(z), -imag(z)) }
func parts(z complex64) (float32, float32)           { return real(z), imag(z) }
func signOf(c Celsius) bool                          { return c.Sign() }
func flip(p Point) Point                             { return Point{-p.X, -p.Y} }
func same[T any](x T) T                              { return x }
func swap[A, B any](p Pair[A, B]) Pair[B, A]         { return Pair[B, A]{p.Second, p.First} }
func ends(l Line) (Point, Point)                     { return l.From, l.To }
func first(a [3]float64) float64                     { return a[0] }
func nested(a [2][2]float32) bool                    { return math.Signbit(float64(a[1][1])) }
func scale(s Sparse) bool                            { return math.Signbit(float64(s.Scale)) }
func both() (float64, float64)                       { return zero, 0 }
func mixed() (string, float64, error)                { return "m", zero, nil }
func addUp(x, y float64) float64                     { return x + y }
func three(s string, x float64, err error) string    { return s + text(x) + fmt.Sprint(err) }
func text(x float64) string                          { return strconv.FormatFloat(x, 'g', -1, 64) }
func list(prefix float64, xs ...float64) []float64   { return append([]float64{prefix}, xs...) }
func through(f func(float64) float64, x float64) any { return f(x) }
func named(x float64) (y float64)                    { y = x; return }
func deferred(x float64) (y float64)                 { defer func() { y = x }(); return 1 }
func deep(n int, x float64) float64 {
	if n == 0 {
		return x
	}
	return deep(n-1, x)
}
func counts(x float64) func() float64 { return func() float64 { return x } }
func area(s Shape) float64            { return s.Area() }
func point(p *Point) float64          { return p.Y }
func recovered(x float64) (text string) {
	defer func() { text = fmt.Sprint(recover()) }()
	fails(x)
	return
}
func fails(x float64) { panic(x) }

func main() {
	positive := 0.0
	fmt.Println("arguments", half(zero), half(positive), half(-positive), half32(float32(zero)), inverse(zero), inverse(-zero))
	fmt.Println("named types", Celsius(zero).Sign(), signOf(Celsius(zero)), Celsius(zero).Plus(Celsius(zero)), Celsius(zero).Plus(0))
	fmt.Println("complex", conjugate(complex(0, 0)), conjugate(complex(zero, zero)), conjugate(complex(zero, 0)))
	fmt.Println(parts(complex64(complex(zero, 0))))
	fmt.Println(parts(complex64(complex(0, zero))))
	fmt.Println("structs", flip(Point{}), flip(flip(Point{})), flip(Point{0, zero}))
	fmt.Println(Point{0, zero}.Sign())
	fmt.Println(ends(Line{To: Point{zero, 0}}))
	fmt.Println(scale(Sparse{Scale: float32(zero)}), scale(Sparse{}))
	fmt.Println("arrays", first([3]float64{zero}), nested([2][2]float32{{}, {0, float32(zero)}}))
	fmt.Println("generic", same(zero), same(Celsius(zero)).Sign(), same(Point{zero, 0}), same([1]float64{zero}), swap(Pair[float64, int]{zero, 0}))
	fmt.Println("several", addUp(both()), three(mixed()), addUp(zero, zero), addUp(zero, 0))
	fmt.Println("variadic", list(zero), list(zero, zero), list(zero, []float64{zero, 0}...), list(both()))
	fmt.Println("as a value", through(half, zero), through(func(x float64) float64 { return x }, zero), through(math.Sqrt, zero))
	fmt.Println("results", named(zero), deferred(zero), deep(3, zero), counts(zero)())
	fmt.Println("literals", func(x float64) float64 { return x }(zero), func(p Point) Point { return p }(Point{zero, zero}))
	fmt.Println("interfaces", same[any](zero), area(Point{X: zero}), area(Celsius(zero)), Shape.Area(Celsius(zero)), Celsius.Sign(Celsius(zero)))
	fmt.Println("operators", -positive, 0-positive, positive*-1, positive/-3, zero+0, zero-0, zero*zero, -zero)
	fmt.Println("panics", recovered(zero))

	m := map[string]Point{"a": {zero, 0}}
	s := []float64{zero, 1}
	p := &Point{0, zero}
	fmt.Println("elements", flip(m["a"]), half(s[0]), half(m["a"].X), half(p.Y), flip(*p), point(p))
	var q Point
	q.Set(zero, zero)
	q.X, q.Y = q.Y, q.X
	fmt.Println("assigned", q)
	c := make(chan float64, 1)
	c <- zero
	fmt.Println("channels", half(<-c))
	done := make(chan Point)
	go func(p Point) { done <- p }(Point{zero, 0})
	fmt.Println("goroutines", <-done)
	go deliver(done, Point{0, zero})
	fmt.Println(<-done)
	func() {
		defer fmt.Println("deferred", half(zero))
		defer show(zero)
	}()
	method, expr := Point{zero, 0}.Sign, Point.Sign
	fmt.Println(method())
	fmt.Println(expr(Point{zero, 0}))
	for i, x := range []float64{zero, 0, zero} {
		fmt.Print(i, " ", half(x), " ")
	}
	fmt.Println()
	order := []float64{0, zero}
	sort.Slice(order, func(i, j int) bool { return before(order[i], order[j]) })
	fmt.Println("sorted", order, math.Atan2(half(zero), -1), math.Float64bits(same(zero)))
	clear(m)
	fmt.Println(min(zero, 0), max(zero, 0), copied([]Point{{zero, 0}}), m)
}

func deliver(c chan Point, p Point) { c <- p }
func show(x float64)                { fmt.Println("shown", x) }
func before(x, y float64) bool      { return math.Signbit(x) && !math.Signbit(y) }
func copied(ps []Point) (out []Point) {
	for _, p := range ps {
		out = append(out, same(p))
	}
	return out
}
