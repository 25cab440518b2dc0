package cpu

import (
	"slices"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// A convolution is a product of matrices: the windows, of which each is a row, times the weight. Where the
// channels of an element lie side by side a window is a few stretches of memory, equally far from the
// window's first element for all windows. So a micro-kernel reads the windows where they lie, and the matrix
// of all of them, many times as large as the images, never exists.

// A windowed computes conv and conv_transpose.
type windowed struct {
	part    padded // what the windows of a task read of an image
	count   int    // of images
	groups  int
	out     int // channels of the results of a group; those that are read are the part's
	taps    int
	order   []int   // taps in the order in which a packed weight has them
	result  int     // the distance of two results in the weight
	channel int     // that of two channels that are read
	shape   spatial // of the results
	phases  []windows
	division
}

// windows are the places of a window that the same taps reach. With the strides of a transposed convolution
// these are the elements whose places leave the same remainder.
type windows struct {
	count       spatial // of an image
	step        spatial // between windows, in elements of the part
	first, next spatial // where the results belong
	chunks      [][]micro.Stretch
}

// read is the element that a tap reads at a place of the window, counted from the first that any does.
func (c *convolution) read(place, tap spatial) (i spatial) {
	for a, w := range c.window {
		i[a] = place[a]*w.Stride + tap[a]*w.Dilation
	}
	return i
}

// part is what the windows read of x.
func (c *convolution) part() padded {
	p := newPadded(c.in, c.x)
	for a, w := range c.window {
		p.first[a] = -w.Before
		p.length[a] = w.At(c.y[a]-1, c.w[a]-1) - w.At(0, 0) + 1
	}
	return p
}

func (c *convolution) strides() (s spatial) {
	for a, w := range c.window {
		s[a] = w.Stride
	}
	return s
}

func newForward(c *convolution) *windowed {
	w := &windowed{part: c.part(), count: c.images, groups: c.groups, out: c.out, taps: c.w.size(), shape: c.y}
	w.result, w.channel = c.in*w.taps, w.taps
	w.division = w.part.divide(c.images, c.y, c.strides())
	var taps, at []int
	c.w.each(func(tap spatial) { taps, at = append(taps, c.w.at(tap)), append(at, w.part.at(c.read(spatial{}, tap))) })
	w.add(windows{count: c.y, step: c.strides(), next: spatial{1, 1, 1}}, taps, at)
	return w
}

func newTransposed(c *convolution) *windowed {
	w := &windowed{count: c.images, groups: c.groups, out: c.in, taps: c.w.size(), shape: c.x}
	w.part = newPadded(c.out, c.y)
	w.result, w.channel = w.taps, c.in*w.taps
	var count spatial
	for a, s := range c.window {
		count[a] = c.within(a, 0)
		w.part.first[a] = -max(0, (s.Kernel-1)*s.Dilation-s.Before) / s.Stride
		w.part.length[a] = count[a] + max(0, s.Stride-1+s.Before)/s.Stride - w.part.first[a]
	}
	w.division = w.part.divide(c.images, count, spatial{1, 1, 1})
	c.strides().each(func(p spatial) { w.phase(c, p) })
	return w
}

// phase adds the windows of the elements of x whose places leave the remainders p.
func (w *windowed) phase(c *convolution, p spatial) {
	ph := windows{step: spatial{1, 1, 1}, first: p, next: c.strides()}
	for a := range p {
		ph.count[a] = c.within(a, p[a])
	}
	if ph.count.size() == 0 {
		return
	}
	var taps, at []int
	c.w.each(func(tap spatial) {
		var from spatial
		for a := range tap {
			shift, ok := c.shift(a, p[a], tap[a])
			if !ok {
				return
			}
			from[a] = shift - w.part.first[a]
		}
		taps, at = append(taps, c.w.at(tap)), append(at, w.part.at(from))
	})
	if len(at) > 1 && at[0] > at[1] { // backwards
		slices.Reverse(taps)
		slices.Reverse(at)
	}
	w.add(ph, taps, at)
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

// add adds windows whose taps read the elements at, counted from the first that a window could.
func (w *windowed) add(ph windows, taps, at []int) {
	cols := micro.IndirectKernel().Cols
	var all []micro.Stretch
	for i, from := range at {
		all = append(all, micro.Stretch{A: from, End: from + w.part.channels, B: (len(w.order) + i) * w.part.channels * cols})
	}
	w.order = append(w.order, taps...)
	ph.chunks = chunks(all, cols)
	w.phases = append(w.phases, ph)
}

// depth is about the number of products that are added up before the sum is added to the result. It decides
// the order of additions, so it is equal on all machines.
const depth = 512

// chunks cuts stretches into pieces of equal lengths, and joins those that follow one another. Rows of the
// right operand are ldb elements apart.
func chunks(all []micro.Stretch, ldb int) (list [][]micro.Stretch) {
	steps := 0
	for _, s := range all {
		steps += s.End - s.A
	}
	left, most := 0, evenly(steps, depth)
	for _, s := range all {
		for s.A < s.End {
			if left == 0 {
				list, left = append(list, nil), most
			}
			n := min(left, s.End-s.A)
			piece := micro.Stretch{A: s.A, End: s.A + n, B: s.B}
			last := &list[len(list)-1]
			if k := len(*last) - 1; k >= 0 && (*last)[k].End == piece.A && (*last)[k].B+(piece.A-(*last)[k].A)*ldb == piece.B {
				(*last)[k].End = piece.End
			} else {
				*last = append(*last, piece)
			}
			left, s.A, s.B = left-n, s.A+n, s.B+n*ldb
		}
	}
	return list
}

// pack packs the weight: for each group and panel of results a row for each tap, in their order, and channel.
func (w *windowed) pack(l *launch, weight unsafe.Pointer) []float32 {
	const block = 16 // channels that are packed together
	cols, rows := micro.IndirectKernel().Cols, len(w.order)*w.part.channels
	panels, blocks := (w.out+cols-1)/cols, (w.part.channels+block-1)/block
	packed := l.scratch.floats(w.groups * panels * rows * cols)
	turned := l.scratch.floats(l.pool.Threads() * block * w.taps * cols)
	all := unsafe.Slice((*float32)(weight), w.groups*w.part.channels*w.out*w.taps)
	l.pool.For(w.groups*panels*blocks, func(worker, i int) {
		panel, q := i/blocks, i%blocks*block
		group, result := panel/panels, panel%panels*cols
		n, channels := min(cols, w.out-result), min(block, w.part.channels-q)
		part := line(turned, worker, block*w.taps*cols)
		from := all[group*w.part.channels*w.out*w.taps+result*w.result+q*w.channel:]
		if w.channel == w.taps { // side by side
			micro.Transpose(&part[0], cols, &from[0], w.result, n, channels*w.taps)
		} else {
			for c := range channels {
				micro.Transpose(&part[c*w.taps*cols], cols, &from[c*w.channel], w.result, n, w.taps)
			}
		}
		to := line(packed, panel, rows*cols)
		for k, tap := range w.order {
			for c := range channels {
				copy(to[(k*w.part.channels+q+c)*cols:][:cols], part[(c*w.taps+tap)*cols:])
			}
		}
	})
	return packed
}

// most is the number of windows that are multiplied together, so that their results stay in the first-level
// cache: a multiple of the rows of all kernels.
const most = 192

// run computes the product. A task is a block of rows of an image, or of images, and some panels of results.
func (w *windowed) run(l *launch, x, weight, to unsafe.Pointer) {
	packed := w.pack(l, weight)
	kernel, threads := micro.IndirectKernel(), l.pool.Threads()
	panels := (w.out + kernel.Cols - 1) / kernel.Cols
	cuts, images := (w.rows+w.block-1)/w.block, evenly(w.count, max(1, min(w.images, w.count/threads)))
	blocks := cuts * ((w.count + images - 1) / images)
	shares := min(panels, (4*threads+blocks-1)/blocks)
	read, sums := images*w.part.image(), most*kernel.Cols
	memory, lines := l.scratch.floats(threads*(read+sums)), elements[int](l.scratch.bytes(8*threads*most))
	l.pool.For(w.groups*blocks*shares, func(worker, i int) {
		group, block, share := i/shares/blocks, i/shares%blocks, i%shares
		t := task{windowed: w, group: group, image: block / cuts * images, row: block % cuts * w.block, to: to}
		mine := line(memory, worker, read+sums)
		t.read, t.sums, t.lines = mine[:read], mine[read:], line(lines, worker, most)
		t.fill(x, min(images, w.count-t.image))
		for p := range w.phases {
			ph := &w.phases[p]
			count := ph.count
			count[w.axis] = min(w.block, count[w.axis]-t.row)
			all := min(images, w.count-t.image) * count.size()
			for first := 0; first < all; first += most {
				n := min(most, all-first)
				runs := t.places(ph, count, first, n)
				for p := share * panels / shares; p < (share+1)*panels/shares && !l.pool.Stopped(); p++ {
					t.multiply(ph, packed[(group*panels+p)*len(w.order)*w.part.channels*kernel.Cols:], p*kernel.Cols, n, runs)
				}
			}
		}
	})
}

// A task is windows of a group that lie in some images, or in some rows of one, and panels of results.
type task struct {
	*windowed
	group, image, row int // the first
	to                unsafe.Pointer
	read, sums        []float32
	lines             []int // where windows begin in what is read
	runs              [most]run
}

// fill reads n images.
func (t *task) fill(x unsafe.Pointer, n int) {
	first, channels := t.part.first, t.part.channels*t.part.source.size()
	first[t.axis] += t.row * t.phases[0].step[t.axis]
	for i := range n {
		from := unsafe.Slice((*float32)(unsafe.Add(x, 4*((t.image+i)*t.groups+t.group)*channels)), channels)
		for c := 0; c < t.part.channels; c += together {
			t.part.fill(line(t.read, i, t.part.image()), from, first, c)
		}
	}
}

// multiply computes the results of n windows from channel c on, those of a panel of the weight.
func (t *task) multiply(ph *windows, panel []float32, c, n int, runs []run) {
	kernel, cols := micro.IndirectKernel(), min(micro.IndirectKernel().Cols, t.out-c)
	for k, chunk := range ph.chunks {
		for i := 0; i < n; i += kernel.Rows {
			sums := &t.sums[i*kernel.Cols]
			kernel.Run(chunk, &t.read[0], t.lines[i:], &panel[0], kernel.Cols, sums, kernel.Cols, min(kernel.Rows, n-i), cols, min(k, 1))
		}
	}
	if len(ph.chunks) == 0 {
		clear(t.sums)
	}
	sums, to := t.sums, unsafe.Add(t.to, 4*c*t.shape.size())
	for _, r := range runs {
		micro.Transpose((*float32)(unsafe.Add(to, 4*r.to)), t.shape.size(), &sums[0], kernel.Cols, r.n, cols)
		sums = sums[r.n*kernel.Cols:]
	}
}

// A run is n windows whose results lie side by side, and where.
type run struct{ n, to int }

// places fills in where n windows from number first on begin in the part, and returns the runs of their
// results. Lines behind them are the last one again.
func (t *task) places(ph *windows, count spatial, first, n int) []run {
	runs := t.runs[:0]
	for k := 0; k < n; {
		image, place := (first+k)/count.size(), (first+k)%count.size()
		i := spatial{place / (count[1] * count[2]), place / count[2] % count[1], place % count[2]}
		row := min(n-k, count[2]-i[2])
		read := image*t.part.image() + t.part.at(i.times(ph.step))
		i[t.axis] += t.row
		write := ((t.image+image)*t.groups+t.group)*t.out*t.shape.size() + t.shape.at(i.times(ph.next)) + t.shape.at(ph.first)
		if last := len(runs) - 1; last >= 0 && runs[last].to+runs[last].n == write && ph.next[2] == 1 {
			runs[last].n += row
		} else if runs = append(runs, run{row, write}); ph.next[2] > 1 {
			runs[last+1].n = 1
			for j := 1; j < row; j++ {
				runs = append(runs, run{1, write + j*ph.next[2]})
			}
		}
		for range row {
			t.lines[k] = read
			read, k = read+ph.step[2]*t.part.apart, k+1
		}
	}
	for k := n; k < len(t.lines); k++ {
		t.lines[k] = t.lines[n-1]
	}
	return runs
}
