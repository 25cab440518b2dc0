package kernel

import (
	"fmt"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// columnTrials are convolutions whose columns are made in parts: of some images, or of rows of one.
func columnTrials() []trial {
	var list []trial
	for _, stride := range []int{1, 2} {
		for _, n := range []struct{ images, length int }{{16, 12}, {1, 60}} {
			w := ir.Window{Kernel: 3, Stride: stride, Before: 1, After: 1, Dilation: 1}
			t := w.Count(n.length)
			x, y, weight := typeOf(dtype.F32, n.images, 8, n.length, n.length), typeOf(dtype.F32, n.images, 9, t, t), typeOf(dtype.F32, 9, 8, 3, 3)
			attr := ir.Attr{Index: 1, Ints: ir.Ints([]ir.Window{w, w})}
			back := attr
			back.Shape = x.Shape[2:]
			name := fmt.Sprintf("of %d, stride %d", n, stride)
			limits := Limits{Threads: mostThreads, SIMDWidth: simdWidth, Room: 1 << 19}
			list = append(list,
				trial{name: "conv " + name, limits: limits, group: oneOp(backend.Single, ir.Conv, attr, []ir.Type{x, weight}, y)},
				trial{name: "conv_transpose " + name, limits: limits, group: oneOp(backend.Single, ir.ConvTranspose, back, []ir.Type{y, weight}, x)},
				trial{name: "conv_weight " + name, limits: limits, group: oneOp(backend.Single, ir.ConvWeight, attr, []ir.Type{x, y}, weight)})
		}
	}
	return list
}
