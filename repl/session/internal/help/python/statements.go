package python

import (
	"slices"
	"strings"
)

// statements reads statements with semicolons between them.
func (p *reader) statements() *node {
	b := of("block")
	for {
		if s := p.statement(); s != nil {
			b.kids = append(b.kids, s)
		}
		if !p.take(";") || p.at(end) {
			b.end = p.i
			return b
		}
	}
}

// statement reads one statement; it returns nil for one that does nothing.
func (p *reader) statement() *node {
	t := p.tok()
	if t.kind == text && (p.peek(";") || p.peek(dedent)) { // says what a function does
		p.i++
		return nil
	}
	if t.kind > word || t.kind == word && p.peek("=") {
		return p.assignment()
	}
	p.i++
	switch t.text {
	case "pass":
		return &node{op: "go"}
	case "continue", "break":
		return &node{op: "go", text: t.text}
	case "++", "--":
		return &node{op: "go", text: p.name() + t.text}
	case "for":
		bracket := p.at("(") && slices.ContainsFunc([]string{"let", "const", "var"}, p.peek) && p.take("(")
		loop := p.loop()
		if bracket {
			p.want(")")
		}
		return of("for", loop, p.block())
	case "while":
		return of("while", p.infix(1), p.block())
	case "if":
		return p.ifStatement()
	case "with":
		n := of("with", p.expr(), nil)
		if p.take("as") {
			n.kids[1] = p.named()
		}
		return n.with(p.block())
	case "try":
		return p.try()
	case "class":
		return p.class()
	case "def", "fn", "function":
		return p.def()
	case "return", "assert", "raise", "throw":
		return p.ahead(strings.Replace(t.text, "throw", "raise", 1))
	case "del", "print":
		if p.at("(") || p.at(end) {
			break
		}
		n := p.ahead(t.text)
		if t.text == "print" {
			n = of("call", &node{op: "name", text: "print"}).with(n.kids...)
		}
		return n
	case "let", "var", "const", "auto", "val", "int", "float", "double", "string", "bool", "str":
		if p.tok().kind == word && p.peek("=") {
			return p.assignment()
		}
	}
	p.i--
	return p.assignment()
}

// ahead reads the operands behind a keyword, up to the end of its statement.
func (p *reader) ahead(op string) *node {
	n := of(op)
	p.take("new")
	for !p.at(";") && !p.at(dedent) && !p.at("}") && !p.at(end) {
		n.kids = append(n.kids, p.expr())
		p.take(",")
	}
	return n
}

// block reads a block behind a colon, or one in braces, which is Go. It returns nil if there is none, or
// nothing in it.
func (p *reader) block() *node {
	if p.take("{") {
		from := p.tok().off
		for depth := 1; ; p.i++ {
			if p.at("{") {
				depth++
			} else if p.at("}") {
				depth--
			}
			if need(!p.at(end)); depth == 0 {
				p.i++
				return &node{op: "go", text: strings.TrimSpace(p.line[from:p.toks[p.i-1].off])}
			}
		}
	}
	need(p.take(":") || p.at(end))
	if p.at(end) {
		return nil
	}
	indented := p.take(indent)
	b := p.statements()
	if indented {
		p.want(dedent)
	} else if len(b.kids) == 0 {
		return nil
	}
	return b
}

func (p *reader) ifStatement() *node {
	n := of("if", p.infix(1), p.block(), nil)
	if p.take("elif") {
		n.kids[2] = p.ifStatement()
	} else if p.take("else") {
		n.kids[2] = p.block()
	}
	return n
}

func (p *reader) try() *node {
	n := of("try", p.block(), nil)
	p.want("except")
	for !p.at(":") {
		need(!p.at(end))
		if p.i++; p.toks[p.i-1].is("as") {
			n.kids[1] = p.named()
		}
	}
	return n.with(p.block())
}

func (p *reader) class() *node {
	n := of("class")
	if n.text = p.name(); p.take("(") {
		p.items(")")
	}
	return n.with(p.block())
}

// def reads def f(x, y: int = 3) -> int: and its body.
func (p *reader) def() *node {
	n := of("def")
	n.text = p.name()
	p.want("(")
	for !p.take(")") {
		param := of("param", nil, nil)
		if param.text = p.name(); p.take(":") {
			param.kids[0] = p.expr()
		}
		if p.take("=") {
			param.kids[1] = p.expr()
		}
		n.kids = append(n.kids, param)
		if !p.at(")") {
			p.want(",")
		}
	}
	if p.take("->") {
		p.expr()
	}
	if !p.take("{") {
		return n.with(p.block())
	}
	n.with(p.statements())
	p.take("}")
	return n
}

// updates are the operators that assign.
var updates = []string{"+=", "-=", "*=", "/=", "%=", "@=", "//=", "**="}

// assignment reads an assignment or an expression.
func (p *reader) assignment() *node {
	x := p.list()
	if x.op == "name" && p.take(":") { // x: int = 3
		p.expr()
		need(p.at("="))
	}
	for _, op := range updates {
		if p.take(op) {
			return &node{op: "update", text: strings.TrimSuffix(op, "="), kids: []*node{x, p.expr()}}
		}
	}
	if !p.take("=", ":=") {
		return x
	}
	n := of("=", x, p.list())
	for p.take("=") { // a = b = 3
		n.with(p.list())
	}
	return n
}

// list reads an expression, or several with commas between them, which are a tuple.
func (p *reader) list() *node {
	x := p.expr()
	if !p.at(",") {
		return x
	}
	x = &node{op: "tuple", text: "open", kids: []*node{x}}
	for p.take(",") {
		x.kids = append(x.kids, p.expr())
	}
	return x
}
