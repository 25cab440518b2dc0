package data

import (
	"fmt"
	"strconv"
	"strings"
)

// A yamlValue is a text, a list or pairs. Line is where it begins, 0 if it is not there.
type yamlValue struct {
	line  int
	text  string
	list  []yamlValue
	pairs []yamlPair
}

type yamlPair struct {
	key   string
	value yamlValue
}

// get is the value of a key; one with line 0 if there is none.
func (v yamlValue) get(key string) yamlValue {
	for _, p := range v.pairs {
		if p.key == key {
			return p.value
		}
	}
	return yamlValue{}
}

type yamlLine struct {
	number, indent int
	text           string
}

// maxYAML bounds lists and pairs in each other.
const maxYAML = 16

// A yaml reads the part of YAML in which cards are written: lists and pairs in blocks by their indent, or in
// brackets on a line, and texts with and without quotes. What it does not know, it refuses.
type yaml struct {
	lines []yamlLine
	depth int
}

func readYAML(lines []yamlLine) (v yamlValue, err error) {
	y := &yaml{}
	for _, l := range lines {
		text := strings.TrimLeft(l.text, " ")
		if l.indent = len(l.text) - len(text); text == "" || text[0] == '#' {
			continue
		}
		l.text = text
		y.lines = append(y.lines, l)
	}
	if len(y.lines) == 0 {
		return v, nil
	}
	if v, err = y.block(y.lines[0].indent); err == nil && len(y.lines) > 0 {
		err = y.fail("got %.40q, which belongs to nothing before it", y.lines[0].text)
	}
	return v, err
}

func (y *yaml) fail(format string, args ...any) error {
	line := 0
	if len(y.lines) > 0 {
		line = y.lines[0].number
	}
	return fmt.Errorf("%d: %s", line, fmt.Sprintf(format, args...))
}

func isItem(text string) bool { return text == "-" || strings.HasPrefix(text, "- ") }

// block reads what begins with the next line, whose indent this is.
func (y *yaml) block(indent int) (v yamlValue, err error) {
	if y.depth++; y.depth > maxYAML {
		return v, y.fail("lists are more than %d deep", maxYAML)
	}
	defer func() { y.depth-- }()
	first := y.lines[0]
	v.line = first.number
	if isItem(first.text) {
		v.list, err = y.items(indent)
		return v, err
	}
	if _, _, ok := pairOf(first.text); ok {
		v.pairs, err = y.all(indent)
		return v, err
	}
	v, err = y.inline(first.text)
	y.lines = y.lines[1:]
	return v, err
}

