package svd

import (
	"cmp"
	"math"
	"slices"
)

// whole takes a matrix [m n] apart: one-sided Jacobi rotations turn the columns until each is at a right
// angle to each other (Hestenes 1958).
func whole(a []float64, m, n int) Factors {
	if m < n {
		f := whole(transpose(a, m, n), n, m)
		return Factors{U: transpose(f.V, f.K, m), S: f.S, V: transpose(f.U, n, f.K), K: f.K}
	}
	columns, turned := split(transpose(a, m, n), n, m), split(identity(n), n, n)
	for range 60 {
		if !sweep(columns, turned) {
			break
		}
	}
	order := make([]int, n)
	lengths := make([]float64, n)
	for i := range order {
		order[i], lengths[i] = i, math.Sqrt(dot(columns[i], columns[i]))
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(lengths[j], lengths[i]) })
	f := Factors{U: make([]float64, m*n), S: make([]float64, n), V: make([]float64, n*n), K: n}
	for to, from := range order {
		f.S[to] = lengths[from]
		copy(f.V[to*n:], turned[from])
		if lengths[from] == 0 {
			continue
		}
		for row, x := range columns[from] {
			f.U[row*n+to] = x / lengths[from]
		}
	}
	return f
}

// sweep turns each pair of columns once, and says whether one had to be turned.
func sweep(columns, turned [][]float64) (again bool) {
	const enough = 1e-15
	for p := range columns {
		for q := p + 1; q < len(columns); q++ {
			x, y := columns[p], columns[q]
			xx, yy, xy := dot(x, x), dot(y, y), dot(x, y)
			if math.Abs(xy) <= enough*math.Sqrt(xx*yy) {
				continue
			}
			again = true
			z := (yy - xx) / (2 * xy)
			t := math.Copysign(1, z) / (math.Abs(z) + math.Sqrt(1+z*z))
			c := 1 / math.Sqrt(1+t*t)
			rotate(x, y, c, c*t)
			rotate(turned[p], turned[q], c, c*t)
		}
	}
	return again
}

func rotate(x, y []float64, c, s float64) {
	for i := range x {
		x[i], y[i] = c*x[i]-s*y[i], s*x[i]+c*y[i]
	}
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func transpose(a []float64, m, n int) []float64 {
	t := make([]float64, len(a))
	for i := range m {
		for j := range n {
			t[j*m+i] = a[i*n+j]
		}
	}
	return t
}

// split cuts a matrix [m n] into its rows.
func split(a []float64, m, n int) [][]float64 {
	rows := make([][]float64, m)
	for i := range rows {
		rows[i] = a[i*n : (i+1)*n]
	}
	return rows
}

func identity(n int) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		a[i*n+i] = 1
	}
	return a
}
