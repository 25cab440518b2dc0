package cpu

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"

// A padded is a part of an image with zeros around it and the channels of an element side by side: along each
// axis elements first to first + length, which may lie outside of the source. Each group of channels is an
// image of its own.
type padded struct {
	channels      int
	apart         int // two elements
	source        spatial
	first, length spatial
}

// newPadded returns the part of nothing. Channels of large powers of two would displace each other in a
// cache, so elements are a line further apart then.
func newPadded(channels int, source spatial) padded {
	p := padded{channels: channels, apart: channels, source: source}
	if channels%256 == 0 {
		p.apart += 16
	}
	return p
}

// at is the place of an element, counted from first.
func (p *padded) at(i spatial) int { return p.length.at(i) * p.apart }

// image is the distance of two images.
func (p *padded) image() int { return p.length.size() * p.apart }

// together is how many channels fill writes: those of a cache line.
const together = 16

// fill writes the channels of the part that begins at first, from channel c on, from those of an image. With
// the first channels it writes the zeros of all.
func (p *padded) fill(to, from []float32, first spatial, c int) {
	width, n := p.length[2]*p.apart, min(together, p.channels-c)
	left, right := max(0, -first[2]), min(p.length[2], p.source[2]-first[2])
	for r := range p.length[0] * p.length[1] {
		i, j := first[0]+r/p.length[1], first[1]+r%p.length[1]
		lo, hi := left, right
		if i < 0 || i >= p.source[0] || j < 0 || j >= p.source[1] || lo >= hi {
			lo, hi = 0, 0
		}
		if c == 0 {
			clear(to[r*width:][:lo*p.apart])
			clear(to[r*width:][hi*p.apart : width])
		}
		if lo < hi {
			from := &from[c*p.source.size()+p.source.at(spatial{i, j, lo + first[2]})]
			micro.Transpose(&to[r*width+lo*p.apart+c], p.apart, from, p.source.size(), n, hi-lo)
		}
	}
}

// room is about the number of elements of a part that is read many times, so that it stays in a core's
// second-level cache.
const room = 192 << 10

// A division cuts images into blocks: of rows along the first axis that has several, or of whole images if
// these are small.
type division struct {
	axis, rows    int // of an image
	block, images int // rows and images of a block
}

// divide shortens the part to what count windows of a block read, which are step elements apart, and says how
// images are divided then.
func (p *padded) divide(images int, count, step spatial) (d division) {
	for d.axis < 2 && count[d.axis] == 1 {
		d.axis++
	}
	d.rows, d.block, d.images = count[d.axis], count[d.axis], 1
	if p.image() <= room {
		d.images = min(images, room/max(1, p.image()))
		return d
	}
	length := &p.length[d.axis]
	rest := *length - (d.rows-1)*step[d.axis]
	d.block = evenly(d.rows, max(1, (room/(p.image() / *length)-rest)/step[d.axis]+1))
	*length = (d.block-1)*step[d.axis] + rest
	return d
}

// evenly returns the size of as few equal blocks of n as have at most most each.
func evenly(n, most int) int {
	blocks := max(1, (n+most-1)/most)
	return (n + blocks - 1) / blocks
}
