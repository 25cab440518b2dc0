package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// compile parses a pattern.
func compile(text string) (*pattern, error) {
	c := &compiler{src: text, p: &pattern{text: text}}
	c.alternatives()
	if c.err == nil && c.at < len(text) {
		c.fail("unexpected %q", text[c.at:])
	}
	if c.err != nil {
		return nil, fmt.Errorf("pattern %q: at byte %d: %w", text, c.at, c.err)
	}
	c.emit(inst{op: opMatch})
	return c.p, nil
}

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
	c.p.insts = append(c.p.insts, in)
	return len(c.p.insts) - 1
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
func (c *compiler) alternatives() {
	if c.depth++; c.depth > 100 {
		c.fail("groups nest deeper than 100")
	}
	defer func() { c.depth-- }()
	var jumps []int
	for {
		split := c.emit(inst{op: opSplit})
		c.p.insts[split].x = c.here()
		c.sequence()
		if !c.take("|") {
			c.remove(split)
			break
		}
		jumps = append(jumps, c.emit(inst{op: opJump}))
		c.p.insts[split].y = c.here()
	}
	for _, j := range jumps {
		c.p.insts[j].x = c.here()
	}
}

// remove takes out the split of the last alternative, after which nothing else is tried.
func (c *compiler) remove(split int) {
	c.p.insts = append(c.p.insts[:split], c.p.insts[split+1:]...)
	for i := split; i < len(c.p.insts); i++ {
		in := &c.p.insts[i]
		if in.x > split {
			in.x--
		}
		if in.y > split {
			in.y--
		}
	}
}

func (c *compiler) sequence() {
	for c.more() && c.src[c.at] != '|' && c.src[c.at] != ')' {
		c.repeated()
	}
}

// repeated parses an atom with the repeat that follows it.
func (c *compiler) repeated() {
	start := c.here()
	single := c.atom()
	for c.more() {
		min, max, ok := c.repeat()
		if !ok {
			return
		}
		possessive, lazy := c.take("+"), false
		if !possessive {
			lazy = c.take("?")
		}
		if c.here() == start {
			c.fail("nothing to repeat")
			return
		}
		if single && !lazy {
			in := &c.p.insts[start]
			in.op, in.min, in.max, in.possessive = opRun, min, max, possessive
			single = false
			continue
		}
		single = false
		c.loop(start, min, max, lazy, possessive)
	}
}

// repeat parses *, +, ?, {2}, {1,3} or {2,}.
func (c *compiler) repeat() (min, max int, ok bool) {
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
	min, err := strconv.Atoi(first)
	if !found || err != nil {
		return 0, 0, false // a brace that stands for itself
	}
	max = min
	if two {
		if max = -1; second != "" {
			if max, err = strconv.Atoi(second); err != nil {
				return 0, 0, false
			}
		}
	}
	c.at += len(inside) + 2
	if min < 0 || min > 1000 || max > 1000 || max >= 0 && max < min {
		c.fail("repeat {%s} is not from 0 to 1000", inside)
	}
	return min, max, true
}

// loop repeats the instructions from start on.
func (c *compiler) loop(start, min, max int, lazy, possessive bool) {
	body := append([]inst(nil), c.p.insts[start:]...)
	c.p.insts = c.p.insts[:start]
	atomic := -1
	if possessive {
		atomic = c.emit(inst{op: opAtomic})
	}
	copyBody := func() {
		shift := c.here() - start
		for _, in := range body {
			if in.op != opRun && in.op != opClass {
				in.x, in.y = in.x+shift, in.y+shift
			}
			c.emit(in)
		}
		if c.here() > 1<<16 {
			c.fail("more than %d instructions", 1<<16)
		}
	}
	split := func() int {
		at := c.emit(inst{op: opSplit})
		if c.p.insts[at].x = at + 1; lazy {
			c.p.insts[at].y = at + 1
		}
		return at
	}
	leave := func(at int) {
		if lazy {
			c.p.insts[at].x = c.here()
		} else {
			c.p.insts[at].y = c.here()
		}
	}
	for i := 0; i < min && c.err == nil; i++ {
		copyBody()
	}
	if max < 0 {
		at := split()
		copyBody()
		c.emit(inst{op: opJump, x: at})
		leave(at)
	}
	var splits []int
	for i := min; i < max && c.err == nil; i++ {
		splits = append(splits, split())
		copyBody()
	}
	for _, at := range splits {
		leave(at)
	}
	if atomic >= 0 {
		c.emit(inst{op: opMatch})
		c.p.insts[atomic].x = c.here()
	}
}

