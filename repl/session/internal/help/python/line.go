package python

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/repl/notation"
)

// statements reads the statements of a line or of a block. Each sees what those before it declare.
func (p *reader) statements() string {
	var all []string
	for {
		text := p.statement()
		if p.depth == p.base {
			all, p.hoisted = append(all, p.hoisted...), nil
		}
		if text != "" {
			all = append(all, text)
			p.scope += text + "\n"
		}
		if !p.take(";") || p.at(end) {
			return strings.Join(all, "; ")
		}
	}
}

// statement reads one statement, and puts the statements that its expressions need before it.
func (p *reader) statement() string {
	outer := p.before
	p.before = nil
	defer func() { p.before = outer }()
	if text := p.one(); text != "" {
		p.before = append(p.before, text)
	}
	return strings.Join(p.before, "; ")
}

func (p *reader) one() string {
	switch t := p.tok(); {
	case t.kind == text && (p.peek(";") || p.peek(dedent)): // says what a function does
		p.i++
		return ""
	case t.kind != word:
	case t.text == "pass" || t.text == "continue" || t.text == "break":
		p.i++
		return strings.TrimPrefix(t.text, "pass")
	case t.text == "return" && p.function != nil:
		p.i++
		return p.returned()
	case t.text == "for":
		p.i++
		return p.forLoop()
	case t.text == "with":
		p.i++
		return p.with()
	case t.text == "while":
		p.i++
		return p.while()
	case t.text == "if":
		p.i++
		return p.ifStatement()
	case (t.text == "def" || t.text == "fn" || t.text == "function") && p.function == nil && p.open == 0:
		p.i++
		return p.definition()
	case t.text == "try" && p.peek(":"):
		p.i++
		return p.try()
	case t.text == "assert":
		p.i++
		return p.assertion()
	case t.text == "raise" || t.text == "throw":
		p.i++
		return p.raise()
	case t.text == "range" && p.peek("("):
		opening := iterators["range"](p, []string{"i"}, p.arguments())
		return opening + "fmt.Println(i) }"
	case t.text == "del" && !p.peek("("):
		p.i++
		return p.deletion()
	case t.text == "print" && p.i+1 < len(p.toks) && !p.peek("("):
		p.i++
		items, _ := p.items(end)
		p.i--
		return "fmt.Println(" + texts(items) + ")"
	case p.declares(t.text):
		p.i++
	default:
		if text, ok := p.step(); ok {
			return text
		}
	}
	return p.assignment()
}

// arguments reads the arguments of a call, none of them named.
func (p *reader) arguments() []value {
	p.i += 2
	args, _ := p.items(")")
	return args
}

// declares says whether a word before a name declares it: let x = 3, int n = 3.
func (p *reader) declares(t string) bool {
	switch t {
	case "let", "var", "const", "auto", "val", "int", "float", "double", "string", "bool", "str":
		next := p.toks[p.i+1]
		return next.kind == word && p.toks[p.i+2].is("=")
	}
	return false
}

// body reads the block behind a colon or in braces. If there is no block, it returns otherwise.
func (p *reader) body(opening, otherwise string) (text string) {
	if p.take("{") {
		return p.braced()
	}
	if p.take(":") || p.at(end) {
		if p.at(end) || p.at("pass") {
			p.i = len(p.toks) - 1
			return otherwise
		}
	}
	indented := p.take(indent)
	p.inBlock(opening, func() { text = p.statements() })
	if indented {
		p.want(dedent)
	}
	return text
}

// braced returns the body of a block that is written as in Go, unchanged, if it parses.
func (p *reader) braced() string {
	start, depth := p.i, 1
	for ; !p.at(end); p.i++ {
		switch {
		case p.at("{"):
			depth++
		case p.at("}"):
			if depth--; depth == 0 {
				body := strings.TrimSpace(p.line[p.toks[start].off:p.tok().off])
				p.i++
				return body
			}
		}
	}
	giveUp()
	return ""
}

