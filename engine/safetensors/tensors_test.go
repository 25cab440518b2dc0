package safetensors

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// TestTensorsOfPython reads tensors of every element type that Python wrote.
func TestTensorsOfPython(t *testing.T) {
	tensors, metadata, err := Load("testdata/python.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if metadata["format"] != "np" {
		t.Errorf("metadata %v", metadata)
	}
	tests := []struct {
		name string
		dt   dtype.Type
		want []float64
	}{
		{"f32", dtype.F32, []float64{0, 0.25, 0.5, 0.75, 1, 1.25}},
		{"f16", dtype.F16, []float64{0.5, -65504, math.NaN()}},
		{"i32", dtype.I32, []float64{-5, math.MaxInt32}},
		{"i16", dtype.I16, []float64{-5, math.MaxInt16}},
		{"i8", dtype.I8, []float64{-5, math.MaxInt8}},
		{"u64", dtype.U64, []float64{5, math.MaxUint64}},
		{"u32", dtype.U32, []float64{5, math.MaxUint32}},
		{"u16", dtype.U16, []float64{5, math.MaxUint16}},
		{"u8", dtype.U8, []float64{0, 1, 2, 3, 4}},
		{"f64", dtype.F64, []float64{0.1, -2.5, math.Inf(1), 1e300}},
		{"bool", dtype.Bool, []float64{1, 0, 1}},
		{"scalar", dtype.F32, []float64{3.25}},
		{"empty", dtype.F32, nil},
	}
	for _, test := range tests {
		x := tensors[test.name]
		got := x.Float64s()
		same := len(got) == len(test.want) && x.DType() == test.dt
		for i := range test.want {
			same = same && (got[i] == test.want[i] || math.IsNaN(got[i]) && math.IsNaN(test.want[i]))
		}
		if !same {
			t.Errorf("%s: got %v of %v, want %v of %v", test.name, got, x.DType(), test.want, test.dt)
		}
	}
	if got := tensors["i64"].Ints(); got[0] != -1<<62 || got[1] != 7 {
		t.Errorf("i64: got %v", got)
	}
}

func TestSaveThenLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	x := tensor.Arange(0, 6, 1).Reshape(2, 3)
	saved := map[string]tensor.Tensor{"x": x, "view": x.Transpose(), "none": tensor.Zeros(0, 2), "yes": x.Gt(2)}
	for _, dt := range append(dtype.All(), dtype.C64) {
		saved[dt.String()] = tensor.FromAs(dt, []int{0, 1, 1})
	}
	const want = `got dtype "C128", want one of the format's`
	if err := Save(path, map[string]tensor.Tensor{"z": tensor.FromAs(dtype.C128, 1i)}, nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := Save(path, saved, map[string]string{"k": "v"}); err != nil {
		t.Fatal(err)
	}
	loaded, metadata, err := Load(path)
	if err != nil || metadata["k"] != "v" || len(loaded) != len(saved) {
		t.Fatalf("got %d tensors, metadata %v, %v", len(loaded), metadata, err)
	}
	for name, want := range saved {
		got := loaded[name]
		if got.DType() != want.DType() || got.Rank() != want.Rank() || string(got.Bytes()) != string(want.Bytes()) {
			t.Errorf("%s: got %v%v, want %v%v", name, got.DType(), got.Shape(), want.DType(), want.Shape())
		}
	}
}

// TestUnsupportedType: a file with a type that tensors do not have is a good file; only asking for the tensor
// fails.
func TestUnsupportedType(t *testing.T) {
	f, err := read(build(`{"q":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}`, 2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Tensor("q"); err == nil || !strings.Contains(err.Error(), `tensor "q" has dtype F8_E4M3, want one of`) {
		t.Errorf("got %v", err)
	}
	if _, err := f.Tensor("missing"); err == nil || !strings.Contains(err.Error(), `no tensor "missing"`) {
		t.Errorf("got %v", err)
	}
}

// A tensor is read in pieces by several goroutines, right into the device's memory: nothing of its size is
// made on Go's heap. A file that became shorter is an error.
func TestLargeTensor(t *testing.T) {
	const n = 5<<20 + 3 // three pieces in f16, the last one short
	data := make([]byte, 2*n)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	path := filepath.Join(t.TempDir(), "large.safetensors")
	if err := WriteFile(path, []Entry{{Name: "w", DType: "F16", Shape: []int{n}, Data: data}}, nil); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w, err := f.Tensor("w")
	runtime.ReadMemStats(&after)
	if err != nil || !bytes.Equal(w.Bytes(), data) {
		t.Errorf("got %v, %v, and other bytes than the file's", w, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated on the heap for a tensor of %d", got, len(data))
	}
	if err := os.Truncate(path, 6<<20); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Tensor("w"); err == nil || !strings.Contains(err.Error(), `large.safetensors: tensor "w": unexpected EOF`) {
		t.Errorf("of a file that became shorter: got %v", err)
	}
}

// Reading a file of 256 MB, as a share of what the same machine takes to read its bytes into one piece of
// memory: what a plain read of the page cache costs.
func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "large.safetensors")
	var entries []Entry
	for i := range 16 {
		entries = append(entries, Entry{Name: string(rune('a' + i)), DType: "BF16", Shape: []int{8 << 10, 1 << 10}, Data: make([]byte, 16<<20)})
	}
	if err := WriteFile(path, entries, nil); err != nil {
		b.Fatal(err)
	}
	b.Run("Load", func(b *testing.B) {
		b.SetBytes(256 << 20)
		for b.Loop() {
			tensors, _, err := Load(path)
			if err != nil {
				b.Fatal(err)
			}
			for _, t := range tensors {
				t.Free()
			}
		}
	})
	b.Run("plain read", func(b *testing.B) {
		b.SetBytes(256 << 20)
		to := make([]byte, 1<<20)
		for b.Loop() {
			f, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			for {
				if n, _ := f.Read(to); n == 0 {
					break
				}
			}
			f.Close()
		}
	})
}