// atom parses a group, a class or a letter. It says whether that is one instruction for one rune.
func (c *compiler) atom() (single bool) {
	switch ch := c.src[c.at]; ch {
	case '(':
		c.at++
		c.group()
		return false
	case '^':
		c.at++
		c.emit(inst{op: opStart})
		return false
	case '$':
		c.at++
		c.emit(inst{op: opEnd})
		return false
	case '*', '+', '?':
		c.fail("nothing to repeat")
		return false
	case '.':
		c.at++
		c.emit(inst{op: opClass, class: newClass(func(r rune) bool { return r != '\n' })})
		return true
	case '[':
		c.at++
		c.emit(inst{op: opClass, class: newClass(c.set())})
		return true
	case '\\':
		c.at++
		c.emit(inst{op: opClass, class: newClass(c.escape())})
		return true
	}
	r, size := utf8.DecodeRuneInString(c.src[c.at:])
	c.at += size
	c.emit(inst{op: opClass, class: newClass(c.letter(r))})
	return true
}

// group parses what follows "(".
func (c *compiler) group() {
	fold := c.fold
	defer func() { c.fold = fold }()
	op := opMatch
	switch {
	case c.take("?:"):
	case c.take("?i:"):
		c.fold = true
	case c.take("?="):
		op = opAhead
	case c.take("?!"):
		op = opNot
	case c.take("?>"):
		op = opAtomic
	case c.take("?i)"):
		fold = true // until the end of the group around
		return
	case c.take("?"):
		c.fail("a group that begins with %q is not supported", brief(c.src[c.at-2:], 5))
		return
	}
	at := -1
	if op != opMatch {
		at = c.emit(inst{op: op})
	}
	c.alternatives()
	if !c.take(")") {
		c.fail("a group has no end")
		return
	}
	if at >= 0 {
		c.emit(inst{op: opMatch})
		c.p.insts[at].x = c.here()
	}
}

func brief(s string, n int) string { return s[:min(n, len(s))] }

// letter matches a rune, in all cases if they are folded.
func (c *compiler) letter(want rune) func(rune) bool {
	if !c.fold {
		return func(r rune) bool { return r == want }
	}
	return func(r rune) bool {
		for f := unicode.SimpleFold(want); ; f = unicode.SimpleFold(f) {
			if f == r {
				return true
			}
			if f == want {
				return false
			}
		}
	}
}

// set parses what follows "[".
func (c *compiler) set() func(rune) bool {
	not := c.take("^")
	var tests []func(rune) bool
	for first := true; ; first = false {
		if !c.more() {
			c.fail("a class has no end")
			return nil
		}
		if !first && c.take("]") {
			break
		}
		if strings.HasPrefix(c.src[c.at:], "&&") || c.src[c.at] == '[' && !strings.HasPrefix(c.src[c.at:], "[:") {
			c.fail("a class in a class is not supported")
			return nil
		}
		if strings.HasPrefix(c.src[c.at:], "[:") {
			tests = append(tests, c.posix())
			continue
		}
		test, low, isRune := c.member()
		if !isRune || !strings.HasPrefix(c.src[c.at:], "-") || strings.HasPrefix(c.src[c.at:], "-]") {
			tests = append(tests, test)
			continue
		}
		c.at++
		if !c.more() {
			continue
		}
		_, high, isRune := c.member()
		if !isRune || high < low {
			c.fail("a range of a class has no end")
			return nil
		}
		tests = append(tests, func(r rune) bool { return low <= r && r <= high })
	}
	return func(r rune) bool {
		for _, t := range tests {
			if t(r) {
				return !not
			}
		}
		return not
	}
}

