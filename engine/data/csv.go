package data

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/data/internal/csv"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// A CSV says how a file of rows is written. The zero CSV has commas, and a first line of names.
type CSV struct {
	Comma    rune // between values, an ASCII character; 0: ','
	Comment  rune // begins lines that are left out; 0: there are none
	NoHeader bool // the first line has values: columns are named "0", "1", …
	// Missing are texts that stand for no value; nil: "", "NA", "N/A", "NaN", "None", "null" and the others
	// that pandas takes for such: "NULL", "<NA>", "#N/A", "#NA", "n/a", "nan", "-nan" and what C writes for
	// NaN.
	Missing []string
	// Types are chosen types of columns, by name; dtype.Invalid: text. Those of the others are inferred from
	// all of their values: bool where all are true or false; i64, or u64 for greater integers; f64 for other
	// decimal numbers; time for days and times of them as 2006-01-02, 2006-01-02 15:04:05 or RFC 3339 has
	// them, from 1678 to 2261; and text. Integers of which neither i64 nor u64 has all are text.
	Types map[string]dtype.Type
}

// missingWords are those of pandas.read_csv.
var missingWords = []string{"", "NA", "N/A", "NaN", "None", "null", "NULL", "<NA>", "n/a", "nan", "-nan", "-NaN", "#N/A", "#N/A N/A", "#NA",
	"1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}

// ReadCSV reads a file of rows with commas, whose first line has the names of the columns: CSV{}.Read(path).
func ReadCSV(path string) (*Table, error) { return CSV{}.Read(path) }

// Read reads a file of rows, as RFC 4180 describes it, by all processors; one that ends in .gz is unpacked.
// Lines end in \n, \r\n or \r. Values may stand in quotes, with blanks before. Other blanks belong to a text,
// and do not count around a number, a time, true, false, what stands for no value and the name of a column.
// All rows have as many values. A row of another length, and a value that is none of its column's chosen
// type, are errors that name the line.
func (c CSV) Read(path string) (t *Table, err error) {
	defer wrap.Error(&err, "data: read csv")
	f, size, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return c.read(f, size, visible.Line(filepath.Base(path)))
}

func (c CSV) dialect() (csv.Dialect, error) {
	comma := cmp.Or(c.Comma, ',')
	if comma > 127 || comma < 0 || c.Comment > 127 || c.Comment < 0 {
		return csv.Dialect{}, fmt.Errorf("got %q between values and %q before comments, want ASCII characters", comma, c.Comment)
	}
	d := csv.Dialect{Comma: byte(comma), Comment: byte(c.Comment)}
	return d, d.Check()
}

// read makes a table of a file's text.
func (c CSV) read(f io.ReaderAt, size int64, file string) (*Table, error) {
	d, err := c.dialect()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return (&csvReader{CSV: c, d: d, f: f, size: size, file: file, block: int(min(blockSize, size+1)), most: csv.MaxRecord}).read()
}

func (r *csvReader) read() (*Table, error) {
	if err := r.header(); err != nil {
		return nil, err
	}
	return r.table()
}

// header reads the names of the columns, and chooses those types that are told.
func (r *csvReader) header() error {
	blocks := csv.Blocks{Dialect: r.d, R: io.NewSectionReader(r.f, 0, r.size), Size: r.block, Most: r.most}
	l := csv.Lexer{Dialect: r.d, Line: 1, Final: true}
	for at, state := int64(0), csv.End; state == csv.End; at += int64(len(l.Text)) {
		block, _, err := blocks.Next(nil)
		if err != nil {
			return fmt.Errorf("%s: %w", r.file, err)
		}
		if len(block) == 0 {
			return fmt.Errorf("%s: the file is empty", r.file)
		}
		l.Text, l.At = block, 0
		if at == 0 && strings.HasPrefix(string(block[:min(3, len(block))]), "\ufeff") {
			l.At = 3
		}
		r.start, r.line = at+int64(l.At), l.Line
		if state, err = l.Next(); err != nil {
			return fmt.Errorf("%s:%w", r.file, err)
		}
		if err := checkText(block[:l.At], at); err != nil {
			return fmt.Errorf("%s: %w", r.file, err)
		}
		if !r.NoHeader {
			r.start, r.line = at+int64(l.At), l.Line
		}
	}
	for i, s := range l.Spans {
		name := strings.TrimSpace(string(s.Bytes(l.Text)))
		if r.NoHeader || name == "" {
			name = strconv.Itoa(i)
		}
		if slices.Contains(r.names, name) {
			return fmt.Errorf("%s:%d: two columns have the name %q", r.file, l.Start, name)
		}
		r.names = append(r.names, name)
	}
	r.levels = make([]level, len(r.names))
	for _, name := range slices.Sorted(maps.Keys(r.Types)) {
		i, dt := slices.Index(r.names, name), r.Types[name]
		if i < 0 {
			return fmt.Errorf("%s: got a type for column %q, want one of %.300q", r.file, name, r.names)
		}
		if dt != dtype.Invalid && !slices.Contains(dtype.All(), dt) {
			return fmt.Errorf("%s: column %q: got type %v, want one of %v", r.file, name, dt, dtype.All())
		}
		r.levels[i] = levelOf(dt)
	}
	r.absent()
	return nil
}

// absent prepares the texts that stand for no value.
func (r *csvReader) absent() {
	list := r.Missing
	if list == nil {
		list = missingWords
	}
	r.gone = map[string]bool{}
	for _, text := range list {
		text = strings.TrimSpace(text)
		r.gone[text] = true
		if text == "" {
			r.begins[0] = true
		} else {
			r.begins[text[0]] = true
		}
	}
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
