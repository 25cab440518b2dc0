package python

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// A node is a part of a text: an expression or a statement. Op says which:
//
//	name number string   text
//	f                    text, a format of package fmt, and its values
//	(                    an expression in brackets
//	list tuple set dict  elements, those of dict are pairs
//	comprehension        element, loop, condition; text is the bracket that closes it
//	loop                 names and, last, what is gone through
//	lambda               parameters and, last, the body
//	call                 what is called, arguments; key is the name of one, *x is a spread
//	.                    an operand; text is the name behind it
//	index slice          an operand and subscripts; low, high and maybe step
//	either               condition, value, other value
//	= update             what is assigned to, a value; text is the operator of an update
//	block go             statements; a text that is Go
//	for if while with    loop, body; condition, body, else; condition, body; value, name, body
//	def class try        parameters and body; body; body, name, other body
//	param                text, type, value
//
// Any other is an operator or a keyword in front of its operands. A part that is left out is nil. Kind is
// what a pattern wants an operand to be.
type node struct {
	op, text, key, kind string
	kids                []*node
	end                 int    // of a block: the token behind it
	typed               string // of an argument: its text
}

func of(op string, kids ...*node) *node { return &node{op: op, kids: kids} }

// with adds parts to a node, and returns it.
func (n *node) with(kids ...*node) *node {
	n.kids = append(n.kids, kids...)
	return n
}

// last returns the last part of a node.
func (n *node) last() *node { return n.kids[len(n.kids)-1] }

// is says whether a node is a name, a member or a call of one with a text.
func (n *node) is(op, text string) bool {
	return n.op == op && (n.text == text || op == "call" && n.kids[0].is("name", text))
}

// has says whether a node with a text is in a node.
func (n *node) has(op, text string) bool {
	return n != nil && (n.is(op, text) || slices.ContainsFunc(n.kids, func(k *node) bool { return k.has(op, text) }))
}

// each calls f with a node and its parts.
func (n *node) each(f func(*node)) {
	if n != nil {
		f(n)
		for _, k := range n.kids {
			k.each(f)
		}
	}
}

// bare returns an expression without brackets around it.
func (n *node) bare() *node {
	for n != nil && n.op == "(" {
		n = n.kids[0]
	}
	return n
}

// path returns the names of a.b.c, or "".
func (n *node) path() string {
	if n.op == "name" {
		return n.text
	}
	if n.op != "." || n.kids[0].path() == "" {
		return ""
	}
	return n.kids[0].path() + "." + n.text
}

// A reader makes nodes of the tokens of a text.
type reader struct {
	line string
	toks []token
	i    int
	rule bool // reads a pattern: X:tensor is an operand of a kind
}

// parsed reads statements.
func parsed(text string) (*node, []token) {
	p := &reader{line: text, toks: scan(text)}
	b := p.statements()
	need(p.at(end))
	return b, p.toks
}

func (p *reader) tok() token          { return p.toks[p.i] }
func (p *reader) at(text string) bool { return p.toks[p.i].is(text) }
func (p *reader) peek(text string) bool {
	return p.i+1 < len(p.toks) && p.toks[p.i+1].is(text)
}

// take advances past the next token if it is one of some.
func (p *reader) take(texts ...string) bool {
	if slices.ContainsFunc(texts, p.at) {
		p.i++
		return true
	}
	return false
}

func (p *reader) want(text string) {
	need(p.take(text))
}

func (p *reader) name() string {
	t := p.tok()
	need(t.kind == word)
	p.i++
	return t.text
}

func (p *reader) named() *node { return &node{op: "name", text: p.name()} }

// expr reads an expression: one that may be a function or conditional.
func (p *reader) expr() *node {
	if p.take("lambda") {
		return p.lambda(":")
	}
	if p.arrow() {
		return p.lambda("=>")
	}
	x := p.infix(1)
	if p.take("if") {
		condition := p.infix(1)
		p.want("else")
		return of("either", condition, x, p.expr())
	}
	if p.take("?") {
		yes := p.expr()
		p.want(":")
		return of("either", x, yes, p.expr())
	}
	return x
}

// arrow says whether a function of JavaScript begins here: v => … or (a, b) => ….
func (p *reader) arrow() bool {
	i := p.i
	if p.at("(") {
		for i++; p.toks[i].kind == word || p.toks[i].is(","); i++ {
		}
		return p.toks[i].is(")") && p.toks[i+1].is("=>")
	}
	return p.tok().kind == word && p.peek("=>")
}

