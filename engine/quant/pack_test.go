package quant

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// Codes of another program stay what they are, those that Quantize never makes too: −128, −8, and scales
// below 0.
func TestPackKeepsCodes(t *testing.T) {
	for _, bits := range []int{4, 8} {
		for _, shape := range [][2]int{{32, 1}, {64, 16}, {96, 19}, {256, 40}, {96, 89000}} { // the last one in several pieces
			in, out := shape[0], shape[1]
			rng := rand.New(rand.NewPCG(uint64(bits), uint64(in)))
			codes, scales := make([]byte, in*out), make([]float32, in*out/32)
			want := make([]float32, in*out) // [in out]
			for i := range scales {
				scales[i] = float32(rng.NormFloat64())
			}
			for o := range out {
				for i := range in {
					code := byte(rng.IntN(1 << bits))
					codes[o*in+i] = code
					want[i*out+o] = scales[(o*in+i)/32] * float32(int(code)-1<<(bits-1))
				}
			}
			w, err := Pack(in, out, Config{Bits: bits, Group: 32}, func(o, g int, to []byte) float32 {
				copy(to, codes[o*in+g*32:])
				return scales[(o*in+g*32)/32]
			})
			if err != nil {
				t.Fatal(err)
			}
			dense := tensor.From(want, in, out)
			if d := tensor.MaxAbsDiff(w.Dequantized(), dense); d != 0 {
				t.Errorf("int%d %v: the weight differs by %g", bits, shape, d)
			}
			for _, rows := range []int{1, 5, 40} { // one row reads the codes, many rows expand them
				if out > 1000 {
					continue
				}
				x := tensor.NewRNG(7).Randn(rows, in)
				product := x.MatMul(dense)
				if d := tensor.MaxAbsDiff(w.MatMul(x), product); !(d <= 1e-5*product.Abs().Max().Item()) {
					t.Errorf("int%d %v: a product of %d rows differs by %g", bits, shape, rows, d)
				}
			}
			w.Unpack(func(o, g int, got []byte, scale float32) {
				if at := o*in + g*32; !bytes.Equal(got, codes[at:at+32]) || scale != scales[at/32] {
					t.Errorf("int%d %v: group %d of output %d came back as %v times %g", bits, shape, g, o, got, scale)
				}
			})
		}
	}
}

func TestPackRefuses(t *testing.T) {
	for _, c := range []struct {
		in, out int
		Config
	}{{40, 8, Config{Group: 32}}, {64, 8, Config{Scheme: Affine}}, {0, 8, Config{}}, {64, 0, Config{}}, {64, 8, Config{Bits: 3}}} {
		if _, err := Pack(c.in, c.out, c.Config, nil); err == nil {
			t.Errorf("%d %d %v: got no error", c.in, c.out, c.Config)
		}
	}
}
