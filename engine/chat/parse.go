package chat

import (
	"fmt"
	"slices"
)

// What bounds a template's text: bytes, and how deep its expressions and blocks may nest.
const (
	maxSource  = 1 << 20
	maxNesting = 200
)

type parser struct {
	tokens []token
	at     int
	depth  int
	loops  int // for blocks around
	marks  bool
}

// parseTemplate also says whether the template marks what the assistant said.
func parseTemplate(src string) (body []statement, marks bool) {
	if len(src) > maxSource {
		panic(failure{line: 1, reason: fmt.Sprintf("got %d bytes, want at most %d", len(src), maxSource)})
	}
	p := &parser{tokens: lex(src)}
	body, _ = p.body()
	return body, p.marks
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) fail(t token, format string, a ...any) {
	panic(failure{line: t.line, reason: fmt.Sprintf(format, a...)})
}

func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == operator || t.kind == name) && t.text == text
}

// take passes an operator or word if it comes next.
func (p *parser) take(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(text string) {
	if !p.take(text) {
		p.fail(p.peek(), "got %s, want %q", p.peek(), text)
	}
}

func (p *parser) name() string {
	t := p.next()
	if t.kind != name {
		p.fail(t, "got %s, want a name", t)
	}
	return t.text
}

// enter counts nesting; the caller defers what it returns.
func (p *parser) enter() func() {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.peek(), "got more than %d expressions or blocks in each other, want fewer", maxNesting)
	}
	return func() { p.depth-- }
}

// expression reads an expression with a condition: a if b else c.
func (p *parser) expression() expression {
	defer p.enter()()
	e := p.or()
	for p.is("if") {
		line := p.next().line
		c := &conditional{line: line, then: e, when: p.or()}
		if p.take("else") {
			c.otherwise = p.expression()
		}
		e = c
	}
	return e
}

func (p *parser) or() expression {
	e := p.and()
	for p.is("or") {
		line := p.next().line
		e = &logic{line, e, p.and(), true}
	}
	return e
}

func (p *parser) and() expression {
	e := p.not()
	for p.is("and") {
		line := p.next().line
		e = &logic{line, e, p.not(), false}
	}
	return e
}

func (p *parser) not() expression {
	if p.is("not") {
		defer p.enter()()
		line := p.next().line
		return &negation{line, p.not()}
	}
	return p.compare()
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) compare() expression {
	first := p.sum()
	c := &comparison{line: p.peek().line, first: first}
	for {
		t := p.peek()
		switch {
		case t.kind == operator && slices.Contains(comparisons, t.text), p.is("in"):
			p.next()
			c.ops = append(c.ops, t.text)
		case p.is("not") && p.tokens[p.at+1].kind == name && p.tokens[p.at+1].text == "in":
			p.at += 2
			c.ops = append(c.ops, "not in")
		default:
			if len(c.ops) == 0 {
				return first
			}
			return c
		}
		c.rest = append(c.rest, p.sum())
	}
}

// binary reads a chain of operators that bind to the left.
func (p *parser) binary(operand func() expression, ops ...string) expression {
	e := operand()
	for t := p.peek(); t.kind == operator && slices.Contains(ops, t.text); t = p.peek() {
		p.next()
		e = &arithmetic{t.line, t.text, e, operand()}
	}
	return e
}

// In Jinja ~ binds tighter than +.
func (p *parser) sum() expression     { return p.binary(p.concat, "+", "-") }
func (p *parser) concat() expression  { return p.binary(p.product, "~") }
func (p *parser) product() expression { return p.binary(p.power, "*", "/", "//", "%") }
func (p *parser) power() expression {
	return p.binary(func() expression { return p.unary(true) }, "**")
}

func (p *parser) unary(filters bool) expression {
	defer p.enter()()
	var e expression
	if t := p.peek(); t.kind == operator && (t.text == "-" || t.text == "+") {
		p.next()
		e = &sign{t.line, t.text, p.unary(false)}
	} else {
		e = p.primary()
	}
	e = p.postfix(e)
	if filters {
		e = p.filters(e)
	}
	return e
}

var constants = map[string]any{
	"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil,
}

func (p *parser) primary() expression {
	t := p.next()
	switch t.kind {
	case name:
		if v, ok := constants[t.text]; ok {
			return &constant{v}
		}
		return &variable{t.line, t.text}
	case text:
		s := t.text
		for p.peek().kind == text { // 'a' 'b' is one string, as in Python
			s += p.next().text
		}
		return &constant{s}
	case integer, float:
		return &constant{t.number}
	case operator:
		switch t.text {
		case "(":
			e := p.tuple(true, ")")
			p.want(")")
			return e
		case "[":
			return &sequence{t.line, p.items("]"), false}
		case "{":
			return p.dict(t)
		}
	}
	p.fail(t, "got %s, want an expression", t)
	return nil
}

