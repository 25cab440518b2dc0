package fft

import (
	"math"
	"slices"
	"sync"
)

// A transform computes Σₜ x[t]·e^(−2πi·kt/n) for each k. It holds no memory that a call writes, so goroutines
// share it.
type transform struct {
	n       int
	turns   []complex128 // e^(−2πi·k/n)
	factors []int        // of n; nil if long says how
	long    *bluestein
}

// direct is the largest prime factor for which the sum of its terms is written out: above it Bluestein's way
// is faster.
const direct = 50

// newTransform makes ready for a length of 1 or more.
func newTransform(n int) *transform {
	f := &transform{n: n, turns: unitRoots(n)}
	rest := n
	for _, p := range []int{4, 2, 3, 5} {
		for rest%p == 0 && rest > 1 {
			f.factors, rest = append(f.factors, p), rest/p
		}
	}
	for p := 7; rest > 1; p += 2 {
		if p*p > rest {
			p = rest
		}
		for rest%p == 0 {
			f.factors, rest = append(f.factors, p), rest/p
		}
	}
	if slices.ContainsFunc(f.factors, func(p int) bool { return p > direct }) {
		f.factors, f.long = nil, newBluestein(n)
	}
	return f
}

// unitRoots are e^(−2πi·k/n) for k below n, each rounded once: the angle is reduced to an eighth of a turn
// first.
func unitRoots(n int) []complex128 {
	w := make([]complex128, n)
	for k := range w {
		eighth := 8 * k / n // 0 … 7
		quarter := (eighth + 1) / 2
		sin, cos := math.Sincos(2 * math.Pi * float64(4*k-quarter*n) / float64(4*n))
		switch quarter {
		case 1:
			sin, cos = cos, -sin
		case 2:
			sin, cos = -sin, -cos
		case 3:
			sin, cos = -cos, sin
		}
		w[k] = complex(cos, -sin)
	}
	return w
}

// run transforms x, and may write to it. The result is x itself or room of the same length.
func (f *transform) run(x, room []complex128) []complex128 {
	if f.long != nil {
		f.long.run(x)
		return x
	}
	stride := 1
	for _, p := range f.factors {
		switch p {
		case 2:
			f.two(stride, x, room)
		case 3:
			f.three(stride, x, room)
		case 4:
			f.four(stride, x, room)
		case 5:
			f.five(stride, x, room)
		default:
			f.odd(p, stride, x, room)
		}
		stride *= p
		x, room = room, x
	}
	return x
}

// The stages are those of Stockham's algorithm, decimated in frequency: of n/stride elements that lie stride
// apart each makes p transforms of a p-th of them, and no order has to be undone at the end.

func (f *transform) two(stride int, x, y []complex128) {
	m := f.n / stride / 2
	for p := range m {
		w := f.turns[p*stride]
		a, b := x[stride*p:][:stride], x[stride*(p+m):][:stride]
		c, d := y[stride*2*p:][:stride], y[stride*(2*p+1):][:stride]
		for q, u := range a {
			v := b[q]
			c[q], d[q] = u+v, (u-v)*w
		}
	}
}

func (f *transform) four(stride int, x, y []complex128) {
	m := f.n / stride / 4
	for p := range m {
		w1, w2, w3 := f.turns[p*stride], f.turns[2*p*stride], f.turns[3*p*stride]
		a, b, c, d := x[stride*p:][:stride], x[stride*(p+m):][:stride], x[stride*(p+2*m):][:stride], x[stride*(p+3*m):][:stride]
		e, g, h, i := y[stride*4*p:][:stride], y[stride*(4*p+1):][:stride], y[stride*(4*p+2):][:stride], y[stride*(4*p+3):][:stride]
		for q := range a {
			s, t := a[q]+c[q], a[q]-c[q]
			u, v := b[q]+d[q], b[q]-d[q]
			v = complex(imag(v), -real(v)) // −i·v
			e[q], g[q], h[q], i[q] = s+u, (t+v)*w1, (s-u)*w2, (t-v)*w3
		}
	}
}

func (f *transform) three(stride int, x, y []complex128) {
	m := f.n / stride / 3
	sin := imag(f.turns[f.n/3])
	for p := range m {
		w1, w2 := f.turns[p*stride], f.turns[2*p*stride]
		a, b, c := x[stride*p:][:stride], x[stride*(p+m):][:stride], x[stride*(p+2*m):][:stride]
		d, e, g := y[stride*3*p:][:stride], y[stride*(3*p+1):][:stride], y[stride*(3*p+2):][:stride]
		for q, u := range a {
			s, t := b[q]+c[q], b[q]-c[q]
			v := complex(real(u)-real(s)/2, imag(u)-imag(s)/2)
			t = complex(-imag(t)*sin, real(t)*sin)
			d[q], e[q], g[q] = u+s, (v+t)*w1, (v-t)*w2
		}
	}
}

