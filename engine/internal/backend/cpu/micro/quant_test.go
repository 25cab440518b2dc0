package micro

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// randomQuant returns a quantised weight with random codes.
func randomQuant(r *rand.Rand, bits, group, groups, blocks int, scale Elem, form ir.Form) *Quant {
	q := &Quant{Bits: bits, Group: group, Form: form, Groups: groups, Scale: scale}
	bytes := func(n int) unsafe.Pointer {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return unsafe.Pointer(unsafe.SliceData(b))
	}
	q.Codes = bytes(blocks * q.blockBytes())
	numbers := func(n int, scale Elem) unsafe.Pointer {
		if scale == F32 {
			s := make([]float32, n)
			for i := range s {
				s[i] = r.Float32()
			}
			return unsafe.Pointer(unsafe.SliceData(s))
		}
		s := make([]uint16, n)
		for i := range s {
			s[i] = uint16(math.Float32bits(r.Float32()) >> 16)
		}
		return unsafe.Pointer(unsafe.SliceData(s))
	}
	n := blocks * groups * Lanes
	q.Scales = numbers(n, scale)
	switch form {
	case ir.Zeros:
		q.Extra = bytes(n)
		if bits == 4 {
			for i, z := range unsafe.Slice((*byte)(q.Extra), n) {
				unsafe.Slice((*byte)(q.Extra), n)[i] = z & 15
			}
		}
	case ir.Minimums:
		q.Extra = numbers(n, scale)
	case ir.Table:
		q.Extra = numbers(1<<bits, F32)
	}
	return q
}

// eachQuant runs a test for each kind of weight and each set, and without integer dot products.
func eachQuant(t *testing.T, f func(t *testing.T, r *rand.Rand, bits, group int, scale Elem, form ir.Form)) {
	for _, set := range isa.Sets() {
		t.Run(set.String(), func(t *testing.T) {
			defer isa.Limit(set)()
			r := rand.New(rand.NewPCG(uint64(set), 1))
			for _, bits := range []int{8, 4} {
				for _, group := range []int{16, 32, 64, 128} {
					for _, scale := range []Elem{F32, BF16} {
						for form := range ir.Table + 1 {
							t.Run(fmt.Sprintf("int%d/%d/%d/%v", bits, group, scale, form), func(t *testing.T) { f(t, r, bits, group, scale, form) })
						}
					}
				}
			}
		})
	}
}

// Products of any number of rows agree with the dequantised weight. Some rows have no digits.
func TestQuantMultiply(t *testing.T) {
	eachQuant(t, func(t *testing.T, r *rand.Rand, bits, group int, scale Elem, form ir.Form) {
		for _, magnitude := range []float32{1, 1e-20, 1e25, 1e-36} {
			rows, groups, cols := 1+r.IntN(9), 1+r.IntN(4), 1+r.IntN(100)
			k := (groups-1)*group + 1 + r.IntN(group)
			q := randomQuant(r, bits, group, groups, (cols+Lanes-1)/Lanes, scale, form)
			lda, ldc := k+r.IntN(3), cols+r.IntN(3)
			a, c := make([]float32, rows*lda), make([]float32, rows*ldc+1)
			for i := range a {
				a[i] = magnitude * float32(r.NormFloat64())
			}
			c[rows*ldc] = 77
			x := q.Prepare(make([]float32, q.InputLen(rows)), rows, k, &a[0], lda)
			q.Multiply(&x, 0, cols, &c[0], ldc)
			for i := range rows {
				for j := range cols {
					want, size := 0.0, 0.0
					for p := range k {
						v := float64(a[i*lda+p]) * q.At(p, j)
						want, size = want+v, size+math.Abs(v)
					}
					if got := float64(c[i*ldc+j]); !(math.Abs(got-want) <= 2e-6*size) {
						t.Fatalf("rows %d, k %d, cols %d, magnitude %g: element %d %d: got %g, want %g ± %g", rows, k, cols, magnitude, i, j, got, want, 2e-6*size)
					}
				}
			}
			if c[rows*ldc] != 77 {
				t.Fatal("wrote beyond the result")
			}
		}
	})
}

