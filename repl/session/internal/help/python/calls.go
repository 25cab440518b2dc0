package python

import (
	"go/types"
	"slices"
	"strings"
)

// An argument of a call; name is set for a keyword argument.
type argument struct {
	name string
	value
}

// call reads the arguments of f and writes the call.
func (p *reader) call(f value) value {
	var args []argument
	if p.comprehended(")") {
		args = []argument{{value: p.comprehension(")")}}
	} else {
		for !p.take(")") {
			var a argument
			if p.tok().kind == word && p.peek("=") {
				a.name = p.name()
				p.i++
			}
			a.value = p.expr()
			args = append(args, a)
			if !p.at(")") {
				p.want(",")
			}
		}
	}
	return p.called(f, args)
}

// called translates the call of f, which may be a function or method that Go does not have.
func (p *reader) called(f value, args []argument) value {
	if v, ok := p.foreign(f, args); ok {
		return v
	}
	if v, ok := p.method(f, args); ok {
		return v
	}
	return p.plainCall(f, args)
}

// plainCall translates a call of a Go function. Keyword arguments become the fields of its options, or
// arguments in their place.
func (p *reader) plainCall(f value, args []argument) value {
	var list []value
	var named []argument
	after := "" // what the tensor is made into
	for _, a := range args {
		switch {
		case a.name == "":
			list = append(list, a.value)
		case strings.HasPrefix(f.text, "tensor.") && a.name == "requires_grad" && a.text == "true":
			after += ".Param()"
		case strings.HasPrefix(f.text, "tensor.") && a.name == "dtype":
			after = ".Cast(" + a.text + ")" + after
		default:
			named = append(named, a)
		}
	}
	if after != "" {
		v := p.plainCall(f, slices.DeleteFunc(slices.Clone(args), func(a argument) bool { return a.name == "requires_grad" || a.name == "dtype" }))
		return simple("%s%s", v.in(primary), after)
	}
	sig, _ := under(p.typeOf(f.text)).(*types.Signature)
	if options, ok := under(p.typeOf("*new(" + f.text + ")")).(*types.Struct); ok && sig == nil {
		if len(list) > 0 {
			return p.constructor(f, list)
		}
		return simple("%s{%s}", f.text, fields(options, named))
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

// constructor translates nn.Linear(4, 8) to nn.NewLinear(4, 8).
func (p *reader) constructor(f value, args []value) value {
	if pkg, name, ok := strings.Cut(f.text, "."); ok {
		return simple("%s.New%s(%s)", pkg, name, texts(args))
	}
	giveUp()
	return value{}
}

// fields writes keyword arguments as the fields of a literal.
func fields(s *types.Struct, named []argument) string {
	var parts []string
	for _, a := range named {
		name := a.name
		for f := range s.Fields() {
			if strings.EqualFold(f.Name(), strings.ReplaceAll(name, "_", "")) {
				name = f.Name()
			}
		}
		parts = append(parts, name+": "+a.goText())
	}
	return strings.Join(parts, ", ")
}
