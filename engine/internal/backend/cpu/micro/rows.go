package micro

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// CopyWidth is the largest number of elements of a row that CopyRows writes.
const CopyWidth = 64

// CopyRows copies rows of n elements, at most CopyWidth, and writes zeros behind them up to width elements.
// Rows of dst and src are dstApart and srcApart elements apart.
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

// splitRows takes pairs apart by vectors, where the machine has them; strides are in bytes.
var splitRows [isa.NumSets]func(even, odd *float32, dstStride int, src *float32, srcStride, rows, pairs int)

// SplitRows copies rows of n elements, the first, third … to even, the others to odd. Rows of even and odd
// are dstApart elements apart, those of src srcApart.
func SplitRows(even, odd *float32, dstApart int, src *float32, srcApart, rows, n int) {
	done := 0
	if f := splitRows[isa.Level()]; f != nil && rows > 0 {
		done = n / 2
		f(even, odd, 4*dstApart, src, 4*srcApart, rows, done)
	}
	for r := range rows {
		from := unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(src), 4*r*srcApart)), n)
		for i := 2 * done; i < n; i++ {
			to := even
			if i%2 == 1 {
				to = odd
			}
			*offset(to, r*dstApart+i/2) = from[i]
		}
	}
}
