package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/data/internal/csv"
)

// maxLine bounds a line of JSON, or an object of a list: one example.
const maxLine = 64 << 20

// A rowReader reads a file's rows. Next returns io.EOF after the last one; after a *badRow there may be more
// rows, after other errors none.
type rowReader interface {
	next() (row, error)
}

// fieldsOf reads a JSON object. Names are those of all fields, also of null.
func fieldsOf(text []byte) (fields map[string]any, names []string, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("got bytes that are no UTF-8")
	}
	if text = bytes.TrimSpace(text); !json.Valid(text) || text[0] != '{' {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			return nil, nil, err
		}
		return nil, nil, errors.New("got null, want an object")
	}
	fields = map[string]any{}
	err = each(text, func(key, value []byte) error {
		name, err := unquote(key)
		if err != nil {
			return err
		}
		names = append(names, name)
		return put(fields, name, value)
	})
	return fields, names, err
}

// put sets a field to a value in JSON.
func put(fields map[string]any, name string, value []byte) (err error) {
	switch {
	case string(value) == "null":
		delete(fields, name) // of a key that stands there twice the last one counts
	case value[0] == '"':
		fields[name], err = unquote(value)
	default:
		fields[name] = json.RawMessage(value)
	}
	return err
}

// placed is err of a text that begins in a line: with line and column, if it knows where in the text it is.
func placed(err error, text []byte, line int) *badRow {
	offset := int64(0)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		err, offset = fmt.Errorf("got a JSON %s, want an object", kind.Value), 0
	}
	if offset == 0 {
		return &badRow{line: line, err: err}
	}
	before := text[:min(int(offset), len(text))]
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 {
		return &badRow{line + bytes.Count(before, []byte("\n")), len(before) - i - 1, err}
	}
	return &badRow{line, len(before), err}
}

// newJSONRows reads the objects of a list that is the whole file, or one in each line.
func newJSONRows(r *bufio.Reader) rowReader {
	start, _ := r.Peek(512)
	if start = bytes.TrimLeft(start, " \t\r\n"); len(start) > 0 && start[0] == '[' {
		return &jsonList{r: r, line: 1}
	}
	return &jsonLines{r: r}
}

// jsonLines reads an object in each line. Empty lines do not count.
type jsonLines struct {
	r    *bufio.Reader
	line int
	text []byte
}

func (l *jsonLines) next() (row, error) {
	for {
		l.line++
		if err := l.read(); err != nil {
			return row{}, err
		}
		text := bytes.TrimSpace(l.text)
		if len(text) == 0 {
			continue
		}
		fields, names, err := fieldsOf(text)
		if err != nil {
			return row{}, placed(err, text, l.line)
		}
		return row{line: l.line, fields: fields, names: names}, nil
	}
}

// read puts the next line into l.text.
func (l *jsonLines) read() error {
	l.text = l.text[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.text)+len(part) > maxLine {
			return fmt.Errorf("%d: the line has more than %d MiB", l.line, maxLine>>20)
		}
		l.text = append(l.text, part...)
		switch {
		case err == nil, err == io.EOF && len(l.text) > 0:
			return nil
		case err == bufio.ErrBufferFull:
		case err == io.EOF:
			return io.EOF
		default:
			return fmt.Errorf("%d: %w", l.line, err)
		}
	}
}

// jsonList reads the objects of a list that is the whole file. It cuts the list into its items by brackets
// and quotes only, so that an item that is no JSON does not hide the next one.
type jsonList struct {
	r     *bufio.Reader
	line  int // of the next byte
	begun bool
	ended bool
	text  []byte
}

func (l *jsonList) byte() (byte, error) {
	c, err := l.r.ReadByte()
	if c == '\n' && err == nil {
		l.line++
	}
	return c, err
}

// solid is the next byte that is no blank. The end of the file is an error: the list is still open.
func (l *jsonList) solid() (byte, error) {
	for {
		c, err := l.byte()
		if err == io.EOF {
			return 0, fmt.Errorf("%d: the file ends, want the end of the list", l.line)
		}
		if err != nil || c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, err
		}
	}
}

