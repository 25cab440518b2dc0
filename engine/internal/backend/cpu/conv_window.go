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
	count   spatial // of an image
	step    spatial // between windows, in elements of the part
	edges   edges
	reads   [zones]chunks
	reading spatial // the distance of two windows along an axis in the part,
	writing spatial // and of their results in an image,
	first   int     // where that of the first window is
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
	var taps []int
	var at []spatial
	c.w.each(func(tap spatial) { taps, at = append(taps, c.w.at(tap)), append(at, c.read(spatial{}, tap)) })
	w.add(windows{count: c.y, step: c.strides()}, spatial{}, spatial{1, 1, 1}, taps, at)
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
	ph := windows{step: spatial{1, 1, 1}}
	for a := range p {
		ph.count[a] = c.within(a, p[a])
	}
	if ph.count.size() == 0 {
		return
	}
	var taps []int
	var at []spatial
	c.w.each(func(tap spatial) {
		var from spatial
		for a := range tap {
			shift, ok := c.shift(a, p[a], tap[a])
			if !ok {
				return
			}
			from[a] = shift - w.part.first[a]
		}
		taps, at = append(taps, c.w.at(tap)), append(at, from)
	})
	if len(at) > 1 && w.part.at(at[0]) > w.part.at(at[1]) { // backwards
		slices.Reverse(taps)
		slices.Reverse(at)
	}
	w.add(ph, p, c.strides(), taps, at)
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

// add adds windows whose results are those from first on, next elements apart, and whose taps read the
// elements at, counted from the first that a window could.
func (w *windowed) add(ph windows, first, next spatial, taps []int, at []spatial) {
	cols, channels := micro.IndirectKernel().Cols, w.part.channels
	var all []micro.Stretch
	for i, e := range at {
		all = append(all, micro.Stretch{A: w.part.at(e), End: w.part.at(e) + channels, B: (len(w.order) + i) * channels * cols})
	}
	w.order = append(w.order, taps...)
	for a := range ph.step {
		ph.reading[a], ph.writing[a] = ph.step[a]*w.part.length.apart(a)*w.part.apart, next[a]*w.shape.apart(a)
	}
	ph.first = w.shape.at(first)
	ph.edges = w.part.edges(ph.count, ph.step, at)
	for a, least := range worthLeaving {
		if len(at)*channels < least {
			ph.edges.from[a], ph.edges.end[a] = 0, ph.count[a]
		}
	}
	for n := range ph.reads {
		ph.reads[n] = newChunks(all, cols, func(i int) bool { return ph.edges.zeros(zoneOf(n), at[i], at[i]) })
	}
	w.phases = append(w.phases, ph)
}

// worthLeaving is the number of products of a result from which on zeros along an axis are left out. Along
// the last one results that lie side by side are cut, which takes longer to store.
var worthLeaving = spatial{64, 64, 1024}

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
			all := t.cut(ph, min(images, w.count-t.image))
			for first := 0; first < all; first += most {
				n := min(most, all-first)
				runs := t.places(ph, first, n)
				t.alike(ph, first, n)
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
	series            []series
	boxes             []box
	space             [zones]box
}

// A series is windows up to end that read the same.
type series struct {
	chunks
	end int
}

// A box is the windows of a zone in each image of a task, and their number in all of them. The first one
// reads and writes at these elements of the part and of an image.
type box struct {
	zone        zone
	count       spatial
	windows     int
	read, write int
}

// cut cuts a task's windows into boxes, and returns their number.
func (t *task) cut(ph *windows, images int) (all int) {
	row, end := spatial{}, ph.count
	row[t.axis], end[t.axis] = t.row, min(t.row+t.block, end[t.axis])
	t.boxes = t.space[:0]
	for n := range zones {
		b := box{zone: zoneOf(n), write: ph.first}
		b.zone[0], b.zone[1] = (b.zone[0]+1)%3, (b.zone[1]+1)%3 // rows at the edges side by side, so that fewer tiles are mixed
		for a, z := range b.zone {
			low, high := ph.edges.places(a, z, ph.count[a])
			low = max(low, row[a])
			b.count[a] = max(0, min(high, end[a])-low)
			b.read += (low - row[a]) * ph.reading[a]
			b.write += low * ph.writing[a]
		}
		if b.windows = images * b.count.size(); b.windows > 0 {
			t.boxes, all = append(t.boxes, b), all+b.windows
		}
	}
	return all
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
	i := 0
	for _, s := range t.series {
		if s.late() {
			clear(t.sums[i*kernel.Cols : s.end*kernel.Cols])
		}
		i = s.end
	}
	for k := range ph.reads[0] {
		i = 0
		for _, s := range t.series {
			if chunk := s.chunks[k]; len(chunk) > 0 {
				for ; i < s.end; i += kernel.Rows {
					kernel.Run(chunk, &t.read[0], t.lines[i:], &panel[0], kernel.Cols, &t.sums[i*kernel.Cols], kernel.Cols, min(kernel.Rows, n-i), cols, min(k, 1))
				}
			}
			i = s.end
		}
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
func (t *task) places(ph *windows, first, n int) []run {
	runs, boxes := t.runs[:0], t.boxes
	for k := 0; k < n; {
		for first+k >= boxes[0].windows {
			first, boxes = first-boxes[0].windows, boxes[1:]
		}
		b := &boxes[0]
		place, i2 := (first+k)/b.count[2], (first+k)%b.count[2]
		place, i1 := place/b.count[1], place%b.count[1]
		image, i0 := place/b.count[0], place%b.count[0]
		row := min(n-k, b.count[2]-i2)
		read := image*t.part.image() + b.read + i0*ph.reading[0] + i1*ph.reading[1] + i2*ph.reading[2]
		write := ((t.image+image)*t.groups+t.group)*t.out*t.shape.size() + b.write + i0*ph.writing[0] + i1*ph.writing[1] + i2*ph.writing[2]
		if last := len(runs) - 1; last >= 0 && runs[last].to+runs[last].n == write && ph.writing[2] == 1 {
			runs[last].n += row
		} else if runs = append(runs, run{row, write}); ph.writing[2] > 1 {
			runs[last+1].n = 1
			for j := 1; j < row; j++ {
				runs = append(runs, run{1, write + j*ph.writing[2]})
			}
		}
		lines := t.lines[k : k+row]
		for j := range lines {
			lines[j] = read + j*ph.reading[2]
		}
		k += row
	}
	for k := n; k < len(t.lines); k++ {
		t.lines[k] = t.lines[n-1]
	}
	return runs
}

// alike fills in which of n windows from number first on read the same. A tile reads what its windows do.
func (t *task) alike(ph *windows, first, n int) {
	t.series = t.series[:0]
	rows, last := micro.IndirectKernel().Rows, zones
	at, end := 0, t.boxes[0].windows
	for i := first; i < first+n; i += rows {
		for ; end <= i; end += t.boxes[at].windows {
			at++
		}
		next, zone := min(i+rows, first+n), t.boxes[at].zone
		for j, end := at, end; end < next; end += t.boxes[j].windows {
			j++
			zone = zone.with(t.boxes[j].zone)
		}
		if number := zone.number(); number != last {
			t.series, last = append(t.series, series{chunks: ph.reads[number]}), number
		}
		t.series[len(t.series)-1].end = next - first
	}
}
