package npy

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// arrays are those that NumPy wrote into testdata (tests/peers/npy_files.py).
func arrays() map[string]tensor.Tensor {
	all := map[string]tensor.Tensor{
		"bool":      tensor.From([][]bool{{true, false, true}}),
		"f16":       tensor.FromAs(dtype.F16, []float64{0.5, -65504, math.NaN()}),
		"f32":       tensor.Arange(0, 24, 1).Div(4).Reshape(2, 3, 4),
		"f64":       tensor.FromAs(dtype.F64, [][]float64{{0.1, -2.5}, {math.Inf(1), 1e300}}),
		"c64":       tensor.From([][]complex64{{1 + 2i, 4 - 3.5i, complex(float32(math.Inf(1)), 0)}}),
		"c128":      tensor.FromAs(dtype.C128, []complex128{0.1 - 2.5i, 1e300}),
		"scalar":    tensor.Scalar(3.25),
		"empty":     tensor.Zeros(0, 4),
		"naïve 名/a": tensor.Ones(1, 2),
		"u64":       tensor.From([]uint64{5, math.MaxUint64}),
		"i64":       tensor.From([]int64{-5, math.MaxInt64}),
	}
	for _, bits := range []int{8, 16, 32} {
		for name, values := range map[string][]int{"i": {-5, 1<<(bits-1) - 1}, "u": {5, 1<<bits - 1}} {
			dt, err := dtype.Parse(fmt.Sprint(name, bits))
			if err != nil {
				panic(err)
			}
			all[dt.String()] = tensor.FromAs(dt, values)
		}
	}
	return all
}

func same(t *testing.T, name string, got, want tensor.Tensor) {
	t.Helper()
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%s: got %v, want %v", name, got, want)
	}
}

