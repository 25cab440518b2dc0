package chat

import "slices"

// A statement writes text or sets a name when it runs.
type statement func(r *run, s *scope) flow

// flow is how a statement ended.
type flow int

const (
	onward flow = iota
	broken
	continued
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
			list = append(list, func(r *run, _ *scope) flow {
				r.write(t.text)
				return onward
			})
		case beginPrint:
			e := p.tuple(true, "")
			p.close(endPrint)
			list = append(list, func(r *run, s *scope) flow {
				r.step(t.line)
				v := r.eval(e, s)
				r.line = t.line
				r.write(r.text(v))
				return onward
			})
		case beginBlock:
			word := p.peek()
			if word.kind == name && slices.Contains(until, word.text) {
				p.next()
				return list, word
			}
			list = append(list, p.statement())
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

func (p *parser) statement() statement {
	t := p.peek()
	switch word := p.name(); word {
	case "if":
		return p.choice(t.line)
	case "for":
		return p.loop(t.line)
	case "set":
		return p.set(t.line)
	case "macro":
		m := &macro{name: p.name()}
		p.parameters(m, true)
		p.macroBody(m, "endmacro")
		return func(r *run, s *scope) flow {
			r.step(t.line)
			s.names[m.name] = m.bind(s)
			return onward
		}
	case "call":
		return p.calling(t)
	case "with":
		return p.with(t.line)
	case "filter":
		filter := p.filters(p.filter(variable(t.line, "")))
		body := p.block("endfilter")
		return func(r *run, s *scope) flow {
			r.step(t.line)
			inner := s.inner()
			inner.names[""] = r.capture(body, inner)
			r.write(r.text(r.eval(filter, inner)))
			return onward
		}
	case "generation": // marks what the assistant said, for training; the text is the same
		p.marks = true
		body := p.block("endgeneration")
		return func(r *run, s *scope) flow {
			from := r.out.Len()
			f := r.block(body, s)
			r.said = append(r.said, Span{from, r.out.Len()})
			return f
		}
	case "break", "continue":
		if p.loops == 0 {
			p.fail(t, "got %s outside of a loop", word)
		}
		p.close(endBlock)
		to := map[string]flow{"break": broken, "continue": continued}[word]
		return func(*run, *scope) flow { return to }
	default:
		p.fail(t, "got the statement %s, want one of those of chat templates", word)
		return nil
	}
}

// choice reads if, its elifs (as the only statement of otherwise), and else.
func (p *parser) choice(line int) statement {
	when := p.tuple(false, "")
	p.close(endBlock)
	then, word := p.body("elif", "else", "endif")
	var otherwise []statement
	switch word.text {
	case "elif":
		otherwise = []statement{p.choice(word.line)}
	case "else":
		otherwise = p.block("endif")
	default:
		p.close(endBlock)
	}
	return func(r *run, s *scope) flow {
		r.step(line)
		if truth(r.eval(when, s)) {
			return r.block(then, s)
		}
		return r.block(otherwise, s)
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
	return l.execute
}

func (p *parser) set(line int) statement {
	t := p.peek()
	targets, tuple := p.targets()
	if p.take("=") {
		value := p.tuple(true, "")
		p.close(endBlock)
		return func(r *run, s *scope) flow {
			r.step(line)
			v := r.eval(value, s)
			r.line = line
			r.assign(targets, tuple, v, s)
			return onward
		}
	}
	if tuple {
		p.fail(t, "got several names for a block, want one")
	}
	var filter expression
	if p.is("|") {
		filter = p.filters(variable(line, ""))
	}
	body := p.block("endset")
	return func(r *run, s *scope) flow {
		inner := s.inner()
		text := r.capture(body, inner)
		v := any(text)
		if filter != nil {
			inner.names[""] = text
			v = r.eval(filter, inner)
		}
		r.step(line)
		r.assign(targets, false, v, s)
		return onward
	}
}

// parameters reads those of a macro, which may have defaults.
func (p *parser) parameters(m *macro, defaults bool) {
	if !p.take("(") {
		return
	}
	for !p.take(")") {
		if len(m.params) > 0 {
			p.want(",")
		}
		t := p.peek()
		m.params = append(m.params, p.name())
		if defaults && p.take("=") {
			m.defaults = append(m.defaults, p.expression())
		} else if len(m.defaults) > 0 {
			p.fail(t, "got %s without default after one with a default", t.text)
		}
	}
}

// macroBody reads the body of a macro, in which no loop around it can be left.
func (p *parser) macroBody(m *macro, ending string) {
	loops := p.loops
	p.loops = 0
	m.body = p.block(ending)
	p.loops = loops
}

// calling reads {% call f(x) %}: f finds the body as caller.
func (p *parser) calling(t token) statement {
	m := &macro{name: "caller"}
	p.parameters(m, false)
	of, ok := p.expression().(*call)
	if !ok {
		p.fail(t, "got call of something else, want a call of a macro")
	}
	p.macroBody(m, "endcall")
	return func(r *run, s *scope) flow {
		f := r.eval(of.of, s)
		a := of.args.values(r, s)
		a.names, a.named = append(a.names, "caller"), append(a.named, m.bind(s))
		r.step(t.line)
		r.write(r.text(r.call(f, a)))
		return onward
	}
}

func (p *parser) with(line int) statement {
	var names []string
	var values []expression
	for p.peek().kind == name {
		names = append(names, p.name())
		p.want("=")
		values = append(values, p.expression())
		if !p.take(",") {
			break
		}
	}
	body := p.block("endwith")
	return func(r *run, s *scope) flow {
		r.step(line)
		inner := s.inner()
		for i, name := range names {
			inner.names[name] = r.eval(values[i], s)
		}
		return r.block(body, inner)
	}
}
