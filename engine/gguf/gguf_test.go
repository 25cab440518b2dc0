package gguf

import (
	"bytes"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

const fixture = "testdata/python.gguf" // tests/peers/gguf_files.py wrote it

func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// read reads a file of these bytes.
func read(b []byte) (*File, error) { return Read(bytes.NewReader(b), int64(len(b)), "f") }

// fixtureMetadata are those of the fixture.
var fixtureMetadata = map[string]any{
	"general.architecture": "test",
	"test.u8":              uint8(200), "test.i8": int8(-100), "test.u16": uint16(60000), "test.i16": int16(-30000),
	"test.u32": uint32(4e9), "test.i32": int32(-2e9), "test.u64": uint64(math.MaxUint64), "test.i64": int64(math.MinInt64),
	"test.f32": float32(0.25), "test.f64": 0.1, "test.yes": true, "test.text": "naïve 名\n",
	"test.tokens": []string{"<s>", "", "▁the"}, "test.scores": []float32{0.5, -1.5}, "test.types": []int32{1, 2, 3},
	"test.flags": []bool{true, false},
}

func TestMetadata(t *testing.T) {
	f := open(t, fixture)
	got, err := f.Metadata()
	if err != nil || !reflect.DeepEqual(got, fixtureMetadata) {
		t.Errorf("got %#v, %v, want %#v", got, err, fixtureMetadata)
	}
	if keys := f.Keys(); keys[0] != "general.architecture" || len(keys) != len(fixtureMetadata) || !f.Has("test.u8") {
		t.Errorf("got keys %q", keys)
	}
	if _, err := f.Value("none"); err == nil || !strings.Contains(err.Error(), `no metadata "none" among 17`) {
		t.Errorf("got %v", err)
	}
}

// TestQuantisedWeights: blocks of random bits are, bit for bit, what the package gguf of Python makes of
// them.
func TestQuantisedWeights(t *testing.T) {
	f := open(t, fixture)
	for _, k := range kinds {
		if k.decode == nil {
			continue
		}
		got, err := f.Tensor(k.name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := f.Tensor(k.name + ".f32")
		if err != nil {
			t.Fatal(err)
		}
		if got.DType() != dtype.F32 || !slices.Equal(got.Shape(), want.Shape()) || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: got %v, want %v", k.name, got, want)
		}
		codes, err := f.Codes(k.name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if dense := codes.Dequantized().Transpose(); !bytes.Equal(dense.Bytes(), want.Bytes()) {
			t.Errorf("%s: got codes of %v, want %v", k.name, dense, want)
		}
	}
}

// TestRows: codes of matrices whose rows are in several pieces, in another order, or do not fill the last
// block of outputs, are the numbers that Tensor reads.
func TestRows(t *testing.T) {
	for _, k := range kinds {
		for _, shape := range [][]int{{1, 1}, {17, 3}, {40, 9}, {400, 2816 / k.block}} {
			if k.decode == nil || shape[0] == 400 && !long.CI() {
				break
			}
			out, in := shape[0], shape[1]*k.block
			data := make([]byte, out*shape[1]*k.bytes)
			rand.NewChaCha8([32]byte{byte(k.number)}).Read(data)
			for i := range data {
				data[i] &= 0x3f // no scale is infinite
			}
			info := Info{Name: "a", Type: k.name, Shape: []int{out, in}, Bytes: int64(len(data))}
			f := &File{r: bytes.NewReader(data), size: info.Bytes, tensors: []Info{info}, byName: map[string]int{"a": 0}}
			want, err := f.Tensor("a")
			if err != nil {
				t.Fatal(err)
			}
			for _, rows := range []func(int) int{nil, func(o int) int { return out - 1 - o }} {
				codes, err := f.Codes("a", rows)
				if err != nil {
					t.Fatal(err)
				}
				if d := tensor.MaxAbsDiff(codes.Dequantized().Transpose(), want); d != 0 {
					t.Errorf("%s %v: codes are off by %g", k.name, shape, d)
				}
				want = want.Flip(0)
			}
		}
	}
}

// TestVersion2 is version 3 under another number.
func TestVersion2(t *testing.T) {
	b, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	b[4] = 2
	f, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Metadata(); err != nil || !reflect.DeepEqual(got, fixtureMetadata) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestPlainWeights keep their element type, and their shape has rows before columns.
func TestPlainWeights(t *testing.T) {
	f := open(t, fixture)
	tests := []struct {
		name  string
		dt    dtype.Type
		shape []int
	}{
		{"F32", dtype.F32, []int{2, 3, 5}}, {"F16", dtype.F16, []int{2, 3, 5}}, {"F64", dtype.F64, []int{2, 3, 5}},
		{"I8", dtype.I8, []int{3, 5}}, {"I16", dtype.I16, []int{3, 5}}, {"I32", dtype.I32, []int{3, 5}}, {"I64", dtype.I64, []int{3, 5}},
		{"BF16.of", dtype.BF16, []int{8, 256}}, {"scale", dtype.F32, []int{1}},
	}
	for _, test := range tests {
		got, err := f.Tensor(test.name)
		if err != nil || got.DType() != test.dt || !slices.Equal(got.Shape(), test.shape) {
			t.Errorf("%s: got %v, %v, want %v%v", test.name, got, err, test.dt, test.shape)
		}
		if data, err := f.Bytes(test.name); err != nil || !bytes.Equal(data, got.Bytes()) {
			t.Errorf("%s: the tensor has other bytes than the file, %v", test.name, err)
		}
	}
	wide, err := f.Tensor("F64")
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := f.Tensor("F32")
	if err != nil || !bytes.Equal(wide.Cast(dtype.F32).Bytes(), narrow.Bytes()) {
		t.Errorf("got %v, want %v, %v", wide, narrow, err)
	}
	if _, err := f.Tensor("none"); err == nil || !strings.Contains(err.Error(), `no tensor "none" among`) {
		t.Errorf("got %v", err)
	}
}

// written are the fixture's tensors that Go writes: of "values" in each type, and the plain ones.
func written(t *testing.T, f *File) []Entry {
	t.Helper()
	values, err := f.Tensor("values")
	if err != nil {
		t.Fatal(err)
	}
	entries := []Entry{{Name: "values", Tensor: values}}
	for _, name := range []string{"BF16", "Q8_0", "Q4_0", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"} {
		entries = append(entries, Entry{Name: name + ".of", Type: name, Tensor: values})
	}
	for _, name := range []string{"scale", "I8", "I16", "I32", "I64", "F64", "F32", "F16"} {
		x, err := f.Tensor(name)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, Entry{Name: name, Tensor: x})
	}
	return entries
}

// TestWriteThenRead: what Go converts and quantises has the bytes that the package gguf of Python and ggml
// give it, and of the K types the values.
func TestWriteThenRead(t *testing.T) {
	f := open(t, fixture)
	for _, alignment := range []uint32{8, 32, 4096} {
		metadata := maps.Clone(fixtureMetadata)
		metadata["general.alignment"] = alignment
		metadata["test.nested"] = []any{[]uint8{1}, []string{"a", "b"}, []any{[]float64{}}}
		path := filepath.Join(t.TempDir(), "go.gguf")
		entries := written(t, f)
		if err := WriteFile(path, metadata, entries); err != nil {
			t.Fatal(err)
		}
		again := open(t, path)
		if got, err := again.Metadata(); err != nil || !reflect.DeepEqual(got, metadata) {
			t.Errorf("got %#v, %v, want %#v", got, err, metadata)
		}
		for i, info := range again.Tensors() {
			got, err := again.Bytes(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := f.Bytes(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			equal := bytes.Equal(got, want)
			if strings.HasSuffix(info.Type, "_K") { // whose codes mean nothing where a scale is 0
				equal = tensor.MaxAbsDiff(tensorOf(t, f, info.Name), tensorOf(t, again, info.Name)) == 0
			}
			if info.Name != entries[i].Name || info.begin%int64(alignment) != 0 || !equal {
				t.Errorf("%s of %q at byte %d: not the bytes that Python wrote", info.Name, entries[i].Name, info.begin)
			}
		}
	}
}

func tensorOf(t *testing.T, f *File, name string) tensor.Tensor {
	t.Helper()
	x, err := f.Tensor(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestPythonReads lets Python's package, where it is installed, read what WriteFile wrote.
func TestPythonReads(t *testing.T) {
	if err := exec.Command("python3", "-c", "import gguf").Run(); err != nil {
		t.Skip("python3 with the package gguf is not installed")
	}
	path := filepath.Join(t.TempDir(), "go.gguf")
	entries := written(t, open(t, fixture))
	if err := WriteFile(path, fixtureMetadata, entries); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("python3", "../../tests/peers/gguf_files.py", "check", path, strconv.Itoa(len(entries))).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWriteRefuses(t *testing.T) {
	one := tensor.From([]float32{1})
	row := func(v float64) tensor.Tensor { return tensor.Full(v, 32) }
	tests := []struct {
		metadata map[string]any
		entries  []Entry
		want     string
	}{
		{map[string]any{"k": 1}, nil, `metadata "k": got a value of type int, want a number of a sized type`},
		{map[string]any{"k": []any{uint8(1)}}, nil, `metadata "k": element 0 of a []any is a uint8, want a slice`},
		{map[string]any{"k": nil}, nil, `metadata "k": got a value of type <nil>`},
		{map[string]any{"": true}, nil, `got key ""`},
		{map[string]any{"general.alignment": uint32(12)}, nil, "want a power of two of type uint32"},
		{nil, []Entry{{Name: "a", Type: "Q3_K", Tensor: one}}, `tensor "a": got type "Q3_K", want one of [F32 F16 Q4_0 Q5_0 Q5_1 Q8_0 Q4_K Q5_K Q6_K I8`},
		{nil, []Entry{{Name: "a", Type: "Q8_0", Tensor: one}}, `tensor "a": Q8_0[1]: a row has 1 elements, want a multiple of 32`},
		{nil, []Entry{{Name: "a", Type: "", Tensor: one}, {Name: "a", Type: "", Tensor: one}}, `tensor "a": the name is taken`},
		{nil, []Entry{{Name: "a\xff", Type: "", Tensor: one}}, "want a name of UTF-8"},
		{nil, []Entry{{Name: strings.Repeat("a", 64), Type: "", Tensor: one}}, "of 1 to 63 bytes"},
		{nil, []Entry{{Name: "a", Type: "", Tensor: tensor.Zeros(1, 1, 1, 1, 1)}}, "got 5 dimensions, want at most 4"},
		{nil, []Entry{{Name: "a", Type: "Q8_0", Tensor: row(math.NaN())}}, `tensor "a": element 0 is NaN, which Q8_0 cannot hold`},
		{nil, []Entry{{Name: "a", Type: "Q4_0", Tensor: row(1e30)}}, `tensor "a": elements 0 to 31 are too large for Q4_0`},
		{nil, []Entry{{Name: "a", Type: "Q6_K", Tensor: tensor.Full(1e30, 256)}}, `tensor "a": elements 0 to 255 are too large for Q6_K`},
		{nil, []Entry{{Name: "a", Type: "Q4_K", Tensor: tensor.Full(-1e30, 256)}}, `tensor "a": elements 0 to 255 are too large for Q4_K`},
	}
	for _, test := range tests {
		path := filepath.Join(t.TempDir(), "x")
		err := WriteFile(path, test.metadata, test.entries)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want it to say %s", err, test.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("a refused write left a file")
		}
	}
}
