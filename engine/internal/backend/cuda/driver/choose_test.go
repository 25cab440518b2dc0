package driver

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// TestChoose: of the algorithms that the library proposes the fastest is taken, on the first time by trying
// them, and later as it was noted.
func TestChoose(t *testing.T) {
	const first, third = "cublasLt 12.8.4, algorithm 66, tile 20", "cublasLt 12.8.4, algorithm 68, tile 20"
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	damaged := func(change func(path string) error) string {
		folder := t.TempDir()
		choose(t, folder, []int{30, 30, 10})
		list, err := filepath.Glob(filepath.Join(folder, "*.choice"))
		if err != nil || len(list) != 1 {
			t.Fatalf("got %v, %v, want one choice noted", list, err)
		}
		if err := change(list[0]); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	for _, c := range []struct {
		name   string
		folder string
		times  []int // of the algorithms, in microseconds
		want   string
		later  string // what a process chooses that finds other times
	}{
		{"the third is the fastest", t.TempDir(), []int{30, 20, 10, 40}, third, third},
		{"the first is the fastest", t.TempDir(), []int{10, 20, 30}, first, first},
		{"hardly faster", t.TempDir(), []int{1000, 999, 990}, first, first},
		{"some do not run", t.TempDir(), []int{30, -1, 10, -1}, third, third},
		{"the first does not run", t.TempDir(), []int{-1, 20, 10}, third, third},
		{"one proposal", t.TempDir(), []int{30}, first, first},
		{"no folder", "", []int{30, 20, 10}, first, first},
		{"a folder that cannot be made", filepath.Join(file, "folder"), []int{30, 20, 10}, first, first},
		{"a choice that is cut off", damaged(func(path string) error { return os.Truncate(path, 20) }), []int{10, 20, 30}, first, first},
		{"a choice that is not among them", damaged(func(path string) error { return writeCache(path, []byte{3}) }), []int{10, 20, 30}, first, first},
		{"a noted choice", damaged(func(string) error { return nil }), []int{10, 20, 30}, third, third},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := choose(t, c.folder, c.times); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			others := make([]int, len(c.times))
			for i := range others {
				others[i] = 10 * (len(others) - i)
			}
			if got := choose(t, c.folder, others); got != c.later {
				t.Errorf("later: got %s, want %s", got, c.later)
			}
		})
	}
}

// TestWorthTrial: proposals are timed unless that would take long, or much of the device's memory.
func TestWorthTrial(t *testing.T) {
	const h200, small = 139 << 30, 12 << 30
	product := func(dt dtype.Type, rows, inner, columns int) *gpu.Product {
		return &gpu.Product{Rows: rows, Columns: columns, Inner: inner, Batches: 1, A: gpu.Matrix{DType: dt, Stride: inner},
			B: gpu.Matrix{DType: dt, Stride: columns}, D: gpu.Matrix{DType: dt, Stride: columns}}
	}
	for _, c := range []struct {
		name    string
		product *gpu.Product
		memory  int64
		want    bool
	}{
		{"large matrices of f32", product(dtype.F32, 4096, 4096, 4096), small, true},
		{"logits of some rows", product(dtype.F32, 1408, 896, 151936), h200, true},
		{"logits of some rows, in bf16", product(dtype.BF16, 2048, 896, 151936), h200, true},
		{"a small device has no room for them", product(dtype.F32, 1408, 896, 151936), small, false},
		{"its own are of fewer rows", product(dtype.BF16, 640, 896, 151936), small, true},
		{"half a second of f32", product(dtype.F32, 16384, 16384, 16384), h200, false},
		{"that of bf16 takes less", product(dtype.BF16, 8192, 3600, 18944), h200, true},
	} {
		m := &multiplication{device: &device{info: gpu.Info{Memory: c.memory}}, library: &cublasLt{vendor: &vendor{}}, product: *c.product}
		if got := m.contest(nil).worthTrial(); got != c.want {
			t.Errorf("%s: %v is timed: %v, want %v", c.name, c.product, got, c.want)
		}
	}
}

// choose is the name of what computes each of the products in a process whose library takes such times. It
// checks that nothing is left behind.
func choose(t *testing.T, folder string, times []int) string {
	t.Helper()
	s := newStubWithLt(t)
	s.ask("lt_proposes", uintptr(len(times)))
	for i, us := range times {
		s.ask("lt_takes", uintptr(i), uintptr(us))
	}
	w := newWorkbench(t, s, sampleProducts()["matrix, bias, gelu"], 16)
	m, err := w.device.Multiplication(w.product, 16, 32<<20)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := w.device.Usage()
	m.(*multiplication).Choose(folder)
	if after, _ := w.device.Usage(); after.InUse != before.InUse || after.Peak != before.Peak {
		t.Errorf("got %d bytes in use and at most %d, want as before %d and %d", after.InUse, after.Peak, before.InUse, before.Peak)
	}
	name := m.Name()
	if slices.Min(times) >= 0 {
		if err := m.Encode(w.stream, &w.operands); err != nil {
			t.Fatal(err)
		}
		e, err := w.stream.Commit()
		if err == nil {
			err = e.Wait(t.Context(), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.right(t)
	}
	w.close(t, m)
	s.clean(strings.Join([]string{"choice in", folder}, " "))
	return name
}
