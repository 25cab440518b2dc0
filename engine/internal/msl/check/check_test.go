package check

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// tools returns the toolchain, or skips the test.
func tools(t *testing.T) *Toolchain {
	t.Helper()
	tools, err := Find()
	if err != nil {
		t.Skip(err)
	}
	return tools
}

// read parses a file with kernels, after change.
func read(t *testing.T, path string, change func(string) string) *msl.Source {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := msl.Parse(path[strings.LastIndexByte(path, '/')+1:], change(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func same(s string) string { return s }

// start starts a device that ends with the test.
func start(t *testing.T, m Mode, sources ...*msl.Source) *Device {
	t.Helper()
	d, err := tools(t).Start(context.Background(), m, sources...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// put writes numbers to new memory.
func put(t *testing.T, d *Device, data any) Pointer {
	t.Helper()
	b, err := binary.Append(nil, binary.LittleEndian, data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Alloc(len(b))
	if err == nil {
		err = d.Write(p, b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// get reads n numbers.
func get(t *testing.T, d *Device, p Pointer, n int) []float32 {
	t.Helper()
	b := make([]byte, 4*n)
	if err := d.Read(b, p); err != nil {
		t.Fatal(err)
	}
	v := make([]float32, n)
	if _, err := binary.Decode(b, binary.LittleEndian, v); err != nil {
		t.Fatal(err)
	}
	return v
}

// sums launches sums.metal for rows of n numbers, which are 1, 2, 3 …
func sums(t *testing.T, d *Device, kernel string, n, threads int, data any, seed uint32) ([]float32, error) {
	t.Helper()
	y := put(t, d, make([]float32, 2))
	err := d.Run(context.Background(), Launch{
		Kernel: kernel, Groups: [3]int{2, 1, 1}, Threads: [3]int{threads, 1, 1}, Seed: seed,
		Buffers: map[int]Pointer{0: put(t, d, data), 1: y}, Bytes: map[int][]byte{2: binary.LittleEndian.AppendUint32(nil, uint32(n))},
		Threadgroup: map[int]int{0: threads / 32 * 4}, Constants: map[int][]byte{0: {0}},
	})
	if err != nil {
		return nil, err
	}
	return get(t, d, y, 2), nil
}

// upTo is 1, 2, 3 … n as float32.
func upTo(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i + 1)
	}
	return v
}

// TestRun runs a template's instances with function constants, memory of the group, and several orders of
// the threads.
func TestRun(t *testing.T) {
	modes := Modes[:1]
	if long.Tests() {
		modes = Modes
	}
	for _, m := range modes {
		t.Run(m.String(), func(t *testing.T) {
			d := start(t, m, read(t, "testdata/sum.metal", same))
			for seed := range uint32(4) {
				got, err := sums(t, d, "sums_f32", 50, 96, upTo(100), seed)
				if err != nil || got[0] != 1275 || got[1] != 3775 {
					t.Errorf("seed %d: got %v, %v, want [1275 3775]", seed, got, err)
				}
			}
			narrow := make([]uint16, 100)
			for i, v := range upTo(100) {
				narrow[i] = uint16(math.Float32bits(v) >> 16)
			}
			if got, err := sums(t, d, "sums_bf16", 50, 64, narrow, 1); err != nil || got[0] != 1275 || got[1] != 3775 {
				t.Errorf("bf16: got %v, %v, want [1275 3775]", got, err)
			}
		})
	}
}

// TestFaults plants what goes wrong in kernels, and shows which mode finds it and how it says so.
func TestFaults(t *testing.T) {
	tools(t)
	instead := func(old, new string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, old) {
				t.Fatalf("there is no %q", old)
			}
			return strings.Replace(s, old, new, 1)
		}
	}
	const barrier = "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
	for _, c := range []struct {
		name   string
		change func(string) string
		mode   Mode
		want   string
	}{
		{"a barrier that a part of the threads reaches", instead(barrier, "  if (tid < 40) threadgroup_barrier(mem_flags::mem_threadgroup);\n"), Plain,
			"sums_f32: thread 94 has ended, but thread 31 waits for the whole threadgroup at threadgroup_barrier in sum.metal:22"},
		{"two barriers where there should be one", instead(barrier, "  if (tid < 32) threadgroup_barrier(mem_flags::mem_threadgroup);\n  else threadgroup_barrier(mem_flags::mem_threadgroup);\n"), Plain,
			"sums_f32: threads of one threadgroup wait at different places: thread 31 at threadgroup_barrier in sum.metal:22, thread 63 at threadgroup_barrier in sum.metal:23"},
		{"a sum over a part of a simdgroup", instead("  s = total(s);\n", "  if (lane < 16) s = simd_sum(s);\n"), Plain,
			"sums_f32: deadlock: no thread can go on; 16 of the 32 threads of a simdgroup wait at simd_sum in sum.metal:20; " +
				"16 of the 32 threads of a simdgroup wait at simd_sum in sum.metal:20; 16 of the 32 threads of a simdgroup wait at simd_sum in sum.metal:20; " +
				"48 of the 96 threads of a threadgroup wait at threadgroup_barrier in sum.metal:22"},
		{"a thread that ends before a sum", instead("  s = total(s);\n", "  if (lane == 3) return;\n  s = total(s);\n"), Plain,
			"sums_f32: thread 3 has ended, but thread 0 waits for the whole simdgroup at simd_sum in sum.metal:7"},
		{"memory of the group that is not written is no number", instead("  if (lane == 0) parts[sg] = s;\n", ""), Plain, "NaN"},
		{"a read behind the end of a buffer", instead("i < n;", "i < n + 3;"), Plain,
			"sums_f32: thread 50 of threadgroup 1,0,0 touched memory that is not its own: 0 bytes behind the end of a block of 400 bytes"},
		{"a write before a buffer", instead("y[row] = s", "y[int(row) - 4096] = s"), Plain,
			"sums_f32: thread 0 of threadgroup 0,0,0 touched memory that is not its own: 16384 bytes before a block of 8 bytes"},
		{"too many bytes of memory of the group", instead("  float s = 0.0f;\n", "  threadgroup float big[8192];\n  big[0] = 0.0f;\n  float s = big[0];\n"), Plain,
			"sums_f32: got more than 32768 bytes of threadgroup memory"},
		{"a pointer into the wrong address space", instead("  float s = 0.0f;", "  device float* q = parts; float s = q[0];"), Plain,
			"sum.metal:15:17: cannot initialize a variable of type 'device float *' with an lvalue of type 'threadgroup float *'"},
		{"a write to a constant", instead("  float s = 0.0f;", "  n = 3; float s = 0.0f;"), Plain, "sum.metal:15:5: cannot assign to variable 'n' with const-qualified type 'const __attribute__((address_space(2))) uint &' (aka 'const __attribute__((address_space(2))) unsigned int &')"},
		{"a sum of longs", instead("  s = total(s);\n", "  s = float(total(long(s)));\n"), Plain,
			"sum.metal:7:52: static assertion failed due to requirement 'is_exchanged<long>': lanes exchange numbers of up to four bytes: write two operations for a long, and an int for a bool"},
		{"a variable that is not set", instead("  float s = 0.0f;", "  float s;"), Plain, "sum.metal:18:5: variable 's' is uninitialized when used here [-Werror,-Wuninitialized]"},
		{"a read behind the end of a buffer, to the line", instead("i < n;", "i < n + 3;"), Address, "sums_f32: heap-buffer-overflow, sum.metal:17:27"},
		{"a read behind the end of memory of the group", instead("lane < threads / 32", "lane < 5"), Address, "sums_f32: heap-buffer-overflow, sum.metal:23:24"},
		{"a sum that overflows", instead("  float s = 0.0f;", "  int big = int(threads) << 24; big *= 128; float s = float(big) * 0.0f;"), Undefined,
			"sums_f32: signed integer overflow: 1610612736 * 128 cannot be represented in type 'int', sum.metal:15:37"},
		{"no barrier between a write and a read", instead(barrier, ""), Thread, "sums_f32: data race, sum.metal:21:28, sum.metal:22:35"},
		{"no barrier between a read and the next write", instead("  if (tid == 0) y", "  if (lane == 0) parts[sg] = s;\n  if (tid == 0) y"), Thread, "sums_f32: data race, sum.metal:24:28, sum.metal:23:35"},
		{"a race between groups", instead("y[row] = s", "y[0] = s"), Thread, "sums_f32: data race, sum.metal:24:22, sum.metal:24:22"},
		{"a barrier that orders no memory", instead("mem_flags::mem_threadgroup", "mem_flags::mem_none"), Thread, "sums_f32: data race, sum.metal:23:35, sum.metal:21:28"},
	} {
		t.Run(c.mode.String()+"/"+c.name, func(t *testing.T) {
			if c.mode != Plain && !long.Tests() && c.name != "no barrier between a write and a read" {
				t.Skip("with -long")
			}
			t.Parallel()
			d, err := tools(t).Start(context.Background(), c.mode, read(t, "testdata/sum.metal", c.change))
			var got []float32
			if err == nil {
				defer d.Close()
				got, err = sums(t, d, "sums_f32", 50, 96, upTo(100), 0)
			}
			switch {
			case c.want == "NaN":
				if err != nil || got[0] == got[0] {
					t.Errorf("got %v, %v, want NaN", got, err)
				}
			case err == nil || err.Error() != "check: "+c.want:
				t.Errorf("got %v, %v, want\n%s", got, err, c.want)
			}
		})
	}
}

// TestLaunchRefused: what a device would do wrong silently is an error.
func TestLaunchRefused(t *testing.T) {
	d := start(t, Plain, read(t, "testdata/sum.metal", same))
	x := put(t, d, upTo(100))
	whole := func(change func(l *Launch)) error {
		l := Launch{Kernel: "sums_f32", Groups: [3]int{1, 1, 1}, Threads: [3]int{32, 1, 1}, Buffers: map[int]Pointer{0: x, 1: x},
			Bytes: map[int][]byte{2: {1, 0, 0, 0}}, Threadgroup: map[int]int{0: 4}, Constants: map[int][]byte{0: {1}}}
		change(&l)
		return d.Run(context.Background(), l)
	}
	for _, c := range []struct {
		change func(l *Launch)
		want   string
	}{
		{func(l *Launch) {}, ""},
		{func(l *Launch) { l.Kernel = "none" }, "check: none: there is no kernel none"},
		{func(l *Launch) { l.Threads[1] = 33 }, "check: sums_f32: got 1056 threads in a threadgroup, want 1 to 1024"},
		{func(l *Launch) { l.Threads[0] = 0 }, "check: sums_f32: got 0 threads in a threadgroup, want 1 to 1024"},
		{func(l *Launch) { delete(l.Buffers, 0) }, "check: sums_f32: argument x, buffer 0, is not set"},
		{func(l *Launch) { l.Buffers[0]++ }, "check: sums_f32: argument x, buffer 0, is not aligned to 4 bytes"},
		{func(l *Launch) { l.Bytes[2] = []byte{1, 0} }, "check: sums_f32: argument n: got 2 bytes, want 4"},
		{func(l *Launch) { l.Threadgroup = nil }, "check: sums_f32: argument parts, threadgroup memory 0, has no size"},
		{func(l *Launch) { l.Buffers[31] = x }, "check: sums_f32: got index 31, want one below 31"},
	} {
		if err := whole(c.change); err == nil && c.want != "" || err != nil && err.Error() != c.want {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if err := d.Free(x); err != nil {
		t.Error(err)
	}
	if err := d.Free(x); err == nil || err.Error() != "check: free: there is no such block" {
		t.Errorf("got %v", err)
	}
	const want = "check: sums_f32: thread 0 of threadgroup 0,0,0 touched memory that is not its own: no block is near"
	for range 2 { // the device is lost, and stays so
		if err := whole(func(*Launch) {}); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestStops: a kernel that does not end is killed with its context.
func TestStops(t *testing.T) {
	d := start(t, Plain, read(t, "testdata/sum.metal", func(s string) string { return strings.Replace(s, "i += threads", "i += 0 * threads", 1) }))
	ctx, cancel := context.WithTimeoutCause(context.Background(), 200*time.Millisecond, errors.New("enough"))
	defer cancel()
	x := put(t, d, upTo(100))
	err := d.Run(ctx, Launch{Kernel: "sums_f32", Groups: [3]int{1, 1, 1}, Threads: [3]int{32, 1, 1}, Buffers: map[int]Pointer{0: x, 1: x},
		Bytes: map[int][]byte{2: {1, 0, 0, 0}}, Threadgroup: map[int]int{0: 4}, Constants: map[int][]byte{0: {1}}})
	if err == nil || err.Error() != "enough" {
		t.Errorf("got %v, want enough", err)
	}
}
