package parquet

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// The files are pyarrow's: tests/peers/parquet_files.py.

var names = []string{"text", "same", "id", "small", "score", "half", "good", "tags", "deep", "messages"}

// plainly turns a value into what encoding/json reads.
func plainly(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plainly(item)
		}
		return list
	case columns.Object:
		fields := map[string]any{}
		for _, f := range v {
			fields[f.Name] = plainly(f.Value)
		}
		return fields
	}
	return v
}

func readAll(b []byte, names ...string) (rows []any, err error) {
	p, err := Open(bytes.NewReader(b), int64(len(b)), names)
	if err != nil {
		return nil, err
	}
	for {
		row := make([]any, len(p.Chosen()))
		err := p.Next(row)
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		fields := map[string]any{}
		for i, name := range p.Chosen() {
			fields[name] = plainly(row[i])
		}
		rows = append(rows, fields)
	}
}

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var files = []string{"snappy", "plain", "gzip-v2", "zstd-groups", "pages", "v2-plain", "items", "deltas", "brotli", "lz4"}

// The rows are those that pyarrow wrote, whatever the encoding, the compression and the cut into pages.
func TestRows(t *testing.T) {
	var want []any
	if err := json.Unmarshal(file(t, "rows.json"), &want); err != nil || len(want) != 40 {
		t.Fatalf("got %d rows, error %v", len(want), err)
	}
	for _, name := range files {
		got, err := readAll(file(t, name+".parquet"), names...)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: got %d rows, error %v", name, len(got), err)
			continue
		}
		for i := range want {
			for _, c := range names {
				g, w := got[i].(map[string]any)[c], want[i].(map[string]any)[c]
				if !reflect.DeepEqual(g, w) {
					t.Errorf("%s, row %d, %s: got %v, want %v", name, i, c, g, w)
				}
			}
		}
		if one, err := readAll(file(t, name+".parquet"), "role", "messages"); err != nil || len(one) != 40 || len(one[0].(map[string]any)) != 1 {
			t.Errorf("%s: a column alone: got %d rows, error %v", name, len(one), err)
		}
	}
	got, err := readAll(file(t, "map.parquet"), "text", "map")
	if want := []any{map[string]any{"text": "a", "map": map[string]any{"k": "v", "l": nil}}, map[string]any{"text": "b", "map": map[string]any{}}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, error %v", got, err)
	}
	got, err = readAll(file(t, "json.parquet"), "json")
	if want := []any{map[string]any{"json": columns.JSON(`{"a": [1, null]}`)}, map[string]any{"json": nil}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, error %v", got, err)
	}
	got, err = readAll(file(t, "unsigned.parquet"), "uint8", "uint16", "uint32", "uint64")
	if want := []any{
		map[string]any{"uint8": 0.0, "uint16": 0.0, "uint32": 0.0, "uint64": uint64(0)},
		map[string]any{"uint8": 255.0, "uint16": 65535.0, "uint32": 4294967295.0, "uint64": uint64(1<<64 - 1)},
		map[string]any{"uint8": 128.0, "uint16": 32768.0, "uint32": 2147483648.0, "uint64": uint64(1 << 63)},
	}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, error %v, want %v", got, err, want)
	}
	if rows, err := readAll(file(t, "many.parquet"), "text"); err != nil || len(rows) != 100000 {
		t.Errorf("many equal rows: got %d, error %v", len(rows), err)
	}
}

// footerOf is a file that is a footer only.
func footerOf(thrift string) []byte {
	b := append([]byte(magic+thrift), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[len(b)-4:], uint32(len(thrift)))
	return append(b, magic...)
}

func TestRefused(t *testing.T) {
	whole := file(t, "plain.parquet")
	for _, c := range []struct {
		name  string
		file  []byte
		names []string
		want  string
	}{
		{"empty", nil, names, "got 0 bytes, want a Parquet file"},
		{"text", []byte("this is no Parquet file"), names, `got "file" at the file's end, want PAR1`},
		{"encrypted", []byte("12345678PARE"), names, "encrypted"},
		{"long footer", []byte("PAR1\xff\xff\xff\x7fPAR1"), names, "got a footer of 2147483647 bytes in a file of 12"},
		{"no footer", []byte("PAR1\x00\x00\x00\x00PAR1"), names, "the footer: it ends early"},
		{"many fields", footerOf("\x29\x9c" + strings.Repeat("\x00", 70)), names, "the footer: a field has no name"},
		{"a long list", footerOf("\x29\xfc\xff\xff\xff\xff\x0f"), names, "the footer: a list of 4294967295 is longer than what follows"},
		{"many rows", footerOf("\x29\x2c\x48\x01r\x15\x02\x00\x15\x0c\x25\x00\x18\x04text\x00\x29\x1c\x19\x1c\x3c\x56\x02\x26\x00\x26\x08\x00\x00\x26\xfe\xff\xff\xff\xff\xff\x7f\x00\x00"), []string{"text"}, "claims"},
		{"deep structs", footerOf(strings.Repeat("\x1c", 100)), names, "structs are more than 32 deep"},
		{"cut", whole[:len(whole)-100], names, "at the file's end, want PAR1"},
		{"another column", whole, []string{"body"}, `got the columns ["text" "same" "id" "small" "score" "half" "good" "tags" "deep" "messages"], want one of ["body"]`},
		{"LZO", bytes.ReplaceAll(file(t, "lz4.parquet"), []byte("\x15\x0e"), []byte("\x15\x06")), []string{"half"}, `1: column "half": got compression 3 LZO, want none, snappy, gzip, Brotli, zstd or LZ4 (7)`},
		{"Hadoop's LZ4", bytes.ReplaceAll(file(t, "lz4.parquet"), []byte("\x15\x0e"), []byte("\x15\x0a")), []string{"half"}, "got compression 5 LZ4 as Hadoop frames it, want none"},
		{"split bytes", file(t, "split.parquet"), []string{"half"}, `1: column "half": got values in encoding 9`},
		{"no text", file(t, "bytes.parquet"), []string{"text"}, `1: column "text": got the bytes "\xff\xfe", want text in UTF-8`},
		{"old times", file(t, "int96.parquet"), []string{"time"}, `column "time" has values of 96 bits, want text or numbers`},
		{"checksum", bytes.Replace(file(t, "pages.parquet"), []byte("the same in each row"), []byte("the same in each box"), 1), names, `column "same": the checksum of a page is another one`},
	} {
		if rows, err := readAll(c.file, c.names...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %d rows and %v, want %s", c.name, len(rows), err, c.want)
		}
	}
}

// A damaged file is refused or read, ends soon, and takes no more memory than its rows may.
func TestMutants(t *testing.T) {
	for _, name := range append(files, "map", "many") {
		whole := file(t, name+".parquet")
		mutate.Each(1, 500, whole, func(i int, mutant []byte) {
			p, err := Open(bytes.NewReader(mutant), int64(len(mutant)), append(names, "map"))
			if err != nil {
				return
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for n := 0; err == nil && n < 1000; n++ {
				err = p.Next(make([]any, len(p.Columns())))
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
				t.Errorf("%s, mutant %d: took %d bytes for a file of %d", name, i, got, len(mutant))
			}
		})
	}
}

func FuzzParquet(f *testing.F) {
	for _, name := range files {
		f.Add(file(f, name+".parquet"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Open(bytes.NewReader(b), int64(len(b)), names)
		for n := 0; err == nil && n < 100; n++ {
			err = p.Next(make([]any, len(p.Columns())))
		}
	})
}
