package script

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// Matchers of an expected line. A line `...` stands for any number of lines.
const (
	anyLines = "..."

	numberPattern = `[-+]?(?:\d[\d,_]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?Inf|NaN`
	timeUnit      = `\d[\d,]*(?:\.\d+)?\s?(?:ns|µs|μs|us|ms|min|s|m|h|d)`
	timePattern   = timeUnit + `(?:\s?` + timeUnit + `)*` // 1m2s, 1 min 02 s
)

// matcherSyntax finds [..], [time], [number], 1.23[~1e-3] and [launches<=2].
var matcherSyntax = lazy.Regexp(`\[\.\.\]|\[time\]|\[number\]|` +
	`(` + numberPattern + `)\[~([^\]\s]+)\]|` +
	`\[([a-zA-Z]\w*)(<=|>=|==|<|>|=)([-+.\deE]+)\]`)

// A token is a piece of an expected line: text that must be there, a run of blanks, or a matcher.
type token struct {
	kind  tokenKind
	text  string // as it stands in the file
	want  float64
	bound float64 // tolerance, or the limit of a count
	op    string  // how a count is compared
	name  string  // the name of the counted thing
}

type tokenKind int

const (
	literal tokenKind = iota
	blank
	anyText
	duration
	number
	near
	count
)

// A pattern is an expected line, compiled.
type pattern struct {
	line   string
	tokens []token
	// re is nil for a line without matchers.
	re *regexp.Regexp
}

func compile(line string) pattern {
	line = strings.ToValidUTF8(line, "\ufffd")
	p := pattern{line: line}
	at := 0
	for _, m := range matcherSyntax().FindAllStringSubmatchIndex(line, -1) {
		tok, ok := matcher(line, m)
		if !ok {
			continue
		}
		p.addText(line[at:m[0]])
		p.tokens = append(p.tokens, tok)
		at = m[1]
	}
	if at == 0 && len(p.tokens) == 0 {
		return p
	}
	p.addText(line[at:])
	p.re = p.regexp(func(t token) string { return regexp.QuoteMeta(t.text) })
	return p
}

// matcher reads the matcher that matcherSyntax found. It returns false if its numbers are not numbers.
func matcher(line string, m []int) (token, bool) {
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return line[m[2*i]:m[2*i+1]]
	}
	tok := token{text: group(0)}
	if kind, plain := map[string]tokenKind{"[..]": anyText, "[time]": duration, "[number]": number}[tok.text]; plain {
		tok.kind = kind
		return tok, true
	}
	var err1, err2 error
	if group(1) != "" {
		tok.kind = near
		tok.want, err1 = parseNumber(group(1))
		tok.bound, err2 = strconv.ParseFloat(group(2), 64)
	} else {
		tok.kind, tok.name, tok.op = count, group(3), group(4)
		tok.bound, err1 = strconv.ParseFloat(group(5), 64)
	}
	return tok, err1 == nil && err2 == nil
}

// addText splits text between matchers into words and runs of blanks.
func (p *pattern) addText(text string) {
	for text != "" {
		n := strings.IndexAny(text, " \t")
		kind := literal
		switch n {
		case -1:
			n = len(text)
		case 0:
			kind = blank
			n = len(text) - len(strings.TrimLeft(text, " \t"))
		}
		p.tokens = append(p.tokens, token{kind: kind, text: text[:n]})
		text = text[n:]
	}
}

