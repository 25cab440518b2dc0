package main

import (
	"fmt"
	"math"
	"sort"
)

type Shape interface {
	Area() float64
	Perimeter() float64
}

type Named interface {
	Shape
	fmt.Stringer
}

type Point struct{ X, Y float64 }

func (p Point) Dist(q Point) float64 { return math.Hypot(p.X-q.X, p.Y-q.Y) }

type Circle struct {
	Point
	R float64
}
type Rect struct{ Min, Max Point }
type Square struct{ Rect }
type Polygon []Point

func (c Circle) Area() float64      { return math.Pi * c.R * c.R }
func (c Circle) Perimeter() float64 { return 2 * math.Pi * c.R }
func (c *Circle) Grow(f float64)    { c.R *= f }
func (r Rect) Area() float64        { return (r.Max.X - r.Min.X) * (r.Max.Y - r.Min.Y) }
func (r Rect) Perimeter() float64   { return 2 * (r.Max.X - r.Min.X + r.Max.Y - r.Min.Y) }
func (s Square) String() string     { return fmt.Sprintf("square of side %g", s.Max.X-s.Min.X) }
func (p Polygon) Area() (a float64) {
	for i := range p {
		q := p[(i+1)%len(p)]
		a += p[i].X*q.Y - q.X*p[i].Y
	}
	return math.Abs(a) / 2
}
func (p Polygon) Perimeter() (s float64) {
	for i := range p {
		s += p[i].Dist(p[(i+1)%len(p)])
	}
	return
}

type Scaled struct {
	Shape
	by float64
}

func (s Scaled) Area() float64 { return s.Shape.Area() * s.by * s.by }

type Kind uint8

const (
	Round Kind = iota + 1
	Flat
	_
	Odd
)

func (k Kind) String() string {
	switch k {
	case Round:
		return "round"
	case Flat:
		return "flat"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

func kind(s Shape) Kind {
	switch t := s.(type) {
	case Circle, *Circle:
		return Round
	case Rect:
		_ = t.Min
		return Flat
	case Scaled:
		return kind(t.Shape)
	case nil:
		return 0
	default:
		return Odd
	}
}

func main() {
	c := &Circle{Point{1, 1}, 2}
	c.Grow(1.5)
	shapes := []Shape{c, Circle{R: 1}, Rect{Max: Point{3, 4}}, Square{Rect{Max: Point{2, 2}}}, Polygon{{0, 0}, {4, 0}, {0, 3}}, Scaled{Rect{Max: Point{1, 1}}, 3}, nil}
	for _, s := range shapes[:6] {
		fmt.Printf("%-14T %8.3f %8.3f %v", s, s.Area(), s.Perimeter(), kind(s))
		if n, ok := s.(Named); ok {
			fmt.Print(" ", n)
		}
		fmt.Println()
	}
	fmt.Println(kind(shapes[6]), Odd, c.X, c.Dist(Point{4, 5}))
	sort.Slice(shapes[:6], func(i, j int) bool { return shapes[i].Area() < shapes[j].Area() })
	for _, s := range shapes[:6] {
		fmt.Printf("%.2f ", s.Area())
	}
	fmt.Println()
	f := c.Area
	g := (*Circle).Grow
	g(c, 2)
	fmt.Printf("%.3f %.3f\n", f(), c.Area())
	var s Shape = Rect{}
	_, isRound := s.(Circle)
	fmt.Println(isRound, s == Shape(Rect{}), s != nil)
	fmt.Printf("%v %+v %#v\n", *c, *c, Rect{})
	m := map[Shape]string{Rect{}: "empty", Circle{R: 1}: "unit"}
	fmt.Println(m[s], m[Circle{R: 1}], len(m))
	defer func() {
		fmt.Println("recovered:", recover())
	}()
	fmt.Println(s.(Circle))
}
