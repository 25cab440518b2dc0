package python

import (
	"fmt"
	"strings"
)

// expr reads an expression: one that may be a lambda, or conditional.
func (p *reader) expr() value {
	if p.at("lambda") || p.arrow() {
		return p.lambda()
	}
	v := p.or()
	switch {
	case p.take("if"):
		condition := p.or()
		p.want("else")
		if condition.text == "device.List()" { // "cuda" if torch.cuda.is_available() else "cpu"
			p.expr()
			return simple("device.Default()")
		}
		return value{either: &either{condition, v, p.expr()}}
	case p.take("?"):
		yes := p.expr()
		p.want(":")
		return value{either: &either{v, yes, p.expr()}}
	}
	return v
}

// arrow says whether a function of JavaScript begins here: v => … or (a, b) => ….
func (p *reader) arrow() bool {
	if p.tok().kind == word {
		return p.peek("=>")
	}
	if !p.at("(") {
		return false
	}
	for i := p.i + 1; i < len(p.toks); i++ {
		switch t := p.toks[i]; {
		case t.is(")"):
			return p.toks[i+1].is("=>")
		case t.kind != word && !t.is(","):
			return false
		}
	}
	return false
}

func (p *reader) or() value {
	v := p.and()
	for p.take("or") || p.take("||") {
		v = p.logical(v, p.and(), "||", "Or", orPrec)
	}
	return v
}

func (p *reader) and() value {
	v := p.not()
	for p.take("and") || p.take("&&") {
		v = p.logical(v, p.not(), "&&", "And", andPrec)
	}
	return v
}

func (p *reader) logical(x, y value, op, method string, prec int) value {
	if p.is(x, tensorFamily) {
		return simple("%s.%s(%s)", x.in(primary), method, y.goText())
	}
	return value{text: x.in(prec) + " " + op + " " + y.in(prec+1), prec: prec}
}

func (p *reader) not() value {
	if p.take("not") {
		return p.negated(p.not())
	}
	return p.comparison()
}

// negated is `not x`, and !x, which binds closer.
func (p *reader) negated(v value) value {
	if p.is(v, tensorFamily) {
		return simple("%s.Not()", v.in(primary))
	}
	if zero, ok := p.zero(v); ok {
		return value{text: zero, prec: comparePrec}
	}
	return value{text: "!" + v.in(unaryPrec), prec: unaryPrec}
}

// zero compares a number, string, slice or map with its value that is false in Python.
func (p *reader) zero(v value) (string, bool) {
	switch f, _ := p.family(v); f {
	case integer, float:
		return v.in(addPrec) + " == 0", true
	case stringFamily:
		return v.in(addPrec) + ` == ""`, true
	case slice, mapFamily:
		return "len(" + v.goText() + ") == 0", true
	}
	return "", false
}

// comparisons are Python's and JavaScript's operators, with Go's operator and the method of tensors.
var comparisons = []struct{ op, goOp, method string }{
	{"==", "==", "Eq"}, {"===", "==", "Eq"}, {"!=", "!=", "Ne"}, {"!==", "!=", "Ne"},
	{"<=", "<=", "Le"}, {">=", ">=", "Ge"}, {"<", "<", "Lt"}, {">", ">", "Gt"},
}

// comparison reads comparisons, which may be a chain: 0 < n < 10.
func (p *reader) comparison() value {
	x := p.binary(addPrec)
	var all []string
	for {
		v, y, ok := p.compare(x)
		if !ok {
			break
		}
		all = append(all, v.in(comparePrec))
		if len(all) == 1 && !p.comparisonNext() {
			return v
		}
		x = y
	}
	if len(all) == 0 {
		return x
	}
	return value{text: strings.Join(all, " && "), prec: andPrec}
}

func (p *reader) comparisonNext() bool {
	for _, c := range comparisons {
		if p.at(c.op) {
			return true
		}
	}
	return false
}

