package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxInsts bounds a pattern, which repeats of repeats would make long.
const maxInsts = 1 << 16

// compile parses a pattern.
func compile(text string) (*pattern, error) {
	c := &compiler{src: text, p: &pattern{}}
	write := c.alternatives()
	if c.err == nil && c.at < len(text) {
		c.fail("unexpected %q", text[c.at:])
	}
	if c.err == nil {
		c.write(write)
		c.emit(inst{op: opMatch})
	}
	if c.err != nil {
		return nil, fmt.Errorf("pattern %q: at byte %d: %w", text, c.at, c.err)
	}
	return c.p, nil
}

// A compiler parses a pattern. What it parses becomes functions that write instructions, because a repeat
// writes those of its body several times. What is nil writes nothing, and cannot be repeated.
type compiler struct {
	src   string
	at    int
	fold  bool // letters in either case
	depth int
	p     *pattern
	err   error
}

func (c *compiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

func (c *compiler) emit(in inst) int {
	if c.p.insts = append(c.p.insts, in); c.here() > maxInsts {
		c.fail("more than %d instructions", maxInsts)
	}
	return c.here() - 1
}

func (c *compiler) here() int { return len(c.p.insts) }

func (c *compiler) more() bool { return c.err == nil && c.at < len(c.src) }

// take goes past s, if it stands here.
func (c *compiler) take(s string) bool {
	if c.more() && strings.HasPrefix(c.src[c.at:], s) {
		c.at += len(s)
		return true
	}
	return false
}

// alternatives parses a|b|c. The instructions are: split to a or else to the next, a, jump to the end, …
func (c *compiler) alternatives() func() {
	if c.depth++; c.depth > 100 {
		c.fail("groups nest deeper than 100")
	}
	defer func() { c.depth-- }()
	list := []func(){c.sequence()}
	for c.take("|") {
		list = append(list, c.sequence())
	}
	if len(list) == 1 {
		return list[0]
	}
	return func() {
		var jumps []int
		for _, one := range list[:len(list)-1] {
			split := c.emit(inst{op: opSplit})
			c.p.insts[split].x = c.here()
			c.write(one)
			jumps = append(jumps, c.emit(inst{op: opJump}))
			c.p.insts[split].y = c.here()
		}
		c.write(list[len(list)-1])
		for _, j := range jumps {
			c.p.insts[j].x = c.here()
		}
	}
}

// write calls a function that writes instructions; nil writes none.
func (c *compiler) write(f func()) {
	if f != nil {
		f()
	}
}

func (c *compiler) sequence() func() {
	var list []func()
	for c.more() && c.src[c.at] != '|' && c.src[c.at] != ')' {
		if one := c.repeated(); one != nil {
			list = append(list, one)
		}
	}
	if list == nil {
		return nil
	}
	return func() {
		for _, one := range list {
			one()
		}
	}
}

// repeated parses an atom with the repeats that follow it.
func (c *compiler) repeated() func() {
	one, write := c.atom()
	for c.more() {
		low, high, ok := c.repeat()
		if !ok {
			break
		}
		possessive, lazy := c.take("+"), false
		if !possessive {
			lazy = c.take("?")
		}
		if write == nil {
			c.fail("nothing to repeat")
			break
		}
		if one != nil && !lazy {
			run := inst{op: opRun, class: one, min: low, max: high, possessive: possessive}
			write = func() { c.emit(run) }
		} else {
			write = c.loop(write, low, high, lazy, possessive)
		}
		one = nil
	}
	return write
}

// repeat parses *, +, ?, {2}, {1,3} or {2,}.
func (c *compiler) repeat() (low, high int, ok bool) {
	switch {
	case c.take("*"):
		return 0, -1, true
	case c.take("+"):
		return 1, -1, true
	case c.take("?"):
		return 0, 1, true
	}
	if !strings.HasPrefix(c.src[c.at:], "{") {
		return 0, 0, false
	}
	inside, _, found := strings.Cut(c.src[c.at+1:], "}")
	first, second, two := strings.Cut(inside, ",")
	low, err := strconv.Atoi(first)
	if !found || err != nil {
		return 0, 0, false // a brace that stands for itself
	}
	high = low
	if two {
		if high = -1; second != "" {
			if high, err = strconv.Atoi(second); err != nil {
				return 0, 0, false
			}
		}
	}
	c.at += len(inside) + 2
	if low < 0 || low > 1000 || high > 1000 || high >= 0 && high < low {
		c.fail("repeat {%s} is not from 0 to 1000", inside)
	}
	return low, high, true
}

// loop repeats what body writes: split into the body or past it, the body; without a bound, jump to the
// split.
func (c *compiler) loop(body func(), low, high int, lazy, possessive bool) func() {
	write := func() {
		for i := 0; i < low && c.err == nil; i++ {
			body()
		}
		var splits []int
		for i := low; (i < high || high < 0 && i == low) && c.err == nil; i++ {
			splits = append(splits, c.emit(inst{op: opSplit}))
			body()
		}
		if high < 0 && c.err == nil {
			c.emit(inst{op: opJump, x: splits[0]})
		}
		for _, at := range splits {
			in := &c.p.insts[at]
			if in.x, in.y = at+1, c.here(); lazy {
				in.x, in.y = in.y, in.x
			}
		}
	}
	if possessive {
		return c.enclosed(opAtomic, write)
	}
	return write
}

// enclosed writes an instruction around a body, which matches by itself.
func (c *compiler) enclosed(op opcode, body func()) func() {
	return func() {
		at := c.emit(inst{op: op})
		c.write(body)
		c.emit(inst{op: opMatch})
		c.p.insts[at].x = c.here()
	}
}

// atom parses a group, a class or a letter. What matches one rune has a class.
func (c *compiler) atom() (one *class, write func()) {
	var test func(rune) bool
	ch := c.src[c.at]
	_, size := utf8.DecodeRuneInString(c.src[c.at:])
	c.at += size
	switch ch {
	case '(':
		return nil, c.group()
	case '^':
		return nil, func() { c.emit(inst{op: opStart}) }
	case '$':
		return nil, func() { c.emit(inst{op: opEnd}) }
	case '*', '+', '?':
		c.at--
		c.fail("nothing to repeat")
		return nil, nil
	case '.':
		test = func(r rune) bool { return r != '\n' }
	case '[':
		test = c.set()
	default:
		c.at -= size
		test, _ = c.member()
	}
	one = newClass(test)
	return one, func() { c.emit(inst{op: opClass, class: one}) }
}

// groups are the beginnings of groups by what they do; the empty op only groups.
var groups = []struct {
	begin string
	op    opcode
}{{"?:", opMatch}, {"?i:", opMatch}, {"?=", opAhead}, {"?!", opNot}, {"?>", opAtomic}}

// group parses what follows "(".
func (c *compiler) group() func() {
	fold := c.fold
	defer func() { c.fold = fold }()
	if c.take("?i)") {
		c.fold, fold = true, true // until the end of the group around
		return nil
	}
	op := opMatch
	for _, g := range groups {
		if c.take(g.begin) {
			op, c.fold = g.op, c.fold || g.begin == "?i:"
			break
		}
		if g.op == opAtomic && c.take("?") {
			c.fail("a group that begins with %q is not supported", brief(c.src[c.at-2:], 5))
			return nil
		}
	}
	body := c.alternatives()
	if !c.take(")") {
		c.fail("a group has no end")
	}
	if op == opMatch {
		return body
	}
	return c.enclosed(op, body)
}

func brief(s string, n int) string { return s[:min(n, len(s))] }

// letter matches a rune, in all cases if they are folded.
func (c *compiler) letter(want rune) func(rune) bool {
	fold := c.fold
	return func(r rune) bool {
		for f := unicode.SimpleFold(want); fold && f != want; f = unicode.SimpleFold(f) {
			if f == r {
				return true
			}
		}
		return r == want
	}
}

// set parses what follows "[".
func (c *compiler) set() func(rune) bool {
	inverted := c.take("^")
	var tests []func(rune) bool
	for first := true; c.err == nil; first = false {
		rest := c.src[c.at:]
		switch {
		case rest == "":
			c.fail("a class has no end")
			continue
		case !first && c.take("]"):
			return func(r rune) bool {
				for _, t := range tests {
					if t(r) {
						return !inverted
					}
				}
				return inverted
			}
		case strings.HasPrefix(rest, "[:"):
			tests = append(tests, c.posix())
			continue
		case rest[0] == '[' || strings.HasPrefix(rest, "&&"):
			c.fail("a class in a class is not supported")
			continue
		}
		test, low := c.member()
		if rest = c.src[c.at:]; low >= 0 && len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			c.at++
			_, high := c.member()
			if high < low {
				c.fail("a range of a class has no end")
			}
			test = func(r rune) bool { return low <= r && r <= high }
		}
		tests = append(tests, test)
	}
	return nil
}

