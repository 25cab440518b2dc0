package data

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// The first bytes of MNIST's labels: magic 2049, a count, the labels.
const labels = "\x00\x00\x08\x01\x00\x00\x00\x03\x05\x00\x04"

func TestReadIDX(t *testing.T) {
	dir := folder(t, map[string]string{"labels": labels, "i16": "\x00\x00\x0b\x02\x00\x00\x00\x01\x00\x00\x00\x02\x01\x02\xff\xfe"})
	for name, want := range map[string]tensor.Tensor{"labels": tensor.From([]uint8{5, 0, 4}), "i16": tensor.From([][]int16{{258, -2}})} {
		got, err := ReadIDX(filepath.Join(dir, name))
		if err != nil || got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: got %v, error %v, want %v", name, got, err, want)
		}
	}
}

// Every type of the format comes back, compressed or not.
func TestWriteIDX(t *testing.T) {
	dir := t.TempDir()
	for _, dt := range idxTypes {
		for _, name := range []string{"x-idx3", "x-idx3.gz"} {
			x, path := tensor.Range(24).Reshape(2, 3, 4).Cast(dt), filepath.Join(dir, name)
			if err := WriteIDX(path, x); err != nil {
				t.Fatal(err)
			}
			if got, err := ReadIDX(path); err != nil || got.DType() != dt || !slices.Equal(got.Shape(), x.Shape()) || !bytes.Equal(got.Bytes(), x.Bytes()) {
				t.Errorf("%s of %v: got %v, error %v, want %v", name, dt, got, err, x)
			}
			if b, err := os.ReadFile(path); err != nil || bytes.HasPrefix(b, []byte("\x1f\x8b")) != strings.HasSuffix(name, ".gz") {
				t.Errorf("%s begins with % x, error %v", name, b[:4], err)
			}
		}
	}
	path := filepath.Join(dir, "labels")
	if err := WriteIDX(path, tensor.From([]uint8{5, 0, 4})); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != labels {
		t.Errorf("got %q, error %v, want %q", b, err, labels)
	}
	err := WriteIDX(path, tensor.Range(3))
	if want := "data: write idx: labels: got i64[3], want u8, i8, i16, i32, f32 or f64"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestIDXRefused(t *testing.T) {
	dir := t.TempDir()
	if err := WriteIDX(filepath.Join(dir, "x.gz"), tensor.Zeros(100, 100).Cast(dtype.U8)); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(dir, "x.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "byte 0: the file ends, want 4 more bytes"},
		{"\x89PNG\r\n", "byte 0: got 89 50 4e 47, want 00 00, a type of"},
		{"\x00\x00\x0a\x01", "byte 0: got 00 00 0a 01"},
		{labels[:6], "byte 6: the file ends, want 2 more bytes"},
		{labels[:10], "byte 8: u8[3] needs more bytes than the file can hold"},
		{labels + "\x01\x02", "byte 11: 2 bytes follow u8[3], want none"},
		{"\x00\x00\x0e\xff" + strings.Repeat("\xff", 4*255), "needs more bytes than the file can hold"},
		{"\x00\x00\x08\x00", "byte 4: u8[] needs more bytes than the file can hold"},
		{string(whole[:len(whole)/2]), "the file ends, want"},
		{string(whole[:len(whole)-3]), "byte 10012: unexpected EOF"},
		{string(whole[:len(whole)-8]) + "12345678", "gzip: invalid checksum"},
		{"\x1f\x8b\x00", "unexpected EOF"},
	} {
		path := filepath.Join(dir, "bad")
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadIDX(path); err == nil || !strings.HasPrefix(err.Error(), "data: read idx: bad: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.20q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// A damaged file is refused, or read as a whole.
func TestIDXMutants(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x", "x.gz"} {
		path := filepath.Join(dir, name)
		if err := WriteIDX(path, tensor.Range(60).Reshape(3, 4, 5).Cast(dtype.I16)); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		mutate.Each(1, 3000, whole, func(i int, mutant []byte) { useIDX(mutant) })
	}
}

func useIDX(b []byte) {
	if x, err := readIDX(bytes.NewReader(b), int64(len(b))); err == nil {
		x.Bytes()
	}
}

func FuzzIDX(f *testing.F) {
	f.Add([]byte(labels))
	f.Fuzz(func(t *testing.T, b []byte) { useIDX(b) })
}
