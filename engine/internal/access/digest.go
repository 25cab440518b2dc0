package access

import (
	"crypto/sha256"
	"errors"
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

// Digest is a SHA-256 of the bits of t's elements, which depends neither on how many goroutines make it nor
// on where the elements lie: a matrix has that of one which lies transposed. Large matrices are hashed in
// tiles, so that a base of many gigabytes takes no longer than its memory is read: the weights of layers lie
// transposed, and C order would walk them element by element.
func Digest(t tensor.Tensor) [sha256.Size]byte {
	t.Eval()
	if t.DType().Complex() {
		return sha256.Sum256(t.Bytes())
	}
	n := Node(t, "hash")
	s, lies := tilesOf(n.Shape, n.Value().Layout)
	if !lies {
		return Digest(tensor.FromBytes(n.DType, t.Bytes(), n.Shape...))
	}
	ctx, dev, size := scope.Context(), n.Dev.(*backend.Device), n.DType.Size()
	down, across := (s.rows+s.high-1)/s.high, (s.width+side-1)/side
	sums, errs := make([][sha256.Size]byte, s.matrices*down*across), make([]error, s.matrices*down)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(len(errs), runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			strip, tile := make([]byte, min(s.high, s.rows)*s.width*size), make([]byte, s.high*min(side, s.width)*size)
			for i := int(next.Add(1)) - 1; i < len(errs); i = int(next.Add(1)) - 1 {
				matrix, y := i/down, i%down
				first, rows := matrix*s.rows+y*s.high, min(s.high, s.rows-y*s.high)
				part := strip[:rows*s.width*size]
				errs[i] = dev.Download(ctx, part, n.Value(), (n.Value().Layout.Offset+first*s.width)*size)
				for x := range across {
					at := y*across + x
					if s.turned {
						at = x*down + y
					}
					sums[matrix*down*across+at] = sha256.Sum256(s.tile(tile, part, rows, x*side, size))
				}
			}
		})
	}
	all.Wait()
	check("hash", errors.Join(errs...))
	hash := sha256.New()
	for _, sum := range sums {
		hash.Write(sum[:])
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// tiles are those of matrices that lie one behind the other, each as rows of a width in memory, which are
// columns of the matrix if it is turned. A tile has up to high×side elements of memory.
type tiles struct {
	matrices, rows, width, high int
	turned                      bool
}

// tilesOf cuts what has that shape, unless its memory is in another order. Small matrices are one column with
// all others.
func tilesOf(shape []int, l ir.Layout) (s tiles, lies bool) {
	last := len(shape) - 1
	if last < 1 || shape[last-1]*shape[last] <= side*side {
		return tiles{1, ir.Size(shape), 1, side * side, false}, l.IsContiguous()
	}
	s = tiles{ir.Size(shape[:last-1]), shape[last-1], shape[last], side, false}
	if l.IsContiguous() {
		return s, true
	}
	strides := slices.Concat(l.Stride[:last-1], []int{l.Stride[last], l.Stride[last-1]})
	turned := ir.Layout{Shape: slices.Concat(shape[:last-1], []int{s.width, s.rows}), Stride: strides}
	return tiles{s.matrices, s.width, s.rows, side, true}, turned.IsContiguous()
}

// tile gathers the elements of rows from a column on, in C order of the matrix.
func (s tiles) tile(to, from []byte, rows, column, size int) []byte {
	columns := min(side, s.width-column)
	to, from = to[:rows*columns*size], from[column*size:]
	if s.turned {
		turns[size](to, from, rows, columns, s.width)
		return to
	}
	for y := range rows {
		copy(to[y*columns*size:][:columns*size], from[y*s.width*size:])
	}
	return to
}

// turns are by the size of elements.
var turns = [...]func(to, from []byte, rows, columns, width int){1: turn[uint8], 2: turn[uint16], 4: turn[uint32], 8: turn[uint64]}

// turn writes rows of from, which are width elements apart, as columns.
func turn[T any](to, from []byte, rows, columns, width int) {
	const near = 16 // rows at once, so that what is written lies in whole lines of the caches
	size := len(to) / rows / columns
	x, y := unsafe.Slice((*T)(unsafe.Pointer(&from[0])), len(from)/size), unsafe.Slice((*T)(unsafe.Pointer(&to[0])), rows*columns)
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
