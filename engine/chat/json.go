package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// fromJSON reads a value and keeps the order of keys.
func fromJSON(src []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	v, err := readJSON(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("got more after a JSON value, want its end")
	}
	return v, nil
}

func readJSON(d *json.Decoder, depth int) (any, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("got JSON more than %d deep, want less", maxNesting)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		if i, err := t.Int64(); err == nil {
			return i, nil
		}
		if !strings.ContainsAny(t.String(), ".eE") {
			return digits(t), nil
		}
		return t.Float64()
	case json.Delim:
		if t == '[' {
			l := &list{}
			for d.More() {
				v, err := readJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				l.items = append(l.items, v)
			}
			_, err := d.Token()
			return l, err
		}
		m := newDict()
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			m.set(k, v)
		}
		_, err := d.Token()
		return m, err
	}
	return t, nil
}

// jsonStyle is how json.dumps of Python writes; indent is nil for one line.
type jsonStyle struct {
	indent    *string
	item, key string
	sorted    bool
	ascii     bool // all other characters as \u and four digits
}

func toJSON(r *run, v any, style jsonStyle) string {
	var b strings.Builder
	writeJSON(r, &b, v, style, "\n")
	return b.String()
}

func writeJSON(r *run, b *strings.Builder, v any, style jsonStyle, line string) {
	defer r.enter()()
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool, int64, digits, float64:
		b.WriteString(strings.ToLower(r.text(v)))
	case string:
		r.spend(len(v))
		quoteJSON(b, v, style.ascii)
	case *list:
		writeItems(r, b, "[]", len(v.items), style, line, func(i int, line string) {
			writeJSON(r, b, v.items[i], style, line)
		})
	case *dict:
		if style.sorted {
			v = r.sortedByKey(v)
		}
		writeItems(r, b, "{}", len(v.keys), style, line, func(i int, line string) {
			k := r.text(v.keys[i])
			if _, ok := v.keys[i].(string); !ok {
				k = strings.ToLower(strings.Replace(k, "None", "null", 1))
			}
			quoteJSON(b, k, style.ascii)
			b.WriteString(style.key)
			writeJSON(r, b, v.values[i], style, line)
		})
	default:
		r.fail("tojson: got %s, want a value that JSON can say", typeName(v))
	}
}

func writeItems(r *run, b *strings.Builder, brackets string, n int, style jsonStyle, line string, item func(int, string)) {
	b.WriteByte(brackets[0])
	inner := line
	if style.indent != nil {
		inner += *style.indent
	}
	for i := range n {
		if i > 0 {
			b.WriteString(style.item)
		}
		if style.indent != nil {
			r.spend(len(inner))
			b.WriteString(inner)
		}
		item(i, inner)
	}
	if n > 0 && style.indent != nil {
		b.WriteString(line)
	}
	b.WriteByte(brackets[1])
}

func quoteJSON(b *strings.Builder, s string, ascii bool) {
	b.WriteByte('"')
	for _, c := range s {
		switch short := strings.IndexRune("\"\\\n\r\t\b\f", c); {
		case short >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\nrtbf`[short])
		case c < 0x20:
			fmt.Fprintf(b, `\u%04x`, c)
		case ascii && c > 0x7e:
			for _, unit := range utf16.AppendRune(nil, c) {
				fmt.Fprintf(b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
}