func (p *reader) lambda(before string) *node {
	n := of("lambda")
	bracket := p.take("(")
	for p.tok().kind == word {
		n.kids = append(n.kids, p.named())
		p.take(",")
	}
	if bracket {
		p.want(")")
	}
	p.want(before)
	return n.with(p.expr())
}

// levels are the ranks of operators between operands: the higher, the closer they bind.
var levels = map[string]int{"or": 1, "and": 2,
	"in": 4, "not in": 4, "is": 4, "is not": 4, "==": 4, "!=": 4, "<": 4, ">": 4, "<=": 4, ">=": 4,
	"|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10, "@": 10, "**": 12}

const notLevel, compareLevel, unaryLevel = 3, 4, 11

// spelt are operators of JavaScript.
var spelt = map[string]string{"||": "or", "&&": "and", "===": "==", "!==": "!="}

// operator returns the operator that comes next, and the number of its tokens.
func (p *reader) operator() (op string, n int) {
	op = p.tok().text
	switch {
	case p.tok().kind > word:
		return "", 0
	case op == "not" && p.peek("in"), op == "is" && p.peek("not"):
		return op + " " + p.toks[p.i+1].text, 2
	case spelt[op] != "":
		op = spelt[op]
	}
	return op, 1
}

// infix reads operands between operators of a level or above.
func (p *reader) infix(least int) *node {
	x := p.prefix()
	var last *node // the second operand of a comparison, which may go on: 0 < n < 10
	for {
		op, n := p.operator()
		level := levels[op]
		if level == 0 || level < least {
			return x
		}
		p.i += n
		before := last
		if last = nil; op == "**" {
			x = of(op, x, p.infix(unaryLevel))
			continue
		}
		y := p.infix(level + 1)
		if level == compareLevel {
			last = y
		}
		if before != nil && last != nil {
			x = of("and", x, of(op, before, y))
		} else {
			x = of(op, x, y)
		}
	}
}

func (p *reader) prefix() *node {
	switch t := p.tok(); {
	case p.take("not"):
		return of("not", p.infix(notLevel))
	case p.take("!"):
		return of("not", p.infix(unaryLevel))
	case p.take("+"):
		return p.infix(unaryLevel)
	case p.take("-", "~"):
		return of(t.text, p.infix(unaryLevel))
	}
	x := p.atom()
	for {
		switch {
		case p.take("."):
			x = &node{op: ".", text: p.name(), kids: []*node{x}}
		case p.take("("):
			args, _ := p.items(")")
			x = of("call", x).with(args...)
		case p.take("["):
			x = of("index", x).with(p.subscripts()...)
		default:
			return x
		}
	}
}

// constants maps values of Python and JavaScript to Go.
var constants = map[string]string{"True": "true", "False": "false", "None": "nil", "null": "nil", "undefined": "nil"}

func (p *reader) atom() *node {
	t := p.tok()
	p.i++
	switch {
	case t.kind == number:
		return &node{op: "number", text: strings.TrimSuffix(t.text, "L")}
	case t.kind == text:
		x := stringOf(t)
		for ; p.tok().kind == text; p.i++ {
			x = of("+", x, stringOf(p.tok()))
		}
		return x
	case t.kind == word:
		if c := constants[t.text]; c != "" {
			t.text = c
		}
		n := &node{op: "name", text: t.text}
		if p.rule && hole(n) && p.at(":") && p.toks[p.i+1].kind == word {
			p.i++
			if n.kind = p.name(); n.kind == "time" { // time.Time
				p.want(".")
				n.kind += "." + p.name()
			}
		}
		return n
	case t.is("..."):
		return &node{op: "name", text: "..."}
	}
	closing := map[string]string{"(": ")", "[": "]", "{": "}"}[t.text]
	need(closing != "" && t.kind == operator)
	list, comma := p.items(closing)
	switch {
	case len(list) == 1 && list[0].op == "comprehension":
		return list[0]
	case t.text == "(" && len(list) == 1 && !comma:
		return of("(", list[0])
	case t.text == "{" && (len(list) == 0 || list[0].op == "pair"):
		return of("dict", list...)
	}
	return of(map[string]string{"(": "tuple", "[": "list", "{": "set"}[t.text], list...)
}

// items reads what stands in brackets, up to the closing one.
func (p *reader) items(closing string) (list []*node, comma bool) {
	for !p.take(closing) {
		key, from := "", p.tok().off
		if p.tok().kind == word && p.peek("=") {
			key = p.name()
			p.i++
		}
		spread := p.take("*")
		p.take("**") // of model.generate(**inputs)
		a := p.expr()
		switch {
		case spread:
			a = of("spread", a)
		case closing == "}" && p.take(":"):
			a = of("pair", a, p.expr())
		}
		if p.take("for") {
			a = of("comprehension", a, p.loop(), nil)
			if a.text = closing; p.take("if") {
				a.kids[2] = p.expr()
			}
		}
		if key != "" {
			a = &node{op: a.op, text: a.text, kids: a.kids, kind: a.kind, key: key}
		}
		a.typed = strings.TrimSpace(p.line[from:p.tok().off])
		list = append(list, a)
		if !p.at(closing) {
			p.want(",")
			comma = true
		}
	}
	return list, comma
}

// subscripts reads the contents of the brackets of an index.
func (p *reader) subscripts() (list []*node) {
	bound := func() *node {
		if p.at(":") || p.at("]") || p.at(",") {
			return nil
		}
		return p.expr()
	}
	for !p.take("]") {
		s := bound()
		if p.take(":") {
			s = of("slice", s, bound())
			if p.take(":") && !p.at("]") {
				s.with(bound())
			}
		}
		need(s != nil)
		list = append(list, s)
		if !p.at("]") {
			p.want(",")
		}
	}
	need(len(list) > 0)
	return list
}

// loop reads `i, (x, y) in xs`.
func (p *reader) loop() *node {
	n := of("loop")
	p.take("let", "const", "var")
	for !p.take("in", "of") {
		if !p.take("(", ")", ",") {
			n.kids = append(n.kids, p.named())
		}
	}
	return n.with(p.infix(1))
}

// stringOf is a string, or the format and the values of one that has fields.
func stringOf(t token) *node {
	if !strings.Contains(t.prefix, "f") {
		return &node{op: "string", text: quote(t)}
	}
	format, fields := formatOf(t.text)
	n := &node{op: "f", text: quote(token{text: format})}
	for _, field := range fields {
		q := &reader{line: field, toks: scan(field)}
		n.kids = append(n.kids, q.expr())
		need(q.at(end))
	}
	if len(n.kids) == 0 {
		return &node{op: "string", text: quote(token{text: strings.ReplaceAll(format, "%%", "%")})}
	}
	return n
}

func quote(t token) string {
	if strings.Contains(t.prefix, "r") {
		return strconv.Quote(t.text)
	}
	body := strings.ReplaceAll(strings.ReplaceAll(t.text, `\'`, `'`), `\"`, `"`)
	s := `"` + strings.ReplaceAll(strings.ReplaceAll(body, `"`, `\"`), "\n", `\n`) + `"`
	if strings.Contains(t.prefix, "b") {
		return "[]byte(" + s + ")"
	}
	return s
}

// fieldOf matches what is not itself in a format: a brace that is doubled, a percent sign, and a field with
// its expression, whose brackets may have brackets in them, and its format.
var fieldOf = lazy.Regexp(`\{\{|\}\}|%|\{((?:[^][(){}:!]|!=|\((?:[^()]|\([^()]*\))*\)|\[(?:[^][]|\[[^][]*\])*\])*)(?:!\w)?(?::([^{}]*))?\}|\{`)

// formatOf returns the format of package fmt for a text with fields, and the fields' expressions.
func formatOf(body string) (format string, fields []string) {
	format = fieldOf().ReplaceAllStringFunc(body, func(s string) string {
		if s == "{{" || s == "}}" {
			return s[1:]
		}
		if s == "%" {
			return "%%"
		}
		need(s != "{")
		m := fieldOf().FindStringSubmatch(s)
		expr, before := strings.TrimSpace(m[1]), ""
		if name, ok := strings.CutSuffix(expr, "="); ok { // {n=}
			expr, before = name, expr
		}
		if strings.HasSuffix(m[2], "%") {
			expr = "percent(" + expr + ")"
		}
		fields = append(fields, expr)
		return before + verbOf(m[2])
	})
	return format, fields
}

// verbOf returns fmt's verb for a format of Python: .2f, 5d, >10, .1%.
func verbOf(format string) string {
	format = strings.ReplaceAll(strings.TrimLeft(format, ">^ "), ",", "")
	if left, ok := strings.CutPrefix(format, "<"); ok {
		format = "-" + left
	}
	if share, ok := strings.CutSuffix(format, "%"); ok {
		return "%" + share + "f%%"
	}
	if n := len(format); n > 0 && strings.ContainsRune("dfgexXbo", rune(format[n-1])) {
		return "%" + format
	}
	return fmt.Sprintf("%%%sv", strings.TrimSuffix(format, "s"))
}
