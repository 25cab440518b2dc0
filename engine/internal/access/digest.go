package access

import (
	"context"
	"crypto/sha256"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// side is that of the tiles whose hashes a Digest is made of.
const side = 256

// Digest is a SHA-256 of the bits of t's elements, which depends neither on how many goroutines make it nor on
// where the elements lie: a matrix and its transposed transpose have the same. A large matrix is hashed in
// tiles, so that a base of many gigabytes takes no longer than its memory is read: the weights of layers lie
// transposed, and C order would walk them element by element.
func Digest(t tensor.Tensor) [sha256.Size]byte {
	t.Eval()
	if t.DType().Complex() {
		return sha256.Sum256(t.Bytes())
	}
	n := Node(t, "hash")
	s := tilesOf(n.Shape, n.Value().Layout)
	s.size, s.begin = n.DType.Size(), n.Value().Layout.Offset*n.DType.Size()
	if dev := n.Dev.(*backend.Device); s.lies {
		s.read = func(ctx context.Context, to []byte, at int) error { return dev.Download(ctx, to, n.Value(), at) }
	} else {
		all := t.Bytes()
		s.begin, s.read = 0, func(_ context.Context, to []byte, at int) error { copy(to, all[at:]); return nil }
	}
	check("hash", s.hash(scope.Context()))
	return sha256.Sum256(s.sums)
}

// tiles are those of matrices that lie one behind the other, each as rows of a width in memory, which are
// columns of the matrix if it is turned. A tile has up to high×side elements of memory.
type tiles struct {
	matrices, rows, width, high int
	turned, lies                bool // the memory can be read as it lies; else in C order
	begin, size                 int  // bytes before the first element, and of each
	read                        func(ctx context.Context, to []byte, at int) error
	sums                        []byte
}

// tilesOf cuts what has that shape. Small matrices are one row with all others.
func tilesOf(shape []int, l ir.Layout) *tiles {
	last := len(shape) - 1
	if last < 1 || shape[last-1]*shape[last] <= side*side {
		return &tiles{matrices: 1, rows: ir.Size(shape), width: 1, high: side * side, lies: l.IsContiguous()}
	}
	s := &tiles{matrices: ir.Size(shape[:last-1]), rows: shape[last-1], width: shape[last], high: side, lies: l.IsContiguous()}
	turned := ir.Layout{Shape: slices.Clone(l.Shape), Stride: slices.Clone(l.Stride)}
	for _, of := range [][]int{turned.Shape, turned.Stride} {
		of[last-1], of[last] = of[last], of[last-1]
	}
	if !s.lies && turned.IsContiguous() {
		s.rows, s.width, s.turned, s.lies = s.width, s.rows, true, true
	}
	return s
}

// hash makes the sums of all tiles, in C order of the tiles of each matrix. A goroutine reads the memory of
// high rows at once.
func (s *tiles) hash(ctx context.Context) error {
	down, across := (s.rows+s.high-1)/s.high, (s.width+side-1)/side
	s.sums = make([]byte, s.matrices*down*across*sha256.Size)
	strips := s.matrices * down
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range min(strips, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			strip, tile := make([]byte, min(s.high, s.rows)*s.width*s.size), make([]byte, s.high*min(side, s.width)*s.size)
			for i := int(next.Add(1)) - 1; i < strips && failed.Load() == nil; i = int(next.Add(1)) - 1 {
				matrix, y := i/down, i%down
				rows := min(s.high, s.rows-y*s.high)
				part := strip[:rows*s.width*s.size]
				if err := s.read(ctx, part, s.begin+(matrix*s.rows+y*s.high)*s.width*s.size); err != nil {
					failed.Store(&err)
					return
				}
				for x := range across {
					at := y*across + x
					if s.turned {
						at = x*down + y
					}
					sum := sha256.Sum256(s.tile(tile, part, rows, x*side))
					copy(s.sums[(matrix*down*across+at)*sha256.Size:], sum[:])
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// tile gathers the elements of rows from a column on, in C order of the matrix.
func (s *tiles) tile(to, from []byte, rows, column int) []byte {
	columns := min(side, s.width-column)
	to, from = to[:rows*columns*s.size], from[column*s.size:]
	if !s.turned {
		for y := range rows {
			copy(to[y*columns*s.size:][:columns*s.size], from[y*s.width*s.size:])
		}
		return to
	}
	switch s.size {
	case 1:
		turn[uint8](to, from, rows, columns, s.width)
	case 2:
		turn[uint16](to, from, rows, columns, s.width)
	case 4:
		turn[uint32](to, from, rows, columns, s.width)
	case 8:
		turn[uint64](to, from, rows, columns, s.width)
	}
	return to
}

// turn writes rows of from, which are width elements apart, as columns.
func turn[T any](to, from []byte, rows, columns, width int) {
	const near = 16 // rows at once, so that what is written lies in whole lines of the caches
	x, y := elements[T](from), elements[T](to)
	for i := 0; i < rows; i += near {
		for j := range columns {
			at := i*width + j
			for k := range y[j*rows:][i:min(i+near, rows)] {
				y[j*rows+i+k] = x[at]
				at += width
			}
		}
	}
}

func elements[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}
