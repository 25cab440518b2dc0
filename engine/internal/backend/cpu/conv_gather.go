package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/gemm"
)

// A convolution is a product of matrices: the weight, of which a row has the taps of all channels, times the
// windows, of which each is a column. Packing gathers the windows from the images (gemm.Places), so that the
// matrix of all windows, many times as large as the images, never exists.

// wideEnough is the number of columns from which a product is not made wider by further images.
const wideEnough = 512

// shortSums is the length of sums up to which results are passed on: for longer ones tasks would be narrower,
// because they pack all steps.
const shortSums = 512

// together is how many images are columns of one product: a divisor of all.
func together(images, places int) int {
	n := 1
	for d := 2; d <= images && (d-1)*places < wideEnough; d++ {
		if images%d == 0 {
			n = d
		}
	}
	return n
}

// A gathered is a product of such a kind whose columns may belong elsewhere than side by side.
type gathered struct {
	m, n, k int
	batch   int // groups of each block of images
	a, b    gemm.Operand
	to      *gemm.Places // where the columns belong, if not side by side
	apart   int          // two rows of the result
	starts  []int        // the result of each matrix of the batch

	product *gemm.Product
	passing bool // results go from the cache to where they belong
	call    gemm.Call
}

// run computes the product; to is where the results belong.
func (g *gathered) run(l *launch, a, b, to unsafe.Pointer) {
	terms := []gemm.Term{{K: g.k, A: g.a, B: g.b}}
	if g.product == nil && g.to != nil && g.k <= shortSums {
		g.product = gemm.NewPassing(g.m, g.n, g.batch, terms, l.pool.Threads())
		g.passing = g.product != nil
	}
	if g.product == nil {
		g.product = gemm.New(g.m, g.n, g.batch, terms, l.pool.Threads())
	}
	c := &g.call
	c.A, c.B = append(c.A[:0], a), append(c.B[:0], b)
	c.Scales, c.Extra = []unsafe.Pointer{nil}, []unsafe.Pointer{nil}
	c.C, c.LDC, c.BatchC, c.Done = (*float32)(to), g.n, g.m*g.n, nil
	if g.to != nil {
		if !g.passing {
			c.C = unsafe.SliceData(l.scratch.floats(g.batch * g.m * g.n))
		}
		c.Done = func(_ int, p gemm.Part) { g.spread(to, p) }
	}
	c.Scratch = l.scratch.floats(g.product.ScratchLen())
	g.product.Run(l.pool, c)
	clear(c.A)
	clear(c.B)
	c.C, c.Done, c.Scratch = nil, nil, nil
}

// spread takes a complete part of the result to where it belongs.
func (g *gathered) spread(to unsafe.Pointer, p gemm.Part) {
	for r := range p.Rows {
		from := unsafe.Add(unsafe.Pointer(p.C), 4*r*p.LDC)
		row := unsafe.Add(to, 4*(g.starts[p.Batch]+(p.Row+r)*g.apart))
		g.to.Spread((*float32)(row), (*float32)(from), p.Col, p.Cols)
	}
}

// A forward computes conv.
type forward struct {
	gathered
	part padded
}

func newForward(c *convolution) *forward {
	f := &forward{part: c.part()}
	images, places, taps := together(c.images, c.y.size()), c.y.size(), c.w.size()
	f.m, f.n, f.k, f.batch = c.out, images*places, c.in*taps, c.images/images*c.groups
	f.a = gemm.Operand{Line: f.k, Step: 1}
	f.windows(c, images)
	f.apart = places
	for i := range f.batch {
		block, group := i/c.groups, i%c.groups
		f.a.Batch = append(f.a.Batch, group*c.out*f.k)
		f.b.Batch = append(f.b.Batch, block*images*f.part.image()+group*c.in*f.part.channel())
		f.starts = append(f.starts, (block*images*c.results()+group*c.out)*places)
	}
	if images > 1 {
		var to []int
		for i := range f.n {
			to = append(to, i/places*c.results()*places+i%places)
		}
		f.to = gemm.NewPlaces(to, nil)
	}
	return f
}

// part is what the windows read of x.
func (c *convolution) part() padded {
	p := padded{images: c.images, channels: c.channels(), source: c.x, stride: c.window[2].Stride}
	for a, w := range c.window {
		p.first[a] = -w.Before
		p.length[a] = w.At(c.y[a]-1, c.w[a]-1) - w.At(0, 0) + 1
	}
	p.fit()
	return p
}

