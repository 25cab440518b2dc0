package data

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/data/internal/arrow"
	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/engine/data/internal/parquet"
	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// Write writes the table by the ending of the name, as ReadTable reads it: .csv, .tsv, .jsonl, .ndjson, .json
// (an object in each line, too), .parquet (compressed by snappy), .arrow or .feather; all but the last three
// also with .gz. Times have no zone there. A missing value is "" in CSV, so that an empty text is read as
// missing, too, and left out of objects. Readers find the old file or the whole new one.
func (t *Table) Write(path string) (err error) {
	defer wrap.Error(&err, "data: write table")
	write := map[string]func(io.Writer) error{
		".csv": t.csvTo(','), ".tsv": t.csvTo('\t'),
		".jsonl": t.jsonTo, ".ndjson": t.jsonTo, ".json": t.jsonTo,
		".parquet": func(w io.Writer) error { return parquet.Write(w, t.written(), t.rows) },
		".arrow":   func(w io.Writer) error { return arrow.Write(w, t.written(), t.rows) },
		".feather": func(w io.Writer) error { return arrow.Write(w, t.written(), t.rows) },
	}[endingOf(path, tableFormats)]
	switch {
	case write == nil:
		return fmt.Errorf("%s ends in none of %s", path, strings.Join(tableFormats, ", "))
	case len(t.columns) == 0:
		return errors.New("the table has no columns")
	}
	return durable.WriteFile(path, func(w io.Writer) error { return packedTo(w, path, write) })
}

// packedTo writes by way of a buffer, and compresses for a name that ends in .gz.
func packedTo(w io.Writer, path string, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<20)
	if strings.HasSuffix(strings.ToLower(path), ".gz") {
		z := gzip.NewWriter(b)
		if err := write(z); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
	} else if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// written are the columns as the writers take them.
func (t *Table) written() (list []columns.Written) {
	for i := range t.columns {
		c := &t.columns[i]
		w := columns.Written{Name: c.name, Values: c.values.all(), Time: c.values.kind() == "time", Single: c.dtype == dtype.F32}
		if c.lacking() > 0 {
			w.Missing = c.missing
		}
		list = append(list, w)
	}
	return list
}

func (t *Table) csvTo(comma byte) func(io.Writer) error {
	return func(w io.Writer) error {
		var b bytes.Buffer
		for i := -1; i < t.rows; i++ {
			for k := range t.columns {
				if k > 0 {
					b.WriteByte(comma)
				}
				text := t.columns[k].name
				if i >= 0 {
					text = t.columns[k].stored(i)
				}
				quoted(&b, text, comma, len(t.columns) == 1)
			}
			b.WriteByte('\n')
			if b.Len() > 1<<16 || i+1 == t.rows {
				if _, err := b.WriteTo(w); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// stored is value i as files of texts have it: a float is not written as an integer.
func (c *column) stored(i int) string {
	text := c.text(i)
	if c.values.kind() == "f64" && text != "" && strings.Trim(text, "-0123456789") == "" {
		text += ".0"
	}
	return text
}

// quoted writes a text, in quotes where it would be read as another one; a value alone in its line also if it
// is empty.
func quoted(b *bytes.Buffer, text string, comma byte, alone bool) {
	plain := !strings.ContainsAny(text, "\"\r\n"+string(rune(comma))) && strings.TrimSpace(text) == text && !strings.HasPrefix(text, "\ufeff")
	if plain && (text != "" || !alone) {
		b.WriteString(text)
		return
	}
	b.WriteByte('"')
	b.WriteString(strings.ReplaceAll(text, `"`, `""`))
	b.WriteByte('"')
}

func (t *Table) jsonTo(w io.Writer) error {
	var b bytes.Buffer
	keys := make([]string, len(t.columns))
	for k := range t.columns {
		var key bytes.Buffer
		writeText(&key, t.columns[k].name)
		keys[k] = key.String()
	}
	for i := range t.rows {
		b.WriteByte('{')
		first := true
		for k := range t.columns {
			c := &t.columns[k]
			if c.lacks(i) {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.WriteString(keys[k])
			b.WriteByte(':')
			switch x := c.value(i).(type) {
			case string:
				writeText(&b, x)
			case time.Time:
				b.WriteString(x.Format(`"` + time.RFC3339Nano + `"`))
			default:
				if f, ok := x.(float64); ok && math.IsInf(f, 0) {
					return fmt.Errorf("%s: column %q: got the number %v, which JSON does not have", t.place(i), c.name, f)
				}
				b.WriteString(c.stored(i))
			}
		}
		b.WriteString("}\n")
		if b.Len() > 1<<16 || i+1 == t.rows {
			if _, err := b.WriteTo(w); err != nil {
				return err
			}
		}
	}
	return nil
}
