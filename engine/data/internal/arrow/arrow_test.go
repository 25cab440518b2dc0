package arrow

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// The files are pyarrow's: tests/peers/arrow_files.py.

var names = []string{
	"text", "same", "id", "small", "score", "half", "good", "tags", "deep", "messages", "word", "words", "view", "many", "pair", "map", "json", "byte",
	"tiny", "none", "day", "time", "bytes", "last",
}

// plainly turns a value into what encoding/json reads.
func plainly(t testing.TB, v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case columns.Time:
		return v.String()
	case columns.JSON:
		var value any
		if err := json.Unmarshal([]byte(v), &value); err != nil {
			t.Error(err)
		}
		return value
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = plainly(t, item)
		}
		return list
	case columns.Object:
		fields := map[string]any{}
		for _, f := range v {
			fields[f.Name] = plainly(t, f.Value)
		}
		return fields
	}
	return v
}

func readAll(t testing.TB, b []byte, names ...string) (rows []map[string]any, err error) {
	p, err := Open(bytes.NewReader(b), int64(len(b)), names)
	if err != nil {
		return nil, err
	}
	for {
		row := make([]any, len(p.Chosen()))
		err := p.Next(row)
		if err == io.EOF {
			if p.Row() != p.Rows() || p.Rows() != int64(len(rows)) {
				t.Errorf("got row %d of %d after %d rows", p.Row(), p.Rows(), len(rows))
			}
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		fields := map[string]any{}
		for i, name := range p.Chosen() {
			fields[name] = plainly(t, row[i])
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

var files = []string{"stream", "batches", "file", "lz4", "zstd"}

// The rows are those that pyarrow wrote, whatever the layout, the compression and the cut into batches.
func TestRows(t *testing.T) {
	var want []map[string]any
	if err := json.Unmarshal(file(t, "rows.json"), &want); err != nil || len(want) != 40 {
		t.Fatalf("got %d rows, error %v", len(want), err)
	}
	for _, name := range files {
		got, err := readAll(t, file(t, name+".arrow"), names...)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: got %d rows, error %v", name, len(got), err)
			continue
		}
		for i := range want {
			for _, c := range names {
				if g, w := got[i][c], want[i][c]; !reflect.DeepEqual(g, w) {
					t.Errorf("%s, row %d, %s: got %v, want %v", name, i, c, g, w)
				}
			}
		}
		for _, c := range names { // each alone, behind columns that are not read
			if one, err := readAll(t, file(t, name+".arrow"), c, "role"); err != nil || len(one) != 40 || len(one[0]) != 1 || !reflect.DeepEqual(one[39][c], want[39][c]) {
				t.Errorf("%s: column %s alone: got %d rows, error %v", name, c, len(one), err)
			}
		}
	}
	for _, name := range []string{"deltas", "replaced"} {
		rows, err := readAll(t, file(t, name+".arrow"), "word")
		var got []string
		for _, r := range rows {
			got = append(got, r["word"].(string))
		}
		if err != nil || !slices.Equal(got, []string{"a", "b", "a", "c", "a", "b"}) {
			t.Errorf("%s: got %q, error %v", name, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	whole := file(t, "stream.arrow")
	first := 8 + int(binary.LittleEndian.Uint32(whole[4:])) // where the batches begin
	old := slices.Clone(whole[4:])                          // as before version 0.15
	long := slices.Clone(whole)
	binary.LittleEndian.PutUint32(long[first+4:], 1<<31-1)
	for _, c := range []struct {
		name  string
		file  []byte
		names []string
		want  string
	}{
		{"empty", nil, names, "byte 0: got no schema, want Arrow's stream of batches"},
		{"text", []byte("this is no Arrow file"), names, "byte 0: got the bytes 7468697320697320, want those of a batch, ffffffff and a length"},
		{"an old file", old, names, "byte 0: got the bytes"},
		{"a short file", []byte(magic), names, "byte 8: got no schema"},
		{"cut in its schema", whole[:first-8], names, "bytes is not inside of the file"},
		{"cut in a batch", whole[:len(whole)-100], names, "buffers of"},
		{"a long description", long, names, "a message of 2147483647 bytes is not inside of the file"},
		{"two schemas", slices.Concat(whole[:first], whole), names, "got a message of kind 1, want one schema, then batches"},
		{"no schema", whole[first:], names, "byte 0: got a message of kind 2, want one schema, then batches"},
		{"another column", whole, []string{"body"}, `got the columns ["text" "same" "id" "small" "score" "half" "good" "tags" "deep" "messages"], want one of ["body"]`},
		{"no text", file(t, "bytes.arrow"), []string{"text"}, `1: column "text": got the bytes "\xff\xfe", want text in UTF-8`},
		{"decimals", whole, []string{"money"}, `column "money" has values of decimal numbers, want text or numbers`},
		{"a union", whole, []string{"union"}, `column "union" has values of a union`},
		{"list views", whole, []string{"lists"}, `column "lists" has values of list views`},
		{"dictionaries of dictionaries", file(t, "nested.arrow"), []string{"word"}, `column "word": got a dictionary whose entries name those of another one`},
	} {
		if rows, err := readAll(t, c.file, c.names...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %d rows and %v, want %s", c.name, len(rows), err, c.want)
		}
	}
}

// A damaged file is refused or read, ends soon, and takes no more memory than its bytes and a little.
func TestMutants(t *testing.T) {
	refused, tried := 0, 0
	for _, name := range append(files, "deltas") {
		whole := file(t, name+".arrow")
		tried += mutate.Each(1, 500, whole, func(i int, mutant []byte) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := Open(bytes.NewReader(mutant), int64(len(mutant)), names)
			for n := 0; err == nil && n < 1000; n++ {
				err = p.Next(make([]any, len(p.Columns())))
			}
			runtime.ReadMemStats(&after)
			if err != nil && err != io.EOF {
				refused++
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 2*uint64(len(mutant))+2<<20 {
				t.Errorf("%s, mutant %d: took %d bytes for a file of %d", name, i, got, len(mutant))
			}
		})
	}
	if refused < tried/6 {
		t.Errorf("%d of %d damaged files were refused, want more", refused, tried)
	}
}

func FuzzArrow(f *testing.F) {
	for _, name := range files {
		f.Add(file(f, name+".arrow"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Open(bytes.NewReader(b), int64(len(b)), names)
		for n := 0; err == nil && n < 100; n++ {
			err = p.Next(make([]any, len(p.Columns())))
		}
	})
}
