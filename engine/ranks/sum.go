package ranks

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Share says which of n terms are this rank's: from … to−1. With at least as many terms as ranks each has
// some.
func (g *Group) Share(n int) (from, to int) {
	to = n
	for rank, size := g.Rank(), g.Size(); size > 1; {
		left := (size + 1) / 2
		middle := from + ((to-from)*left+size-1)/size
		if rank < left {
			to, size = middle, left
		} else {
			from, rank, size = middle, rank-left, size-left
		}
	}
	return from, to
}

// halves adds up the terms from … to−1 as a tree: the sum of the first half, rounded up, and that of the
// second. Where the number of ranks is a power of two, Share gives each of them a node of the tree of all
// terms, and the sum over ranks is the rest of the tree.
func halves[T any](from, to int, term func(i int) T, add func(a, b T) T) T {
	if to-from == 1 {
		return term(from)
	}
	middle := from + (to-from+1)/2
	first := halves(from, middle, term, add)
	return add(first, halves(middle, to, term, add))
}

// Sum returns term(0) + … + term(n−1) for n ≥ Size, to all ranks, each of which makes the terms of its Share
// in their order. A term is a list of tensors, of the same shapes in all terms, evaluated and of no further
// use to the caller; between ranks they are f32. The sums are evaluated.
func (g *Group) Sum(n int, term func(i int) []tensor.Tensor) ([]tensor.Tensor, error) {
	from, to := g.Share(n)
	sum := halves(from, to, term, func(a, b []tensor.Tensor) []tensor.Tensor {
		both := make([]tensor.Tensor, len(a))
		for i := range a {
			both[i] = a[i].Add(b[i])
		}
		tensor.Eval(both...)
		tensor.Free(a...) // at once: they are as large as what is trained
		tensor.Free(b...)
		return both
	})
	if g.Size() == 1 {
		return sum, nil
	}
	return g.overRanks(sum)
}

// aligned is what the places of tensors among all numbers are multiples of: as far apart as memory of their
// own would be.
const aligned = 64

// overRanks adds up what the ranks have. Each rank gets a part of every rank's numbers, adds them up, and
// gives the sum to all: the bytes of an all-reduce, in an order that is the same for every kind of link.
func (g *Group) overRanks(list []tensor.Tensor) ([]tensor.Tensor, error) {
	size := g.Size()
	var pieces []tensor.Tensor
	total := 0
	for i, t := range list {
		if t.DType() != dtype.F32 {
			return nil, fmt.Errorf("ranks: sum: got %v%v, want f32", t.DType(), t.Shape())
		}
		pieces = append(pieces, t.Reshape(-1))
		total += t.Size()
		step := aligned
		if i == len(list)-1 {
			step = aligned * size // parts are of equal length
		}
		if rest := total % step; rest > 0 {
			pieces = append(pieces, tensor.Zeros(step-rest).To(t.Device()))
			total += step - rest
		}
	}
	part := total / size
	flat := tensor.Concat(pieces, 0).Eval()
	shapes := make([][]int, len(list))
	for i, t := range list {
		shapes[i] = t.Shape()
	}
	tensor.Free(list...)
	parts, err := g.move(flat, part, part)
	if err != nil {
		return nil, err
	}
	mine := halves(0, size, func(i int) tensor.Tensor { return parts.At(i) }, func(a, b tensor.Tensor) tensor.Tensor { return a.Add(b) }).Eval()
	all, err := g.move(mine, part, 0)
	if err != nil {
		return nil, err
	}
	row := all.Reshape(-1)
	sum, at := make([]tensor.Tensor, len(list)), 0
	for i, shape := range shapes {
		n := ir.Size(shape)
		sum[i] = row.Slice(0, at, at+n).Reshape(shape...)
		at += (n + aligned - 1) / aligned * aligned
	}
	tensor.Eval(sum...)
	tensor.Free(flat, parts, mine, all, row)
	return sum, nil
}

// move sends part r of src, of so many numbers, to rank r, and returns what comes from all ranks, one row for
// each. Parts begin so many numbers apart: 0 sends all of src to each rank.
func (g *Group) move(src tensor.Tensor, part, apart int) (tensor.Tensor, error) {
	const float = 4 // bytes
	if g.near != nil && g.near.on(src.Device()) {
		if l, ok := g.meshed(); ok {
			l.Moved()
		}
		return g.near.move(src, g.Size(), part, apart)
	}
	dst, way := make([]byte, g.Size()*part*float), g.link.Gather
	if apart > 0 {
		way = g.link.Exchange
	}
	if err := way(dst, src.Bytes()); err != nil {
		return tensor.Tensor{}, err
	}
	return tensor.FromBytes(dtype.F32, dst, g.Size(), part).To(src.Device()), nil
}