func (f *transform) five(stride int, x, y []complex128) {
	m := f.n / stride / 5
	c1, s1, c2, s2 := real(f.turns[f.n/5]), imag(f.turns[f.n/5]), real(f.turns[f.n/5*2]), imag(f.turns[f.n/5*2])
	for p := range m {
		w1, w2, w3, w4 := f.turns[p*stride], f.turns[2*p*stride], f.turns[3*p*stride], f.turns[4*p*stride]
		from := func(k int) []complex128 { return x[stride*(p+k*m):][:stride] }
		to := func(k int) []complex128 { return y[stride*(5*p+k):][:stride] }
		a, b, c, d, e := from(0), from(1), from(2), from(3), from(4)
		g, h, i, j, k := to(0), to(1), to(2), to(3), to(4)
		for q, u := range a {
			s, t, v, w := b[q]+e[q], b[q]-e[q], c[q]+d[q], c[q]-d[q]
			g[q] = u + s + v
			x1 := complex(real(u)+real(s)*c1+real(v)*c2, imag(u)+imag(s)*c1+imag(v)*c2)
			x2 := complex(real(u)+real(s)*c2+real(v)*c1, imag(u)+imag(s)*c2+imag(v)*c1)
			y1 := complex(-imag(t)*s1-imag(w)*s2, real(t)*s1+real(w)*s2)
			y2 := complex(-imag(t)*s2+imag(w)*s1, real(t)*s2-real(w)*s1)
			h[q], k[q], i[q], j[q] = (x1+y1)*w1, (x1-y1)*w4, (x2+y2)*w2, (x2-y2)*w3
		}
	}
}

// odd is the stage of any other odd factor r: terms k and r−k share their products.
func (f *transform) odd(r, stride int, x, y []complex128) {
	m, half := f.n/stride/r, (r-1)/2
	var cos, sin [direct]float64 // of the r-th roots
	for k := range r {
		cos[k], sin[k] = real(f.turns[f.n/r*k]), imag(f.turns[f.n/r*k])
	}
	var sums, differences [direct/2 + 1]complex128
	for p := range m {
		for q := range stride {
			from, to := x[stride*p+q:], y[stride*r*p+q:]
			first := from[0]
			total := first
			for k := 1; k <= half; k++ {
				a, b := from[stride*m*k], from[stride*m*(r-k)]
				sums[k], differences[k] = a+b, complex(imag(b)-imag(a), real(a)-real(b)) // i·(a−b)
				total += sums[k]
			}
			to[0] = total
			for j := 1; j <= half; j++ {
				re, im, u, v := real(first), imag(first), 0.0, 0.0
				for k, at := 1, j; k <= half; k++ {
					c, s := cos[at], sin[at]
					re, im = re+real(sums[k])*c, im+imag(sums[k])*c
					u, v = u+real(differences[k])*s, v+imag(differences[k])*s
					if at += j; at >= r {
						at -= r
					}
				}
				to[stride*j] = complex(re+u, im+v) * f.turns[p*stride*j]
				to[stride*(r-j)] = complex(re-u, im-v) * f.turns[p*stride*(r-j)]
			}
		}
	}
}

// A bluestein transforms any length by a convolution whose length is a power of 2 (Bluestein 1970):
// kt = (k² + t² − (k−t)²)/2.
type bluestein struct {
	chirp []complex128 // e^(−πi·k²/n)
	by    []complex128 // the transform of the conjugates, with both ends, divided by its length
	of    *transform
	room  sync.Pool // *[2][]complex128
}

func newBluestein(n int) *bluestein {
	size := 1
	for size < 2*n-1 {
		size *= 2
	}
	b := &bluestein{chirp: make([]complex128, n), by: make([]complex128, size), of: newTransform(size)}
	roots := unitRoots(2 * n)
	scale := complex(1/float64(size), 0)
	for k := range n {
		w := roots[k*k%(2*n)]
		b.chirp[k] = w
		w = complex(real(w), -imag(w)) * scale
		b.by[k] = w
		if k > 0 {
			b.by[size-k] = w
		}
	}
	b.by = b.of.run(b.by, make([]complex128, size))
	b.room.New = func() any { return &[2][]complex128{make([]complex128, size), make([]complex128, size)} }
	return b
}

