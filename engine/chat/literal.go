package chat

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// A literal reads values as Python's source has them (Python language reference, 2.5 and 6.2), and those of
// Gemma, and writes them as JSON. Words of JSON are values, too, and tuples become lists.
type literal struct {
	text string // what is left
	out  []byte
	deep int
}

// quotes are the marks around texts. In those of more than one character nothing is escaped.
var quotes = []string{`<|"|>`, "<escape>", "'", `"`}

// names finds a name, and what stands between it and its value.
var names = lazy.Regexp(`^\s*([\w.-]+)\s*([=:])`)

// items reads values up to end, which commas keep apart. Where is is given a name and it stand before each,
// and they are an object; else a list.
func (l *literal) items(is, end string) bool {
	const deepest = 200
	around := "[]"
	if is != "" {
		around = "{}"
	}
	if l.deep++; l.deep > deepest {
		return false
	}
	l.out = append(l.out, around[0])
	for n := 0; !l.skip(end); n++ {
		if n > 0 {
			if !l.skip(",") {
				return false
			}
			if l.skip(end) {
				break
			}
			l.out = append(l.out, ',')
		}
		if is != "" && !l.name(is) || !l.value() {
			return false
		}
	}
	l.deep--
	l.out = append(l.out, around[1])
	return true
}

// name reads the name of a value and what stands behind it. That of a member of a dictionary may be a text.
func (l *literal) name(is string) bool {
	at := len(l.out)
	if word := names().FindStringSubmatch(l.text); word != nil && word[2] == is {
		l.out, l.text = append(l.out, asJSON(word[1])...), l.text[len(word[0]):]
	} else if is == "=" || !l.value() || l.out[at] != '"' || !l.skip(is) {
		return false
	}
	l.out = append(l.out, ':')
	return true
}

// value reads one.
func (l *literal) value() bool {
	for _, list := range []struct{ begin, is, end string }{{"[", "", "]"}, {"(", "", ")"}, {"{", ":", "}"}} {
		if l.skip(list.begin) {
			return l.items(list.is, list.end)
		}
	}
	if i := slices.IndexFunc(quotes, l.skip); i >= 0 {
		return l.string(quotes[i])
	}
	l.text = strings.TrimLeft(l.text, blanks)
	n := strings.IndexAny(l.text+",", ",)]}:"+blanks)
	word, ok := asNumber(l.text[:n])
	l.text, l.out = l.text[n:], append(l.out, word...)
	return ok
}

// asNumber is a number or a word of Python's as JSON.
func asNumber(word string) (string, bool) {
	if i := slices.Index([]string{"True", "False", "None"}, word); i >= 0 {
		return []string{"true", "false", "null"}[i], true
	}
	if word = strings.ReplaceAll(word, "_", ""); json.Valid([]byte(word)) {
		return word, true
	}
	x, err := strconv.ParseFloat(word, 64) // 07, 1. and .5, which JSON does not have
	return strconv.FormatFloat(x, 'g', -1, 64), err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
}

// string reads a text up to a quote. Models write quotes in texts without escaping them, as their templates
// do: a quote ends the text where what can follow a value comes next.
func (l *literal) string(quote string) bool {
	var b strings.Builder
	for l.text != "" {
		rest, ended := strings.CutPrefix(l.text, quote)
		if next := strings.TrimLeft(rest, blanks); ended && (len(quote) > 1 || next == "" || strings.ContainsRune(",)]}:", rune(next[0]))) {
			l.text, l.out = rest, append(l.out, asJSON(b.String())...)
			return true
		}
		r, n := utf8.DecodeRuneInString(l.text)
		if r == '\\' && len(quote) == 1 && len(l.text) > 1 {
			if strings.ContainsRune(`'"/`, rune(l.text[1])) {
				r, n = rune(l.text[1]), 2
			} else if c, _, tail, err := strconv.UnquoteChar(l.text, 0); err == nil {
				r, n = c, len(l.text)-len(tail)
			}
		}
		b.WriteRune(r)
		l.text = l.text[n:]
	}
	return false
}

// skip leaves out a mark, and blanks before it.
func (l *literal) skip(mark string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(l.text, blanks), mark)
	if ok {
		l.text = rest
	}
	return ok
}