// compare reads an operator and y, the operand after it.
func (p *reader) compare(x value) (v, y value, ok bool) {
	switch {
	case p.at("not") && p.peek("in"):
		p.i += 2
		v := p.contains(x, p.binary(addPrec))
		return value{text: "!" + v.in(unaryPrec), prec: unaryPrec}, v, true
	case p.take("in"):
		v := p.contains(x, p.binary(addPrec))
		return v, v, true
	case p.take("is"):
		op := "=="
		if p.take("not") {
			op = "!="
		}
		y := p.binary(addPrec)
		if y.text == "nil" && p.is(x, tensorFamily) {
			return simple("%s", strings.Replace("!"+x.in(primary)+".IsNone()", "!", map[string]string{"!=": "!"}[op], 1)), y, true
		}
		return value{text: x.in(addPrec) + " " + op + " " + y.in(addPrec), prec: comparePrec}, y, true
	}
	for _, c := range comparisons {
		if !p.take(c.op) {
			continue
		}
		y := p.binary(addPrec)
		if v, ok := p.tensors(x, y, c.method); ok {
			return v, y, true
		}
		if p.is(x, slice) && p.is(y, slice) && (c.goOp == "==" || c.goOp == "!=") {
			equal := value{text: fmt.Sprintf("slices.Equal(%s, %s)", x.goText(), y.goText()), prec: unaryPrec}
			if c.goOp == "!=" {
				equal.text = "!" + equal.text
			}
			return equal, y, true
		}
		a, b := p.sameNumbers(x, y, addPrec)
		return value{text: a + " " + c.goOp + " " + b, prec: comparePrec}, y, true
	}
	return value{}, value{}, false
}

// contains is `x in list`.
func (p *reader) contains(x, list value) value {
	switch f, _ := p.family(list); f {
	case stringFamily:
		return simple("strings.Contains(%s, %s)", list.goText(), x.goText())
	case mapFamily:
		ok := p.fresh("ok")
		p.first("_, %s := %s[%s]", ok, list.in(primary), x.goText())
		return simple("%s", ok)
	case tensorFamily:
		return simple("%s.Eq(%s).Any()", list.in(primary), x.goText())
	}
	return simple("slices.Contains(%s, %s)", list.goText(), x.goText())
}

// tensors calls a method of tensors for an operator, if one of the operands is a tensor.
func (p *reader) tensors(x, y value, method string) (value, bool) {
	switch {
	case p.is(x, stringFamily) || p.is(y, stringFamily):
		return value{}, false
	case p.is(x, tensorFamily):
		return simple("%s.%s(%s)", x.in(primary), method, y.goText()), true
	case !p.is(y, tensorFamily):
		return value{}, false
	case method == "Add" || method == "Mul" || method == "Eq" || method == "Ne":
		return simple("%s.%s(%s)", y.in(primary), method, x.goText()), true
	case method == "Sub" || method == "Div" || method == "Mod" || method == "Pow":
		return simple("tensor.%s(%s, %s)", method, x.goText(), y.goText()), true
	}
	return simple("tensor.Scalar(%s).%s(%s)", x.goText(), method, y.goText()), true
}

// sameNumbers returns the texts of two operands. If one is an integer and the other a float, the integer
// is converted.
func (p *reader) sameNumbers(x, y value, prec int) (a, b string) {
	fx, constX := p.family(x)
	fy, constY := p.family(y)
	a, b = x.in(prec), y.in(prec+1)
	switch {
	case fx == integer && fy == float && !constX:
		a = "float64(" + x.goText() + ")"
	case fx == float && fy == integer && !constY:
		b = "float64(" + y.goText() + ")"
	}
	return a, b
}

// arithmetic are the operators of sums and products, with the method of tensors.
var arithmetic = []struct {
	op, method string
	prec       int
}{
	{"+", "Add", addPrec}, {"-", "Sub", addPrec}, {"|", "Or", addPrec}, {"//", "FloorDiv", mulPrec}, {"*", "Mul", mulPrec},
	{"/", "Div", mulPrec}, {"%", "Mod", mulPrec}, {"@", "MatMul", mulPrec}, {"&", "And", mulPrec},
	{"<<", "Shl", mulPrec}, {">>", "Shr", mulPrec},
}

// binary reads a sum or a product.
func (p *reader) binary(prec int) value {
	operand := func() value { return p.binary(prec + 1) }
	if prec == unaryPrec {
		return p.unary()
	}
	x := operand()
next:
	for _, o := range arithmetic {
		if o.prec == prec && p.take(o.op) {
			x = p.operate(x, operand(), o.op, o.method, prec)
			goto next
		}
	}
	return x
}