func (p *reader) while() string {
	condition := p.or()
	header, otherwise := "for "+condition.goText()+" { ", "break"
	if condition.text == "true" || condition.text == "1" || condition.text == "(true)" {
		header = "for { "
	}
	for _, less := range []string{" < ", " <= "} {
		if name, _, ok := strings.Cut(strings.Trim(condition.text, "()"), less); ok && p.is(simple("%s", name), integer) {
			otherwise = name + "++"
		}
	}
	header = strings.Replace(header, "for (", "for ", 1)
	if condition.prec == primary && strings.HasPrefix(condition.text, "(") {
		header = "for " + strings.TrimSuffix(strings.TrimPrefix(condition.text, "("), ")") + " { "
		if condition.text == "(true)" {
			header = "for { "
		}
	}
	return header + strings.TrimLeft(p.body(header, otherwise)+" }", " ")
}

func (p *reader) ifStatement() string {
	condition := p.or()
	text := p.truth(condition)
	if n := len(p.before); n > 0 && strings.HasPrefix(p.before[n-1], "_, ok") { // _, ok := m[k] belongs to the condition
		text = p.before[n-1] + "; " + text
		p.before = p.before[:n-1]
	}
	header := "if " + text + " { "
	text = header + p.body(header, `fmt.Println("yes")`) + " }"
	switch {
	case p.take("elif"):
		before := len(p.before)
		text += " else " + p.ifStatement()
		if len(p.before) > before { // would run before the first condition
			giveUp()
		}
	case p.take("else"):
		if body := p.body("{", ""); body != "" {
			text += " else { " + body + " }"
		}
	}
	return text
}

// truth writes a condition; a value of another type is true if it is not zero or empty.
func (p *reader) truth(v value) string {
	if zero, ok := p.zero(v); ok {
		return strings.Replace(zero, " == ", " != ", 1)
	}
	if p.is(v, tensorFamily) {
		return v.in(primary) + ".All().Item() != 0"
	}
	text := v.goText()
	if v.prec == primary && strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text = text[1 : len(text)-1]
	}
	return text
}

// annotation reads the type of a parameter.
func (p *reader) annotation() string {
	name := p.name()
	for p.take(".") {
		name += "." + p.name()
	}
	if !p.take("[") {
		return goType(name)
	}
	var args []string
	for !p.take("]") {
		args = append(args, p.annotation())
		p.take(",")
	}
	switch {
	case (name == "list" || name == "List") && len(args) == 1:
		return "[]" + args[0]
	case (name == "dict" || name == "Dict") && len(args) == 2:
		return "map[" + args[0] + "]" + args[1]
	}
	giveUp()
	return ""
}

// try reads a block whose errors are handled: those of tensors, which other code here returns.
func (p *reader) try() string {
	text := "tensor.Try(func() { " + p.body("_ = func() {", "") + " })"
	if !p.take("except") {
		giveUp()
	}
	err := p.fresh("err")
	for !p.at(":") {
		if p.at(end) {
			giveUp()
		}
		if p.i++; p.toks[p.i-1].is("as") {
			err = p.name()
		}
	}
	opening := fmt.Sprintf("if %s := %s; %[1]s != nil { ", err, text)
	return opening + p.body(opening, "") + " }"
}

func (p *reader) assertion() string {
	condition := p.or()
	message := `"assertion failed"`
	if p.take(",") {
		message = p.expr().goText()
	}
	return fmt.Sprintf("if !(%s) { panic(%s) }", p.truth(condition), message)
}

func (p *reader) raise() string {
	p.take("new")
	p.name()
	message := `"failed"`
	if p.take("(") {
		if args, _ := p.items(")"); len(args) == 1 {
			message = args[0].goText()
		}
	}
	return "panic(" + message + ")"
}

func (p *reader) deletion() string {
	v := p.atom()
	if p.take("[") {
		list := p.subscripts()
		if len(list) != 1 || list[0].ranged {
			giveUp()
		}
		at := list[0].at.goText()
		if p.is(v, slice) {
			return fmt.Sprintf("%s = slices.Delete(%[1]s, %s, %[2]s+1)", v.text, at)
		}
		return fmt.Sprintf("delete(%s, %s)", v.text, at)
	}
	return "%del " + v.text
}

