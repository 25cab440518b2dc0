package check

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
)

// getInts reads n numbers.
func getInts(t *testing.T, d *Device, p Pointer, n int) []int32 {
	t.Helper()
	v := make([]int32, n)
	for i, f := range get(t, d, p, n) {
		v[i] = int32(math.Float32bits(f))
	}
	return v
}

// TestLanes: what operations of a simdgroup give in each lane.
func TestLanes(t *testing.T) {
	d := start(t, Plain, read(t, "testdata/library.metal", same))
	x := make([]int32, 32)
	for i := range x {
		x[i] = int32((i*37)%23) - 7
	}
	fold := func(start int32, f func(a, b int32) int32) func(int) int32 {
		for _, v := range x {
			start = f(start, v)
		}
		return func(int) int32 { return start }
	}
	before := func(lane int) (sum int32) {
		for _, v := range x[:lane] {
			sum += v
		}
		return sum
	}
	other := func(shift int, outside int32) func(int) int32 {
		return func(lane int) int32 {
			if at := lane + shift; at >= 0 && at < 32 {
				return x[at]
			}
			return outside
		}
	}
	rows := []struct {
		name string
		want func(lane int) int32
	}{
		{"sum", fold(0, func(a, b int32) int32 { return a + b })},
		{"max", fold(-100, func(a, b int32) int32 { return max(a, b) })},
		{"min", fold(100, func(a, b int32) int32 { return min(a, b) })},
		{"and", fold(-1, func(a, b int32) int32 { return a & (b | 1) })},
		{"or", fold(0, func(a, b int32) int32 { return a | b })},
		{"xor", fold(0, func(a, b int32) int32 { return a ^ b })},
		{"product", fold(1, func(a, b int32) int32 {
			if b%3 == 0 {
				return a
			}
			return 2 * a
		})},
		{"prefix_inclusive_sum", func(lane int) int32 { return before(lane + 1) }},
		{"prefix_exclusive_sum", before},
		{"shuffle", func(lane int) int32 { return x[31-lane] }},
		{"shuffle_xor", func(lane int) int32 { return x[lane^5] }},
		{"shuffle_up", other(-3, 0)},
		{"shuffle_down", other(3, 0)},
		{"rotate_down", func(lane int) int32 { return x[(lane+3)%32] }},
		{"fill_up", func(lane int) int32 {
			if lane < 3 {
				return 100 + x[lane+29]
			}
			return x[lane-3]
		}},
		{"fill_down", func(lane int) int32 {
			if lane > 28 {
				return 100 + x[lane-29]
			}
			return x[lane+3]
		}},
		{"ballot", func(int) int32 {
			var bits uint32
			for i, v := range x {
				if v > 0 {
					bits |= 1 << i
				}
			}
			return int32(bits)
		}},
		{"all, any", func(int) int32 { return 1 }},
	}
	r := put(t, d, make([]int32, 32*len(rows)))
	if err := d.Run(context.Background(), Launch{Kernel: "lanes", Groups: [3]int{1, 1, 1}, Threads: [3]int{32, 1, 1}, Seed: 5, Buffers: map[int]Pointer{0: put(t, d, x), 1: r}}); err != nil {
		t.Fatal(err)
	}
	got := getInts(t, d, r, 32*len(rows))
	for i, row := range rows {
		for lane := range 32 {
			if want := row.want(lane); got[32*i+lane] != want {
				t.Errorf("%s: lane %d: got %d, want %d", row.name, lane, got[32*i+lane], want)
				break
			}
		}
	}
}

