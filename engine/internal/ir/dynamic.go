package ir

import (
	"math"
	"sort"
)

// DynamicBlock is how many numbers in 8 bits share a scale, as in bitsandbytes.
const DynamicBlock = 256

// A DynamicMap writes numbers from −1 to 1 (signed) or from 0 to 1 in 8 bits (Dettmers 2015). A decade below
// 1 has as many steps as all decades below have together, and more: 2ᵉ evenly spaced ones, e = 0 … 6 for a
// sign and 1 … 7 without, which go down to 10⁻⁷. The code is the number's rank among all 256 of the map, as
// in bitsandbytes. 1 has a code, −1 has none.
type DynamicMap struct {
	Values [256]float64 // the number of each code
	Zero   uint8        // the code of 0
	// Borders lists what lies in the middle between a number and the next, from 0 on: x ≥ Borders[n] is
	// nearer to the number n+1 places above 0.
	Borders []float64
	signed  bool
}

// DynamicSigned and DynamicUnsigned are the two maps.
var DynamicSigned, DynamicUnsigned = newDynamicMap(true), newDynamicMap(false)

func newDynamicMap(signed bool) *DynamicMap {
	m := &DynamicMap{signed: signed}
	least := 1
	if signed {
		m.Zero, least = 127, 0
	}
	size := 0.0
	for e := least; e <= 6+least; e++ {
		steps := 1 << e
		for s := range steps {
			next := (0.1 + 0.9*(float64(s)+0.5)/float64(steps)) * math.Pow10(e-6-least)
			m.Borders = append(m.Borders, (size+next)/2)
			size = next
			m.Values[int(m.Zero)+len(m.Borders)] = size
			if signed {
				m.Values[int(m.Zero)-len(m.Borders)] = -size
			}
		}
	}
	m.Borders = append(m.Borders, (size+1)/2)
	m.Values[255] = 1
	return m
}

// Code is the code of the number that is nearest to x.
func (m *DynamicMap) Code(x float64) uint8 {
	a := math.Abs(x)
	rank := sort.Search(len(m.Borders), func(n int) bool { return !(a >= m.Borders[n]) })
	if m.signed && x < 0 {
		return m.Zero - uint8(min(rank, 127))
	}
	return m.Zero + uint8(rank)
}