// What NumPy wrote is read to the bit.
func TestNumPyWrote(t *testing.T) {
	for _, file := range []string{"numpy.npz", "compressed.npz"} {
		got, err := LoadZip("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		want := arrays()
		if file == "compressed.npz" {
			want["zeros"] = tensor.Zeros(300, 100)
		}
		if len(got) != len(want) {
			t.Errorf("%s: got %d arrays, want %d", file, len(got), len(want))
		}
		for name, w := range want {
			if g, ok := got[name]; !ok {
				t.Errorf("%s: got no %q", file, name)
			} else {
				same(t, file+": "+name, g, w)
			}
		}
	}
	for _, file := range []string{"fortran.npy", "big.npy", "version2.npy"} {
		got, err := Load("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		same(t, file, got, arrays()["f32"])
	}
	got, err := Load("testdata/complex.npy") // big-endian, the first axis first
	if err != nil {
		t.Fatal(err)
	}
	same(t, "complex.npy", got, arrays()["f32"].Mul(1+2i))
}

// What is written is what NumPy writes, byte for byte, and is read again.
func TestSave(t *testing.T) {
	z, err := zip.OpenReader("testdata/numpy.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all := arrays()
	for _, entry := range z.File {
		r, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if _, err := want.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "x.npy")
		if err := Save(path, all[strings.TrimSuffix(entry.Name, ending)]); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%s: got %q, want NumPy's %q, error %v", entry.Name, got, want.Bytes(), err)
		}
	}
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := SaveZip(path, all); err != nil {
		t.Fatal(err)
	}
	got, err := LoadZip(path)
	if err != nil || len(got) != len(all) {
		t.Fatalf("got %d arrays, error %v, want %d", len(got), err, len(all))
	}
	for name, w := range all {
		same(t, name, got[name], w)
	}
}

// TestNumPyReads lets NumPy, where it is installed, read what SaveZip wrote.
func TestNumPyReads(t *testing.T) {
	if err := exec.Command("python3", "-c", "import numpy").Run(); err != nil {
		t.Skip("python3 with the package numpy is not installed")
	}
	path := filepath.Join(t.TempDir(), "go.npz")
	if err := SaveZip(path, arrays()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("python3", "../../tests/peers/npy_files.py", "check", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// file is a .npy with that dictionary and so many bytes of data.
func file(dict string, data int) string {
	return fmt.Sprintf("%s\x01\x00%s%s%s", magic, []byte{byte(len(dict)), byte(len(dict) >> 8)}, dict, make([]byte, data))
}

func TestRefused(t *testing.T) {
	const good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
	with := func(old, new string) string { return file(strings.Replace(good, old, new, 1), 8) }
	for _, c := range []struct{ file, want string }{
		{"", "npy: x.npy: byte 0: 0 bytes follow, want 8"},
		{"PK\x03\x04 a zip", `npy: x.npy: byte 0: got "PK\x03\x04 a", want a file of NumPy's to begin with "\x93NUMPY"`},
		{magic + "\x04\x00\x10\x00", "byte 6: got version 4.0, want 1.0, 2.0 or 3.0"},
		{magic + "\x02\x00\xff\xff\xff\xff", "byte 8: the header has 4294967295 bytes, want at most 10000"},
		{magic + "\x01\x00\x10\x00{", "byte 10: 1 bytes follow, want 16"},
		{file(good, 7), "byte 67: f32[2] needs 8 bytes, but 7 follow the header"},
		{file(good, 9), "byte 67: f32[2] needs 8 bytes, but 9 follow the header"},
		{with("(2,)", "(1 << 30,)"), `byte 63: got "<< 30,), }", want )`},
		{with("(2,)", "(4611686018427387904, 4611686018427387904)"), "f32[4611686018427387904 4611686018427387904] needs more than 2^62 bytes"},
		{with("(2,)", "(99999999999999999999,)"), `byte 61: shape: got "99999999999999999999", want a number below 2^63`},
		{with("(2,)", "(-2,)"), `shape: got "-2,), }", want a number below 2^63`},
		{with("(2,)", "(2)"), "shape: got a number, want a tuple: (2,)"},
		{with("(2,)", "("+strings.Repeat("1,", 65)+")"), "shape has more than 64 axes"},
		{file(strings.Replace(good, "(2,)", "(0, 4611686018427387904)", 1), 0), "want fewer elements than 2^"},
		{with("False", "0"), `fortran_order: got "0, 'shape': (2,), }", want True or False`},
		{with("'fortran_order': False,", ""), "byte 10: fortran_order is missing"},
		{with("'descr'", "'shape': (), 'shape'"), `byte 24: the key "shape" stands there twice`},
		{with("descr", "order"), `byte 11: got key "order", want descr, fortran_order and shape`},
		{with("}", "} import os"), `got "import os" after the header, want only blanks`},
		{with("<f4", "<c32"), `byte 20: got elements of type "<c32", want bool`},
		{with("<f4", "<V2"), "as NumPy saves bfloat16; save x.astype(numpy.float32)"},
		{with("'<f4'", "'<f4"), `byte 20: got elements of type "<f4, "`},
		{with("<f4", "<f4'"), `got "', 'fortran_order':`},
		{file("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 2) + "\x02", "byte 69: got 2 as a bool, want 0 or 1"},
	} {
		_, err := Read(strings.NewReader(c.file), int64(len(c.file)), "x.npy")
		if refusal := (*FormatError)(nil); !errors.As(err, &refusal) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.file, err, c.want)
		}
	}
	for file, want := range map[string]string{
		"objects.npy": "Python objects; give the array a dtype of numbers",
		"records.npy": "got records with fields", "none.npy": "no such file", "": "want a regular file",
	} {
		if _, err := Load("testdata/" + file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
	}
	text := file(good, 8)
	if _, err := Read(strings.NewReader(text[:70]), int64(len(text)), "x.npy"); err == nil || !strings.Contains(err.Error(), "byte 70: the file ends, want 5 more bytes") {
		t.Errorf("a file that shrinks: got %v", err)
	}
	path := filepath.Join(t.TempDir(), "x")
	const want = ": NumPy has no bf16: save x.Cast(dtype.F32)"
	for _, err := range []error{Save(path, tensor.Ones(1).Cast(dtype.BF16)), SaveZip(path, map[string]tensor.Tensor{"w": tensor.Ones(1).Cast(dtype.BF16)})} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a refused write left a file")
	}
}

// zipped is a zip with these files.
func zipped(t *testing.T, files ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestZipRefused(t *testing.T) {
	one := file("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4)
	bomb := zipped(t, "a.npy", one)
	at := bytes.LastIndex(bomb, []byte("PK\x01\x02"))
	copy(bomb[at+24:], "\xff\xff\xff\x7f")
	for _, c := range []struct {
		file []byte
		want string
	}{
		{[]byte(one), "npy: x.npz: byte 0: zip: not a valid zip file, want a zip of arrays"},
		{zipped(t, "a.txt", "text"), `npy: x.npz: array "a.txt": byte 0: got a file whose name does not end in .npy`},
		{zipped(t, "a.npy", one, "a.npy", one), `array "a": byte 0: the name stands in the zip twice`},
		{zipped(t, "a.npy", one, "b.npy", "nothing"), `array "b": byte 0: 7 bytes follow, want 8`},
		{bomb, `array "a": byte 0: its size is 2147483647 bytes, more than the file's`},
		{bytes.Replace(zipped(t, "a.npy", one), []byte("PK\x03\x04"), []byte("PK\x03\x05"), 1), `array "a": byte 0: zip: not a valid zip file`},
	} {
		if _, err := ReadZip(bytes.NewReader(c.file), int64(len(c.file)), "x.npz"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if all, err := ReadZip(bytes.NewReader(zipped(t, "../a.npy", one)), int64(len(zipped(t, "../a.npy", one))), "x.npz"); err != nil || all["../a"].Item() != 0 {
		t.Errorf("a name like a path: got %v, error %v", all, err)
	}
}

// A damaged file is refused with a FormatError, or read as a whole.
func TestMutants(t *testing.T) {
	for _, name := range []string{"fortran.npy", "big.npy", "numpy.npz", "compressed.npz"} {
		whole, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		mutate.Each(1, 3000, whole, func(i int, mutant []byte) {
			if err := readAny(mutant); err != nil {
				if refusal := (*FormatError)(nil); !errors.As(err, &refusal) {
					t.Errorf("%s, mutant %d: got %v, want a FormatError", name, i, err)
				}
			}
		})
	}
}

// readAny reads a file of either kind, and all its values.
func readAny(b []byte) error {
	if bytes.HasPrefix(b, []byte("PK")) {
		all, err := ReadZip(bytes.NewReader(b), int64(len(b)), "x")
		for _, x := range all {
			x.Bytes()
		}
		return err
	}
	x, err := Read(bytes.NewReader(b), int64(len(b)), "x")
	if err == nil {
		x.Bytes()
	}
	return err
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"fortran.npy", "big.npy", "records.npy", "numpy.npz", "compressed.npz"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readAny(b); err != nil {
			if refusal := (*FormatError)(nil); !errors.As(err, &refusal) {
				t.Fatalf("got %v, want a FormatError", err)
			}
		}
	})
}
