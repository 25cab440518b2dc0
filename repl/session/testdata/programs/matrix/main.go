package main

import (
	"fmt"
	"math"
	"strings"
)

type Matrix [][]float64

func (m Matrix) Mul(n Matrix) (Matrix, error) {
	if len(m[0]) != len(n) {
		return nil, fmt.Errorf("%dx%d times %dx%d", len(m), len(m[0]), len(n), len(n[0]))
	}
	out := make(Matrix, len(m))
	for i := range out {
		out[i] = make([]float64, len(n[0]))
		for j := range out[i] {
			for k, v := range m[i] {
				out[i][j] += v * n[k][j]
			}
		}
	}
	return out, nil
}

func (m Matrix) Det() float64 {
	if len(m) == 1 {
		return m[0][0]
	}
	var d float64
	for j := range m {
		var sub Matrix
		for _, row := range m[1:] {
			sub = append(sub, append(append([]float64{}, row[:j]...), row[j+1:]...))
		}
		d += math.Pow(-1, float64(j)) * m[0][j] * sub.Det()
	}
	return d
}

func (m Matrix) String() string {
	var b strings.Builder
	for _, r := range m {
		fmt.Fprintf(&b, "%6.2f\n", r)
	}
	return b.String()
}

type Vec3 [3]float64

func (v Vec3) Dot(w Vec3) (s float64) {
	for i := range v {
		s += v[i] * w[i]
	}
	return
}
func (v Vec3) Cross(w Vec3) Vec3 {
	return Vec3{v[1]*w[2] - v[2]*w[1], v[2]*w[0] - v[0]*w[2], v[0]*w[1] - v[1]*w[0]}
}
func (v *Vec3) Scale(f float64) {
	for i := range v {
		v[i] *= f
	}
}

func sqrt(x float64) float64 {
	z := 1.0
	for i := 0; i < 20 && math.Abs(z*z-x) > 1e-12; i++ {
		z -= (z*z - x) / (2 * z)
	}
	return z
}

func main() {
	a := Matrix{{1, 2}, {3, 4}}
	b, err := a.Mul(Matrix{{0, 1}, {1, 0}})
	fmt.Print(b, err, "\n")
	_, err = a.Mul(Matrix{{1, 2, 3}})
	fmt.Println(err)
	fmt.Println(Matrix{{2, 0, 1}, {1, 3, 2}, {1, 1, 4}}.Det())
	v, w := Vec3{1, 2, 3}, Vec3{4, 5, 6}
	u := v
	u.Scale(2)
	fmt.Println(v.Dot(w), v.Cross(w), u, v == Vec3{1, 2, 3}, u != v)
	fmt.Printf("%.10f %v %v\n", sqrt(2), math.Inf(-1), math.NaN() == math.NaN())
	fmt.Printf("%8.3e|%-8.2f|%+d|%x|%o|%b|%08.3f|%q\n", 12345.678, 3.14159, 5, 255, 8, 5, -3.14159, "a\tb")
	var i8 int8 = 127
	i8++
	var u8 uint8
	u8--
	fmt.Println(i8, u8, 7/-2, -7%3, 1<<10>>3, 6&^3, 5^1, ^0)
	c := complex(3, 4)
	fmt.Println(real(c*c), imag(c), c/2, math.Hypot(3, 4))
}
