package dtype

import (
	"math"
	"testing"
)

// Every 16-bit pattern survives widening and rounding.
func TestHalfRoundTrip(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		if f := F16ToFloat32(h); f == f {
			if got := Float32ToF16(f); got != h {
				t.Fatalf("f16 %#04x -> %v -> %#04x", h, f, got)
			}
		} else if g := F16ToFloat32(Float32ToF16(f)); g == g {
			t.Fatalf("f16 %#04x: NaN became %v", h, g)
		}
		if f := BF16ToFloat32(h); f == f {
			if got := Float32ToBF16(f); got != h {
				t.Fatalf("bf16 %#04x -> %v -> %#04x", h, f, got)
			}
		} else if g := BF16ToFloat32(Float32ToBF16(f)); g == g {
			t.Fatalf("bf16 %#04x: NaN became %v", h, g)
		}
	}
}

// Between two neighbours the nearer one wins, and in the middle the even one.
func TestHalfRounding(t *testing.T) {
	neighbours := func(name string, widen func(uint16) float32, round func(float32) uint16, last uint16) {
		for h := uint16(0); h < last; h++ {
			lo, hi := float64(widen(h)), float64(widen(h+1))
			mid := float32((lo + hi) / 2)
			even := h + h&1
			for _, c := range []struct {
				f    float32
				want uint16
			}{
				{mid, even}, {math.Nextafter32(mid, 0), h}, {math.Nextafter32(mid, float32(math.Inf(1))), h + 1},
			} {
				if got := round(c.f); got != c.want {
					t.Fatalf("%s: %v rounds to %#04x, want %#04x", name, c.f, got, c.want)
				}
				if got := round(-c.f); got != c.want|0x8000 {
					t.Fatalf("%s: %v rounds to %#04x, want %#04x", name, -c.f, got, c.want|0x8000)
				}
			}
		}
	}
	neighbours("f16", F16ToFloat32, Float32ToF16, 0x7bff)
	neighbours("bf16", BF16ToFloat32, Float32ToBF16, 0x7f7f)
	for f, want := range map[float32]uint16{65519.996: 0x7bff, 65520: 0x7c00, 1e30: 0x7c00, float32(math.Inf(-1)): 0xfc00} {
		if got := Float32ToF16(f); got != want {
			t.Errorf("f16(%v) = %#04x, want %#04x", f, got, want)
		}
	}
}
