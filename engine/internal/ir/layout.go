package ir

import "slices"

// Size is the number of elements of a shape: 1 for rank 0.
func Size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Contiguous returns the C-order layout of a shape from offset 0: the last axis is dense.
func Contiguous(shape []int) Layout {
	stride := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		stride[i] = n
		n *= shape[i]
	}
	return Layout{Shape: shape, Stride: stride}
}

// Size is the number of elements.
func (l Layout) Size() int { return Size(l.Shape) }

// IsContiguous says whether the elements lie densely in C order; where they begin does not matter, and neither do the
// strides of axes of length 1.
func (l Layout) IsContiguous() bool {
	n := 1
	for i := len(l.Shape) - 1; i >= 0; i-- {
		if l.Shape[i] != 1 && l.Stride[i] != n {
			return l.Size() == 0
		}
		n *= l.Shape[i]
	}
	return true
}

// Permute puts axis axes[i] at place i.
func (l Layout) Permute(axes []int) Layout {
	r := Layout{Shape: make([]int, len(axes)), Stride: make([]int, len(axes)), Offset: l.Offset}
	for i, a := range axes {
		r.Shape[i], r.Stride[i] = l.Shape[a], l.Stride[a]
	}
	return r
}

// Expand repeats axes of length 1 to the lengths of shape, which has the same rank.
func (l Layout) Expand(shape []int) Layout {
	r := Layout{Shape: slices.Clone(shape), Stride: slices.Clone(l.Stride), Offset: l.Offset}
	for i := range shape {
		if l.Shape[i] == 1 && shape[i] != 1 {
			r.Stride[i] = 0
		}
	}
	return r
}

// Slice takes start, stop, step for each axis, with 0 ≤ start ≤ stop ≤ length and step ≥ 1.
func (l Layout) Slice(ints []int) Layout {
	r := Layout{Shape: make([]int, len(l.Shape)), Stride: make([]int, len(l.Shape)), Offset: l.Offset}
	for i := range l.Shape {
		start, stop, step := ints[3*i], ints[3*i+1], ints[3*i+2]
		r.Shape[i] = (stop - start + step - 1) / step
		r.Stride[i] = l.Stride[i] * step
		if r.Shape[i] > 0 {
			r.Offset += start * l.Stride[i]
		}
	}
	return r
}

// Flip turns axes around.
func (l Layout) Flip(axes []int) Layout {
	r := Layout{Shape: l.Shape, Stride: slices.Clone(l.Stride), Offset: l.Offset}
	for _, a := range axes {
		if l.Shape[a] > 0 {
			r.Offset += (l.Shape[a] - 1) * l.Stride[a]
		}
		r.Stride[a] = -l.Stride[a]
	}
	return r
}

// Reshape gives the elements, in C order, another shape of the same size. It reports false where that needs a copy:
// when an axis of the new shape would run over axes of the old one that do not follow each other in memory.
func (l Layout) Reshape(shape []int) (Layout, bool) {
	if l.Size() == 0 {
		return Contiguous(slices.Clone(shape)), true
	}
	// Axes of length 1 say nothing; drop them and match the rest in runs of equal size.
	var from, stride []int
	for i, d := range l.Shape {
		if d != 1 {
			from, stride = append(from, d), append(stride, l.Stride[i])
		}
	}
	r := Layout{Shape: slices.Clone(shape), Stride: make([]int, len(shape)), Offset: l.Offset}
	f, t := 0, 0
	for f < len(from) {
		f0, t0 := f, t
		nf, nt := from[f], 1
		f++
		for nf != nt {
			if nt < nf {
				nt *= shape[t]
				t++
			} else {
				nf *= from[f]
				f++
			}
		}
		for i := f0; i < f-1; i++ { // the old axes of the run must be one line
			if stride[i] != from[i+1]*stride[i+1] {
				return Layout{}, false
			}
		}
		step := stride[f-1]
		for i := t - 1; i >= t0; i-- {
			r.Stride[i] = step
			step *= shape[i]
		}
	}
	return r, true
}
