package quant

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// Codes of another program stay what they are, those that Quantize never makes too: −128, −8, and scales
// below 0.
func TestPackKeepsCodes(t *testing.T) {
	for _, bits := range []int{4, 8} {
		for _, shape := range [][2]int{{32, 1}, {64, 16}, {96, 19}, {256, 40}, {96, 89000}} { // the last one in several pieces
			in, out := shape[0], shape[1]
			if out > 1000 && bits == 8 && !long.CI() {
				continue
			}
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
			w, err := Pack(in, out, Config{Bits: bits, Group: 32}, func(o, g int, to []byte) (float32, float32) {
				copy(to, codes[o*in+g*32:])
				return scales[(o*in+g*32)/32], 0
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
			w.Unpack(func(o, g int, got []byte, scale, _ float32) {
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
	}{{64, 8, Config{Scheme: Table}}, {64, 8, Config{Table: "nf4"}}, {64, 8, Config{Scheme: Table, Table: "nf4"}}, {0, 8, Config{}}, {64, 0, Config{}}, {64, 8, Config{Bits: 3}}} {
		if _, err := Pack(c.in, c.out, c.Config, nil); err == nil {
			t.Errorf("%d %d %v: got no error", c.in, c.out, c.Config)
		}
	}
	want, none := errors.New("ends early"), func([]byte, int, int, int, Lane, Lane, Lane) {}
	if _, err := PackRows(64, 40, Config{}, Rows{Bytes: 8, Read: func(o int, to []byte) error {
		if o == 32 && len(to) == 8*8 {
			return want
		}
		return nil
	}, Groups: none}); err != want {
		t.Errorf("got %v, want the error of the last rows", err)
	}
}

// A code of any scheme stands for what the scheme says, alone, in products and for tokens.
func TestSchemes(t *testing.T) {
	const in, out = 80, 19
	for _, c := range []Config{
		{Bits: 4, Group: 16, Scheme: Affine, Scale: dtype.BF16}, {Bits: 4, Group: 32, Scheme: Minimum}, {Bits: 8, Group: 64, Scheme: Minimum, Scale: dtype.BF16},
		{Bits: 4, Group: 64, Scheme: Table, Table: "nf4"}, {Bits: 4, Group: 32, Scheme: Table, Table: "e2m1", Scale: dtype.BF16}, {Bits: 8, Group: 128, Scheme: Table, Table: "e4m3"},
	} {
		rng := rand.New(rand.NewPCG(uint64(c.Bits), uint64(c.Group)))
		groups := (in + c.Group - 1) / c.Group
		codes, scales, extra := make([]byte, in*out), make([]float32, out*groups), make([]float32, out*groups)
		for i := range codes {
			codes[i] = byte(rng.IntN(1 << c.Bits))
			if c.Table == "e4m3" && codes[i]&127 == 127 {
				codes[i]--
			}
		}
		for i := range scales {
			scales[i] = float32(rng.IntN(255)-127) / 128
			switch c.Scheme {
			case Affine:
				extra[i] = float32(rng.IntN(1 << c.Bits))
			case Minimum:
				extra[i] = float32(rng.IntN(255)-127) / 16
			}
		}
		want := make([]float32, in*out)
		for o := range out {
			for i := range in {
				code, s, x := codes[o*in+i], scales[o*groups+i/c.Group], extra[o*groups+i/c.Group]
				switch c.Scheme {
				case Affine:
					want[i*out+o] = s * (float32(code) - x)
				case Minimum:
					want[i*out+o] = float32(s*float32(code)) + x
				case Table:
					want[i*out+o] = s * tables[c.Table][code]
				}
			}
		}
		w, err := Pack(in, out, c, func(o, g int, to []byte) (float32, float32) {
			copy(to, codes[o*in+g*c.Group:(o+1)*in])
			return scales[o*groups+g], extra[o*groups+g]
		})
		if err != nil {
			t.Fatal(err)
		}
		dense := tensor.From(want, in, out)
		if d := tensor.MaxAbsDiff(w.Dequantized(), dense); d != 0 {
			t.Errorf("%v: the weight differs by %g", c, d)
		}
		for _, rows := range []int{1, 3, 40} {
			x := tensor.NewRNG(7).Randn(rows, in)
			product := x.MatMul(dense)
			if d := tensor.MaxAbsDiff(w.MatMul(x), product); !(d <= 1e-5*product.Abs().Max().Item()) {
				t.Errorf("%v: a product of %d rows differs by %g", c, rows, d)
			}
		}
		if d := tensor.MaxAbsDiff(w.Take(tensor.From([]int{18, 0}), dtype.F32), dense.Transpose().Take(tensor.From([]int{18, 0}), 0)); d != 0 {
			t.Errorf("%v: a token differs by %g", c, d)
		}
		w.Unpack(func(o, g int, got []byte, scale, x float32) {
			if at := o*in + g*c.Group; !bytes.Equal(got, codes[at:at+len(got)]) || scale != scales[o*groups+g] || x != extra[o*groups+g] {
				t.Errorf("%v: group %d of output %d came back as %v times %g, %g", c, g, o, got, scale, x)
			}
		})
		again, err := Quantize(dense, w.Config)
		if err != nil {
			t.Fatal(err)
		}
		if d, most := tensor.MaxAbsDiff(again.Dequantized(), dense), dense.Abs().Max().Item(); !(d <= 0.1*most) {
			t.Errorf("%v: quantised again it differs by %g of %g", c, d, most)
		}
	}
}
