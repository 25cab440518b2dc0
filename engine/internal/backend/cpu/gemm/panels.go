package gemm

import (
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
)

// A Left holds rows packed for a micro-kernel.
type Left struct {
	kernel      *micro.Kernel
	data        []float32
	rows, steps int
	packed      int // number of packed steps
}

// A Right holds columns packed for a micro-kernel.
type Right struct {
	kernel      *micro.Kernel
	data        []float32
	cols, steps int
}

// Kernel returns the micro-kernel for results of many rows and cols columns.
func Kernel(cols int) *micro.Kernel {
	return choose(micro.F32, micro.F32, func(k *micro.Kernel) float64 { return area(k, 1<<10, cols) })
}

// LeftLen returns the number of elements that PackLeft needs.
func LeftLen(k *micro.Kernel, rows, steps int) int {
	return roundUp(roundUp(rows, k.Rows)*steps, 16)
}

// RightLen returns the number of elements that PackRight needs.
func RightLen(k *micro.Kernel, cols, steps int) int {
	return roundUp(roundUp(cols, k.Cols)*steps, 16)
}

// Cols is the number of columns.
func (r Right) Cols() int { return r.cols }

// PackLeft packs rows of a matrix into dst.
func PackLeft(k *micro.Kernel, dst []float32, s micro.Source, rows, steps int) Left {
	for i := 0; i < rows && steps > 0; i += k.Rows {
		micro.PackPanel(dst[i*steps:], k.Rows, s.At(i, 0), min(k.Rows, rows-i), steps)
	}
	return Left{k, dst, rows, steps, steps}
}

// PackRight packs columns of a matrix into dst.
func PackRight(k *micro.Kernel, dst []float32, s micro.Source, cols, steps int) Right {
	for j := 0; j < cols && steps > 0; j += k.Cols {
		n := min(k.Cols, cols-j)
		micro.PackPanel(dst[j*steps:], k.PanelCols(n), s.At(j, 0), n, steps)
	}
	return Right{k, dst, cols, steps}
}

// PackedRight returns the columns that PackRight wrote to data earlier.
func PackedRight(k *micro.Kernel, data []float32, cols, steps int) Right {
	return Right{k, data, cols, steps}
}

// From returns at most n rows from row i on, the first row of a panel.
func (a Left) From(i, n int) Left {
	a.data, a.rows = a.data[i*a.packed:], min(n, a.rows-i)
	return a
}

// First returns the first n steps.
func (a Left) First(n int) Left {
	a.steps = n
	return a
}

// PackedLeft returns the rows that PackLeft wrote to data earlier.
func PackedLeft(k *micro.Kernel, data []float32, rows, steps int) Left {
	return Left{k, data, rows, steps, steps}
}

// MultiplyRows computes c = a·b, or c += a·b with add, for unpacked rows of b: one row for each step of a,
// ldb elements apart. Rows are read up to the next multiple of the micro-kernel's vectors. ldb and ldc are
// in elements.
func MultiplyRows(a Left, b *float32, ldb, cols int, c *float32, ldc int, add bool) {
	k, plus := a.kernel, 0
	if add {
		plus = 1
	}
	for j := 0; j < cols; j += k.Cols {
		right := (*float32)(unsafe.Add(unsafe.Pointer(b), 4*j))
		for i := 0; i < a.rows; i += k.Rows {
			rows, at := min(k.Rows, a.rows-i), unsafe.Add(unsafe.Pointer(c), 4*(i*ldc+j))
			if a.steps > 0 {
				k.Run(a.steps, unsafe.SliceData(a.data[i*a.packed:]), right, 4*ldb, (*float32)(at), 4*ldc, rows, min(k.Cols, cols-j), plus)
			} else if !add {
				for r := range rows {
					clear(unsafe.Slice((*float32)(unsafe.Add(at, 4*r*ldc)), min(k.Cols, cols-j)))
				}
			}
		}
	}
}

// Multiply computes c = a·b, or c += a·b with add, from the first cols columns of b and as many of its
// steps as a has. ldc is in elements.
func Multiply(a Left, b Right, cols int, c *float32, ldc int, add bool) {
	k, plus := a.kernel, 0
	if add {
		plus = 1
	}
	for i := 0; i < a.rows; i += k.Rows {
		row := unsafe.Add(unsafe.Pointer(c), 4*i*ldc)
		rows := min(k.Rows, a.rows-i)
		if a.steps == 0 {
			for r := range rows {
				if !add {
					clear(unsafe.Slice((*float32)(unsafe.Add(row, 4*r*ldc)), cols))
				}
			}
			continue
		}
		left := unsafe.SliceData(a.data[i*a.packed:])
		for j := 0; j < cols; j += k.Cols {
			width := k.PanelCols(min(k.Cols, b.cols-j))
			k.Run(a.steps, left, unsafe.SliceData(b.data[j*b.steps:]), 4*width, (*float32)(unsafe.Add(row, 4*j)), 4*ldc, rows, min(k.Cols, cols-j), plus)
		}
	}
}