// posix parses a class like [:alpha:].
func (c *compiler) posix() func(rune) bool {
	name, _, found := strings.Cut(c.src[c.at+2:], ":]")
	test := map[string]func(rune) bool{
		"alpha": unicode.IsLetter, "digit": unicode.IsDigit, "space": unicode.IsSpace, "upper": unicode.IsUpper, "lower": unicode.IsLower, "punct": unicode.IsPunct,
	}[name]
	if !found || test == nil {
		c.fail("class [:%s:] is not known", brief(name, 10))
		return nil
	}
	c.at += len(name) + 4
	return test
}

// Escapes of single runes and of classes; a capital letter is the opposite of a class.
var (
	runes   = map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', 'f': '\f', 'v': '\v', '0': 0}
	classes = map[byte]func(rune) bool{'s': unicode.IsSpace, 'd': unicode.IsDigit, 'w': wordRune}
)

// member parses a rune or an escape, and returns the rune that it is, −1 for a class.
func (c *compiler) member() (test func(rune) bool, r rune) {
	r, size := utf8.DecodeRuneInString(c.src[c.at:])
	c.at += size
	if r != '\\' {
		return c.letter(r), r
	}
	if !c.more() {
		c.fail("a backslash stands at the end")
		return nil, -1
	}
	ch := c.src[c.at]
	r, size = utf8.DecodeRuneInString(c.src[c.at:])
	c.at += size
	small := ch | 0x20
	switch {
	case small == 'p':
		test = c.property()
	case classes[small] != nil:
		test = classes[small]
	case ch == 'u' || ch == 'x':
		r = c.hexadecimal(ch)
		return c.letter(r), r
	case strings.IndexByte("bBAzZGKk123456789", ch) >= 0:
		c.fail("\\%c is not supported", ch)
		return nil, -1
	default:
		if known, ok := runes[ch]; ok {
			r = known
		}
		return c.letter(r), r
	}
	if ch != small && test != nil {
		plain := test
		test = func(r rune) bool { return !plain(r) }
	}
	return test, -1
}