// windows is the operand that has a column for each place of the window, and a row for each tap.
func (f *forward) windows(c *convolution, images int) {
	if c.w.size() == 1 && images == 1 && !f.part.needed() {
		f.b.Line, f.b.Step = 1, f.part.channel()
		return
	}
	var lines []int
	for i := range images {
		c.y.each(func(at spatial) { lines = append(lines, i*f.part.image()+f.part.at(c.read(at, spatial{}))) })
	}
	var steps []gemm.Series // one for each tap, with the channels
	c.w.each(func(tap spatial) {
		at := f.part.at(c.read(spatial{}, tap))
		if c.in >= c.w[2] || f.part.stride > 1 {
			steps = append(steps, gemm.Series{First: c.w.at(tap), Apart: c.w.size(), N: c.in, At: at, Step: f.part.channel()})
		} else if tap[2] == 0 { // few channels: one for each row of taps in each
			for i := range c.in {
				steps = append(steps, gemm.Series{First: i*c.w.size() + c.w.at(tap), Apart: 1, N: c.w[2], At: i*f.part.channel() + at, Step: c.window[2].Dilation})
			}
		}
	})
	f.b.Places = gemm.NewPlaces(lines, steps)
}

// read is the element that a tap reads at a place of the window, counted from the first that any does.
func (c *convolution) read(place, tap spatial) (i spatial) {
	for a, w := range c.window {
		i[a] = place[a]*w.Stride + tap[a]*w.Dilation
	}
	return i
}

func (f *forward) run(l *launch, x, w, y unsafe.Pointer) {
	f.gathered.run(l, w, f.part.copied(l, x), y)
}

// A transposed computes conv_transpose. With strides, the elements of x whose places leave the same remainder
// are reached by the same taps: they are a product of their own, over a part of the kernel.
type transposed struct {
	*convolution
	part   padded
	phases []*phaseOfStride
}

type phaseOfStride struct {
	gathered
	taps []int // of the kernel
}

func newTransposed(c *convolution) *transposed {
	t := &transposed{convolution: c, part: padded{images: c.images, channels: c.results(), source: c.y, stride: 1}}
	var strides, end spatial
	for a, w := range c.window {
		strides[a], end[a] = w.Stride, c.y[a]
		for p := range min(w.Stride, c.x[a]) {
			for k := range w.Kernel {
				if shift, ok := c.shift(a, p, k); ok {
					t.part.first[a] = min(t.part.first[a], shift)
					end[a] = max(end[a], c.within(a, p)+shift)
				}
			}
		}
		t.part.length[a] = end[a] - t.part.first[a]
	}
	t.part.fit()
	strides.each(func(p spatial) {
		if ph := t.phase(p); ph.n > 0 {
			t.phases = append(t.phases, ph)
		}
	})
	return t
}

// shift says whether tap k reaches elements of x with remainder p along an axis, and how far the place of the
// window is from the number of the element among them.
func (c *convolution) shift(axis, p, k int) (int, bool) {
	w := c.window[axis]
	at := p + w.Before - k*w.Dilation
	if at%w.Stride != 0 {
		return 0, false
	}
	return at / w.Stride, true
}

// within is how many elements of x have remainder p along an axis.
func (c *convolution) within(axis, p int) int {
	s := c.window[axis].Stride
	return max(0, (c.x[axis]-p+s-1)/s)
}

func (t *transposed) phase(p spatial) *phaseOfStride {
	c, ph := t.convolution, new(phaseOfStride)
	var count spatial
	for a := range count {
		count[a] = c.within(a, p[a])
	}
	var steps []int // of one result
	c.w.each(func(tap spatial) {
		var from spatial
		for a := range tap {
			shift, ok := c.shift(a, p[a], tap[a])
			if !ok {
				return
			}
			from[a] = shift - t.part.first[a]
		}
		ph.taps, steps = append(ph.taps, c.w.at(tap)), append(steps, t.part.at(from))
	})
	images := together(c.images, count.size())
	ph.m, ph.n, ph.k, ph.batch = c.in, images*count.size(), c.out*len(ph.taps), c.images/images*c.groups
	ph.a = gemm.Operand{Line: ph.k, Step: 1}
	ph.apart = c.x.size()
	for i := range ph.batch {
		block, group := i/c.groups, i%c.groups
		ph.a.Batch = append(ph.a.Batch, group*c.in*ph.k)
		ph.b.Batch = append(ph.b.Batch, block*images*t.part.image()+group*c.out*t.part.channel())
		ph.starts = append(ph.starts, (block*images*c.channels()+group*c.in)*c.x.size())
	}
	if ph.n > 0 {
		t.places(ph, p, count, images, steps)
	}
	return ph
}