func (b *bluestein) run(x []complex128) {
	room := b.room.Get().(*[2][]complex128)
	defer b.room.Put(room)
	u, v := room[0], room[1]
	clear(u[len(x):])
	for k, w := range b.chirp {
		u[k] = x[k] * w
	}
	u = b.of.run(u, v)
	if &u[0] == &v[0] {
		v = room[0]
	}
	for k, w := range b.by { // the conjugate, so that the transform below is the inverse one
		z := u[k] * w
		u[k] = complex(real(z), -imag(z))
	}
	u = b.of.run(u, v)
	for k, w := range b.chirp {
		x[k] = complex(real(u[k]), -imag(u[k])) * w
	}
}

// complexRows returns the code for one row: complex numbers [n] to [n], with e^(−2πi·kt/n), or its conjugate,
// times scale.
func complexRows(n int, inverse bool, scale float64) routine {
	f := newTransform(n)
	return f.rows(n, func(in, out [][]float64, z, room []complex128) {
		re, im := in[0], in[1]
		if inverse { // exchanging the parts on both sides conjugates the roots
			re, im = im, re
			out = [][]float64{out[1], out[0]}
		}
		for i := range z {
			z[i] = complex(re[i], im[i])
		}
		write(out, f.run(z, room), scale)
	})
}

// rows gives a row's code room for two rows of size numbers.
func (f *transform) rows(size int, row func(in, out [][]float64, z, room []complex128)) routine {
	rooms := sync.Pool{New: func() any { return &[2][]complex128{make([]complex128, size), make([]complex128, size)} }}
	return func(in, out [][]float64) error {
		room := rooms.Get().(*[2][]complex128)
		defer rooms.Put(room)
		row(in, out, room[0], room[1])
		return nil
	}
}

// write writes the parts that are wanted.
func write(out [][]float64, z []complex128, scale float64) {
	if re := out[0]; re != nil {
		for i := range re {
			re[i] = real(z[i]) * scale
		}
	}
	if im := out[1]; im != nil {
		for i := range im {
			im[i] = imag(z[i]) * scale
		}
	}
}

// realRows returns the code for one row: real numbers [n] to the first n/2+1 of their transform, times scale.
// An even row is transformed as n/2 complex numbers.
func realRows(n int, scale float64) routine {
	if n%2 == 1 {
		f := newTransform(n)
		return f.rows(n, func(in, out [][]float64, z, room []complex128) {
			for i, x := range in[0] {
				z[i] = complex(x, 0)
			}
			write(out, f.run(z, room), scale)
		})
	}
	half := n / 2
	f, turns := newTransform(half), unitRoots(n)
	return f.rows(half, func(in, out [][]float64, z, room []complex128) {
		for i := range z {
			z[i] = complex(in[0][2*i], in[0][2*i+1])
		}
		z = f.run(z, room)
		for k := range half + 1 {
			a, b := z[k%half], z[(half-k)%half]
			b = complex(real(b), -imag(b))
			even, odd := a+b, (a-b)*turns[k]
			if out[0] != nil {
				out[0][k] = (real(even) + imag(odd)) / 2 * scale
			}
			if out[1] != nil {
				out[1][k] = (imag(even) - real(odd)) / 2 * scale
			}
		}
	})
}

// halfRows returns the code for one row, the reverse of realRows but for a factor n: the first n/2+1 of n
// complex numbers, of which the others are the conjugates, to the real numbers Σₖ z[k]·e^(2πi·kt/n), times
// scale. What is imaginary in z[0], and in z[n/2] of an even n, is not read.
func halfRows(n int, scale float64) routine {
	if n%2 == 1 {
		f := newTransform(n)
		return f.rows(n, func(in, out [][]float64, z, room []complex128) {
			z[0] = complex(0, in[0][0]) // the parts are exchanged: see complexRows
			for k := 1; k <= n/2; k++ {
				z[k], z[n-k] = complex(in[1][k], in[0][k]), complex(-in[1][k], in[0][k])
			}
			for t, x := range f.run(z, room) {
				out[0][t] = imag(x) * scale
			}
		})
	}
	half := n / 2
	f, turns := newTransform(half), unitRoots(n)
	return f.rows(half, func(in, out [][]float64, z, room []complex128) {
		at := func(k int) complex128 {
			if k == 0 || k == half {
				return complex(in[0][k], 0)
			}
			return complex(in[0][k], in[1][k])
		}
		for k := range z {
			a, b, w := at(k), at(half-k), turns[k]
			b = complex(real(b), -imag(b))
			odd := (a - b) * complex(real(w), -imag(w))
			y := a + b + complex(-imag(odd), real(odd)) // i·odd
			z[k] = complex(imag(y), real(y))
		}
		for i, y := range f.run(z, room) {
			out[0][2*i], out[0][2*i+1] = imag(y)*scale, real(y)*scale
		}
	})
}