// items reads expressions up to a bracket, which it passes.
func (p *parser) items(closing string) []expression {
	var items []expression
	for !p.take(closing) {
		if len(items) > 0 {
			p.want(",")
			if p.take(closing) {
				break
			}
		}
		items = append(items, p.expression())
	}
	return items
}

func (p *parser) dict(t token) expression {
	d := &mapping{line: t.line}
	for !p.take("}") {
		if len(d.keys) > 0 {
			p.want(",")
			if p.take("}") {
				break
			}
		}
		d.keys = append(d.keys, p.expression())
		p.want(":")
		d.values = append(d.values, p.expression())
	}
	return d
}

// tuple reads one expression, or several with commas. With conditions these may be of the form a if b else c.
func (p *parser) tuple(conditions bool, closing string) expression {
	one := p.expression
	if !conditions {
		one = p.or
	}
	line := p.peek().line
	stop := func() bool {
		t := p.peek()
		return t.kind == endBlock || t.kind == endPrint || t.kind == end || p.is(closing) || p.is("=")
	}
	if stop() && closing == ")" {
		return &sequence{line, nil, true}
	}
	e := one()
	if !p.is(",") {
		return e
	}
	items := []expression{e}
	for p.take(",") && !stop() {
		items = append(items, one())
	}
	return &sequence{line, items, true}
}

// postfix reads .name, [index] and (arguments).
func (p *parser) postfix(e expression) expression {
	for {
		t := p.peek()
		switch {
		case p.take("."):
			of := p.next()
			switch of.kind {
			case name:
				e = &attribute{t.line, e, of.text}
			case integer:
				e = &index{t.line, e, &constant{of.number}}
			default:
				p.fail(of, "got %s, want a name after the dot", of)
			}
		case p.take("["):
			e = p.subscript(t.line, e)
		case p.is("("):
			e = &call{t.line, e, p.arguments()}
		default:
			return e
		}
	}
}

func (p *parser) subscript(line int, of expression) expression {
	var parts [3]expression
	n, sliced := 0, false
	for !p.take("]") {
		switch {
		case p.take(":"):
			sliced = true
			if n++; n > 2 {
				p.fail(p.peek(), "got a third colon, want ]")
			}
		case parts[n] == nil:
			parts[n] = p.expression()
		default:
			p.fail(p.peek(), "got %s, want ]", p.peek())
		}
	}
	if sliced {
		return &slice{line, of, parts}
	}
	if parts[0] == nil {
		p.fail(p.peek(), "got [], want an index")
	}
	return &index{line, of, parts[0]}
}

// arguments reads (a, b, c=d, *e, **f).
func (p *parser) arguments() arguments {
	var a arguments
	p.want("(")
	for first := true; !p.take(")"); first = false {
		if !first {
			p.want(",")
			if p.take(")") {
				break
			}
		}
		switch t := p.peek(); {
		case p.take("*"):
			a.star = p.expression()
		case p.take("**"):
			a.doubleStar = p.expression()
		case t.kind == name && p.tokens[p.at+1].kind == operator && p.tokens[p.at+1].text == "=":
			p.at += 2
			a.names = append(a.names, t.text)
			a.named = append(a.named, p.expression())
		default:
			if len(a.names) > 0 || a.star != nil {
				p.fail(t, "got a positional argument after a named one, want them in front")
			}
			a.positional = append(a.positional, p.expression())
		}
	}
	return a
}

// filters reads | filter and is test, and calls of what they give.
func (p *parser) filters(e expression) expression {
	for {
		t := p.peek()
		switch {
		case p.take("|"):
			e = p.filter(e)
		case p.take("is"):
			e = p.test(e)
		case p.is("("):
			e = &call{t.line, e, p.arguments()}
		default:
			return e
		}
	}
}

func (p *parser) filter(e expression) expression {
	t := p.peek()
	f := &filtered{line: t.line, of: e, name: p.name()}
	if filters[f.name] == nil {
		p.fail(t, "got the filter %s, want one of those of chat templates", f.name)
	}
	if p.is("(") {
		f.args = p.arguments()
	}
	return f
}

func (p *parser) test(e expression) expression {
	inverted := p.take("not")
	t := p.peek()
	x := &tested{line: t.line, of: e, name: p.name(), inverted: inverted}
	if tests[x.name] == nil {
		p.fail(t, "got the test %s, want one of those of chat templates", x.name)
	}
	switch a := p.peek(); {
	case p.is("("):
		x.args = p.arguments()
	case a.kind == name && !slices.Contains([]string{"else", "or", "and", "is", "if", "not", "in"}, a.text),
		a.kind == text, a.kind == integer, a.kind == float, p.is("["), p.is("{"):
		defer p.enter()()
		x.args.positional = []expression{p.postfix(p.primary())}
	}
	return x
}
