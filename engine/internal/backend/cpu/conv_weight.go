package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// A weightGradient computes conv_weight: y, of which a row has the places of all images, times the windows
// turned around, with a row for each place. A micro-kernel reads both where they lie: the channels of an
// element are side by side, and those of the next place are equally far away in a row of places.
type weightGradient struct {
	*convolution
	part   padded // of a block
	next   int    // two places of a row, in the part
	blocks []places
	panels []panel
}

// places are those of some images, or of some rows of one.
type places struct {
	image, images int
	row           spatial  // the first
	reads         []chunks // of each panel
}

// A panel is columns of the result, which follow one another in the windows: first is the column, at what it
// reads of the first window. Its taps are those from low to high.
type panel struct {
	first, n, at int
	low, high    spatial
}

func newWeightGradient(c *convolution) *weightGradient {
	w := &weightGradient{convolution: c, part: c.part()}
	w.next = c.window[2].Stride * w.part.apart
	d := w.part.divide(c.images, c.y, c.strides())
	var reads []spatial
	c.w.each(func(tap spatial) {
		e := c.read(spatial{}, tap)
		reads = append(reads, e)
		for i := range c.in {
			at := w.part.at(e) + i
			if k := len(w.panels) - 1; k < 0 || w.panels[k].at+w.panels[k].n != at || w.panels[k].n == micro.IndirectKernel().Cols {
				w.panels = append(w.panels, panel{first: c.w.at(tap)*c.in + i, at: at, low: e, high: e})
			}
			p := &w.panels[len(w.panels)-1]
			p.n++
			for a := range e {
				p.low[a], p.high[a] = min(p.low[a], e[a]), max(p.high[a], e[a])
			}
		}
	})
	edges := w.part.edges(c.y, c.strides(), reads)
	for image := 0; image < c.images; image += d.images {
		for row := 0; row < d.rows; row += d.block {
			b := places{image: image, images: min(d.images, c.images-image)}
			count := c.y
			b.row[d.axis], count[d.axis] = row, min(d.block, d.rows-row)
			b.reads = w.read(&b, count, &edges)
			w.blocks = append(w.blocks, b)
		}
	}
	return w
}

// read returns what each panel reads of a block, which has count places of each image. Panels of the same
// taps read the same.
func (w *weightGradient) read(b *places, count spatial, e *edges) (reads []chunks) {
	for i := len(w.blocks) - 1; i >= 0; i-- { // of another image
		if other := &w.blocks[i]; other.images == b.images && other.row == b.row {
			return other.reads
		}
	}
	var all []micro.Stretch // the places of each zone in each row
	var in []zone
	for i := range b.images {
		spatial{count[0], count[1], 1}.each(func(at spatial) {
			for z := range uint8(3) {
				low, high := e.places(2, z, w.y[2])
				low, high = max(low, b.row[2]), min(high, b.row[2]+count[2])
				if low >= high {
					continue
				}
				at[2] = low - b.row[2]
				from := i*w.results()*w.y.size() + w.y.at(at)
				all = append(all, micro.Stretch{A: from, End: from + high - low, B: i*w.groups*w.part.image() + w.part.at(w.convolution.read(at, spatial{}))})
				in = append(in, zone{e.zone(0, b.row[0]+at[0]), e.zone(1, b.row[1]+at[1]), z})
			}
		})
	}
	for i, p := range w.panels {
		if i > 0 && p.low == w.panels[i-1].low && p.high == w.panels[i-1].high {
			reads = append(reads, reads[i-1])
			continue
		}
		reads = append(reads, newChunks(all, w.next, func(i int) bool { return e.zeros(in[i], p.low, p.high) }))
	}
	return reads
}

func (w *weightGradient) run(l *launch, x, y, to unsafe.Pointer) {
	kernel, n := micro.IndirectKernel(), w.in*w.w.size()
	tiles := (w.out + kernel.Rows - 1) / kernel.Rows
	lines := elements[int](l.scratch.bytes(8 * tiles * kernel.Rows))
	for i := range lines {
		lines[i] = min(i, w.out-1) * w.y.size()
	}
	part := l.scratch.floats(w.blocks[0].images*w.groups*w.part.image() + kernel.Cols) // a vector may read beyond
	sums := l.scratch.floats(w.results() * n)
	for i := range w.blocks {
		b := &w.blocks[i]
		w.fill(l, part, x, b)
		l.pool.For(w.groups*len(w.panels)*tiles, func(_, task int) {
			group, panel, row := task/tiles/len(w.panels), task/tiles%len(w.panels), task%tiles*kernel.Rows
			p, chunks := &w.panels[panel], b.reads[panel]
			left, right := (*float32)(unsafe.Add(y, 4*((b.image*w.results()+group*w.out)*w.y.size()+w.y.at(b.row)))), &part[group*w.part.image()+p.at]
			to, rows := sums[(group*w.out+row)*n+p.first:], min(kernel.Rows, w.out-row)
			for j := 0; i == 0 && j < rows && chunks.late(); j++ {
				clear(to[j*n:][:p.n])
			}
			for k, chunk := range chunks {
				if len(chunk) > 0 {
					kernel.Run(chunk, left, lines[row:], right, w.next, &to[0], n, rows, p.n, min(i+k, 1))
				}
			}
		})
	}
	// The result has the taps of a channel side by side.
	result := unsafe.Slice((*float32)(to), w.results()*n)
	l.pool.Range(w.results(), 1+mapGrain/n, func(_, first, end int) {
		for i := first; i < end; i++ {
			micro.Transpose(&result[i*n], w.w.size(), &sums[i*n], w.in, w.w.size(), w.in)
		}
	})
}

// fill fills the part with what the windows of a block read.
func (w *weightGradient) fill(l *launch, part []float32, x unsafe.Pointer, b *places) {
	first := w.part.first
	for a, row := range b.row.times(w.strides()) {
		first[a] += row
	}
	channels := w.in * w.x.size()
	from := unsafe.Slice((*float32)(unsafe.Add(x, 4*b.image*w.groups*channels)), b.images*w.groups*channels)
	blocks := (w.in + together - 1) / together
	l.pool.For(b.images*w.groups*blocks, func(_, i int) {
		image, c := i/blocks, i%blocks*together
		w.part.fill(line(part, image, w.part.image()), line(from, image, channels), first, c)
	})
}
