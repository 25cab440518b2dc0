package chat

import "slices"

// statement is a node that writes text or sets a name.
type statement interface {
	execute(r *run, s *scope) flow
}

// flow is how a statement ended.
type flow int

const (
	onward flow = iota
	broken
	continued
)

type (
	literal  struct{ text string }
	printing struct {
		line int
		e    expression
	}
	jump   struct{ to flow }
	marked struct{ body []statement }
	// choice is if, its elifs (as the only statement of otherwise), and else.
	choice struct {
		line            int
		when            expression
		then, otherwise []statement
	}
	loop struct {
		line            int
		target          []target
		tuple           bool
		over, when      expression
		body, otherwise []statement
		recursive       bool
	}
	assignment struct {
		line   int
		target []target
		tuple  bool
		value  expression
	}
	// capture sets a name to what its body writes.
	capture struct {
		line   int
		target target
		body   []statement
		filter expression // of the variable "", or nil
	}
	macro struct {
		line     int
		name     string
		params   []string
		defaults []expression // of the last parameters
		body     []statement
	}
	// calling is {% call f(x) %}: f finds the body as caller.
	calling struct {
		line  int
		of    *call
		macro *macro
	}
	// group is a block with names of its own: with and filter.
	group struct {
		line   int
		names  []target
		values []expression
		body   []statement
		filter expression
	}
)

// target is a name that is set, or a field of a namespace.
type target struct{ name, field string }

// body reads statements up to one of the words, and returns the word.
func (p *parser) body(until ...string) (list []statement, word token) {
	defer p.enter()()
	for {
		switch t := p.next(); t.kind {
		case end:
			if len(until) > 0 {
				p.fail(t, "got the end of the template, want {%% %s %%}", until[len(until)-1])
			}
			return list, t
		case data:
			list = append(list, &literal{t.text})
		case beginPrint:
			list = append(list, &printing{t.line, p.tuple(true, "")})
			p.close(endPrint)
		case beginBlock:
			word := p.peek()
			if word.kind == name && slices.Contains(until, word.text) {
				p.next()
				return list, word
			}
			list = append(list, p.statement()...)
		default:
			p.fail(t, "got %s, want text or a tag", t)
		}
	}
}

func (p *parser) close(k kind) {
	if t := p.next(); t.kind != k {
		p.fail(t, "got %s, want %s", t, kindNames[k])
	}
}

// block reads a body and the end of the tag that ends it.
func (p *parser) block(ending string) []statement {
	p.close(endBlock)
	body, _ := p.body(ending)
	p.close(endBlock)
	return body
}

func (p *parser) statement() []statement {
	t := p.peek()
	switch word := p.name(); word {
	case "if":
		return []statement{p.choice(t.line)}
	case "for":
		return []statement{p.loop(t.line)}
	case "set":
		return []statement{p.set(t.line)}
	case "macro":
		name := p.name()
		return []statement{p.macro(t.line, name, "endmacro")}
	case "call":
		return []statement{p.calling(t)}
	case "with":
		return []statement{p.with(t.line)}
	case "filter":
		chain := p.filter(&variable{t.line, ""})
		return []statement{&group{line: t.line, filter: p.filters(chain), body: p.block("endfilter")}}
	case "generation": // marks what the assistant said, for training; the text is the same
		p.marks = true
		return []statement{&marked{p.block("endgeneration")}}
	case "break", "continue":
		if p.loops == 0 {
			p.fail(t, "got %s outside of a loop", word)
		}
		p.close(endBlock)
		return []statement{&jump{map[string]flow{"break": broken, "continue": continued}[word]}}
	default:
		p.fail(t, "got the statement %s, want one of those of chat templates", word)
		return nil
	}
}

func (p *parser) choice(line int) statement {
	first := &choice{line: line}
	for c := first; ; {
		c.when = p.tuple(false, "")
		p.close(endBlock)
		var word token
		c.then, word = p.body("elif", "else", "endif")
		switch word.text {
		case "elif":
			next := &choice{line: word.line}
			c.otherwise = []statement{next}
			c = next
			continue
		case "else":
			c.otherwise = p.block("endif")
		default:
			p.close(endBlock)
		}
		return first
	}
}

func (p *parser) targets() (list []target, tuple bool) {
	parenthesis := p.take("(")
	for {
		t := p.peek()
		one := target{name: p.name()}
		if _, is := constants[one.name]; is {
			p.fail(t, "got %s, want a name that can be set", one.name)
		}
		if p.take(".") {
			one.field = p.name()
		}
		list = append(list, one)
		if !p.take(",") {
			break
		}
		tuple = true
		if p.is("in") || p.is("=") || p.is(")") {
			break
		}
	}
	if parenthesis {
		p.want(")")
	}
	return list, tuple
}

func (p *parser) loop(line int) statement {
	l := &loop{line: line}
	l.target, l.tuple = p.targets()
	p.want("in")
	l.over = p.tuple(false, "recursive")
	if p.take("if") {
		l.when = p.expression()
	}
	l.recursive = p.take("recursive")
	p.close(endBlock)
	p.loops++
	var word token
	l.body, word = p.body("else", "endfor")
	p.loops--
	if word.text == "else" {
		l.otherwise = p.block("endfor")
	} else {
		p.close(endBlock)
	}
	return l
}

func (p *parser) set(line int) statement {
	t := p.peek()
	targets, tuple := p.targets()
	if p.take("=") {
		a := &assignment{line, targets, tuple, p.tuple(true, "")}
		p.close(endBlock)
		return a
	}
	if tuple {
		p.fail(t, "got several names for a block, want one")
	}
	c := &capture{line: line, target: targets[0]}
	if p.is("|") {
		c.filter = p.filters(&variable{line, ""})
	}
	c.body = p.block("endset")
	return c
}

func (p *parser) macro(line int, name, ending string) *macro {
	m := &macro{line: line, name: name}
	if p.take("(") {
		for !p.take(")") {
			if len(m.params) > 0 {
				p.want(",")
			}
			t := p.peek()
			m.params = append(m.params, p.name())
			if p.take("=") {
				m.defaults = append(m.defaults, p.expression())
			} else if len(m.defaults) > 0 {
				p.fail(t, "got %s without default after one with a default", t.text)
			}
		}
	}
	return p.macroBody(m, ending)
}

func (p *parser) macroBody(m *macro, ending string) *macro {
	loops := p.loops
	p.loops = 0
	m.body = p.block(ending)
	p.loops = loops
	return m
}

func (p *parser) calling(t token) statement {
	m := &macro{line: t.line, name: "caller"}
	if p.take("(") {
		for !p.take(")") {
			if len(m.params) > 0 {
				p.want(",")
			}
			m.params = append(m.params, p.name())
		}
	}
	of, ok := p.expression().(*call)
	if !ok {
		p.fail(t, "got call of something else, want a call of a macro")
	}
	return &calling{t.line, of, p.macroBody(m, "endcall")}
}

func (p *parser) with(line int) statement {
	g := &group{line: line}
	for p.peek().kind == name {
		g.names = append(g.names, target{name: p.name()})
		p.want("=")
		g.values = append(g.values, p.expression())
		if !p.take(",") {
			break
		}
	}
	g.body = p.block("endwith")
	return g
}
