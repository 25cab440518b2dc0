package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// parts makes a file of texts, and of numbers in as many bytes as their type has.
func parts(list ...any) []byte {
	var b []byte
	for _, p := range list {
		if s, ok := p.(string); ok {
			b = append(b, s...)
			continue
		}
		b, _ = binary.Append(b, binary.LittleEndian, p)
	}
	return b
}

// text is a string of the format.
func text(s string) string { return string(parts(uint64(len(s)), s)) }

// start is a header with so many tensors and metadata.
func start(tensors, metadata uint64) string {
	return string(parts(magic, uint32(3), tensors, metadata))
}

// info describes a tensor.
func info(name string, number uint32, offset uint64, shape ...uint64) string {
	return string(parts(text(name), uint32(len(shape)), shape, number, offset))
}

// file fills a header up to the alignment and puts n bytes of data behind it.
func file(header string, n int) []byte {
	return append([]byte(header), make([]byte, int(pad(int64(len(header)), defaultAlignment))-len(header)+n)...)
}

const many = 1 << 60

// damaged holds a file for each way of being wrong, and what the refusal says.
var damaged = []struct {
	name string
	file []byte
	want string
}{
	{"empty", nil, "byte 0: the magic number needs 4 bytes, but only 0 follow"},
	{"another format", []byte("GGML\x01\x00\x00\x00"), `byte 0: got "GGML", want a file that starts with GGUF`},
	{"version 1", parts(magic, uint32(1)), "byte 4: got version 1, want 2 or 3"},
	{"big endian", parts(magic, uint32(3<<24)), "byte 4: the file is big endian"},
	{"no counts", parts(magic, uint32(3)), "byte 8: the number of tensors needs 8 bytes"},
	{"many tensors", file(start(many, 0), 100), "byte 8: the number of tensors is 1152921504606846976, but only 1"},
	{"many metadata", file(start(0, many), 100), "byte 16: the number of metadata is"},
	{"more than one asks for", file(start(0, maxCount+1), 1<<20), "want at most 65536"},
	{"long key", file(start(0, 1)+string(parts(uint64(many))), 100), "byte 24: key 0 has 1152921504606846976 bytes, want at most 65535"},
	{"key beyond the file", file(start(0, 1)+string(parts(uint64(1000))), 100), "byte 24: key 0: its length is 1000, but only"},
	{"empty key", file(start(0, 1)+text(""), 100), `byte 24: key 0 is ""`},
	{"key that is not UTF-8", file(start(0, 1)+text("\xff"), 100), `byte 24: key 0 is "\xff"`},
	{"key twice", parts(start(0, 2), text("k"), uint32(0), uint8(1), text("k"), uint32(0), uint8(1)), `byte 38: the key "k" stands in the file twice`},
	{"value of no type", file(start(0, 1)+text("k")+string(parts(uint32(13))), 9), "byte 33: got metadata of type 13, want 0 to 12"},
	{"no value", parts(start(0, 1), text("k"), uint32(12), uint32(0)), "byte 37: a number needs 8 bytes, but only 4 follow"},
	{"bool of 2", parts(start(0, 1), text("k"), uint32(7), uint8(2)), "byte 37: got 2 for a bool"},
	{"long string", parts(start(0, 1), text("k"), uint32(8), uint64(many)), "byte 37: a string: its length is 1152921504606846976, but only 0 bytes follow"},
	{"long array", parts(start(0, 1), text("k"), uint32(9), uint32(8), uint64(2), uint64(0)), "byte 41: the length of an array is 2, but only 8 bytes follow"},
	{"array of no type", parts(start(0, 1), text("k"), uint32(9), uint32(99), uint64(0)), "byte 37: got an array of type 99"},
	{"deep arrays", parts(start(0, 1), text("k"), uint32(9), strings.Repeat(string(parts(uint32(9), uint64(1))), 50)), "got arrays in arrays more than 4 deep"},
	{"many arrays", file(start(0, 1)+text("k")+string(parts(uint32(9), uint32(9), uint64(1<<17))), 2<<20), "byte 41: got 131072 arrays in an array"},
	{"alignment of 3", parts(start(0, 1), text("general.alignment"), uint32(4), uint32(3)), "byte 53: general.alignment is uint32 3"},
	{"alignment in words", parts(start(0, 1), text("general.alignment"), uint32(8), text("8")), "byte 53: general.alignment is string 8"},
	{"tensor twice", file(start(2, 0)+info("a", 0, 0, 8)+info("a", 0, 32, 8), 64), `byte 57: the name "a" stands in the file twice`},
	{"five dimensions", file(start(1, 0)+info("a", 0, 0, 1, 1, 1, 1, 1), 32), `byte 24: tensor "a" has 5 dimensions`},
	{"negative dimension", file(start(1, 0)+info("a", 0, 0, 1<<63), 32), `byte 37: tensor "a": dimension 0 is 9223372036854775808`},
	{"huge tensor", file(start(1, 0)+info("a", 0, 0, 1<<40, 1<<40), 32), `tensor "a": F32[1099511627776 1099511627776] is larger than any file`},
	{"tensor beyond the file", file(start(1, 0)+info("a", 0, 0, 1000), 32), `tensor "a": F32[1000] needs 4000 bytes, but the file has 96`},
	{"unknown type", file(start(1, 0)+info("a", 4, 0, 8), 32), `byte 45: tensor "a": got type 4`},
	{"part of a block", file(start(1, 0)+info("a", 8, 0, 31, 2), 68), `tensor "a": Q8_0[2 31]: a row has 31 elements, want a multiple of 32`},
	{"hole", file(start(1, 0)+info("a", 0, 32, 8), 64), `tensor "a": its offset is 32, want 0`},
	{"overlap", file(start(2, 0)+info("a", 0, 0, 8)+info("b", 0, 0, 8), 64), `tensor "b": its offset is 0, want 32`},
	{"data cut", file(start(1, 0)+info("a", 0, 0, 8), 31), "byte 95: the tensors' data end at byte 96, but the file has 95 bytes"},
	{"bytes behind the data", file(start(1, 0)+info("a", 0, 0, 8), 33), "byte 96: 1 bytes at the end belong to no tensor"},
}

