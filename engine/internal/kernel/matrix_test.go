package kernel

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// A blockTest multiplies one block of 16×16 by another, in a tile of 32×32 whose second half it takes: of
// each set of blocks, of each type, with tiles that lie either way.
type blockTest struct {
	blocks           string // matrix or fragment
	dt               dtype.Type
	turnedA, turnedB bool
}

func blockTests() []blockTest {
	var list []blockTest
	for _, blocks := range []string{"matrix", "fragment"} {
		for _, dt := range []dtype.Type{dtype.F16, dtype.BF16, dtype.F32} {
			for turned := range 4 {
				list = append(list, blockTest{blocks, dt, turned&1 != 0, turned&2 != 0})
			}
		}
	}
	return list
}

func (b blockTest) name() string {
	return fmt.Sprintf("blocks_%s_%s_%v_%v", b.blocks, memoryTypes[b.dt], b.turnedA, b.turnedB)
}

// text copies both operands to tiles in queued copies where the set has them, multiplies, and stores the sum
// and, by the places of its elements, twice the sum. The last result is the sum, rounded, times the right
// operand.
func (b blockTest) text() string {
	copies, place, stride := "plain_copies", func(line, beside string) string { return fmt.Sprintf("(%s) * 40 + %s", line, beside) }, 40
	if b.blocks == "fragment" {
		copies, stride = "queued_copies", 32
		place = func(line, beside string) string {
			return fmt.Sprintf("woven<%s, 32>(%s, %s)", memoryTypes[b.dt], line, beside)
		}
	}
	typ, per := memoryTypes[b.dt], 16/b.dt.Size()
	again := ""
	if b.dt != dtype.F32 {
		again = fmt.Sprintf("left_%[1]s<%[2]s> again; left_of(again, sum); clear(sum); multiply(sum, again, r); store_sum<16>(sum, z);", b.blocks, typ)
	}
	return fmt.Sprintf(`kernel void %[1]s(device const %[2]s* x [[buffer(0)]], device float* y [[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {
	threadgroup %[2]s a[1280];
	threadgroup %[2]s b[1280];
	threadgroup float z[256];
	%[3]s copies;
	for (int e = int(lane) * %[4]d; e < 1024; e += 32 * %[4]d) {
		copies.take(a + %[5]s, x + e, %[4]d);
		copies.take(b + %[5]s, x + (1024 + e), %[4]d);
	}
	copies.commit();
	copies.finish<0>();
	threadgroup_barrier(mem_flags::mem_threadgroup);
	left_%[6]s<%[2]s> l;
	right_%[6]s<%[2]s> r;
	sum_%[6]s sum;
	clear(sum);
	load_left<%[7]d, %[8]v>(l, a, 16, 0);
	load_right<%[7]d, %[9]v>(r, b, 0, 16);
	multiply(sum, l, r);
	store_sum<16>(sum, z);
	threadgroup_barrier(mem_flags::mem_threadgroup);
	for (int e = int(lane); e < 256; e += 32) y[e] = z[e];
	for (int e = 0; e < 8; e++) y[256 + row_of(sum, lane, e) * 16 + column_of(sum, lane, e)] = 2.0f * element(sum, e);
	threadgroup_barrier(mem_flags::mem_threadgroup);
	%[10]s
	threadgroup_barrier(mem_flags::mem_threadgroup);
	for (int e = int(lane); e < 256; e += 32) y[512 + e] = z[e];
}
`, b.name(), typ, copies, per, place("e / 32", "e % 32"), b.blocks, stride, b.turnedA, b.turnedB, again)
}

// data are two tiles of small whole numbers: every sum is exact, and one of halves and bfloats survives the
// rounding for the second product where it is below 256. The numbers of f32 have all 24 bits.
func (b blockTest) data() (bytes []byte, at func(tile, line, beside int) float64) {
	values := make([]float64, 2048)
	state := uint32(1)
	for i := range values {
		state = state*1664525 + 1013904223
		values[i] = float64(int(state>>24)%7 - 3)
		if b.dt == dtype.F32 {
			values[i] = float64(float32(values[i] + float64(state>>8)/(1<<24)))
		}
		bytes = ir.Append(b.dt, bytes, ir.Scalar{F: values[i]})
	}
	return bytes, func(tile, line, beside int) float64 { return values[1024*tile+32*line+beside] }
}

// TestBlocks multiplies one block of each kind, on a device that computes NVIDIA's instructions lane by lane
// as PTX defines them. Where an element lies is part of the test.
func TestBlocks(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	tests, texts := blockTests(), map[string]string{}
	for _, b := range tests {
		texts[b.name()] = b.text()
	}
	d, err := tools.Start(context.Background(), check.Plain, sourcesOf(t, texts)...)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, b := range tests {
		bytes, at := b.data()
		x, _ := d.Alloc(len(bytes))
		y, _ := d.Alloc(3 * 1024)
		d.Write(x, bytes)
		if err := d.Run(context.Background(), check.Launch{Kernel: b.name(), Groups: [3]int{1, 1, 1}, Threads: [3]int{32, 1, 1}, Buffers: map[int]check.Pointer{0: x, 1: y}}); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 3*1024)
		d.Read(got, y)
		value := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:]))) }
		right := func(k, n int) float64 {
			if b.turnedB {
				return at(1, 16+n, k)
			}
			return at(1, k, 16+n)
		}
		want, allowed := [256]float64{}, 0.0
		for i := range want {
			for k := range 16 {
				left := at(0, 16+i/16, k)
				if b.turnedA {
					left = at(0, k, 16+i/16)
				}
				want[i] += left * right(k, i%16)
			}
		}
		if b.dt == dtype.F32 {
			allowed = 1e-5 // of sums up to 256, where TF32 alone is off by 0.1
		}
		for i, w := range want {
			if math.Abs(value(i)-w) > allowed*16 || math.Abs(value(256+i)-2*w) > allowed*32 {
				t.Fatalf("%s: element %d: got %g and %g, want %g and twice that", b.name(), i, value(i), value(256+i), w)
			}
			if b.dt == dtype.F32 {
				continue
			}
			again := 0.0
			for k := range 16 {
				again += want[i/16*16+k] * right(k, i%16)
			}
			if value(512+i) != again {
				t.Fatalf("%s: element %d of the second product: got %g, want %g", b.name(), i, value(512+i), again)
			}
		}
	}
}

// TestBlocksPTX: clang makes the instructions of NVIDIA's matrix units of fragments.
func TestBlocksPTX(t *testing.T) {
	tools, err := check.Find()
	if err != nil {
		t.Skip(err)
	}
	for dt, want := range map[dtype.Type][]string{
		dtype.F16:  {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ldmatrix.sync.aligned.m8n8.x4.shared", "ldmatrix.sync.aligned.m8n8.x4.trans", "cp.async.cg"},
		dtype.BF16: {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "cp.async.cg"},
		dtype.F32:  {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
	} {
		b := blockTest{blocks: "fragment", dt: dt}
		for _, s := range sourcesOf(t, map[string]string{b.name(): b.text()}) {
			ptx, err := tools.PTX(context.Background(), "sm_80", s)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if !strings.Contains(string(ptx), w) {
					t.Errorf("%s: got PTX without %s", b.name(), w)
				}
			}
			if strings.Contains(string(ptx), "ld.local") {
				t.Errorf("%s: a fragment lies in memory", b.name())
			}
		}
	}
}
