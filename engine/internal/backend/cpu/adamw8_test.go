package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// A cell of encode's table is less wide than the way from one border of the map to the next, so the codes
// that it finds are those of a search.
func TestCellsHaveOneBorder(t *testing.T) {
	for name, m := range map[string]struct {
		cells *eightCells
		codes *ir.DynamicMap
	}{"signed": {signedCells(), ir.DynamicSigned}, "unsigned": {unsignedCells(), ir.DynamicUnsigned}} {
		borders := make([]int, cellCount)
		for _, b := range m.codes.Borders {
			at := int(math.Float32bits(float32(b))>>16) - firstCell
			if at <= 0 || at >= cellCount-1 {
				t.Errorf("%s: border %g lies in cell %d of %d", name, b, at, cellCount)
				continue
			}
			if borders[at]++; borders[at] > 1 {
				t.Errorf("%s: cell %d has two borders", name, at)
			}
		}
		rng := rand.New(rand.NewPCG(1, 2))
		var x [ir.DynamicBlock]float32
		var codes [ir.DynamicBlock]uint8
		for range 100 {
			for i := range x {
				x[i] = float32(math.Pow(10, -9*rng.Float64()))
				if name == "signed" && i%2 == 1 {
					x[i] = -x[i]
				}
			}
			x[0], x[1] = 1, 0
			if scale := m.cells.encode(&codes, &x); scale != 1 {
				t.Fatalf("%s: the scale is %g, want 1", name, scale)
			}
			for i, v := range x {
				if want := m.codes.Code(float64(v)); codes[i] != want {
					t.Fatalf("%s: %g gets the code %d, want %d", name, v, codes[i], want)
				}
			}
		}
	}
}
