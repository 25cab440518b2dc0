package tile

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// A walk is the layout of an input, addressed by linear indices of the iteration space. It has as few
// dimensions as possible, outermost first. A walk without dimensions has the same element for all indices.
type walk struct {
	dims []dim
}

type dim struct {
	size, stride int
}

// contiguous reports whether the element of linear index i is element i in memory.
func (w walk) contiguous() bool { return len(w.dims) == 1 && w.dims[0].stride == 1 }

// makeWalk broadcasts a layout to a shape and merges dimensions. Axis i of shape is axis perm[i] of the
// layout.
func makeWalk(l ir.Layout, shape, perm []int) walk {
	var w walk
	flat := true
	pad := len(shape) - len(l.Shape)
	for i, n := range shape {
		axis := i
		if perm != nil {
			axis = perm[i]
		}
		axis -= pad
		stride := 0
		if axis >= 0 && l.Shape[axis] != 1 {
			stride = l.Stride[axis]
		}
		if n == 1 {
			continue
		}
		if stride != 0 {
			flat = false
		}
		if k := len(w.dims) - 1; k >= 0 && w.dims[k].stride == stride*n {
			w.dims[k] = dim{w.dims[k].size * n, stride}
			continue
		}
		w.dims = append(w.dims, dim{n, stride})
	}
	if flat {
		w.dims = nil
	}
	return w
}
