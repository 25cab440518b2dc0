package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// ReadTable reads a table by the ending of its name: .csv, .tsv (tabs), .jsonl, .ndjson, .json, .parquet,
// .arrow or .feather; all but the last three may end in .gz, too. CSV.Read has more to say of the first two.
//
// Of JSON each object is a row; of its fields, and of columns in Parquet and Arrow, lists and objects are
// texts in JSON.
func ReadTable(path string) (*Table, error) {
	switch format := endingOf(path, tableFormats); format {
	case ".csv":
		return CSV{}.Read(path)
	case ".tsv":
		return CSV{Comma: '\t'}.Read(path)
	case "":
		return nil, fmt.Errorf("data: read table: %s ends in none of %s", path, strings.Join(tableFormats, ", "))
	default:
		return readRows(path, format)
	}
}

var tableFormats = []string{".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".feather"}

// A plainFile is a file that can be read at any place.
type plainFile interface {
	io.ReaderAt
	io.Closer
}

// openPlain opens a file; one that ends in .gz is unpacked into memory.
func openPlain(path string) (plainFile, int64, error) {
	f, size, err := regular.OpenSized(path)
	if err != nil || !strings.HasSuffix(strings.ToLower(path), ".gz") {
		return f, size, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	b, err := regular.ReadFrom(z, path, maxUnpacked)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return unpacked{bytes.NewReader(b)}, int64(len(b)), nil
}

// maxUnpacked bounds what a compressed file may hold.
const maxUnpacked = 16 << 30

type unpacked struct{ *bytes.Reader }

func (unpacked) Close() error { return nil }

// readRows reads a file of objects or of columns.
func readRows(path, format string) (t *Table, err error) {
	defer wrap.Error(&err, "data: read table")
	f, size, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	name, colon := visible.Line(filepath.Base(path)), ": "
	if byColumns(format) {
		var r columnFile
		if r, err = openColumns(f, format, size, nil); err == nil {
			t, err = ofColumns(r)
		}
	} else {
		plain := bufio.NewReader(io.NewSectionReader(f, 0, size))
		skipMark(plain)
		colon = ":" // a line's number follows
		t, err = ofObjects(newJSONRows(plain))
	}
	if err != nil {
		return nil, fmt.Errorf("%s%s%w", name, colon, err)
	}
	t.origin = &origin{file: name}
	return t, nil
}

// skipMark leaves the mark out with which a text in UTF-8 may begin.
func skipMark(b *bufio.Reader) {
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		b.Discard(3)
	}
}

// ofColumns reads all rows of a file that keeps its values by columns.
func ofColumns(r columnFile) (*Table, error) {
	t := NewTable()
	builders, row := make([]builder, len(r.Columns())), make([]any, len(r.Columns()))
	for {
		err := r.Next(row)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		t.rows++
		for i := range builders {
			x, err := plain(row[i])
			if err != nil { // a list or an object
				var b bytes.Buffer
				if err := writeValue(&b, row[i]); err != nil {
					return nil, fmt.Errorf("%d: column %q: %w", t.rows, r.Columns()[i], err)
				}
				x = b.String()
			}
			builders[i].add(x)
		}
	}
	for i, name := range r.Columns() {
		if t.at(name) >= 0 {
			return nil, fmt.Errorf("two columns have the name %q", name)
		}
		t.columns = append(t.columns, builders[i].column(name))
	}
	return t, nil
}

// ofObjects reads all objects. Columns are in the order in which they come first.
func ofObjects(r rowReader) (*Table, error) {
	t := NewTable()
	var names []string
	builders := map[string]*builder{}
	for {
		row, err := r.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, name := range row.names {
			if builders[name] == nil {
				names, builders[name] = append(names, name), &builder{}
			}
		}
		for name, v := range row.fields {
			b := builders[name]
			for b.n < t.rows {
				b.add(nil)
			}
			b.add(ofJSON(v))
		}
		t.rows++
	}
	for _, name := range names {
		for b := builders[name]; b.n < t.rows; {
			b.add(nil)
		}
		c := builders[name].column(name)
		c.toTimes()
		t.columns = append(t.columns, c)
	}
	return t, nil
}

// ofJSON is a field of an object as builders take it.
func ofJSON(v any) any {
	raw, ok := v.(json.RawMessage)
	if !ok {
		return v
	}
	if yes, ok := parseBool(raw); ok {
		return yes
	}
	if n, ok := parseInt(raw); ok {
		return n
	}
	if n, ok := parseWord(raw); ok {
		return n
	}
	x, ok := parseFloat(raw)
	switch {
	case !ok:
		return string(raw)
	case long(raw, x):
		return digits(raw)
	}
	return x
}

// toTimes makes times of texts, if all are such.
func (c *column) toTimes() {
	v, ok := c.values.(vector[string])
	if !ok {
		return
	}
	list := make([]int64, len(v.v))
	for i, s := range v.v {
		if list[i], ok = parseTime([]byte(s)); !ok && !c.lacks(i) {
			return
		}
	}
	c.values = vector[int64]{list, times}
}
