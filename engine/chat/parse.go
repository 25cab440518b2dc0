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

// An expression gives a value when it runs.
type expression interface {
	value(r *run, s *scope) any
}

// A computed is an expression as the parser makes it.
type computed func(r *run, s *scope) any

func (f computed) value(r *run, s *scope) any { return f(r, s) }

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
	for p.take("if") {
		then, when, otherwise := e, p.or(), expression(nil)
		if p.take("else") {
			otherwise = p.expression()
		}
		e = computed(func(r *run, s *scope) any {
			switch {
			case truth(r.eval(when, s)):
				return r.eval(then, s)
			case otherwise != nil:
				return r.eval(otherwise, s)
			}
			return undefined{}
		})
	}
	return e
}

func (p *parser) or() expression  { return p.logic("or", p.and) }
func (p *parser) and() expression { return p.logic("and", p.not) }

func (p *parser) logic(word string, operand func() expression) expression {
	e := operand()
	for p.take(word) {
		a, b := e, operand()
		e = computed(func(r *run, s *scope) any {
			if v := r.eval(a, s); truth(v) == (word == "or") {
				return v
			}
			return r.eval(b, s)
		})
	}
	return e
}

func (p *parser) not() expression {
	if !p.is("not") {
		return p.compare()
	}
	defer p.enter()()
	p.next()
	e := p.not()
	return computed(func(r *run, s *scope) any { return !truth(r.eval(e, s)) })
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) compare() expression {
	first, line := p.sum(), p.peek().line
	var ops []string
	var rest []expression
	for {
		t := p.peek()
		switch {
		case t.kind == operator && slices.Contains(comparisons, t.text), p.is("in"):
			p.next()
			ops = append(ops, t.text)
		case p.is("not") && p.tokens[p.at+1].kind == name && p.tokens[p.at+1].text == "in":
			p.at += 2
			ops = append(ops, "not in")
		case len(ops) == 0:
			return first
		default:
			return computed(func(r *run, s *scope) any {
				a := r.eval(first, s)
				for i, op := range ops {
					b := r.eval(rest[i], s)
					r.step(line)
					if !r.compare(op, a, b) {
						return false
					}
					a = b
				}
				return true
			})
		}
		rest = append(rest, p.sum())
	}
}

