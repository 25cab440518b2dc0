package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// build makes a file of a header and n bytes of data.
func build(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

func read(b []byte) (*File, error) { return Read(bytes.NewReader(b), int64(len(b)), "f") }

// damaged holds a file for each way of being wrong, and what the refusal says.
var damaged = []struct {
	name string
	file []byte
	want string
}{
	{"empty", nil, "byte 0: the file has 0 bytes"},
	{"short", []byte{1, 2, 3}, "the file has 3 bytes"},
	{"length beyond the format", build("", 0)[:8:8], "want the header to start with {"},
	{"length 2^64-1", slices.Repeat([]byte{0xff}, 8), "header's length is 18446744073709551615, want at most 100000000"},
	{"a table", []byte("a,b\n1,2\n"), "want at most 100000000; it is text: data.ReadCSV reads tables"},
	{"GGUF", []byte("GGUF\x03\x00\x00\x00\x01"), "; it is a GGUF file, which llm.Load and gguf.Open read"},
	{"length 100,000,001", binary.LittleEndian.AppendUint64(nil, 100_000_001), "want at most 100000000"},
	{"length beyond the file", append(binary.LittleEndian.AppendUint64(nil, 90_000_000), '{', '}'), "only 2 bytes follow"},
	{"leading space", build(" {}", 0), "byte 8: got ' ', want the header to start with {"},
	{"array", build("[]", 0), "want the header to start with {"},
	{"trailing newline", build("{}\n", 0), "byte 10: got '\\n' after the header, want only spaces"},
	{"trailing text", build("{}x", 0), "after the header"},
	{"unclosed", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`, 1), "got the end of the header, want }"},
	{"trailing comma", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},}`, 1), "want a key in quotes"},
	{"duplicate name", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), `the name "a" stands in the header twice`},
	{"duplicate by escape", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), "twice"},
	{"duplicate field", build(`{"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}`, 1), `tensor "a": the key "dtype" stands there twice`},
	{"duplicate metadata", build(`{"__metadata__":{"k":"1","k":"2"}}`, 0), "in __metadata__ twice"},
	{"metadata twice", build(`{"__metadata__":{},"__metadata__":{}}`, 0), "stands in the header twice"},
	{"metadata of numbers", build(`{"__metadata__":{"k":1}}`, 0), `__metadata__ "k": got '1', want a string`},
	{"field in another case", build(`{"a":{"DType":"U8","shape":[1],"data_offsets":[0,1]}}`, 1), `got key "DType"`},
	{"unknown field", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}`, 1), `got key "x"`},
	{"missing dtype", build(`{"a":{"shape":[1],"data_offsets":[0,1]}}`, 1), "dtype is missing"},
	{"missing shape", build(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1), "shape is missing"},
	{"missing offsets", build(`{"a":{"dtype":"U8","shape":[1]}}`, 1), "data_offsets is missing"},
	{"unknown dtype", build(`{"a":{"dtype":"F33","shape":[1],"data_offsets":[0,1]}}`, 1), `got dtype "F33"`},
	{"one offset", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}}`, 1), "data_offsets has 1 numbers"},
	{"negative offset", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[-1,0]}}`, 1), "got -1, want a non-negative integer"},
	{"fractional shape", build(`{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}`, 1), "got 1.0, want"},
	{"number beyond int64", build(`{"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,1]}}`, 1), "want a non-negative integer below 2^63"},
	{"leading zero", build(`{"a":{"dtype":"U8","shape":[01],"data_offsets":[0,1]}}`, 1), "got 01"},
	{"end before begin", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`, 1), "the end is before the begin"},
	{"beyond the file", build(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 2), "the file has only 2 bytes of data"},
	{"overlap", build(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), `tensor "b": data_offsets [1, 3] overlap`},
	{"same bytes twice", build(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 2), "overlap"},
	{"hole", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3), `tensor "b": data_offsets [2, 3] leave a hole`},
	{"hole at the start", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), "leave a hole"},
	{"bytes at the end", build(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 9), "8 bytes at the end belong to no tensor"},
	{"truncated", build(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 7), "the file has only 7 bytes of data"},
	{"size and shape differ", build(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8), "F32[3] needs 12 bytes, but data_offsets [0, 8] give it 8"},
	{"shape overflow", build(`{"a":{"dtype":"F64","shape":[4294967296,4294967296,4],"data_offsets":[0,0]}}`, 0), "is larger than any file"},
	{"half a byte", build(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}`, 1), "no whole number of bytes"},
	{"bad utf-8", build("{\"\xff\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1), "byte 10: got byte 0xff in a string, want UTF-8"},
	{"half a surrogate pair", build(`{"\ud800x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1), "surrogate pair alone"},
	{"control character", build("{\"a\nb\":{}}", 0), "got control character 0x0a"},
	{"unknown escape", build(`{"\x":{}}`, 0), "unknown escape"},
	{"null", build(`{"a":null}`, 0), "want {"},
}

func TestDamagedFiles(t *testing.T) {
	for _, test := range damaged {
		_, err := read(test.file)
		var refusal *FormatError
		if !errors.As(err, &refusal) {
			t.Errorf("%s: got %v, want a FormatError", test.name, err)
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got\n\t%v\nwant it to say\n\t%s", test.name, err, test.want)
		}
	}
}

func TestSoundFiles(t *testing.T) {
	tests := []struct {
		name, header string
		bytes        int
		tensors      int
	}{
		{"no tensor", `{}`, 0, 0},
		{"padding", `{}      `, 0, 0},
		{"blanks inside", "{ \"a\" :\t{ \"shape\" : [ 1 ,\n 2 ] , \"data_offsets\" : [ 0 , 2 ] , \"dtype\" : \"U8\" } }", 2, 1},
		{"no metadata, as MLX says it", `{"__metadata__":null,"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1, 1},
		{"scalar", `{"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}`, 8, 1},
		{"empty tensors share a place", `{"a":{"dtype":"F32","shape":[0,9],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"c":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1, 3},
		{"empty beside a huge axis", `{"a":{"dtype":"F64","shape":[4294967296,4294967296,4294967296,0],"data_offsets":[0,0]}}`, 0, 1},
		{"half bytes that are whole together", `{"a":{"dtype":"F4","shape":[3,2],"data_offsets":[0,3]}}`, 3, 1},
		{"escaped name", `{"\ud83d\ude00\n\/":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1, 1},
		{"listed backwards", `{"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 3, 2},
	}
	for _, test := range tests {
		f, err := read(build(test.header, test.bytes))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := len(f.Tensors()); got != test.tensors {
			t.Errorf("%s: got %d tensors, want %d", test.name, got, test.tensors)
		}
	}
}

// TestNoLargeAllocation reads files that claim to be large: memory must follow the bytes that are there.
func TestNoLargeAllocation(t *testing.T) {
	for _, test := range damaged {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read(test.file)
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(64*len(test.file)+16<<10); got > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d", test.name, got, len(test.file))
		}
	}
}

func TestFileThatShrinks(t *testing.T) {
	b := build(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4)
	f, err := Read(bytes.NewReader(b[:len(b)-2]), int64(len(b)), "f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Bytes("a"); err == nil || !strings.Contains(err.Error(), `f: tensor "a": unexpected EOF`) {
		t.Errorf("got %v, want an unexpected EOF in tensor a", err)
	}
}

func f32(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestWriteThenRead(t *testing.T) {
	entries := []Entry{
		{"w", "F32", []int{1, 2}, f32(1, 2)},
		{"mask", "BOOL", []int{3}, []byte{1, 0, 1}},
		{"a \"name\"\n<ß>", "F32", nil, f32(3)},
	}
	metadata := map[string]string{"b": "2", "a": "<1>"}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := WriteFile(path, entries, metadata); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := f.Metadata(); got["a"] != "<1>" || got["b"] != "2" || len(got) != 2 {
		t.Errorf("metadata: got %v", got)
	}
	if f.data%8 != 0 {
		t.Errorf("the data begins at byte %d, want a multiple of 8", f.data)
	}
	for _, e := range entries {
		got, err := f.Bytes(e.Name)
		if err != nil || !bytes.Equal(got, e.Data) {
			t.Errorf("%q: got % x, %v, want % x", e.Name, got, err, e.Data)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	tests := []struct {
		entries []Entry
		want    string
	}{
		{[]Entry{{"a", "U8", []int{2}, []byte{1}}}, `tensor "a": got 1 bytes for U8[2], want 2`},
		{[]Entry{{"a", "U8", nil, []byte{1}}, {"a", "U8", nil, []byte{1}}}, `tensor "a": the name is taken`},
		{[]Entry{{"__metadata__", "U8", nil, []byte{1}}}, "the name is taken"},
		{[]Entry{{"a\xff", "U8", nil, []byte{1}}}, "is not UTF-8"},
		{[]Entry{{"a", "f32", nil, f32(1)}}, `got dtype "f32"`},
	}
	for _, test := range tests {
		path := filepath.Join(t.TempDir(), "x")
		err := WriteFile(path, test.entries, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want it to say %s", err, test.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("a refused write left a file")
		}
	}
}

// TestPythonWrote reads a file that Python's library wrote (tests/peers/safetensors_files.py).
func TestPythonWrote(t *testing.T) {
	f, err := Open("testdata/python.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, want := f.Metadata()["note"], "a \"quoted\" line\nand another – ß"; got != want {
		t.Errorf("note: got %q, want %q", got, want)
	}
	want := map[string][]byte{
		"f32":         f32(0, 0.25, 0.5, 0.75, 1, 1.25),
		"i32":         {0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
		"bool":        {1, 0, 1},
		"scalar":      f32(3.25),
		"empty":       {},
		"naïve \"名\"": f32(1, 1),
	}
	for name, data := range want {
		if got, err := f.Bytes(name); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%q: got % x, %v, want % x", name, got, err, data)
		}
	}
	if got := len(f.Tensors()); got != 15 {
		t.Errorf("got %d tensors, want 15", got)
	}
}

// TestPythonReads lets Python's library, where it is installed, read what Write wrote.
func TestPythonReads(t *testing.T) {
	if err := exec.Command("python3", "-c", "import safetensors, numpy").Run(); err != nil {
		t.Skip("python3 with the packages safetensors and numpy is not installed")
	}
	f, err := Open("testdata/python.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var entries []Entry
	for _, info := range f.Tensors() {
		data, err := f.Bytes(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, Entry{info.Name, info.DType, info.Shape, data})
	}
	path := filepath.Join(t.TempDir(), "go.safetensors")
	if err := WriteFile(path, entries, f.Metadata()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("python3", "../../tests/peers/safetensors_files.py", "check", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// FuzzRead gives Read anything: it refuses with a FormatError, or every tensor can be read, the tensors cover
// the file, and writing them again gives a file with the same tensors.
func FuzzRead(f *testing.F) {
	for _, test := range damaged {
		f.Add(test.file)
	}
	f.Add(build(`{"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"__metadata__":{"k":"v"}}  `, 8))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := read(b)
		if err != nil {
			var refusal *FormatError
			if !errors.As(err, &refusal) || refusal.Offset > int64(len(b))+8 {
				t.Fatalf("got %v, want a FormatError inside the file", err)
			}
			return
		}
		covered := file.data
		var entries []Entry
		for _, info := range file.Tensors() {
			data, err := file.Bytes(info.Name)
			if err != nil {
				t.Fatal(err)
			}
			covered += int64(len(data))
			entries = append(entries, Entry{info.Name, info.DType, info.Shape, data})
		}
		if covered != int64(len(b)) {
			t.Fatalf("header and tensors have %d bytes, the file %d", covered, len(b))
		}
		var again bytes.Buffer
		if err := Write(&again, entries, file.Metadata()); err != nil {
			t.Fatal(err)
		}
		if file, err = read(again.Bytes()); err != nil || len(file.Tensors()) != len(entries) {
			t.Fatalf("written again: %v", err)
		}
	})
}