// regexp joins the tokens; word returns the expression for a literal. Each token that Match or rewrite
// needs is a group.
func (p *pattern) regexp(word func(token) string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^\s*`)
	for i, t := range p.tokens {
		switch t.kind {
		case literal:
			b.WriteString("(" + word(t) + ")")
		case blank: // none are needed before the line, or before a last [..] that matches nothing
			run := `(\s+)`
			if i == 0 || i+2 == len(p.tokens) && p.tokens[i+1].kind == anyText {
				run = `(\s*)`
			}
			b.WriteString(run)
		case anyText:
			b.WriteString(`(.*?)`)
		case duration:
			b.WriteString(`(` + timePattern + `)`)
		case number, near:
			b.WriteString(`(` + numberPattern + `)`)
		case count:
			b.WriteString(`((?:` + numberPattern + `)(?:\s+` + countedName(t.name) + `\b)?)`)
		}
	}
	b.WriteString(`\s*$`)
	return regexp.MustCompile(b.String())
}

// countedName matches launches, launch and Launches.
func countedName(name string) string {
	stem := strings.TrimSuffix(name, "s")
	if s, ok := strings.CutSuffix(name, "es"); ok && (strings.HasSuffix(s, "ch") || strings.HasSuffix(s, "sh") || strings.HasSuffix(s, "x")) {
		stem = s
	}
	return `(?i:` + regexp.QuoteMeta(stem) + `(?:es|s)?)`
}

// match says whether a line of output matches the pattern.
func (p *pattern) match(line string) bool {
	if strings.TrimRight(line, " \t") == strings.TrimRight(p.line, " \t") {
		return true
	}
	if p.re == nil {
		return false
	}
	groups := p.re.FindStringSubmatch(line)
	if groups == nil {
		return false
	}
	for i, t := range p.tokens {
		if !t.holds(groups[i+1]) {
			return false
		}
	}
	return true
}

// holds checks the number that a matcher found.
func (t token) holds(text string) bool {
	switch t.kind {
	case near:
		got, err := parseNumber(text)
		return err == nil && nearlyEqual(got, t.want, t.bound)
	case count:
		got, err := parseNumber(strings.Fields(text)[0])
		return err == nil && compare(got, t.op, t.bound)
	}
	return true
}

// nearlyEqual allows a relative error of tol, and an absolute one where 0 is expected.
func nearlyEqual(got, want, tol float64) bool {
	switch {
	case math.IsNaN(want):
		return math.IsNaN(got)
	case math.IsInf(want, 0):
		return got == want
	case want == 0:
		return math.Abs(got) <= tol
	}
	return math.Abs(got-want) <= tol*math.Abs(want)
}

func compare(got float64, op string, bound float64) bool {
	switch op {
	case "<=":
		return got <= bound
	case ">=":
		return got >= bound
	case "<":
		return got < bound
	case ">":
		return got > bound
	}
	return got == bound
}

func parseNumber(s string) (float64, error) {
	return strconv.ParseFloat(strings.NewReplacer(",", "", "_", "").Replace(s), 64)
}

// Match says whether output matches the expected lines. Blanks at line ends and empty lines at the end of
// the output do not count. In a line with a matcher any run of blanks equals any other, because columns
// move with the width of the numbers in them.
func Match(want []string, output string) bool {
	return matchLines(compileAll(want), outputLines(output))
}

func compileAll(want []string) []pattern {
	patterns := make([]pattern, len(want))
	for i, line := range want {
		patterns[i] = compile(line)
	}
	return patterns
}

func (p *pattern) isAnyLines() bool { return strings.TrimSpace(p.line) == anyLines }

// matchLines holds lines against patterns as a shell does with *: `...` first takes nothing, then one line
// more at a time, and only the last `...` ever has to be reconsidered.
func matchLines(want []pattern, got []string) bool {
	i, j, star, taken := 0, 0, -1, 0
	for j < len(got) {
		switch {
		case i < len(want) && want[i].isAnyLines():
			star, taken = i, j
			i++
		case i < len(want) && want[i].match(got[j]):
			i, j = i+1, j+1
		case star >= 0:
			taken++
			i, j = star+1, taken
		default:
			return false
		}
	}
	for i < len(want) && want[i].isAnyLines() {
		i++
	}
	return i == len(want)
}

// outputLines splits output as it is compared and stored.
func outputLines(output string) []string {
	lines := strings.Split(strings.ToValidUTF8(output, "\ufffd"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
