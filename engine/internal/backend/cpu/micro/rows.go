package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// CopyWidth is the largest number of elements of a row that CopyRows writes.
const CopyWidth = 64

// CopyRows copies rows of n elements, at most CopyWidth, and writes zeros behind them up to width elements. Rows of
// dst and src are dstApart and srcApart elements apart.
func CopyRows(dst *float32, dstApart int, src *float32, srcApart, rows, n, width int) {
	if f := masked[isa.Level()][F32][(width-1)/16]; f != nil {
		f(dst, 4*dstApart, unsafe.Pointer(src), 4*srcApart, rows, n, width)
		return
	}
	for i := range rows {
		to := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(dst), 4*i*dstApart)), width)
		copy(to[:n], unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(src), 4*i*srcApart)), n))
		clear(to[n:])
	}
}
