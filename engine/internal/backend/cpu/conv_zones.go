package cpu

import "github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"

// A zone of windows has for each axis whether they lie before, among or behind those that read no zeros
// around the image along it. Products with what is zero in all windows of a zone are left out.
type zone [3]uint8

const (
	before, among, behind = 0, 1, 2
	zones                 = 27
)

func zoneOf(number int) zone {
	return zone{uint8(number / 9), uint8(number / 3 % 3), uint8(number % 3)}
}

func (z zone) number() int { return 9*int(z[0]) + 3*int(z[1]) + int(z[2]) }

// with is a zone whose windows read all that those of two zones read.
func (z zone) with(o zone) zone {
	for a := range z {
		if z[a] != o[a] {
			z[a] = among
		}
	}
	return z
}

// edges are where zones of windows end along each axis, and what is zero there: before the windows from, what
// lies before element least of each, and, from the windows end on, what lies behind element most.
type edges struct{ from, end, least, most spatial }

// edges returns those of count windows, which are step elements apart and read the elements at.
func (p *padded) edges(count, step spatial, at []spatial) (e edges) {
	if len(at) == 0 {
		return edges{end: count}
	}
	for a, step := range step {
		low, high := at[0][a], at[0][a]
		for _, i := range at {
			low, high = min(low, i[a]), max(high, i[a])
		}
		first, length := p.first[a], p.source[a]
		e.from[a] = min(count[a], max(0, (-first-low+step-1)/step))
		e.end[a] = min(count[a], max(e.from[a], (length-first-high+step-1)/step))
		e.least[a] = -first - (e.from[a]-1)*step
		e.most[a] = length - 1 - first - e.end[a]*step
	}
	return e
}

// places are the windows of a zone along an axis that has count, from low to high.
func (e *edges) places(axis int, z uint8, count int) (low, high int) {
	switch z {
	case before:
		return 0, e.from[axis]
	case among:
		return e.from[axis], e.end[axis]
	}
	return e.end[axis], count
}

// zone is that of a window along an axis.
func (e *edges) zone(axis, place int) uint8 {
	switch {
	case place < e.from[axis]:
		return before
	case place < e.end[axis]:
		return among
	}
	return behind
}

// zeros says whether what all windows of a zone read from element low to high is zero.
func (e *edges) zeros(z zone, low, high spatial) bool {
	for a := range z {
		if z[a] == before && high[a] < e.least[a] || z[a] == behind && low[a] > e.most[a] {
			return true
		}
	}
	return false
}

// chunks are the stretches that a product reads; those of each chunk are added up before they are added to
// the result.
type chunks [][]micro.Stretch

// late says whether the first chunk adds nothing, so that the others must be added to zeros.
func (c chunks) late() bool { return len(c) == 0 || len(c[0]) == 0 }

// depth is about the number of products that are added up before the sum is added to the result. It decides
// the order of additions, so it is equal on all machines.
const depth = 512

// newChunks cuts stretches into pieces of equal lengths, leaves out those that are zeros, and joins others
// that follow one another. Rows of the right operand are ldb elements apart.
func newChunks(all []micro.Stretch, ldb int, zeros func(i int) bool) (list chunks) {
	steps := 0
	for _, s := range all {
		steps += s.End - s.A
	}
	left, most := 0, evenly(steps, depth)
	for i, s := range all {
		for s.A < s.End {
			if left == 0 {
				list, left = append(list, nil), most
			}
			n, last := min(left, s.End-s.A), &list[len(list)-1]
			if k := len(*last) - 1; zeros(i) {
				// nothing is added
			} else if k >= 0 && (*last)[k].End == s.A && (*last)[k].B+(s.A-(*last)[k].A)*ldb == s.B {
				(*last)[k].End += n
			} else {
				*last = append(*last, micro.Stretch{A: s.A, End: s.A + n, B: s.B})
			}
			left, s.A, s.B = left-n, s.A+n, s.B+n*ldb
		}
	}
	return list
}
