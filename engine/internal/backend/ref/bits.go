package ref

import (
	"math"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

func init() { ops[ir.Bitcast] = one(bitcast) }

func shiftUp(x, y int64) int64 {
	if y < 0 {
		return 0
	}
	return x << y
}

func shiftDown(x, y int64) int64 {
	if y < 0 {
		y = math.MaxInt64
	}
	return x >> y
}

// bitcast stores the elements and reads them as another type.
func bitcast(in *backend.Inst, a []value) value {
	x := expand(a[0], in.Shape)
	mem := backend.Slice{Buf: &buffer{bytes: make([]byte, x.len()*x.dtype.Size())}}
	store(mem, backend.Output{DType: x.dtype, Shape: in.Shape}, x)
	return load(mem, in.DType, ir.Contiguous(in.Shape))
}
