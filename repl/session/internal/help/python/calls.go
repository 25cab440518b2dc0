package python

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

// An argument of a call; name is set for a keyword argument.
type argument struct {
	name string
	value
}

// call reads the arguments of f and writes the call.
func (p *reader) call(f value) value { return p.called(f, p.callArguments()) }

// callArguments reads the arguments of a call up to its closing bracket.
func (p *reader) callArguments() (args []argument) {
	if p.comprehended(")") {
		target := p.target // is for the result of the call
		p.target = ""
		args = []argument{{value: p.comprehension(")")}}
		p.target = target
		return args
	}
	for !p.take(")") {
		var a argument
		if p.tok().kind == word && p.peek("=") {
			a.name = p.name()
			p.i++
		}
		p.take("**") // of model.generate(**inputs)
		spread := p.take("*")
		a.value = p.expr()
		if spread {
			a.value = p.spread(a.value)
		}
		args = append(args, a)
		if !p.at(")") {
			p.want(",")
		}
	}
	return args
}

// spread is *xs, as print takes it: the elements of a slice beside each other.
func (p *reader) spread(v value) value {
	if !p.is(v, slice) || !p.toks[p.i+1].is(end) {
		giveUp()
	}
	return simple(`strings.Trim(fmt.Sprint(%s), "[]")`, v.goText())
}

// called translates the call of f, which may be a function or method that Go does not have.
func (p *reader) called(f value, args []argument) value {
	if name := f.text[strings.LastIndexByte(f.text, '.')+1:]; len(args) > 0 && (name == "decode" || name == "Decode") {
		if list, ok := strings.CutSuffix(args[0].text, "[0]"); ok && p.is(simple("%s", list), slice) { // of a batch of one
			args[0].value = simple("%s", list)
		}
	}
	if last := len(args) - 1; last >= 0 && args[last].name == "descending" { // x.sort(descending=True)
		v := p.called(f, args[:last])
		axis := v.text[strings.LastIndexByte(v.text, '(')+1:]
		if args[last].text == "true" && strings.HasSuffix(axis, ")") {
			v.text += ".Flip(" + axis
			for i := range v.pair {
				v.pair[i] += ".Flip(" + axis
			}
		}
		return v
	}
	v, ok := p.foreign(f, args)
	if !ok {
		v, ok = p.method(f, args)
	}
	if !ok {
		v = p.plainCall(f, args)
	}
	v = p.downloaded(v)
	if name := strings.ToLower(f.name); f.member != nil {
		v.pair = pairOf(f.member.name, v.text)
	} else {
		v.pair = pairOf(name, v.text)
	}
	return v
}

// pairOf returns the values and the places of a call that has both in PyTorch: x.max(1).
func pairOf(name, text string) []string {
	at := strings.LastIndexByte(text, '.')
	method, args, called := strings.Cut(text[at+1:], "(")
	places := map[string]string{"Max": "ArgMax", "Min": "ArgMin", "Sort": "ArgSort"}[method]
	switch {
	case name == "sort" && method == "Sort" && args == ")":
		args = "-1)"
	case at < 0 || !called || !strings.EqualFold(name, method):
		return nil
	case method == "TopK":
		return []string{text}
	case places == "" || args == ")":
		return nil
	}
	return []string{text, text[:at+1] + places + "(" + args}
}

// half returns one of a pair: the values, or their places.
func (p *reader) half(v value, places bool) value {
	if len(v.pair) == 1 && places {
		name := p.result("indices")
		p.first("_, %s := %s", name, v.pair[0])
		return simple("%s", name)
	}
	if len(v.pair) == 1 {
		name := p.result("values")
		p.first("%s, _ := %s", name, v.pair[0])
		return simple("%s", name)
	}
	if places {
		return simple("%s", v.pair[1])
	}
	return simple("%s", v.pair[0])
}

// calledValue translates the call of something that Go has: a layer is called by its Forward, and a loss
// of package nn is a function, which nn.MSELoss() returns in PyTorch.
func (p *reader) calledValue(f value, t types.Type, args []argument) (value, bool) {
	sig, _ := t.Underlying().(*types.Signature)
	forward, _, _ := types.LookupFieldOrMethod(t, true, nil, "Forward")
	switch {
	case Kind(t) == "Tokenizer" && len(args) > 0:
		return p.known("Tokenizer", "encode", append([]argument{{value: f}}, args...))
	case sig == nil && forward != nil:
		return p.plainCall(simple("%s.Forward", f.in(primary)), args), true
	case sig != nil && f.module != "" && len(args) == 0 && strings.HasSuffix(f.name, "Loss") && sig.Params().Len() == 2:
		return f, true
	case f.module != "":
		return p.named(f, args)
	}
	return value{}, false
}