// items reads the list whose items have this indent.
func (y *yaml) items(indent int) (list []yamlValue, err error) {
	for len(y.lines) > 0 && y.lines[0].indent == indent && isItem(y.lines[0].text) {
		l := &y.lines[0]
		var v yamlValue
		if text := strings.TrimLeft(l.text[1:], " "); text != "" && text[0] != '#' { // goes on as if it began there
			l.indent += len(l.text) - len(text)
			l.text = text
			v, err = y.block(l.indent)
		} else {
			v, err = y.below(indent)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// all reads the pairs whose keys have this indent.
func (y *yaml) all(indent int) (pairs []yamlPair, err error) {
	for len(y.lines) > 0 && y.lines[0].indent == indent && !isItem(y.lines[0].text) {
		l := y.lines[0]
		key, rest, ok := pairOf(l.text)
		if !ok {
			return nil, y.fail("got %.40q, want a key and a value", l.text)
		}
		var v yamlValue
		if rest == "" || rest[0] == '#' {
			v, err = y.below(indent)
		} else {
			v, err = y.inline(rest)
			y.lines = y.lines[1:]
		}
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, yamlPair{key, v})
	}
	return pairs, nil
}

// below reads the value that stands below the next line: further in, or, of a key, a list with its indent.
func (y *yaml) below(indent int) (yamlValue, error) {
	l := y.lines[0]
	y.lines = y.lines[1:]
	if len(y.lines) > 0 {
		if next := y.lines[0]; next.indent > indent || next.indent == indent && isItem(next.text) && !isItem(l.text) {
			return y.block(next.indent)
		}
	}
	return yamlValue{line: l.number}, nil
}

// pairOf cuts "key: value".
func pairOf(text string) (key, rest string, ok bool) {
	if text[0] == '[' || text[0] == '{' {
		return "", "", false
	}
	if text[0] == '"' || text[0] == '\'' {
		end := strings.IndexByte(text[1:], text[0]) + 1
		if end == 0 || !strings.HasPrefix(text[end+1:], ":") {
			return "", "", false
		}
		key, rest = text[1:end], text[end+1:]
	} else if i := strings.Index(text+" ", ": "); i > 0 {
		key, rest = text[:i], text[i:]
	} else {
		return "", "", false
	}
	return key, strings.TrimLeft(rest[1:], " "), true
}

// inline reads a value that is on one line, up to its end or a comment.
func (y *yaml) inline(text string) (yamlValue, error) {
	v, rest, err := y.flow(text, false)
	if rest = strings.TrimLeft(rest, " "); err == nil && rest != "" && rest[0] != '#' {
		err = y.fail("got %.40q after a value", rest)
	}
	return v, err
}

// flow reads a value at the beginning of a text and returns what follows; inside of brackets a comma ends it.
func (y *yaml) flow(text string, inside bool) (v yamlValue, rest string, err error) {
	if y.depth++; y.depth > maxYAML {
		return v, "", y.fail("lists are more than %d deep", maxYAML)
	}
	defer func() { y.depth-- }()
	v.line = y.lines[0].number
	switch {
	case text == "", strings.ContainsRune("|>&*!%@`", rune(text[0])):
		return v, "", y.fail("got %.40q, want a text, a list or pairs on one line", text)
	case text[0] == '[' || text[0] == '{':
		rest, err = y.bracket(&v, text)
	case text[0] == '\'' || text[0] == '"':
		v.text, rest, err = y.quoted(text)
	default:
		ends := []string{" #"}
		if inside {
			ends = []string{" #", ",", "]", "}", ": "}
		}
		end := len(text)
		for _, e := range ends {
			if i := strings.Index(text, e); i >= 0 {
				end = min(end, i)
			}
		}
		v.text, rest = strings.TrimRight(text[:end], " "), text[end:]
	}
	return v, rest, err
}

func (y *yaml) quoted(text string) (value, rest string, err error) {
	if text[0] == '"' {
		prefix, err := strconv.QuotedPrefix(text)
		if err == nil {
			value, err = strconv.Unquote(prefix)
		}
		if err != nil {
			return "", "", y.fail("got %.40q, want a text that ends with its quote", text)
		}
		return value, text[len(prefix):], nil
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] != '\'':
		case strings.HasPrefix(text[i:], "''"):
			i++
		default:
			return strings.ReplaceAll(text[1:i], "''", "'"), text[i+1:], nil
		}
	}
	return "", "", y.fail("got %.40q, want a text that ends with its quote", text)
}

// bracket reads [a, b] or {a: b}.
func (y *yaml) bracket(v *yamlValue, text string) (string, error) {
	open, end := text[0], map[byte]byte{'[': ']', '{': '}'}[text[0]]
	v.list = []yamlValue{}
	for text = text[1:]; ; {
		if text = strings.TrimLeft(text, " "); text == "" {
			return "", y.fail("want %c at the end of the line", end)
		}
		if text[0] == end {
			break
		}
		item, rest, err := y.flow(text, true)
		if err == nil && open == '{' {
			if rest = strings.TrimLeft(rest, " "); !strings.HasPrefix(rest, ":") {
				return "", y.fail("got %.40q, want a colon", rest)
			}
			key := item.text
			item, rest, err = y.flow(strings.TrimLeft(rest[1:], " "), true)
			v.pairs = append(v.pairs, yamlPair{key, item})
		} else {
			v.list = append(v.list, item)
		}
		if err != nil {
			return "", err
		}
		text = strings.TrimLeft(rest, " ")
		if strings.HasPrefix(text, ",") {
			text = text[1:]
		} else if text != "" && text[0] != end {
			return "", y.fail("got %.40q, want a comma or %c", text, end)
		}
	}
	if open == '{' {
		v.list = nil
	}
	return text[1:], nil
}
