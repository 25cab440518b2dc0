package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A rowwise computes a convolution by adding multiples of rows to rows, one for each tap. It is for few
// channels in a group, where a product of matrices would be too narrow, and for float64.
type rowwise[T float32 | float64] struct {
	*convolution
	runs *vec.Runs[T]
}

// addScaled adds s·x to d.
func (r *rowwise[T]) addScaled(d, x []T, s T) {
	r.runs.AddScaled(unsafe.Pointer(unsafe.SliceData(d)), unsafe.Pointer(unsafe.SliceData(x)), s, len(d))
}

func (r *rowwise[T]) dot(x, y []T) float64 {
	return float64(r.runs.Dot(unsafe.Pointer(unsafe.SliceData(x)), unsafe.Pointer(unsafe.SliceData(y)), len(x)))
}

func (r *rowwise[T]) run(l *launch, a, b, to unsafe.Pointer) {
	whole := func(p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }
	nx, nw, ny := r.images*r.channels()*r.x.size(), r.results()*r.in*r.w.size(), r.images*r.results()*r.y.size()
	x, w, y := a, b, to
	switch r.op {
	case ir.ConvTranspose:
		x, y = to, a
	case ir.ConvWeight:
		w, y = to, b
	}
	xs, ws, ys := whole(x, nx), whole(w, nw), whole(y, ny)
	if p := byPlanes(r); p != nil && ny > 0 {
		p.run(l, xs, ws, ys)
		return
	}
	switch r.op {
	case ir.Conv:
		r.forward(l, xs, ws, ys)
	case ir.ConvTranspose:
		r.backward(l, xs, ws, ys)
	default:
		r.weight(l, xs, ws, ys)
	}
}

// line is elements of n following each other.
func line[T any](s []T, i, n int) []T { return s[i*n:][:n] }

func (r *rowwise[T]) forward(l *launch, x, w, y []T) {
	l.pool.For(r.images*r.results(), func(_, i int) {
		image, o := i/r.results(), i%r.results()
		to := line(y, i, r.y.size())
		clear(to)
		for c := range r.in {
			if l.pool.Stopped() {
				return
			}
			from := line(x, image*r.channels()+o/r.out*r.in+c, r.x.size())
			taps := line(w, o*r.in+c, r.w.size())
			r.eachRow(func(tap, k, in, out int) {
				lo, n, at := r.reach[k].lo, r.reach[k].n, r.reach[k].at
				if d := to[out+lo:][:n]; r.window[2].Stride == 1 {
					r.addScaled(d, from[in+at:][:n], taps[tap])
				} else {
					for i := range d {
						d[i] += taps[tap] * from[in+at+i*r.window[2].Stride]
					}
				}
			})
		}
	})
}

func (r *rowwise[T]) backward(l *launch, x, w, y []T) {
	l.pool.For(r.images*r.channels(), func(_, i int) {
		image, c := i/r.channels(), i%r.channels()
		to := line(x, i, r.x.size())
		clear(to)
		for j := range r.out {
			if l.pool.Stopped() {
				return
			}
			o := c/r.in*r.out + j
			from := line(y, image*r.results()+o, r.y.size())
			taps := line(w, o*r.in+c%r.in, r.w.size())
			r.eachRow(func(tap, k, in, out int) {
				lo, n, at := r.reach[k].lo, r.reach[k].n, r.reach[k].at
				if d := from[out+lo:][:n]; r.window[2].Stride == 1 {
					r.addScaled(to[in+at:][:n], d, taps[tap])
				} else {
					for i := range d {
						to[in+at+i*r.window[2].Stride] += taps[tap] * d[i]
					}
				}
			})
		}
	})
}

func (r *rowwise[T]) weight(l *launch, x, w, y []T) {
	l.pool.For(r.results()*r.in, func(_, i int) {
		o, c := i/r.in, i%r.in
		sums := make([]float64, r.w.size())
		for image := range r.images {
			if l.pool.Stopped() {
				return
			}
			from := line(x, image*r.channels()+o/r.out*r.in+c, r.x.size())
			with := line(y, image*r.results()+o, r.y.size())
			r.eachRow(func(tap, k, in, out int) {
				lo, n, at := r.reach[k].lo, r.reach[k].n, r.reach[k].at
				if d := with[out+lo:][:n]; r.window[2].Stride == 1 {
					sums[tap] += r.dot(d, from[in+at:][:n])
				} else {
					for i := range d {
						sums[tap] += float64(d[i]) * float64(from[in+at+i*r.window[2].Stride])
					}
				}
			})
		}
		for tap, sum := range sums {
			w[i*r.w.size()+tap] = T(sum)
		}
	})
}

// eachRow calls f for each tap and each pair of rows that it brings together: tap is its place in the kernel,
// and k that along the last axis; the rows of x and y begin at in and out.
func (c *convolution) eachRow(f func(tap, k, in, out int)) {
	front := spatial{c.w[0], c.w[1], 1}
	front.each(func(tap spatial) {
		places := spatial{c.y[0], c.y[1], 1}
		places.each(func(place spatial) {
			i, j := c.window[0].At(place[0], tap[0]), c.window[1].At(place[1], tap[1])
			if i < 0 || i >= c.x[0] || j < 0 || j >= c.x[1] {
				return
			}
			for k := range c.w[2] {
				f(c.w.at(spatial{tap[0], tap[1], k}), k, c.x.at(spatial{i, j, 0}), c.y.at(place))
			}
		})
	})
}

// A reach is the part of a row of y that a tap multiplies by elements of x: n places from lo on, the first by
// element at.
type reach struct{ lo, n, at int }

func (c *convolution) reachOf(k int) reach {
	w := c.window[2]
	first, lo := w.At(0, k), 0
	if first < 0 {
		lo = (-first + w.Stride - 1) / w.Stride
	}
	hi := 0
	if last := c.x[2] - 1 - first; last >= 0 {
		hi = min(c.y[2], last/w.Stride+1)
	}
	if lo >= hi {
		return reach{}
	}
	return reach{lo, hi - lo, w.At(lo, k)}
}