func (l *jsonList) next() (row, error) {
	if l.ended {
		return row{}, io.EOF
	}
	c, err := l.solid()
	if err != nil {
		return row{}, err
	}
	if !l.begun { // the reader is chosen by its bracket
		l.begun = true
		if c, err = l.solid(); err != nil {
			return row{}, err
		}
	} else if c == ',' {
		if c, err = l.solid(); err != nil {
			return row{}, err
		}
	} else if c != ']' {
		return row{}, fmt.Errorf("%d: got %q after an item of the list, want a comma or the list's end", l.line, c)
	}
	if c == ']' {
		l.ended = true
		return row{}, l.end()
	}
	line := l.line
	if err := l.item(c); err != nil {
		return row{}, err
	}
	fields, names, err := fieldsOf(l.text)
	if err != nil {
		return row{}, placed(err, l.text, line)
	}
	return row{line: line, fields: fields, names: names}, nil
}

// end says whether nothing follows the list.
func (l *jsonList) end() error {
	for {
		c, err := l.byte()
		if err != nil {
			return err
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return fmt.Errorf("%d: got %q after the list, want the end of the file", l.line, c)
		}
	}
}

// item puts an item, whose first byte is c, into l.text: up to the comma or the bracket that ends it.
func (l *jsonList) item(c byte) error {
	l.text = l.text[:0]
	depth, quoted, escaped := 0, false, false
	for {
		l.text = append(l.text, c)
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth <= 0 && !quoted {
			if next, err := l.r.Peek(1); err != nil || next[0] == ',' || next[0] == ']' || c == '}' {
				return nil
			}
		}
		if len(l.text) >= maxLine {
			return fmt.Errorf("%d: an item has more than %d MiB", l.line, maxLine>>20)
		}
		var err error
		if c, err = l.byte(); err == io.EOF {
			return fmt.Errorf("%d: the file ends, want the end of an item", l.line)
		} else if err != nil {
			return fmt.Errorf("%d: %w", l.line, err)
		}
	}
}

// csvRows reads rows of values, of which the first one has their names. They keep their blanks.
type csvRows struct {
	r     io.Reader
	l     csv.Lexer
	names []string
}

func (c *csvRows) next() (row, error) {
	values, line, err := c.read()
	if err == nil && c.names == nil {
		for i, n := range values {
			for _, before := range values[:i] {
				if n == before {
					return row{}, fmt.Errorf("%d: two columns have the name %q", line, n)
				}
			}
		}
		c.names = values
		values, line, err = c.read()
	}
	if err != nil {
		return row{}, err
	}
	if len(values) != len(c.names) {
		return row{}, &badRow{line: line, err: fmt.Errorf("got %d values, want %d as in the first line", len(values), len(c.names))}
	}
	fields := map[string]any{}
	for i, v := range values {
		if !utf8.ValidString(v) {
			return row{}, &badRow{line: line, err: fmt.Errorf("column %q has bytes that are no UTF-8", c.names[i])}
		}
		fields[c.names[i]] = v
	}
	return row{line: line, fields: fields}, nil
}

func (c *csvRows) read() (values []string, line int, err error) {
	for {
		c.l.Spans = c.l.Spans[:0]
		state, err := c.l.Next()
		var at *csv.Error
		switch {
		case errors.As(err, &at) && !at.Open && c.names != nil && state == csv.Record:
			return nil, 0, &badRow{at.Line, at.Column, errors.New(at.Msg)}
		case err != nil && (state == csv.Record || c.l.Final): // what follows an open quote may belong to the value
			return nil, 0, err
		case state == csv.Record:
			for _, s := range c.l.Spans {
				values = append(values, string(s.Bytes(c.l.Text)))
			}
			return values, c.l.Start, nil
		case c.l.Final:
			return nil, 0, io.EOF
		}
		if err := c.more(); err != nil {
			return nil, 0, err
		}
	}
}

// more reads further bytes behind those that are no whole record.
func (c *csvRows) more() error {
	rest := c.l.Text[c.l.At:]
	if len(rest) > csv.MaxRecord {
		return fmt.Errorf("%d: a row has more than %d MiB", c.l.Line, csv.MaxRecord>>20)
	}
	b := make([]byte, len(rest)+max(len(rest), 64<<10))
	n, err := io.ReadFull(c.r, b[copy(b, rest):])
	c.l.Text, c.l.At = b[:len(rest)+n], 0
	if c.l.Final = err == io.EOF || err == io.ErrUnexpectedEOF; c.l.Final || err == nil {
		return nil
	}
	return fmt.Errorf("%d: %w", c.l.Line, err)
}
