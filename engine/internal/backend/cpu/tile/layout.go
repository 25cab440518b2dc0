package tile

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// A walk is how an input's elements lie, seen from linear indices of the iteration space: the fewest
// dimensions that express it, outermost first. A walk without dimensions has one element for all indices.
type walk struct {
	dims []dim
}

type dim struct {
	size, stride int
}

// contiguous says whether the element of linear index i is element i in memory.
func (w walk) contiguous() bool { return len(w.dims) == 1 && w.dims[0].stride == 1 }

// makeWalk broadcasts a layout to shape (before perm: axis i of shape is axis perm[i] of the layout) and
// merges dimensions.
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
