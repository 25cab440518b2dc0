package tensor

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Rows of all dtypes, long ones, too, which several threads sort together, have the order of a stable sort of
// Go's: NaN last, the zeros equal. The values keep their bits: signs of zeros, NaNs of any kind.
func TestSortKeepsOrderAndBits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, dt := range dtype.All() {
		for _, shape := range [][]int{{100}, {40_000}, {3, 257}} {
			n := shape[len(shape)-1]
			data := make([]byte, ir.Size(shape)*dt.Size())
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			if dt == dtype.Bool {
				for i := range data {
					data[i] &= 1
				}
			}
			if dt.Float() {
				special := FromAs(dt, []float64{0, math.NaN(), math.Inf(1)}).Bytes()
				for i := range ir.Size(shape) {
					data[(i+1)*dt.Size()-1] &^= 0x40 // of the exponent: a number below 2
					if r.IntN(4) == 0 {
						copy(data[i*dt.Size():], special[r.IntN(len(special)/dt.Size())*dt.Size():][:dt.Size()])
						data[(i+1)*dt.Size()-1] ^= byte(r.IntN(2)) << 7 // the sign
					}
				}
			}
			x := FromBytes(dt, data, shape...)
			less := rowOrder(x)
			for row := range ir.Size(shape) / n {
				places := make([]int, n)
				for i := range places {
					places[i] = i
				}
				one := x.Reshape(-1, n).Select(0, row)
				for _, falling := range []bool{false, true} {
					want := slices.Clone(places)
					slices.SortStableFunc(want, func(i, j int) int {
						if falling {
							i, j = j, i
						}
						return less(row*n+i, row*n+j)
					})
					checkOrder(t, fmt.Sprint(dt, shape, row, falling), one, falling, want)
				}
			}
		}
	}
}

func checkOrder(t *testing.T, name string, x Tensor, falling bool, want []int) {
	t.Helper()
	n, width := len(want), x.DType().Size()
	values, places := x.Sort(0), x.ArgSort(0)
	if falling {
		values, _ = x.TopK(n)
		_, places = x.TopK(n)
	}
	if got := places.Ints(); !slices.Equal(got, want) {
		t.Errorf("%s: the places are not those of a stable sort", name)
	}
	data, sorted := x.Bytes(), []byte{}
	for _, i := range want {
		sorted = append(sorted, data[i*width:(i+1)*width]...)
	}
	if !bytes.Equal(values.Bytes(), sorted) {
		t.Errorf("%s: the values are not those at the places, bit for bit", name)
	}
}

// rowOrder compares elements of x: NaN is after all numbers.
func rowOrder(x Tensor) func(i, j int) int {
	if x.DType() == dtype.U64 {
		u := x.Uint64s()
		return func(i, j int) int { return cmp.Compare(u[i], u[j]) }
	}
	if !x.DType().Float() {
		v := x.Flatten().Ints()
		return func(i, j int) int { return cmp.Compare(v[i], v[j]) }
	}
	v := x.Float64s()
	return func(i, j int) int {
		switch p, q := math.IsNaN(v[i]), math.IsNaN(v[j]); {
		case p && q:
			return 0
		case p:
			return 1
		case q:
			return -1
		}
		return cmp.Compare(v[i], v[j])
	}
}