// member parses a rune or an escape of a class.
func (c *compiler) member() (test func(rune) bool, r rune, isRune bool) {
	r, size := utf8.DecodeRuneInString(c.src[c.at:])
	c.at += size
	if r != '\\' {
		return c.letter(r), r, true
	}
	start := c.at
	test = c.escape()
	if c.err != nil {
		return test, 0, false
	}
	if r, ok := c.escaped(start); ok {
		return test, r, true
	}
	return test, 0, false
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

// escapes of single runes.
var runes = map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', 'f': '\f', 'v': '\v', '0': 0}

// escaped is the rune that the escape at a place of the source stands for, if it is one.
func (c *compiler) escaped(at int) (rune, bool) {
	if r, ok := runes[c.src[at]]; ok {
		return r, true
	}
	if c.src[at] == 'u' || c.src[at] == 'x' {
		n, err := strconv.ParseUint(strings.Trim(c.src[at+1:c.at], "{}"), 16, 32)
		return rune(n), err == nil
	}
	if strings.IndexByte("sSdDwWpPbB", c.src[at]) >= 0 {
		return 0, false
	}
	r, _ := utf8.DecodeRuneInString(c.src[at:])
	return r, true
}

// escape parses what follows a backslash.
func (c *compiler) escape() func(rune) bool {
	if !c.more() {
		c.fail("a backslash stands at the end")
		return nil
	}
	start := c.at
	ch := c.src[c.at]
	c.at++
	not := func(f func(rune) bool) func(rune) bool { return func(r rune) bool { return !f(r) } }
	switch ch {
	case 's':
		return unicode.IsSpace
	case 'S':
		return not(unicode.IsSpace)
	case 'd':
		return unicode.IsDigit
	case 'D':
		return not(unicode.IsDigit)
	case 'w':
		return wordRune
	case 'W':
		return not(wordRune)
	case 'p':
		return c.property()
	case 'P':
		return not(c.property())
	case 'u', 'x':
		c.hexadecimal(ch)
	case 'b', 'B', 'A', 'z', 'Z', 'G', 'K', 'k', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		c.fail("\\%c is not supported", ch)
		return nil
	default:
		if ch >= utf8.RuneSelf {
			_, size := utf8.DecodeRuneInString(c.src[start:])
			c.at = start + size
		}
	}
	r, ok := c.escaped(start)
	if !ok {
		c.fail("\\%c has no code", ch)
		return nil
	}
	return c.letter(r)
}

// hexadecimal goes past the code of \x41, \x{41}, \u0041.
func (c *compiler) hexadecimal(ch byte) {
	if c.take("{") {
		end := strings.IndexByte(c.src[c.at:], '}')
		if end < 0 {
			c.fail("\\%c{ has no end", ch)
			return
		}
		c.at += end + 1
		return
	}
	digits := map[byte]int{'u': 4, 'x': 2}[ch]
	if c.at += digits; c.at > len(c.src) {
		c.at = len(c.src)
		c.fail("\\%c has too few digits", ch)
	}
}

// property parses the name of a Unicode property: {L}, {Han}, {^L} or a single letter.
func (c *compiler) property() func(rune) bool {
	if !c.more() {
		c.fail("\\p has no name")
		return nil
	}
	name := c.src[c.at : c.at+1]
	if c.take("{") {
		end := strings.IndexByte(c.src[c.at:], '}')
		if end < 0 {
			c.fail("\\p{ has no end")
			return nil
		}
		name = c.src[c.at : c.at+end]
		c.at += end + 1
	} else {
		c.at++
	}
	name, not := strings.CutPrefix(name, "^")
	table := unicode.Categories[name]
	if table == nil {
		table = unicode.Scripts[name]
	}
	if table == nil {
		table = unicode.Properties[name]
	}
	if table == nil {
		c.fail("property %q is not known", brief(name, 20))
		return nil
	}
	return func(r rune) bool { return unicode.Is(table, r) != not }
}
