package grammar

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// string begins a string as a schema says.
func (c *compiler) string(s schema) int32 {
	var pattern string
	least, most := c.count(s, "minLength", 0), c.count(s, "maxLength", -1)
	if !c.into(s, "pattern", &pattern, "a text") {
		return c.text(least, most)
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		c.fail(s, "got pattern %q: %v", pattern, err)
	}
	p := &expression{compiler: c, place: s, begins: map[int32]bool{}}
	quote := c.literal(`"`, ended)
	begin := p.found(re.Simplify(), quote)
	if least > 0 || most >= 0 {
		l := &length{expression: p, quote: quote, least: least, most: most, made: map[[2]int32]int32{}}
		begin = l.from(begin, 0)
	}
	return c.literal(`"`, begin)
}

// A length counts the characters of an expression's texts: each of its nodes is made once for each number of
// characters so far.
type length struct {
	*expression
	quote       int32 // which ends a text
	least, most int   // most −1: any number
	made        map[[2]int32]int32
}

// from is a node after so many characters.
func (l *length) from(at int32, count int) int32 {
	key := [2]int32{at, int32(count)}
	if to, ok := l.made[key]; ok {
		return to
	}
	to := l.node(node{})
	l.made[key] = to
	if l.begins[at] {
		if count++; l.most < 0 {
			count = min(count, l.least) // more is as good
		} else if count > l.most {
			return to
		}
	}
	n := l.nodes[at]
	switch {
	case at != l.quote:
		var own node
		for _, e := range n.edges {
			own.edges = append(own.edges, edge{e.low, e.high, l.from(e.to, count)})
		}
		for _, w := range n.ways {
			own.ways = append(own.ways, l.from(w, count))
		}
		l.nodes[to] = own
	case count >= l.least:
		l.nodes[to] = n
	}
	return to
}

// An expression is a regular expression in the syntax that package regexp has, whose texts are written as
// strings of JSON: with an escape where one must be, and nowhere else.
type expression struct {
	*compiler
	place  schema
	begins map[int32]bool // nodes at which a character begins
}

// found is a text in which the expression is found somewhere: what may stand before it and behind it depends
// on each of its alternatives.
func (p *expression) found(re *syntax.Regexp, next int32) int32 {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op == syntax.OpAlternate {
		var ways []int32
		for _, sub := range re.Sub {
			ways = append(ways, p.found(sub, next))
		}
		return p.ways(ways...)
	}
	list := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		list = re.Sub
	}
	begins := len(list) > 0 && list[0].Op == syntax.OpBeginText
	if begins {
		list = list[1:]
	}
	ends := len(list) > 0 && list[len(list)-1].Op == syntax.OpEndText
	if ends {
		list = list[:len(list)-1]
	} else {
		next = p.many(anyRune, next)
	}
	for _, sub := range slices.Backward(list) {
		next = p.part(sub, next)
	}
	if !begins {
		next = p.many(anyRune, next)
	}
	return next
}

var anyRune = &syntax.Regexp{Op: syntax.OpAnyChar}

// many is a part any number of times. None of these is empty, or there would be no end of them.
func (p *expression) many(re *syntax.Regexp, next int32) int32 {
	at := p.node(node{})
	ways := []int32{next, p.part(filled(re), at)}
	p.nodes[at].ways = ways
	return at
}

// filled is an expression of the same texts without the empty one.
func filled(re *syntax.Regexp) *syntax.Regexp {
	if !mayBeEmpty(re) {
		return re
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpQuest:
		return filled(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		return &syntax.Regexp{Op: syntax.OpPlus, Sub: []*syntax.Regexp{filled(re.Sub[0])}}
	case syntax.OpAlternate, syntax.OpConcat: // of a row, the first part that is not empty, and what follows it
		all := &syntax.Regexp{Op: syntax.OpAlternate}
		for i, sub := range re.Sub {
			if one := filled(sub); re.Op == syntax.OpAlternate {
				all.Sub = append(all.Sub, one)
			} else {
				all.Sub = append(all.Sub, &syntax.Regexp{Op: syntax.OpConcat, Sub: append([]*syntax.Regexp{one}, re.Sub[i+1:]...)})
			}
		}
		return all
	}
	return &syntax.Regexp{Op: syntax.OpNoMatch}
}

func mayBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !mayBeEmpty(sub) })
	case syntax.OpAlternate, syntax.OpPlus, syntax.OpCapture:
		return slices.ContainsFunc(re.Sub, mayBeEmpty)
	}
	return false
}

// part is a part of an expression, before the node that comes next.
func (p *expression) part(re *syntax.Regexp, next int32) int32 {
	switch re.Op {
	case syntax.OpNoMatch:
		return p.ways()
	case syntax.OpEmptyMatch:
		return next
	case syntax.OpLiteral:
		for _, r := range slices.Backward(re.Rune) {
			set := []rune{r, r}
			if re.Flags&syntax.FoldCase != 0 {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					set = append(set, f, f)
				}
			}
			next = p.set(set, next)
		}
		return next
	case syntax.OpCharClass:
		return p.set(re.Rune, next)
	case syntax.OpAnyChar:
		return p.set([]rune{0, unicode.MaxRune}, next)
	case syntax.OpAnyCharNotNL:
		return p.set([]rune{0, '\n' - 1, '\n' + 1, '\r' - 1, '\r' + 1, 0x2027, 0x202A, unicode.MaxRune}, next) // as JavaScript's
	case syntax.OpCapture:
		return p.part(re.Sub[0], next)
	case syntax.OpConcat:
		for _, sub := range slices.Backward(re.Sub) {
			next = p.part(sub, next)
		}
		return next
	case syntax.OpAlternate:
		var ways []int32
		for _, sub := range re.Sub {
			ways = append(ways, p.part(sub, next))
		}
		return p.ways(ways...)
	case syntax.OpQuest:
		return p.ways(next, p.part(re.Sub[0], next))
	case syntax.OpStar:
		return p.many(re.Sub[0], next)
	case syntax.OpPlus:
		return p.part(re.Sub[0], p.many(re.Sub[0], next))
	}
	p.fail(p.place, "got %v in a pattern, want ^ and $ at the ends of alternatives only, and no \\b", re)
	return 0
}

// set is a character of ranges, two runes each.
func (p *expression) set(ranges []rune, next int32) int32 {
	var ways []int32
	for i := 0; i < len(ranges); i += 2 {
		low := ranges[i]
		for _, r := range append(escapes(low, ranges[i+1]), ranges[i+1]+1) {
			if low < r {
				ways = append(ways, p.unescaped(low, r-1, next)...)
			}
			if r <= ranges[i+1] {
				q := quoted(string(r))
				ways = append(ways, p.literal(q[1:len(q)-1], next))
			}
			low = max(low, r+1)
		}
	}
	at := p.ways(ways...)
	p.begins[at] = true
	return at
}

// escapes are the runes of a range that a string of JSON must escape.
func escapes(low, high rune) (list []rune) {
	for r := low; r <= min(high, '\\'); r++ {
		if r < ' ' || r == '"' || r == '\\' {
			list = append(list, r)
		}
	}
	return list
}

// unescaped are the ways to write a character of a range in which none needs an escape.
func (p *expression) unescaped(low, high rune, next int32) (ways []int32) {
	const first, last = 0xD800, 0xDFFF // surrogates, which are no characters
	if low < first {
		ways = p.runes(low, min(high, first-1), next)
	}
	if high = min(high, utf8.MaxRune); high > last {
		ways = append(ways, p.runes(max(low, last+1), high, next)...)
	}
	return ways
}