// Infinities and NaN of the input stay in the result.
func TestQuantMultiplySpecials(t *testing.T) {
	eachQuant(t, func(t *testing.T, r *rand.Rand, bits, group int, scale Elem, form ir.Form) {
		q := randomQuant(r, bits, group, 2, 1, scale, form)
		for _, special := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
			a, c := make([]float32, 2*group), make([]float32, Lanes)
			at := r.IntN(2 * group)
			a[at] = special
			x := q.Prepare(make([]float32, q.InputLen(1)), 1, 2*group, &a[0], 2*group)
			q.Multiply(&x, 0, Lanes, &c[0], Lanes)
			for j := range c {
				want := special * float32(q.At(at, j))
				if form == ir.Minimums && c[j] != c[j] {
					continue // a code of 0 times infinity
				}
				if c[j] != want && (c[j] == c[j] || want == want) {
					t.Fatalf("%g times %g: got %g", special, q.At(at, j), c[j])
				}
			}
		}
	})
}

func TestDequantize(t *testing.T) {
	eachQuant(t, func(t *testing.T, r *rand.Rand, bits, group int, scale Elem, form ir.Form) {
		const groups, blocks, ldd = 4, 3, Lanes + 5
		q := randomQuant(r, bits, group, groups, blocks, scale, form)
		for range 10 {
			block, from := r.IntN(blocks), 8*r.IntN(groups*group/8)
			to := from + 8*r.IntN((groups*group-from)/8+1)
			dst := make([]float32, (to-from)*ldd+1)
			q.Dequantize(block, from, to, &dst[0], ldd)
			for i := range to - from {
				for lane := range Lanes {
					if got, want := dst[i*ldd+lane], float32(q.At(from+i, block*Lanes+lane)); got != want {
						t.Fatalf("block %d, inputs %d to %d: input %d, output %d: got %g, want %g", block, from, to, from+i, lane, got, want)
					}
				}
			}
		}
	})
}

// BenchmarkQuantMultiply reports the codes that one thread reads, in GB/s, and their share of the rate at
// which it can read memory of that size. Both sides alternate, and the best run counts.
func BenchmarkQuantMultiply(b *testing.B) {
	const group = 64
	for _, shape := range [][2]int{{896, 4864}, {4864, 896}, {896, 896}, {896, 128}, {896, 151936}} {
		k, cols := shape[0], shape[1]
		for _, bits := range []int{8, 4} {
			for _, rows := range []int{1, 2, 4} {
				b.Run(fmt.Sprintf("int%d/%dx%d/%d rows", bits, k, cols, rows), func(b *testing.B) {
					q := randomQuant(rand.New(rand.NewPCG(1, 1)), bits, group, k/group, cols/Lanes, F32, ir.Middle)
					a, c := make([]float32, rows*k), make([]float32, rows*cols)
					scratch := make([]float32, q.InputLen(rows))
					bytes := cols / Lanes * q.blockBytes()
					other := make([]float32, bytes/4)
					for i := range other {
						other[i] = 1 // distinct pages, not one page of zeros
					}
					best, read := time.Hour, time.Hour
					for b.Loop() {
						start := time.Now()
						x := q.Prepare(scratch, rows, k, &a[0], k)
						for j := 0; j < cols; j += 256 {
							q.Multiply(&x, j, min(256, cols-j), &c[j], cols)
						}
						best = min(best, time.Since(start))
						start = time.Now()
						Dot(1, 4, len(other)/4, &other[0], 0, Source{Base: unsafe.Pointer(&other[0]), Line: len(other) / 4, Step: 1}, &c[0], cols)
						read = min(read, time.Since(start))
					}
					b.ReportMetric(float64(bytes)/best.Seconds()/1e9, "GB/s")
					b.ReportMetric(100*read.Seconds()/best.Seconds(), "%read")
				})
			}
		}
	}
}