// assigning are the operators that assign.
var assigning = map[string]string{"+=": "+", "-=": "-", "*=": "*", "/=": "/", "%=": "%", "@=": "@", "//=": "//", "**=": "**"}

// assignment reads an assignment or an expression.
func (p *reader) assignment() string {
	if p.take("++") || p.take("--") {
		op := p.toks[p.i-1].text
		return p.name() + op
	}
	start := p.i
	x := p.expr()
	if x.either == nil && p.take(":") { // x: int = 3
		p.annotation()
		if !p.at("=") {
			giveUp()
		}
	}
	switch t := p.tok(); {
	case p.take("="), p.take(":="):
		return p.assign(x, p.toks[start:p.i-1])
	case p.at(",") && p.assigns():
		return p.several(start)
	case assigning[t.text] != "":
		p.i++
		return p.update(x, t.text)
	}
	if x.either != nil {
		return p.conditional(x, "fmt.Println(%s)", "fmt.Println(%s)")
	}
	if strings.HasPrefix(x.text, "!") { // a command of the shell, at the start of a line
		return "(" + x.text + ")"
	}
	return x.text
}

// conditional writes a conditional expression as a statement.
func (p *reader) conditional(x value, yes, no string) string {
	e := x.either
	return fmt.Sprintf("if %s { "+yes+" } else { "+no+" }", p.truth(e.condition), e.yes.goText(), e.no.goText())
}

// assigns says whether an assignment follows on this line.
func (p *reader) assigns() bool {
	for _, t := range p.toks[p.i:] {
		if t.is("=") || t.is(":=") {
			return true
		}
	}
	return false
}

// several is a, b = 1, 2.
func (p *reader) several(start int) string {
	p.i = start
	var names, values []string
	known := true
	for {
		v := p.atom()
		names = append(names, v.text)
		known = known && p.typeOf(v.text) != nil
		if !p.take(",") {
			break
		}
	}
	if !p.take("=") {
		p.want(":=")
	}
	for {
		v := p.expr()
		if values = append(values, v.goText()); len(v.pair) == 2 && len(values) == 1 {
			return p.both(names, v.pair)
		}
		if !p.take(",") {
			break
		}
	}
	if len(values) == 1 && len(names) > 1 && p.is(simple("%s", values[0]), slice) { // rows, columns = x.shape
		values = parts(values[0], len(names))
	}
	if source, ok := strings.CutSuffix(values[0], ".Batch(0)"); ok && len(values) == 1 && len(names) == 2 {
		b := p.fresh("b")
		return fmt.Sprintf("%[1]s := %[2]s.Batch(0); %[3]s := %[1]s.Inputs, %[1]s.Targets", b, source, strings.Join(names, ", "))
	}
	op := ":="
	if known {
		op = "="
	}
	return strings.Join(names, ", ") + " " + op + " " + strings.Join(values, ", ")
}

// parts returns the first n elements of a slice.
func parts(list string, n int) []string {
	of := make([]string, n)
	for i := range of {
		if of[i] = fmt.Sprintf("%s[%d]", list, i); strings.HasSuffix(list, ".Shape()") {
			of[i] = fmt.Sprintf("%s.Len(%d)", strings.TrimSuffix(list, ".Shape()"), i)
		}
	}
	return of
}

// both assigns the values of a call and their places; a name _ wants none.
func (p *reader) both(names, pair []string) string {
	var list, values []string
	op := "="
	for i, name := range names {
		if i >= len(pair) {
			giveUp()
		}
		if name == "_" {
			continue
		}
		if p.typeOf(name) == nil {
			op = ":="
		}
		list, values = append(list, name), append(values, pair[i])
	}
	return strings.Join(list, ", ") + " " + op + " " + strings.Join(values, ", ")
}

