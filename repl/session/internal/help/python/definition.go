package python

import (
	"fmt"
	"slices"
	"strings"
)

// parameterTypes are tried in order for parameters without a type.
var parameterTypes = []string{"int", "float64", "string", "tensor.Tensor", "[]int", "[]float64"}

// A signature is the head of a function as Python has it, and the results that its body has returned so far.
type signature struct {
	name    string
	params  []string
	types   map[string]string // that are known
	results []string
	returns bool // a return was read
}

// definition reads def f(x, y: int = 3) -> int: and its body.
func (p *reader) definition() string {
	f := p.head()
	switch {
	case p.at(end) || p.at("pass") || p.at("..."):
		p.i = len(p.toks) - 1
		return f.alone()
	case !p.at(indent) && !p.at("return"):
		giveUp()
	}
	return p.typed(f, "func "+f.name, func() string {
		indented := p.take(indent)
		text := p.statements()
		if indented {
			p.want(dedent)
		}
		p.take("}")
		return text
	})
}

// head reads the name and the parameters of a function.
func (p *reader) head() *signature {
	f := &signature{name: p.name(), types: map[string]string{}}
	p.want("(")
	for !p.take(")") {
		param := p.name()
		if p.take(":") {
			f.types[param] = p.annotation()
		}
		if p.take("=") { // Go has no default arguments, but it tells the type
			if v := p.expr(); f.types[param] == "" && v.text != "nil" {
				f.types[param] = p.common([]value{v})
			}
		}
		f.params = append(f.params, param)
		p.take(",")
	}
	if p.take("->") {
		p.annotation()
	}
	if !p.take(":") {
		p.take("{")
	}
	return f
}

// alone is a function without a body, which returns its first parameter.
func (f *signature) alone() string {
	if len(f.params) == 0 {
		return "func " + f.name + "() { }"
	}
	list := make([]string, len(f.params))
	result := ""
	for i, param := range f.params {
		typ := f.types[param]
		if typ == "" {
			typ = "int"
		}
		if list[i] = param + " " + typ; i == 0 {
			result = typ
		}
	}
	return fmt.Sprintf("func %s(%s) %s { return %s }", f.name, strings.Join(list, ", "), result, f.params[0])
}

// typed writes a function whose body is read by a function. A parameter without a type has that of the
// variable of its name, if that is a tensor or a part of training, or else the first with which the body
// checks.
func (p *reader) typed(f *signature, head string, body func() string) string {
	if p.loops > 1 || p.function != nil { // each would try all types for each type of the outer one
		giveUp()
	}
	for _, param := range f.params {
		t := p.typeOf(param)
		if f.types[param] == "" && (p.is(simple("%s", param), tensorFamily) || Kind(t) == "Module" || Kind(t) == "Optimizer" || p.isSource(simple("%s", param))) {
			f.types[param] = typeText(t)
		}
	}
	start := *p
	for _, typ := range parameterTypes {
		*p = start
		f.results, f.returns = nil, false
		list := make([]string, len(f.params))
		for i, name := range f.params {
			list[i] = name + " " + typ
			if known := f.types[name]; known != "" {
				list[i] = name + " " + known
			}
		}
		params := strings.Join(list, ", ")
		text := ""
		itself := ""
		if f.name != "" && p.recursive(f.name) {
			itself = fmt.Sprintf("var %s func(%s) %s; ", f.name, params, typ)
		}
		p.fails(func() {
			p.inBlock(itself+"_ = func("+params+") {", func() {
				p.function, p.base = f, p.depth
				text = body()
			})
		})
		p.function, p.base = nil, start.base
		results := strings.Join(f.results, ", ")
		if len(f.results) > 1 {
			results = "(" + results + ")"
		}
		if results != "" {
			results += " "
		}
		if text != "" && p.s.TypeOf(p.scope+itself, fmt.Sprintf("func(%s) %s{ %s }", params, results, text), strings.Repeat("\n}", p.open)) != nil {
			return fmt.Sprintf("%s(%s) %s{ %s }", head, params, results, text)
		}
	}
	giveUp()
	return ""
}

// recursive says whether a name is called in what follows.
func (p *reader) recursive(name string) bool {
	for i, t := range p.toks[p.i:] {
		if t.is(name) && p.toks[p.i+i+1].is("(") {
			return true
		}
	}
	return false
}

// returned reads what a function returns.
func (p *reader) returned() string {
	var list []value
	for !p.at(";") && !p.at(dedent) && !p.at("}") && !p.at(end) {
		v := p.expr()
		list = append(list, v)
		if v.tuple {
			list = v.items
		}
		p.take(",")
	}
	results := make([]string, len(list))
	for i, v := range list {
		t := p.typeOf(v.goText())
		if t == nil {
			giveUp()
		}
		results[i] = typeText(t)
	}
	if f := p.function; !f.returns {
		f.results, f.returns = results, true
	} else if !slices.Equal(f.results, results) {
		giveUp()
	}
	return strings.TrimSuffix("return "+texts(list), " ")
}

// lambda reads a function of one expression. Its parameters get the first type that fits its body.
func (p *reader) lambda() value {
	p.take("lambda")
	bracket := p.take("(")
	f := &signature{types: map[string]string{}}
	for !p.at(":") && !p.at(")") && !p.at("=>") {
		f.params = append(f.params, p.name())
		p.take(",")
	}
	if bracket {
		p.want(")")
	}
	if !p.take(":") {
		p.want("=>")
	}
	return simple("%s", p.typed(f, "func", func() string {
		p.loops++
		defer func() { p.loops-- }()
		return p.returned()
	}))
}