// places lists the windows of a phase, and where its results belong.
func (t *transposed) places(ph *phaseOfStride, p, count spatial, images int, taps []int) {
	c := t.convolution
	var lines, to []int
	for i := range images {
		count.each(func(q spatial) {
			lines = append(lines, i*t.part.image()+t.part.at(q))
			for a, w := range c.window {
				q[a] = q[a]*w.Stride + p[a]
			}
			to = append(to, i*c.channels()*c.x.size()+c.x.at(q))
		})
	}
	var steps []gemm.Series // one for each tap, with the results
	for i, at := range taps {
		steps = append(steps, gemm.Series{First: i, Apart: len(taps), N: c.out, At: at, Step: t.part.channel()})
	}
	ph.b.Places = gemm.NewPlaces(lines, steps)
	if images > 1 || count != c.x {
		ph.to = gemm.NewPlaces(to, nil)
	}
}

func (t *transposed) run(l *launch, y, w, x unsafe.Pointer) {
	from := t.part.copied(l, y)
	for _, ph := range t.phases {
		if l.pool.Stopped() {
			return
		}
		ph.run(l, t.weightOfPhase(l, ph, w), from, x)
	}
}

// weightOfPhase is the weight with a row for each channel of x, which has the taps of the phase for all
// results.
func (t *transposed) weightOfPhase(l *launch, ph *phaseOfStride, w unsafe.Pointer) unsafe.Pointer {
	taps := t.w.size()
	from := unsafe.Slice((*float32)(w), t.results()*t.in*taps)
	to := l.scratch.floats(t.channels() * ph.k)
	const block = 16 // channels that are written side by side: their taps lie together in w
	blocks := (t.in + block - 1) / block
	l.pool.For(t.groups*blocks, func(_, i int) {
		group, first := i/blocks, i%blocks*block
		for o := range t.out {
			all := from[((group*t.out+o)*t.in+first)*taps:]
			for c := range min(block, t.in-first) {
				d := to[(group*t.in+first+c)*ph.k+o*len(ph.taps):][:len(ph.taps)]
				if len(d) == taps {
					copy(d, all[c*taps:])
					continue
				}
				for i, tap := range ph.taps {
					d[i] = all[c*taps+tap]
				}
			}
		}
	})
	return unsafe.Pointer(unsafe.SliceData(to))
}

// A weightGradient computes conv_weight: y, of which a row has the places of all images, times the windows
// turned around, with a row for each place. The channels of an element lie side by side there, because a row
// has few taps that follow each other.
type weightGradient struct {
	*convolution
	gathered
	part padded
}

func (w *weightGradient) prepare() {
	c := w.convolution
	w.part = c.part()
	places, taps := c.y.size(), c.w.size()
	w.m, w.n, w.k, w.gathered.batch = c.out, taps*c.in, c.images*places, c.groups
	w.a = gemm.Operand{Line: places, Places: gemm.NewPlaces(nil, eachImage(c.images, c.results()*places, places))}
	group := c.in * w.part.channel()
	if taps == 1 && !w.part.needed() { // the channels of an element are equally far apart
		w.b = gemm.Operand{Line: w.part.channel(), Places: gemm.NewPlaces(nil, eachImage(c.images, w.part.image(), places))}
	} else {
		w.part.stride, w.part.last = 1, true
		w.windows()
		group = c.in
	}
	for g := range c.groups {
		w.a.Batch = append(w.a.Batch, g*c.out*places)
		w.b.Batch = append(w.b.Batch, g*group)
		w.starts = append(w.starts, g*c.out*w.n)
	}
	w.apart = w.n
}

// eachImage has n steps of each image, side by side.
func eachImage(images, apart, n int) (list []gemm.Series) {
	for i := range images {
		list = append(list, gemm.Series{First: i * n, Apart: 1, N: n, At: i * apart, Step: 1})
	}
	return list
}

// windows is the operand that has a row for each place, and a column for each tap and channel. The result has
// the taps of a channel side by side.
func (w *weightGradient) windows() {
	c := w.convolution
	var lines, to []int
	c.w.each(func(tap spatial) {
		for i := range c.in {
			lines = append(lines, w.part.at(c.read(spatial{}, tap))+i)
			to = append(to, i*c.w.size()+c.w.at(tap))
		}
	})
	var steps []gemm.Series // one for each row of places
	rows := spatial{c.y[0], c.y[1], 1}
	for i := range c.images {
		rows.each(func(at spatial) {
			first := w.part.at(c.read(at, spatial{}))
			steps = append(steps, gemm.Series{First: i*c.y.size() + c.y.at(at), Apart: 1, N: c.y[2], At: i*w.part.image() + first, Step: c.window[2].Stride * w.part.step()})
		})
	}
	w.b = gemm.Operand{Places: gemm.NewPlaces(lines, steps)}
	w.to = gemm.NewPlaces(to, nil)
}

func (w *weightGradient) run(l *launch, x, y, to unsafe.Pointer) {
	if w.product == nil {
		w.prepare()
	}
	w.gathered.run(l, y, w.part.copied(l, x), to)
}