// binary reads a chain of operators that bind to the left.
func (p *parser) binary(operand func() expression, ops ...string) expression {
	e := operand()
	for t := p.peek(); t.kind == operator && slices.Contains(ops, t.text); t = p.peek() {
		p.next()
		a, b := e, operand()
		e = computed(func(r *run, s *scope) any {
			x, y := r.marked(a, s), r.marked(b, s)
			r.step(t.line)
			return r.arithmetic(t.text, x, y)
		})
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
		of := p.unary(false)
		e = computed(func(r *run, s *scope) any {
			v := r.eval(of, s)
			r.step(t.line)
			return r.sign(t.text, v)
		})
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

func constant(v any) expression { return computed(func(*run, *scope) any { return v }) }

func variable(line int, name string) expression {
	return computed(func(r *run, s *scope) any {
		r.step(line)
		if v, ok := s.find(name); ok {
			return v
		}
		return undefined{name}
	})
}

func (p *parser) primary() expression {
	t := p.next()
	switch t.kind {
	case name:
		if v, ok := constants[t.text]; ok {
			return constant(v)
		}
		return variable(t.line, t.text)
	case text:
		s := t.text
		for p.peek().kind == text { // 'a' 'b' is one string, as in Python
			s += p.next().text
		}
		return constant(s)
	case integer, float:
		return constant(t.number)
	case operator:
		switch t.text {
		case "(":
			e := p.tuple(true, ")")
			p.want(")")
			return e
		case "[":
			return sequence(p.items("]"), false)
		case "{":
			return p.dict(t)
		}
	}
	p.fail(t, "got %s, want an expression", t)
	return nil
}

// sequence is a list or a tuple.
func sequence(items []expression, tuple bool) expression {
	return computed(func(r *run, s *scope) any {
		l := &list{tuple: tuple}
		r.spend(16 * len(items))
		for _, item := range items {
			l.items = append(l.items, r.eval(item, s))
		}
		return l
	})
}

// each calls item before each comma and before a bracket, which it passes.
func (p *parser) each(closing string, item func()) {
	for first := true; !p.take(closing); first = false {
		if !first {
			p.want(",")
			if p.take(closing) {
				break
			}
		}
		item()
	}
}

// items reads expressions up to a bracket, which it passes.
func (p *parser) items(closing string) (items []expression) {
	p.each(closing, func() { items = append(items, p.expression()) })
	return items
}

func (p *parser) dict(t token) expression {
	var keys, values []expression
	p.each("}", func() {
		keys = append(keys, p.expression())
		p.want(":")
		values = append(values, p.expression())
	})
	return computed(func(r *run, s *scope) any {
		d := newDict()
		for i := range keys {
			k, v := r.eval(keys[i], s), r.eval(values[i], s)
			r.step(t.line)
			if !d.set(k, v) {
				r.fail("got %s as a key, want a string or a number", typeName(k))
			}
		}
		return d
	})
}

// tuple reads one expression, or several with commas. With conditions these may be of the form a if b else c.
func (p *parser) tuple(conditions bool, closing string) expression {
	one := p.expression
	if !conditions {
		one = p.or
	}
	stop := func() bool {
		t := p.peek()
		return t.kind == endBlock || t.kind == endPrint || t.kind == end || p.is(closing) || p.is("=")
	}
	if stop() && closing == ")" {
		return sequence(nil, true)
	}
	e := one()
	if !p.is(",") {
		return e
	}
	items := []expression{e}
	for p.take(",") && !stop() {
		items = append(items, one())
	}
	return sequence(items, true)
}

// postfix reads .name, [index] and (arguments). A method comes before a key where there is a dot:
// message.items is a function. In brackets a key comes first.
func (p *parser) postfix(e expression) expression {
	for {
		t := p.peek()
		switch {
		case p.take("."):
			by := p.next()
			switch by.kind {
			case name:
				of := e
				e = computed(func(r *run, s *scope) any {
					v := r.eval(of, s)
					r.step(t.line)
					return r.attribute(v, by.text)
				})
			case integer:
				e = index(t.line, e, constant(by.number))
			default:
				p.fail(by, "got %s, want a name after the dot", by)
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

func index(line int, of, by expression) expression {
	return computed(func(r *run, s *scope) any {
		v, at := r.eval(of, s), r.eval(by, s)
		r.step(line)
		return r.item(v, at)
	})
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
	if !sliced {
		if parts[0] == nil {
			p.fail(p.peek(), "got [], want an index")
		}
		return index(line, of, parts[0])
	}
	return computed(func(r *run, s *scope) any {
		v := r.eval(of, s)
		var values [3]any
		for i, part := range parts {
			if part != nil {
				values[i] = r.eval(part, s)
			}
		}
		r.step(line)
		return r.slice(v, values)
	})
}

// A call is an expression of its own: a block that is passed on wants one.
type call struct {
	line int
	of   expression
	args arguments
}

func (c *call) value(r *run, s *scope) any {
	of := r.eval(c.of, s)
	a := c.args.values(r, s)
	r.step(c.line)
	return r.call(of, a)
}

// arguments are what stands in the parentheses of a call.
type arguments struct {
	positional       []expression
	names            []string
	named            []expression
	star, doubleStar expression
}

// arguments reads (a, b, c=d, *e, **f).
func (p *parser) arguments() (a arguments) {
	p.want("(")
	p.each(")", func() {
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
	})
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
	t, name := p.peek(), p.name()
	if filters[name] == nil {
		p.fail(t, "got the filter %s, want one of those of chat templates", name)
	}
	var args arguments
	if p.is("(") {
		args = p.arguments()
	}
	return computed(func(r *run, s *scope) any {
		v := r.eval(e, s)
		a := args.values(r, s)
		r.step(t.line)
		return filters[name](r, v, a)
	})
}

func (p *parser) test(e expression) expression {
	inverted := p.take("not")
	t, word := p.peek(), p.name()
	if tests[word] == nil {
		p.fail(t, "got the test %s, want one of those of chat templates", word)
	}
	var args arguments
	switch a := p.peek(); {
	case p.is("("):
		args = p.arguments()
	case a.kind == name && !slices.Contains([]string{"else", "or", "and", "is", "if", "not", "in"}, a.text),
		a.kind == text, a.kind == integer, a.kind == float, p.is("["), p.is("{"):
		defer p.enter()()
		args.positional = []expression{p.postfix(p.primary())}
	}
	return computed(func(r *run, s *scope) any {
		v := r.eval(e, s)
		a := args.values(r, s)
		r.step(t.line)
		return tests[word](r, v, a) != inverted
	})
}
