package chat

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	end        kind = iota
	data            // text outside of tags
	beginPrint      // {{
	endPrint        // }}
	beginBlock      // {%
	endBlock        // %}
	name
	text    // a string
	integer // in token.number, as float is
	float
	operator
)

var kindNames = [...]string{
	"the end of the template", "text", "{{", "}}", "{%", "%}", "a name", "a string", "a number", "a number", "an operator",
}

type token struct {
	kind   kind
	text   string
	number any
	line   int
}

func (t token) String() string {
	switch t.kind {
	case name, operator:
		return strconv.Quote(t.text)
	}
	return kindNames[t.kind]
}

// lexer cuts a template into tokens, with trim_blocks and lstrip_blocks as jinja2 has them.
type lexer struct {
	src       string
	at        int
	line      int
	lineStart bool // what was read last ended a line
	tokens    []token
}

func lex(src string) []token {
	src = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)
	src = strings.TrimSuffix(src, "\n")
	l := &lexer{src: src, line: 1, lineStart: true}
	for l.at < len(l.src) {
		l.outside()
	}
	l.emit(token{kind: end})
	return l.tokens
}

func (l *lexer) fail(format string, a ...any) {
	panic(failure{line: l.line, reason: fmt.Sprintf(format, a...)})
}

func (l *lexer) emit(t token) {
	t.line = l.line
	l.tokens = append(l.tokens, t)
}

// skip passes n bytes and counts their lines.
func (l *lexer) skip(n int) {
	passed := l.src[l.at : l.at+n]
	l.line += strings.Count(passed, "\n")
	l.lineStart = strings.HasSuffix(passed, "\n")
	l.at += n
}

func (l *lexer) has(s string) bool { return strings.HasPrefix(l.src[l.at:], s) }

// outside reads text and the tag after it.
func (l *lexer) outside() {
	n := 0
	for {
		i := strings.IndexByte(l.src[l.at+n:], '{')
		if i < 0 || l.at+n+i+1 >= len(l.src) {
			l.text(l.src[l.at:])
			l.skip(len(l.src) - l.at)
			return
		}
		n += i
		if strings.IndexByte("{%#", l.src[l.at+n+1]) >= 0 {
			break
		}
		n++
	}
	tag := l.src[l.at+n : l.at+n+2]
	sign := byte(0)
	if after := l.at + n + 2; after < len(l.src) && (l.src[after] == '-' || l.src[after] == '+') {
		sign = l.src[after]
	}
	l.text(l.before(l.src[l.at:l.at+n], sign, tag != "{{"))
	l.skip(n + 2)
	if sign != 0 {
		l.skip(1)
	}
	switch tag {
	case "{#":
		l.comment()
	case "{{":
		l.emit(token{kind: beginPrint})
		l.inside(endPrint)
	default:
		if l.raw() {
			return
		}
		l.emit(token{kind: beginBlock})
		l.inside(endBlock)
	}
}

func (l *lexer) text(s string) {
	if s != "" {
		l.emit(token{kind: data, text: s})
	}
}

// before returns what is left of the text before a tag: a "-" takes all blanks, a block those of its own
// line.
func (l *lexer) before(s string, sign byte, block bool) string {
	switch {
	case sign == '-':
		return strings.TrimRightFunc(s, isSpace)
	case sign != '+' && block:
		start := strings.LastIndexByte(s, '\n') + 1
		if (start > 0 || l.lineStart) && strings.TrimFunc(s[start:], isSpace) == "" {
			return s[:start]
		}
	}
	return s
}

func (l *lexer) comment() {
	n := strings.Index(l.src[l.at:], "#}")
	if n < 0 {
		l.fail("got a comment without end, want #}")
	}
	sign := byte(0)
	if n > 0 {
		sign = l.src[l.at+n-1]
	}
	l.skip(n + 2)
	l.after(sign, true)
}

// after passes the blanks after a tag that ended with the sign.
func (l *lexer) after(sign byte, block bool) {
	switch {
	case sign == '-':
		rest := l.src[l.at:]
		if n := len(rest) - len(strings.TrimLeftFunc(rest, isSpace)); n > 0 {
			l.skip(n)
		}
	case sign != '+' && block && l.has("\n"):
		l.skip(1)
	}
}

// raw reads {% raw %}…{% endraw %} if that is what begins here.
func (l *lexer) raw() bool {
	sign, n := rawTag(l.src[l.at:], "raw")
	if n == 0 || sign == '+' {
		return false
	}
	l.skip(n)
	l.after(sign, false)
	for i := l.at; ; i++ {
		j := strings.Index(l.src[i:], "{%")
		if j < 0 {
			l.fail("got raw without end, want {%% endraw %%}")
		}
		i += j
		rest := l.src[i+2:]
		before := byte(0)
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			before, rest = rest[0], rest[1:]
		}
		sign, n := rawTag(rest, "endraw")
		if n == 0 {
			continue
		}
		l.text(l.before(l.src[l.at:i], before, true))
		l.skip(len(l.src) - len(rest) + n - l.at)
		l.after(sign, true)
		return true
	}
}

