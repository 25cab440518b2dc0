package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/data/internal/arrow"
	"github.com/mcs-notebook/mcs/engine/data/internal/columns"
	"github.com/mcs-notebook/mcs/engine/data/internal/parquet"
)

// A columnFile is a file that is read row by row, though it keeps its values by columns.
type columnFile interface {
	Next(row []any) error
	Rows() int64
	Row() int64
	Columns() []string // names of all
	Chosen() []string  // names of those that are read
}

// openColumns opens a file that keeps its values by columns, to read those of these names, or all.
func openColumns(f io.ReaderAt, format string, size int64, names []string) (columnFile, error) {
	if format == ".parquet" {
		return parquet.Open(f, size, names)
	}
	return arrow.Open(f, size, names)
}

// columnRows reads the fields of records out of such a file.
type columnRows struct {
	r      columnFile
	names  []string // of the columns that are read
	values []any    // of the row
	read   *int64
	size   int64
}

func newColumnRows(f *os.File, format string, size int64, want fields, read *int64) (*columnRows, error) {
	list := []string{want.text, want.prompt, want.completion, want.messages, want.tools, want.chosen, want.rejected, want.extra, want.label}
	if want.messages == "messages" {
		list = append(list, "conversations")
	}
	if want.standard() {
		list = append(list, alpaca...)
	}
	r, err := openColumns(f, format, size, list)
	var missing *columns.Missing
	if errors.As(err, &missing) {
		_, err = want.kindOf(row{names: missing.Have})
	}
	if err != nil {
		return nil, err
	}
	names := r.Chosen()
	return &columnRows{r, names, make([]any, len(names)), read, size}, nil
}

func (p *columnRows) next() (row, error) {
	if err := p.r.Next(p.values); err != nil {
		return row{}, err
	}
	*p.read = int64(float64(p.size) * float64(p.r.Row()) / float64(max(1, p.r.Rows())))
	fields := map[string]any{}
	for i, name := range p.names {
		switch v := p.values[i].(type) {
		case nil:
			delete(fields, name) // of columns of one name the last one counts
		case string:
			fields[name] = v
		default:
			var b bytes.Buffer
			err := writeValue(&b, v)
			if err == nil {
				err = put(fields, name, b.Bytes())
			}
			if err != nil {
				return row{}, &badRow{line: int(p.r.Row()), err: fmt.Errorf("column %q: %w", name, err)}
			}
		}
	}
	return row{line: int(p.r.Row()), fields: fields, names: p.r.Columns()}, nil
}

// writeValue writes a value as JSON. Fields of structs that are null are left out, as a table has in each row
// what some row has; but for the content of a message, see toMessage.
func writeValue(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case uint64:
		b.WriteString(strconv.FormatUint(v, 10))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("got the number %v, which JSON does not have", v)
		}
		text, err := json.Marshal(v)
		b.Write(text)
		return err
	case columns.Time:
		writeText(b, v.String())
	case string:
		writeText(b, v)
	case columns.JSON:
		if !json.Valid([]byte(v)) {
			return fmt.Errorf("got %s, want JSON", brief(string(v)))
		}
		b.WriteString(strings.TrimSpace(string(v)))
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeValue(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case columns.Object:
		b.WriteByte('{')
		first := true
		for _, f := range v {
			if f.Value == nil && f.Name != "content" {
				continue
			}
			if !first {
				b.WriteByte(',')
			}
			first = false
			writeText(b, f.Name)
			b.WriteByte(':')
			if err := writeValue(b, f.Value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	}
	return nil
}

func writeText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.Encode(s)             // a text is always JSON
	b.Truncate(b.Len() - 1) // the line's end
}
