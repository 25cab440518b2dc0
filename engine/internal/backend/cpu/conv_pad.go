package cpu

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// A padded is a part of the images' rows with zeros around it: along each axis elements first to first +
// length, which may lie outside. Along the last axis those that a stride brings together lie side by side:
// with stride s, element i is at i%s·(length/s) + i/s.
type padded struct {
	images, channels int // that the source has
	source           spatial
	first, length    spatial
	stride           int
	last             bool // the channels of an element lie side by side, instead of the elements of a channel
}

// needed says whether the part is another one than what lies in the source, or lies otherwise.
func (p *padded) needed() bool {
	return p.last && p.channels > 1 || p.stride > 1 || p.first != spatial{} || p.length != p.source
}

// fit lets the part be the whole source if it lies in there, so that it need not be copied.
func (p *padded) fit() {
	if p.stride > 1 {
		p.length[2] = (p.length[2] + p.stride - 1) / p.stride * p.stride
		return
	}
	for a := range p.first {
		if p.first[a] < 0 || p.first[a]+p.length[a] > p.source[a] {
			return
		}
	}
	p.first, p.length = spatial{}, p.source
}

// at is the place of an element of a channel, counted from first.
func (p *padded) at(i spatial) int {
	i[2] = i[2]%p.stride*(p.length[2]/p.stride) + i[2]/p.stride
	return p.length.at(i) * p.step()
}

// step is the distance of neighbours, channel that of two channels, image that of two images.
func (p *padded) step() int {
	if p.last {
		return p.channels
	}
	return 1
}

func (p *padded) channel() int {
	if p.last {
		return 1
	}
	return p.length.size()
}

func (p *padded) image() int { return p.channels * p.length.size() }

// copied returns the part of x, in scratch memory if it has to be copied.
func (p *padded) copied(l *launch, x unsafe.Pointer) unsafe.Pointer {
	if !p.needed() {
		return x
	}
	from := unsafe.Slice((*float32)(x), p.images*p.channels*p.source.size())
	to := l.scratch.floats(p.images * p.image())
	if p.last {
		p.copyLast(l, to, from)
	} else {
		p.copyRows(l, to, from)
	}
	return unsafe.Pointer(unsafe.SliceData(to))
}

// row is where row j of plane i of the part lies in a channel of the source, and which of its elements do:
// lo to hi of the part. There are none if the row is outside.
func (p *padded) row(i, j int) (at, lo, hi int) {
	i, j = i+p.first[0], j+p.first[1]
	if i < 0 || i >= p.source[0] || j < 0 || j >= p.source[1] {
		return 0, 0, 0
	}
	lo, hi = max(0, -p.first[2]), min(p.length[2], p.source[2]-p.first[2])
	if lo >= hi {
		return 0, 0, 0
	}
	return p.source.at(spatial{i, j, lo + p.first[2]}), lo, hi
}

func (p *padded) copyRows(l *launch, to, from []float32) {
	size, plane := p.length.size(), p.length[1]*p.length[2]
	l.pool.Range(p.images*p.channels, 1+mapGrain/(size+1), func(_, first, end int) {
		for c := first; c < end && !l.pool.Stopped(); c++ {
			source, part := line(from, c, p.source.size()), line(to, c, size)
			for i := range p.length[0] {
				p.copyPlane(line(part, i, plane), source, i)
			}
		}
	})
}

// copyPlane writes plane i of a channel of the part. Between two rows of the source lie the zeros behind the
// one and before the other.
func (p *padded) copyPlane(part, source []float32, i int) {
	width, top, bottom := p.length[2], max(0, -p.first[1]), min(p.length[1], p.source[1]-p.first[1])
	at, lo, hi := p.row(i, top)
	if top >= bottom || lo >= hi {
		clear(part)
		return
	}
	begin, n, rows, apart := top*width+lo, hi-lo, bottom-top, p.source[2]
	if p.stride > 1 {
		clear(part)
		p.copyPhases(part[top*width:], source[at:], lo, n, rows)
		return
	}
	clear(part[:begin])
	done := 0
	if rows > 1 && width <= micro.CopyWidth {
		done = rows - 1
		micro.CopyRows(&part[begin], width, &source[at], apart, done, n, width)
	}
	for r := done; r < rows; r++ {
		d := part[begin+r*width:]
		copy(d[:n], source[at+r*apart:])
		if r < rows-1 {
			clear(d[n:width])
		}
	}
	clear(part[(bottom-1)*width+hi:])
}

// copyPhases writes rows of the part from rows of the source, each n elements from element lo of the part on.
func (p *padded) copyPhases(part, source []float32, lo, n, rows int) {
	width, apart := p.length[2], p.source[2]
	place := func(i int) int { return i%p.stride*(width/p.stride) + i/p.stride }
	if p.stride == 2 && n > 1 {
		micro.SplitRows(&part[place(lo)], &part[place(lo+1)], width, &source[0], apart, rows, n)
		return
	}
	for phase := range min(p.stride, n) {
		for r := range rows {
			d, from := part[place(lo+phase)+r*width:], source[r*apart+phase:]
			for k := range (n - phase + p.stride - 1) / p.stride {
				d[k] = from[k*p.stride]
			}
		}
	}
}

// copyLast turns rows of channels into rows of elements with all their channels.
func (p *padded) copyLast(l *launch, to, from []float32) {
	rows, n := p.length[0]*p.length[1], p.length[2]*p.channels
	l.pool.Range(p.images*rows, 1+mapGrain/(n+1), func(_, first, end int) {
		for r := first; r < end && !l.pool.Stopped(); r++ {
			image, in := r/rows, r%rows
			at, lo, hi := p.row(in/p.length[1], in%p.length[1])
			d := line(to, r, n)
			clear(d[:lo*p.channels])
			clear(d[hi*p.channels:])
			if lo < hi {
				p.turn(d[lo*p.channels:hi*p.channels], from[image*p.channels*p.source.size()+at:], hi-lo)
			}
		}
	})
}

// turn writes n elements with all their channels, which lie in rows of x that are a channel apart.
func (p *padded) turn(d, x []float32, n int) {
	apart := p.source.size()
	if p.channels%8 == 0 {
		source := micro.Source{Base: unsafe.Pointer(unsafe.SliceData(x)), Line: apart, Step: 1}
		micro.PackPanel(d, p.channels, source, p.channels, n)
		return
	}
	for c := range p.channels {
		for i, v := range x[c*apart:][:n] {
			d[i*p.channels+c] = v
		}
	}
}
