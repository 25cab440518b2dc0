package data

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// A CSV says how a file of rows is written. The zero CSV has commas, and a first line of names.
type CSV struct {
	Comma    rune // between values; 0: ','
	Comment  rune // begins lines that are left out; 0: there are none
	NoHeader bool // the first line has values: columns are named "0", "1", …
	// Missing are texts that stand for no value, in any case; nil: "", "NA", "N/A", "NaN" and "null".
	Missing []string
	// Types are chosen types of columns, by name. Those of the others are inferred: bool where all values are
	// true or false, i64, f32 for other numbers, and text.
	Types map[string]dtype.Type
}

// ReadCSV reads a file of rows with commas, whose first line has the names of the columns: CSV{}.Read(path).
func ReadCSV(path string) (*Table, error) { return CSV{}.Read(path) }

// Read reads a file of rows, as RFC 4180 describes it. Values may stand in quotes, and blanks before a value
// do not count; around a number, true or false, and the name of a column none count. All rows have as many
// values. A row of another length, and a value that is none of its column's chosen type, are errors that name
// the line.
func (c CSV) Read(path string) (*Table, error) {
	text, err := regular.Text(path, maxText)
	if err != nil {
		return nil, fmt.Errorf("data: read csv: %w", err)
	}
	t, err := c.parse(text, filepath.Base(path))
	if err != nil {
		return nil, fmt.Errorf("data: read csv: %w", err)
	}
	return t, nil
}

// parse makes a table of a file's text. Its values are parts of the text's lines, one copy of it.
func (c CSV) parse(text, file string) (*Table, error) {
	r := newCSVRows(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	r.r.Comment, r.r.ReuseRecord, r.r.TrimLeadingSpace = c.Comment, true, true
	if c.Comma != 0 {
		r.r.Comma = c.Comma
	}
	t := &Table{file: visible.Line(file)}
	for first := true; ; first = false {
		values, line, err := r.read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%w", t.file, err)
		}
		if first {
			if err := t.name(values, c.NoHeader, line); err != nil {
				return nil, err
			}
			if !c.NoHeader {
				continue
			}
		}
		if len(values) != len(t.columns) {
			return nil, fmt.Errorf("%s:%d: got %d values, want %d as in the first line%s", t.file, line, len(values), len(t.columns), otherComma(strings.Join(t.Names(), ",")))
		}
		for i, v := range values {
			t.columns[i].values = append(t.columns[i].values, v)
		}
		t.lines = append(t.lines, line)
	}
	if t.columns == nil {
		return nil, fmt.Errorf("%s: the file is empty", t.file)
	}
	return t, c.choose(t)
}

// otherComma says how a file is read whose first line seems to have another sign between its values.
func otherComma(line string) string {
	for _, comma := range ";\t|" {
		if strings.ContainsRune(line, comma) && !strings.Contains(line, ",") {
			return fmt.Sprintf("; data.CSV{Comma: %q} reads values with %[1]q between them", comma)
		}
	}
	return ""
}

// name makes the columns. One without a name has its number.
func (t *Table) name(values []string, numbered bool, line int) error {
	for i, name := range values {
		name = strings.TrimSpace(name)
		if numbered || name == "" {
			name = strconv.Itoa(i)
		}
		if t.at(name) >= 0 {
			return fmt.Errorf("%s:%d: two columns have the name %q", t.file, line, name)
		}
		t.columns = append(t.columns, column{name: name})
	}
	return nil
}

// choose gives each column its type.
func (c CSV) choose(t *Table) error {
	for _, name := range slices.Sorted(maps.Keys(c.Types)) {
		if t.at(name) < 0 {
			return fmt.Errorf("%s: got a type for column %q, want one of %s", t.file, name, t.names())
		}
	}
	for k := range t.columns {
		col := &t.columns[k]
		col.missing = c.absent(col.values)
		if dt, chosen := c.Types[col.name]; chosen {
			if col.dtype = dt; !slices.Contains(dtype.All(), dt) {
				return fmt.Errorf("%s: column %q: got type %v, want one of %v", t.file, col.name, dt, dtype.All())
			}
			if i := col.firstNot(dt); i >= 0 {
				return fmt.Errorf("%s:%d: column %q: got %.40q, want %v", t.file, t.lines[i], col.name, col.values[i], dt)
			}
			continue
		}
		if col.lacking() == len(col.values) {
			col.dtype = dtype.F32 // a column without values is one of numbers
			continue
		}
		for _, dt := range []dtype.Type{dtype.Bool, dtype.I64, dtype.F32} {
			if col.firstNot(dt) < 0 {
				col.dtype = dt
				break
			}
		}
	}
	return nil
}

// absent says which values are missing; nil: none.
func (c CSV) absent(values []string) (missing []bool) {
	texts := c.Missing
	if texts == nil {
		texts = []string{"", "NA", "N/A", "NaN", "null"}
	}
	for i, v := range values {
		v = strings.TrimSpace(v)
		if slices.ContainsFunc(texts, func(text string) bool { return strings.EqualFold(text, v) }) {
			if missing == nil {
				missing = make([]bool, len(values))
			}
			missing[i] = true
		}
	}
	return missing
}