// assign translates x = …; it declares x if it is new or of another type.
func (p *reader) assign(x value, target []token) string {
	name := ""
	if len(target) > 0 && target[0].kind == word && x.text == target[0].text {
		name = x.text
		if p.typeOf(name) == nil {
			p.target = name
			p.taken[name] = true
		}
	}
	start, before := *p, len(p.before)
	y := p.expr()
	if start.target != "" && p.target == "" && y.text != name { // the name is not for a part of the value
		scope := start.scope
		*p = start
		p.scope, p.before, p.target = scope, p.before[:before], ""
		y = p.expr()
	}
	for p.take("=") { // a = b = 3
		last := p.expr()
		p.first("%s %s %s", y.goText(), p.operator(y.text, last), last.goText())
		y = simple("%s", y.text)
	}
	p.target = ""
	if y.changes != "" { // y = x.add_(1)
		p.first("%s", y.text)
		y = simple("%s", y.changes)
	}
	switch {
	case name == "":
		return p.assignElement(x, y)
	case name == "tokenizer" && strings.HasPrefix(y.text, "tokenizer.Load("): // so does this one
		return "tok := " + y.text
	case strings.HasPrefix(y.text, "lora.Of("+name+")"):
		return y.text
	case strings.HasPrefix(y.text, "lora.Inject("+name+", "): // changes the model
		return "adapter := " + y.text
	case name == "device" && y.text == "device.Default()": // the package keeps its name
		return "dev := device.Default()"
	case y.text == "nil" && p.is(x, tensorFamily):
		return name + " = tensor.Tensor{}"
	case y.text == "nil" && p.typeOf(name) == nil:
		return "var " + name + " any"
	case strings.HasPrefix(y.text, "safetensors.Load("):
		return name + ", _ := " + y.text
	case strings.HasPrefix(y.text, "nn.To("): // model = model.to(device)
		model, _, _ := strings.Cut(strings.TrimPrefix(y.text, "nn.To("), ",")
		if model == name {
			return y.text
		}
		return name + " := " + model + "; nn.To(" + name + strings.TrimPrefix(y.text, "nn.To("+model)
	case y.either != nil:
		e := y.either
		declare := p.operator(name, e.no)
		return fmt.Sprintf("%s %s %s; if %s { %[1]s = %[5]s }", name, declare, e.no.goText(), p.truth(e.condition), e.yes.goText())
	case y.text == name: // the statements that make it use this name
		return name
	}
	if p.typeOf(name) == nil && p.hoist(name, y) {
		return name + " = " + y.goText()
	}
	return name + " " + p.operator(name, y) + " " + y.goText()
}

// operator returns = for a variable that can hold the value, and := otherwise.
func (p *reader) operator(name string, v value) string {
	have, want := p.typeOf(name), p.typeOf(v.text)
	if have != nil && want != nil && types.AssignableTo(types.Default(want), have) {
		return "="
	}
	return ":="
}

// assignElement assigns to an element.
func (p *reader) assignElement(x, y value) string {
	if _, err := notation.ParseExpr(x.text); err != nil {
		giveUp()
	}
	if param, ok := strings.CutSuffix(x.text, ".Trainable()"); ok {
		return param + map[bool]string{true: ".Unfreeze()", false: ".Freeze()"}[y.text == "true"]
	}
	if of, ok := strings.CutSuffix(x.text, ".IsParam()"); ok { // x.requires_grad = True
		return of + " = " + of + map[bool]string{true: ".Param()", false: ".Detach()"}[y.text == "true"]
	}
	return x.text + " = " + y.goText()
}

// update is x += y.
func (p *reader) update(x value, op string) string {
	y := p.expr()
	simpleOp := assigning[op]
	if p.is(y, stringFamily) && !p.is(x, stringFamily) { // wrong in Python, too
		giveUp()
	}
	if op == "**=" {
		return x.text + " = " + p.power(x, y).goText()
	}
	for _, o := range arithmetic {
		if o.op == simpleOp {
			if v := p.operate(x, y, o.op, o.method, o.prec); v.text != x.text+" "+o.op+" "+y.text {
				if p.training.held && p.is(x, tensorFamily) { // a parameter stays one
					return fmt.Sprintf("%s.Set(%s)", x.text, v.goText())
				}
				return x.text + " " + p.operator(x.text, v) + " " + v.goText()
			}
		}
	}
	return x.text + " " + op + " " + y.goText()
}
