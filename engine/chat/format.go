package chat

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// text is str() of Python, and nothing for what is undefined.
func (r *run) text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case undefined:
		return ""
	}
	return r.repr(v)
}

// repr is repr() of Python.
func (r *run) repr(v any) string {
	var b strings.Builder
	r.writeRepr(&b, v)
	return b.String()
}

func (r *run) writeRepr(b *strings.Builder, v any) {
	defer r.enter()()
	switch v := v.(type) {
	case nil:
		b.WriteString("None")
	case undefined:
		b.WriteString("Undefined")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case digits:
		b.WriteString(string(v))
	case float64:
		b.WriteString(floatText(v))
	case string:
		r.spend(len(v))
		quotePython(b, v)
	case *list:
		brackets := "[]"
		if v.tuple {
			brackets = "()"
		}
		b.WriteByte(brackets[0])
		for i, item := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			r.writeRepr(b, item)
		}
		if v.tuple && len(v.items) == 1 {
			b.WriteByte(',')
		}
		b.WriteByte(brackets[1])
	case *dict:
		b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			r.writeRepr(b, k)
			b.WriteString(": ")
			r.writeRepr(b, v.values[i])
		}
		b.WriteByte('}')
	default:
		b.WriteString("<" + typeName(v) + ">")
	}
}

func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return map[bool]string{true: "inf", false: "-inf"}[f > 0]
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func quotePython(b *strings.Builder, s string) {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b.WriteRune(quote)
	for _, c := range s {
		switch {
		case c == quote || c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x20 || c == 0x7f || c < 0x100 && !unicode.IsPrint(c):
			fmt.Fprintf(b, `\x%02x`, c)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c < 0x10000:
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			fmt.Fprintf(b, `\U%08x`, c)
		}
	}
	b.WriteRune(quote)
}

// percent is the % of a string, with %s, %r, %d and %%.
func (r *run) percent(format string, v any) string {
	values := []any{v}
	if l, ok := v.(*list); ok && l.tuple {
		values = l.items
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		i++
		if i < len(format) && format[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if i == len(format) || len(values) == 0 || strings.IndexByte("srdi", format[i]) < 0 {
			r.fail("got the format %.40q with %d values, want %%s, %%r or %%d for each", format, len(values))
		}
		if format[i] == 'r' {
			b.WriteString(r.repr(values[0]))
		} else {
			b.WriteString(r.text(values[0]))
		}
		values = values[1:]
		r.spend(b.Len())
	}
	r.spend(b.Len())
	return b.String()
}

// braces is the method format of a string, with {}, {0}, {name}, {{ and }}.
func (r *run) braces(format string, a args) string {
	var b strings.Builder
	for next := 0; ; {
		at := strings.IndexAny(format, "{}")
		if at < 0 {
			b.WriteString(format)
			r.spend(b.Len())
			return b.String()
		}
		b.WriteString(format[:at])
		if strings.HasPrefix(format[at+1:], format[at:at+1]) {
			b.WriteByte(format[at])
			format = format[at+2:]
			continue
		}
		name, rest, closed := strings.Cut(format[at+1:], "}")
		if format[at] == '}' || !closed || strings.ContainsAny(name, "{:!.[") {
			r.fail("format: got %.40q, want {}, {0} or {name} for each value", format[at:])
		}
		if name == "" {
			name = strconv.Itoa(next)
			next++
		}
		i, err := strconv.Atoi(name)
		switch named := slices.Index(a.names, name); {
		case err == nil && i >= 0 && i < len(a.positional):
			b.WriteString(r.text(a.positional[i]))
		case named >= 0:
			b.WriteString(r.text(a.named[named]))
		default:
			r.fail("format: got no value for {%s}", name)
		}
		r.spend(b.Len())
		format = rest
	}
}

var clock = map[byte]string{
	'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'B': "January", 'b': "Jan", 'A': "Monday", 'a': "Mon", 'H': "15",
	'I': "03", 'M': "04", 'S': "05", 'p': "PM", 'j': "002", 'Z': "MST", 'z': "-0700", 'e': "_2", 'F': "2006-01-02",
	'T': "15:04:05", 'D': "01/02/06", 'R': "15:04", 'h': "Jan", '%': "%",
}

// strftime is that of Python in the locale C.
func strftime(r *run, t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format)
		if bare {
			i++
		}
		layout, ok := clock[format[i]]
		if !ok {
			r.fail("strftime_now: got %%%c, want a letter of strftime", format[i])
		}
		part := t.Format(layout)
		if bare && len(part) > 1 {
			part = strings.TrimLeft(part[:len(part)-1], "0 ") + part[len(part)-1:]
		}
		b.WriteString(part)
	}
	r.spend(b.Len())
	return b.String()
}