// named translates the call of a name in a module that the table has: torch.cat, nn.Linear. Arguments that
// say where and of which type a tensor is made become calls behind it.
func (p *reader) named(f value, args []argument) (value, bool) {
	after := ""
	var rest []argument
	for _, a := range args {
		switch {
		case a.name == "requires_grad":
			if a.text == "true" {
				after += ".Param()"
			}
		case a.name == "dtype" && strings.HasPrefix(a.text, "dtype."):
			after = ".Cast(" + a.text + ")" + after
		case a.name == "device":
		case a.name == "bias" && a.text == "false" && f.text == "nn.NewLinearBias":
			f.text, f.module = "nn.NewLinear", "go.Linear"
		default:
			rest = append(rest, a)
		}
	}
	if (f.name == "normal" || f.name == "uniform") && len(rest) > 0 { // of a mean or a range
		return drawn(f.name, rest)
	}
	module := strings.TrimSuffix(f.module, "."+f.name)
	v, ok := p.known(module, f.name, rest)
	if !ok && len(rest) > 0 && p.is(rest[0].value, tensorFamily) && elsewhere.Known(module) { // F.relu(x)
		x := rest[0].value
		method := simple("%s.%s", x.in(primary), f.name)
		method.member = &member{x, f.name}
		v, ok = p.method(method, rest[1:])
	}
	if !ok && len(rest) == len(args) {
		return value{}, false
	}
	if !ok {
		v = p.plainCall(f, rest)
	}
	return simple("%s%s", v.in(primary), after), true
}

// drawn is np.random.uniform(low, high, shape), or torch.normal(mean, deviation, shape).
func drawn(name string, args []argument) (value, bool) {
	if len(args) != 3 {
		return value{}, false
	}
	a, b := args[0].goText(), args[1].in(mulPrec)
	text, scale := "tensor.Randn", b
	if name == "uniform" {
		text, scale = "tensor.Rand", args[1].in(addPrec)+"-"+args[0].in(mulPrec)
		if strings.Trim(a, "0.") == "" {
			scale = b
		}
	}
	text += "(" + strings.Join(shapeOf(args[2]), ", ") + ")"
	if scale != "1" && scale != "1.0" {
		text += ".Mul(" + scale + ")"
	}
	if strings.Trim(a, "0.") != "" {
		text += ".Add(" + a + ")"
	}
	return simple("%s", text), true
}

// padded is F.pad(x, (1, 1, 2, 2), value=0): what is put before and behind, from the last axis on.
func (p *reader) padded(args []argument) (value, bool) {
	if len(args) < 2 || len(args[1].items) == 0 || len(args[1].items)%2 != 0 {
		return value{}, false
	}
	with := "0"
	for _, a := range args[2:] {
		switch {
		case a.name == "value":
			with = a.goText()
		case a.text != `"constant"`:
			return value{}, false
		}
	}
	text := args[0].in(primary)
	for i, axis := 0, -1; i < len(args[1].items); i, axis = i+2, axis-1 {
		text += fmt.Sprintf(".Pad(%d, %s, %s, %s)", axis, args[1].items[i].goText(), args[1].items[i+1].goText(), with)
	}
	return simple("%s", text), true
}

// plainCall translates a call of a Go function. Keyword arguments become the fields of its options, or
// arguments in their place.
func (p *reader) plainCall(f value, args []argument) value {
	var list []value
	var named []argument
	for _, a := range args {
		if a.name == "" {
			list = append(list, a.value)
		} else {
			named = append(named, a)
		}
	}
	sig, _ := under(p.typeOf(f.text)).(*types.Signature)
	if sig == nil {
		switch made := under(p.typeOf("*new(" + f.text + ")")).(type) {
		case *types.Struct:
			if len(list) > 0 || p.typeOf("New"+f.text) != nil {
				return p.constructor(f, list)
			}
			if f.text == "lora.Config" && !slices.ContainsFunc(named, func(a argument) bool { return a.name == "lora_alpha" }) {
				named = append(named, argument{"lora_alpha", simple("8")}) // as peft has it
			}
			return simple("%s{%s}", f.text, fields(made, named))
		case *types.Slice: // nn.Sequential(a, b)
			return simple("%s{%s}", f.text, texts(list))
		}
	}
	if sig != nil && len(named) > 0 && sig.Params().Len() == len(list)+1 {
		last := sig.Params().At(len(list)).Type()
		if options, ok := last.Underlying().(*types.Struct); ok {
			list = append(list, simple("%s{%s}", typeText(last), fields(options, named)))
			named = nil
		}
	}
	for _, a := range named {
		list = append(list, a.value)
	}
	// A shape in brackets: zeros((2, 3)).
	if sig != nil && sig.Variadic() && len(list) == sig.Params().Len() && list[len(list)-1].items != nil {
		list = append(list[:len(list)-1], list[len(list)-1].items...)
	}
	return simple("%s(%s)", f.in(primary), texts(list))
}

// constructor translates nn.Linear(4, 8) to nn.NewLinear(4, 8), and Net() to NewNet().
func (p *reader) constructor(f value, args []value) value {
	pkg, name, ok := strings.Cut(f.text, ".")
	if !ok {
		return simple("New%s(%s)", f.text, texts(args))
	}
	return simple("%s.New%s(%s)", pkg, name, texts(args))
}

// fields writes keyword arguments as the fields of a literal.
func fields(s *types.Struct, named []argument) string {
	var parts []string
	for _, a := range named {
		if implied[a.name] {
			continue
		}
		name := a.name
		if of, ok := settings[name]; ok {
			name, a.value = of, setting(a)
		}
		for f := range s.Fields() {
			if strings.EqualFold(f.Name(), strings.ReplaceAll(name, "_", "")) {
				name = f.Name()
			}
		}
		parts = append(parts, name+": "+a.goText())
	}
	return strings.Join(parts, ", ")
}