// hexadecimal reads the code of \x41, \x{41}, \u0041.
func (c *compiler) hexadecimal(ch byte) rune {
	size, end := map[byte]int{'u': 4, 'x': 2}[ch], 0
	if c.take("{") {
		if size = strings.IndexByte(c.src[c.at:], '}'); size < 0 {
			c.fail("\\%c{ has no end", ch)
			return 0
		}
		end = 1
	}
	if size > len(c.src)-c.at {
		c.at = len(c.src)
		c.fail("\\%c has too few digits", ch)
		return 0
	}
	n, err := strconv.ParseUint(c.src[c.at:c.at+size], 16, 32)
	if c.at += size + end; err != nil {
		c.fail("\\%c has no code", ch)
	}
	return rune(n)
}

// property parses the name of a Unicode property: {L}, {Han}, {^L} or a single letter.
func (c *compiler) property() func(rune) bool {
	name, rest, found := strings.Cut(c.src[c.at:], "}")
	switch {
	case !c.more():
		c.fail("\\p has no name")
		return nil
	case name[:min(1, len(name))] != "{":
		name = c.src[c.at : c.at+1]
		c.at++
	case !found:
		c.fail("\\p{ has no end")
		return nil
	default:
		name, c.at = name[1:], len(c.src)-len(rest)
	}
	name, inverted := strings.CutPrefix(name, "^")
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts, unicode.Properties} {
		if table := tables[name]; table != nil {
			return func(r rune) bool { return unicode.Is(table, r) != inverted }
		}
	}
	c.fail("property %q is not known", brief(name, 20))
	return nil
}