// TestNumbers: halves and bfloats round after each operation, vectors are taken apart and put together.
func TestNumbers(t *testing.T) {
	d := start(t, Plain, read(t, "testdata/library.metal", same))
	run := func(l Launch) {
		t.Helper()
		if err := d.Run(context.Background(), l); err != nil {
			t.Fatal(err)
		}
	}
	// a = 1.2001953125: a·a rounds to 1.4404297 and a·a + 1 to 2.4414062; b = 3 adds exactly.
	r := put(t, d, make([]float32, 1))
	run(Launch{Kernel: "narrow", Groups: [3]int{1, 1, 1}, Threads: [3]int{1, 1, 1}, Buffers: map[int]Pointer{0: put(t, d, []uint16{0x3ccd}), 1: put(t, d, []uint16{0x4040}), 2: r}})
	if got, want := get(t, d, r, 1)[0], float32(5.441406)+1.2001953*0.5-3+1; math.Abs(float64(got-want)) > 1e-3 {
		t.Errorf("narrow: got %v, want %v", got, want)
	}
	v := put(t, d, make([]float32, 12))
	run(Launch{Kernel: "swizzles", Groups: [3]int{1, 1, 1}, Threads: [3]int{1, 1, 1}, Buffers: map[int]Pointer{0: put(t, d, []float32{1, 2, 3, 4}), 1: v, 2: put(t, d, []float32{5, 6, 7})}})
	for i, want := range []float32{4, 2, 4, 1, 4.5, 3.5, 2.5, 1.5, 6, 10, 16, 16 + 11} {
		if got := get(t, d, v, 12)[i]; got != want {
			t.Errorf("swizzles: element %d: got %v, want %v", i, got, want)
		}
	}
	total, least := put(t, d, []int32{0}), put(t, d, []int32{0})
	run(Launch{Kernel: "counts", Groups: [3]int{3, 1, 1}, Threads: [3]int{64, 1, 1}, Seed: 1, Buffers: map[int]Pointer{0: total, 1: least}})
	if a, b := getInts(t, d, total, 1)[0], getInts(t, d, least, 1)[0]; a != 192*191/2 || b != -191 {
		t.Errorf("counts: got %d and %d, want %d and -191", a, b, 192*191/2)
	}
}

// TestMatrix: a product of 8×8 matrices, of which one is read transposed, in the element types.
func TestMatrix(t *testing.T) {
	d := start(t, Plain, read(t, "testdata/library.metal", same))
	var a, b [64]float32
	for i := range a {
		a[i], b[i] = float32(i%7)-3, float32(i%5)-2
	}
	half := func(v [64]float32) (r [64]uint16) { // of small whole numbers
		for i, x := range v {
			if x != 0 {
				u := math.Float32bits(x)
				r[i] = uint16(u>>16&0x8000) | uint16(int(u>>23&0xff)-112)<<10 | uint16(u>>13&0x3ff)
			}
		}
		return r
	}
	bfloat := func(v [64]float32) (r [64]uint16) {
		for i, x := range v {
			r[i] = uint16(math.Float32bits(x) >> 16)
		}
		return r
	}
	for name, data := range map[string][2]any{"f32": {a[:], b[:]}, "f16": {half(a), half(b)}, "bf16": {bfloat(a), bfloat(b)}} {
		r := put(t, d, make([]float32, 64))
		err := d.Run(context.Background(), Launch{Kernel: "product_" + name, Groups: [3]int{1, 1, 1}, Threads: [3]int{32, 1, 1},
			Buffers: map[int]Pointer{0: put(t, d, data[0]), 1: put(t, d, data[1]), 2: r}, Bytes: map[int][]byte{3: binary.LittleEndian.AppendUint32(nil, math.Float32bits(100))}})
		if err != nil {
			t.Fatal(err)
		}
		got := get(t, d, r, 64)
		for i := range 8 {
			for j := range 8 {
				want := float32(0)
				if i == j {
					want = 100
				}
				for k := range 8 {
					want += a[8*i+k] * b[8*j+k]
				}
				if got[8*i+j] != want {
					t.Fatalf("%s: row %d, column %d: got %v, want %v", name, i, j, got[8*i+j], want)
				}
			}
		}
	}
}