func (p *reader) operate(x, y value, op, method string, prec int) value {
	if v, ok := p.tensors(x, y, method); ok {
		return v
	}
	fx, _ := p.family(x)
	fy, _ := p.family(y)
	switch {
	case op == "-" && p.isTime(y):
		if x.text == "time.Now()" {
			return simple("time.Since(%s).Seconds()", y.goText())
		}
		return simple("%s.Sub(%s).Seconds()", x.in(primary), y.goText())
	case op == "%" && fx == stringFamily:
		list := []value{y}
		if y.tuple {
			list = y.items
		}
		return simple("fmt.Sprintf(%s, %s)", x.goText(), texts(list))
	case op == "*" && fx == stringFamily:
		return simple("strings.Repeat(%s, %s)", x.goText(), y.goText())
	case op == "*" && fy == stringFamily:
		return simple("strings.Repeat(%s, %s)", y.goText(), x.goText())
	case op == "*" && fx == slice:
		return simple("slices.Repeat(%s, %s)", x.goText(), y.goText())
	case op == "+" && fx == stringFamily && fy != stringFamily && fy != unknown:
		return value{text: x.in(addPrec) + " + fmt.Sprint(" + y.goText() + ")", prec: addPrec}
	case op == "+" && fy == stringFamily && fx != stringFamily && fx != unknown:
		return value{text: "fmt.Sprint(" + x.goText() + ") + " + y.in(mulPrec), prec: addPrec}
	case op == "+" && fx == slice:
		return simple("slices.Concat(%s, %s)", x.goText(), y.goText())
	case op == "%" && (fx == float || fy == float):
		a, b := p.sameNumbers(x, y, 0)
		return simple("math.Mod(%s, %s)", a, b)
	case op == "//" && (fx == float || fy == float):
		a, b := p.sameNumbers(x, y, mulPrec)
		return simple("math.Floor(%s / %s)", a, b)
	case op == "//":
		op = "/"
	case op == "/" && fx == integer && fy == integer:
		return value{text: fraction(x) + " / " + fraction(y), prec: prec}
	case op == "@":
		giveUp()
	}
	a, b := p.sameNumbers(x, y, prec)
	return value{text: a + " " + op + " " + b, prec: prec}
}

// isTime says whether a value is a point in time, which Python has in seconds.
func (p *reader) isTime(v value) bool {
	t := p.typeOf(v.text)
	return t != nil && typeText(t) == "time.Time"
}

// fraction writes an integer as an operand of a division whose result is not one.
func fraction(v value) string {
	if strings.Trim(v.text, "0123456789") == "" {
		return v.text + ".0"
	}
	return "float64(" + v.goText() + ")"
}

func (p *reader) unary() value {
	for _, op := range []string{"-", "+", "~", "!"} {
		if !p.take(op) {
			continue
		}
		v := p.unary()
		switch {
		case op == "-" && p.is(v, tensorFamily):
			return simple("%s.Neg()", v.in(primary))
		case op == "+":
			return v
		case op == "!":
			return p.negated(v)
		case op == "~" && p.is(v, tensorFamily):
			return simple("%s.Not()", v.in(primary))
		case op == "~":
			op = "^"
		}
		return value{text: op + v.in(unaryPrec), prec: unaryPrec}
	}
	x := p.primary()
	if !p.take("**") {
		return x
	}
	return p.power(x, p.unary())
}

// power is x ** y.
func (p *reader) power(x, y value) value {
	if v, ok := p.tensors(x, y, "Pow"); ok {
		return v
	}
	if f, _ := p.family(x); y.text == "2" && f != unknown && x.prec == primary && !strings.ContainsAny(x.text, "(") {
		return value{text: x.text + " * " + x.text, prec: mulPrec}
	}
	return simple("math.Pow(%s, %s)", p.asFloat(x), p.asFloat(y))
}

// asFloat returns a value as an argument for package math.
func (p *reader) asFloat(v value) string {
	if f, untyped := p.family(v); f == integer && !untyped {
		return "float64(" + v.goText() + ")"
	}
	return v.goText()
}
