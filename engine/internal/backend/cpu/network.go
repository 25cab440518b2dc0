package cpu

import (
	"math"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/micro"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/vec"
)

const (
	rowsAbreast    = 32   // that are sorted together, an element of each beside the others
	longestAbreast = 2048 // elements of such a row: a longer one takes fewer steps digit by digit
)

// sortAbreast sorts rows of n float32 side by side, n a multiple of 8, by Batcher's network, whose steps do
// not depend on what they compare (Knuth, The Art of Computer Programming 3, algorithm 5.2.2M). It does
// nothing and returns false where a NaN or −0 needs more than a comparison.
func sortAbreast(room []byte, to, from unsafe.Pointer, n int, falling bool) bool {
	for _, b := range unsafe.Slice((*uint32)(from), rowsAbreast*n) {
		if b&math.MaxInt32 > 0x7f800000 || b == 1<<31 {
			return false
		}
	}
	tile, across := unsafe.Pointer(unsafe.SliceData(room)), 4*rowsAbreast
	micro.Transpose((*float32)(tile), rowsAbreast, (*float32)(from), n, rowsAbreast, n)
	top := 1
	for 2*top < n {
		top *= 2
	}
	for p := top; p > 0; p /= 2 {
		q, r, d := top, 0, p
		for {
			for i := r; i < n-d; i += 2 * p {
				low, high := unsafe.Add(tile, i*across), unsafe.Add(tile, (i+d)*across)
				if falling {
					low, high = high, low
				}
				vec.Exchange(low, high, min(p, n-d-i)*rowsAbreast)
			}
			if q == p {
				break
			}
			d, q, r = q-p, q/2, p
		}
	}
	micro.Transpose((*float32)(to), n, (*float32)(tile), rowsAbreast, n, rowsAbreast)
	return true
}