func TestDamaged(t *testing.T) {
	for _, test := range damaged {
		_, err := read(test.file)
		if format := (*FormatError)(nil); !errors.As(err, &format) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want it to say %s", test.name, err, test.want)
		}
	}
}

// use reads all that the file has.
func use(f *File) error {
	if _, err := f.Metadata(); err != nil {
		return err
	}
	for _, t := range f.Tensors() {
		b, err := f.Bytes(t.Name)
		if err != nil {
			return err
		}
		k := kindBy(func(k kind) bool { return k.name == t.Type })
		if k.decode != nil {
			k.decodeAs(dtype.F32, make([]byte, len(b)/k.bytes*k.block*4), b)
		}
	}
	return nil
}

// allocated runs f and returns how many bytes it allocated.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestMutants: 500 damaged files, and 500 with damage in the header, are each refused with a FormatError or
// can be read whole. Reading the header and all values allocates at most twice the file, and 64 KiB.
func TestMutants(t *testing.T) {
	whole, err := os.ReadFile(fixture)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	check := func(i int, mutant []byte) {
		var f *File
		var err error
		got := allocated(func() {
			if f, err = read(mutant); err == nil {
				f.Metadata()
			}
		})
		if limit := uint64(2*len(mutant) + 64<<10); got > limit {
			t.Errorf("mutant %d: %d bytes allocated for a file of %d", i, got, len(mutant))
		}
		if err != nil {
			refused++
			if format := (*FormatError)(nil); !errors.As(err, &format) || format.Offset > int64(len(mutant)) {
				t.Errorf("mutant %d: got %v, want a FormatError inside the file", i, err)
			}
		} else if err := use(f); err != nil {
			t.Errorf("mutant %d: %v", i, err)
		}
	}
	n := mutate.Each(1, 500, whole, check)
	const header = 2048
	n += mutate.Each(2, 500, whole[:header], func(i int, mutant []byte) { check(i, slices.Concat(mutant, whole[header:])) })
	if refused < n*3/10 {
		t.Errorf("%d of %d damaged files refused, want most of those whose header is damaged", refused, n)
	}
}

// TestNoLargeAllocation reads files that claim to be large: memory must follow the bytes that are there.
func TestNoLargeAllocation(t *testing.T) {
	for _, test := range damaged {
		if got, limit := allocated(func() { read(test.file) }), uint64(2*len(test.file)+64<<10); got > limit {
			t.Errorf("%s: %d bytes allocated for a file of %d", test.name, got, len(test.file))
		}
	}
}

// TestFileThatShrinks: a file that another program cuts while it is open gives errors.
func TestFileThatShrinks(t *testing.T) {
	b := file(string(parts(start(1, 1), text("k"), uint32(9), uint32(0), uint64(40), strings.Repeat("x", 40), info("a", 0, 0, 8))), 32)
	f, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	f.r = bytes.NewReader(b[:60])
	if _, err := f.Value("k"); err == nil || !strings.Contains(err.Error(), "f: byte 60: unexpected EOF") {
		t.Errorf("got %v", err)
	}
	if _, err := f.Bytes("a"); err == nil || !strings.Contains(err.Error(), `f: tensor "a": unexpected EOF`) {
		t.Errorf("got %v", err)
	}
}

// FuzzRead gives Read anything: it refuses with a FormatError inside the file, or everything can be read, and
// metadata that are written again are the same bytes.
func FuzzRead(f *testing.F) {
	for _, test := range damaged {
		if len(test.file) < 1<<10 {
			f.Add(test.file)
		}
	}
	f.Add(file(string(parts(start(1, 1), text("k"), uint32(9), uint32(9), uint64(1), uint32(8), uint64(1), text("a"), info("a", 2, 0, 32))), 18))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := read(b)
		if err != nil {
			if format := (*FormatError)(nil); !errors.As(err, &format) || format.Offset > int64(len(b)) {
				t.Fatalf("got %v, want a FormatError inside the file", err)
			}
			return
		}
		if err := use(file); err != nil {
			t.Fatal(err)
		}
		metadata, err := file.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		if _, large := metadata["general.alignment"]; large {
			return // so much is written
		}
		var one, two bytes.Buffer
		if err := Write(&one, metadata, nil); err != nil {
			t.Fatal(err)
		}
		if file, err = read(one.Bytes()); err != nil {
			t.Fatal(err)
		}
		if metadata, err = file.Metadata(); err != nil {
			t.Fatal(err)
		}
		if err := Write(&two, metadata, nil); err != nil || !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Fatalf("written again: %v, % x, want % x", err, two.Bytes(), one.Bytes())
		}
	})
}