// rawTag returns the sign and the length of what is left of a tag with that word, 0 if it is another tag.
func rawTag(s, word string) (sign byte, n int) {
	rest := strings.TrimLeftFunc(s, isSpace)
	if !strings.HasPrefix(rest, word) {
		return 0, 0
	}
	rest = strings.TrimLeftFunc(rest[len(word):], isSpace)
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		sign, rest = rest[0], rest[1:]
	}
	if !strings.HasPrefix(rest, "%}") {
		return 0, 0
	}
	return sign, len(s) - len(rest) + 2
}

var operators = []string{
	"**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=",
	".", ":", "|", ",",
}

// inside reads the tokens of a tag up to its end. Brackets hide an end: {{ {'a': {}} }}.
func (l *lexer) inside(closing kind) {
	mark, open := kindNames[closing], []byte{}
	for {
		rest := l.src[l.at:]
		trimmed := strings.TrimLeftFunc(rest, isSpace)
		if n := len(rest) - len(trimmed); n > 0 {
			l.skip(n)
			continue
		}
		if rest == "" {
			l.fail("got the end of the template, want %s", mark)
		}
		if len(open) == 0 {
			sign := byte(0)
			if rest[0] == '-' || rest[0] == '+' && closing == endBlock {
				sign, trimmed = rest[0], rest[1:]
			}
			if strings.HasPrefix(trimmed, mark) {
				l.emit(token{kind: closing})
				l.skip(len(rest) - len(trimmed) + 2)
				l.after(sign, closing == endBlock)
				return
			}
		}
		open = l.token(rest, open)
	}
}

// token reads one token and returns the brackets that are open after it.
func (l *lexer) token(rest string, open []byte) []byte {
	c, size := utf8.DecodeRuneInString(rest)
	switch {
	case c >= '0' && c <= '9':
		l.number(rest)
		return open
	case c == '\'' || c == '"':
		l.quoted(rest, rest[0])
		return open
	case c == '_' || unicode.IsLetter(c):
		n := size
		for _, c := range rest[size:] {
			if c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
				break
			}
			n += utf8.RuneLen(c)
		}
		l.emit(token{kind: name, text: rest[:n]})
		l.skip(n)
		return open
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			l.emit(token{kind: operator, text: op})
			l.skip(len(op))
			return l.bracket(op, open)
		}
	}
	l.fail("got %q, want an expression", c)
	return open
}

func (l *lexer) bracket(op string, open []byte) []byte {
	switch op {
	case "(", "[", "{":
		return append(open, op...)
	case ")", "]", "}":
		want := map[string]string{")": "(", "]": "[", "}": "{"}[op]
		if !bytes.HasSuffix(open, []byte(want)) {
			l.fail("got %s without %s", op, want)
		}
		return open[:len(open)-1]
	}
	return open
}

func (l *lexer) number(rest string) {
	digits := func(i int) int {
		for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || rest[i] == '_' && i > 0) {
			i++
		}
		return i
	}
	n := digits(0)
	isFloat := false
	if n+1 < len(rest) && rest[n] == '.' && rest[n+1] >= '0' && rest[n+1] <= '9' {
		n, isFloat = digits(n+1), true
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		e := n + 1
		if e < len(rest) && (rest[e] == '-' || rest[e] == '+') {
			e++
		}
		if e < len(rest) && rest[e] >= '0' && rest[e] <= '9' {
			n, isFloat = digits(e), true
		}
	}
	clean := strings.ReplaceAll(rest[:n], "_", "")
	t, err := token{kind: integer, text: clean}, error(nil)
	if isFloat {
		t.kind = float
		t.number, err = strconv.ParseFloat(clean, 64)
	} else {
		t.number, err = strconv.ParseInt(clean, 10, 64)
	}
	if err != nil {
		l.fail("got the number %s, want one of 64 bits", clean)
	}
	l.emit(t)
	l.skip(n)
}

// quoted reads a string with Python's escapes.
func (l *lexer) quoted(rest string, quote byte) {
	var b strings.Builder
	for i := 1; i < len(rest); {
		switch c := rest[i]; {
		case c == quote:
			l.emit(token{kind: text, text: b.String()})
			l.skip(i + 1)
			return
		case c == '\\' && i+1 < len(rest):
			i += l.escape(&b, rest[i:])
		default:
			b.WriteByte(c)
			i++
		}
	}
	l.fail("got a string without end, want %c", quote)
}

var escapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\\': `\`, '\'': "'", '"': `"`, '\n': "",
}

// escape writes what an escape stands for and returns its length.
func (l *lexer) escape(b *strings.Builder, s string) int {
	if text, ok := escapes[s[1]]; ok {
		b.WriteString(text)
		return 2
	}
	if n := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[1]]; n > 0 {
		if len(s) >= 2+n {
			if code, err := strconv.ParseUint(s[2:2+n], 16, 32); err == nil && code <= unicode.MaxRune {
				b.WriteRune(rune(code))
				return 2 + n
			}
		}
		l.fail("got the escape %.10q, want %d hexadecimal digits of a character", s, n)
	}
	n := 1
	for n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '7' {
		n++
	}
	if n > 1 {
		code, _ := strconv.ParseUint(s[1:n], 8, 32)
		b.WriteRune(rune(code))
		return n
	}
	b.WriteByte('\\')
	return 1
}

// isSpace is Python's idea of a blank.
func isSpace(c rune) bool { return unicode.IsSpace(c) || c >= 0x1c && c <= 0x1f }
