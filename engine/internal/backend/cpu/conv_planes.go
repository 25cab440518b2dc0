package cpu

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// planes computes what rowwise does, for windows that move element by element: then a tap multiplies a whole
// plane of the last two axes at once. Rows of both planes are as far apart as those of x with its zeros, so
// that one offset leads from an element of y to what a tap reads; between rows of y lie elements that do not
// count. They are 0 where they are multiplied: beside an Inf a gradient may so become NaN, as it does beside
// zeros around an image.
type planes[T float32 | float64] struct {
	*rowwise[T]
	height, width int // of the plane of x with its zeros
	n             int // elements of a plane of y, from the first that counts to the last
}

// byPlanes returns nil for windows that move in other steps.
func byPlanes[T float32 | float64](r *rowwise[T]) *planes[T] {
	if r.window[1].Stride != 1 || r.window[2].Stride != 1 {
		return nil
	}
	p := &planes[T]{rowwise: r}
	p.height = r.y[1] + (r.w[1]-1)*r.window[1].Dilation
	p.width = r.y[2] + (r.w[2]-1)*r.window[2].Dilation
	p.n = (r.y[1]-1)*p.width + r.y[2]
	return p
}

// memory is what a worker has for a plane of x and one of y.
func (p *planes[T]) memory(l *launch) (of func(worker int) (x, y []T)) {
	size := p.height * p.width
	all := elements[T](l.scratch.bytes(8 * 2 * size * l.pool.Threads()))
	return func(worker int) (x, y []T) {
		mine := line(all, worker, 2*size)
		return mine[:size], mine[size:][:p.n]
	}
}

// rows calls f for each row of x that lies in the plane: where it lies there and in x, and how much of it.
func (p *planes[T]) rows(f func(in, at, n int)) {
	left, top := p.window[2].Before, p.window[1].Before
	n := min(p.x[2], p.width-left)
	for i := range min(p.x[1], p.height-top) {
		if n > 0 {
			f((i+top)*p.width+left, i*p.x[2], n)
		}
	}
}

// load puts a plane of x between its zeros.
func (p *planes[T]) load(to, x []T) {
	clear(to)
	p.rows(func(in, at, n int) { copy(to[in:][:n], x[at:]) })
}

// apart puts the rows of a plane of y as far apart as those of x.
func (p *planes[T]) apart(to, y []T) {
	clear(to)
	for i := range p.y[1] {
		copy(to[i*p.width:][:p.y[2]], y[i*p.y[2]:])
	}
}

// taps calls f for each tap of a plane of the kernel, with the distance from an element of y to what it
// reads.
func (p *planes[T]) taps(f func(tap, offset int)) {
	for i := range p.w[1] {
		for j := range p.w[2] {
			f(i*p.w[2]+j, i*p.window[1].Dilation*p.width+j*p.window[2].Dilation)
		}
	}
}

// depths calls f for each plane of the kernel and each pair of planes that it brings together.
func (p *planes[T]) depths(f func(tap, in, out int)) {
	for out := range p.y[0] {
		for tap := range p.w[0] {
			if in := p.window[0].At(out, tap); in >= 0 && in < p.x[0] {
				f(tap, in, out)
			}
		}
	}
}

// run computes the product of whole tensors.
func (p *planes[T]) run(l *launch, x, w, y []T) {
	memory := p.memory(l)
	switch p.op {
	case ir.Conv:
		l.pool.For(p.images*p.results(), func(worker, i int) { p.forwardPlane(l, memory, worker, i, x, w, y) })
	case ir.ConvTranspose:
		l.pool.For(p.images*p.channels(), func(worker, i int) { p.backwardPlane(l, memory, worker, i, x, w, y) })
	default:
		l.pool.For(p.results()*p.in, func(worker, i int) { p.weightPlane(l, memory, worker, i, x, w, y) })
	}
}

func (p *planes[T]) forwardPlane(l *launch, memory func(int) (x, y []T), worker, i int, x, w, y []T) {
	image, o := i/p.results(), i%p.results()
	in, sums := memory(worker)
	plane, taps := p.y[1]*p.y[2], p.w[1]*p.w[2]
	for out := range p.y[0] {
		clear(sums)
		for c := range p.in {
			if l.pool.Stopped() {
				return
			}
			from, kernel := line(x, image*p.channels()+o/p.out*p.in+c, p.x.size()), line(w, o*p.in+c, p.w.size())
			p.depths(func(tap, i, j int) {
				if j == out {
					p.load(in, line(from, i, p.x[1]*p.x[2]))
					p.taps(func(t, offset int) { p.addScaled(sums, in[offset:][:p.n], kernel[tap*taps+t]) })
				}
			})
		}
		to := y[i*p.y.size()+out*plane:][:plane]
		for r := range p.y[1] {
			copy(line(to, r, p.y[2]), sums[r*p.width:])
		}
	}
}

func (p *planes[T]) backwardPlane(l *launch, memory func(int) (x, y []T), worker, i int, x, w, y []T) {
	image, c := i/p.channels(), i%p.channels()
	sums, out := memory(worker)
	plane, taps := p.x[1]*p.x[2], p.w[1]*p.w[2]
	for in := range p.x[0] {
		clear(sums)
		for j := range p.out {
			if l.pool.Stopped() {
				return
			}
			o := c/p.in*p.out + j
			from, kernel := line(y, image*p.results()+o, p.y.size()), line(w, o*p.in+c%p.in, p.w.size())
			p.depths(func(tap, i, j int) {
				if i == in {
					p.apart(out, line(from, j, p.y[1]*p.y[2]))
					p.taps(func(t, offset int) { p.addScaled(sums[offset:][:p.n], out, kernel[tap*taps+t]) })
				}
			})
		}
		to := x[i*p.x.size()+in*plane:][:plane]
		clear(to)
		p.rows(func(in, at, n int) { copy(to[at:][:n], sums[in:]) })
	}
}

func (p *planes[T]) weightPlane(l *launch, memory func(int) (x, y []T), worker, i int, x, w, y []T) {
	o, c := i/p.in, i%p.in
	in, out := memory(worker)
	taps := p.w[1] * p.w[2]
	sums := make([]float64, p.w.size())
	for image := range p.images {
		if l.pool.Stopped() {
			return
		}
		from, with := line(x, image*p.channels()+o/p.out*p.in+c, p.x.size()), line(y, image*p.results()+o, p.y.size())
		p.depths(func(tap, i, j int) {
			p.load(in, line(from, i, p.x[1]*p.x[2]))
			p.apart(out, line(with, j, p.y[1]*p.y[2]))
			p.taps(func(t, offset int) { sums[tap*taps+t] += p.dot(out, in[offset:][:p.n]) })
		})
	}
	for tap, sum := range sums {
		w[i*p.w.size()+tap] = T(sum)
	}
}
