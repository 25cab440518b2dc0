package python

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// parameterTypes are tried in order for parameters without a type.
var parameterTypes = []string{"int", "float64", "string", "tensor.Tensor", "[]int", "[]float64"}

// A signature is the head of a function as Python has it, and the results that its body has returned so far.
type signature struct {
	params  []string
	types   map[string]string // that are known
	results string
	returns bool // a return was read
}

// definition writes def f(x, y: int = 3): and its body.
func (t *translator) definition(n *node) string {
	f := &signature{types: map[string]string{}}
	for _, param := range n.kids[:len(n.kids)-1] {
		if typ, value := param.kids[0], param.kids[1]; typ != nil {
			f.types[param.text] = t.typeNamed(typ)
		} else if value != nil && value.text != "nil" { // Go has no default arguments, but it tells the type
			f.types[param.text] = t.common([]string{t.expr(value)})
		}
		f.params = append(f.params, param.text)
	}
	body := n.last()
	if body != nil && (len(body.kids) > 1 || len(body.kids) == 1 && body.kids[0].text != "...") {
		return t.typed(f, n.text, func() string { return t.block(body) })
	}
	need(len(f.params) > 0)
	first := f.params[0] // without a body it returns this one
	return fmt.Sprintf("func %s(%s) %s { return %s }", n.text, f.list("int"), cmp.Or(f.types[first], "int"), first)
}

// list writes the parameters; those without a type have another.
func (f *signature) list(otherwise string) string {
	list := make([]string, len(f.params))
	for i, name := range f.params {
		list[i] = name + " " + cmp.Or(f.types[name], otherwise)
	}
	return strings.Join(list, ", ")
}

// typed writes a function. A parameter without a type has that of the variable of its name, if that is a
// tensor or a part of training, or else the first with which the body checks.
func (t *translator) typed(f *signature, name string, body func() string) string {
	need(t.loops <= 1 && t.function == nil) // each would try all types for each type of the outer one
	for _, param := range f.params {
		typ := t.typeOf(param)
		kinds := []string{"", "Module", "Optimizer"}
		if f.types[param] == "" && typ != nil && (slices.Contains(kinds, Kind(typ)) || isSource(typ)) {
			f.types[param] = typeText(typ)
		}
	}
	start, done := *t, t.done
	for _, typ := range parameterTypes {
		*t = start
		t.done, t.taken = map[*node]string{}, maps.Clone(t.taken)
		f.results, f.returns = "", false
		params, itself, text := f.list(typ), "", ""
		if name != "" && t.root.has("call", name) {
			itself = fmt.Sprintf("var %s func(%s) %s; ", name, params, typ)
		}
		t.tries(func() {
			t.inBlock(itself+"_ = func("+params+") {", func() {
				t.function, t.base = f, t.depth
				text = body()
			})
		})
		t.function, t.base, t.done, t.taken = nil, start.base, done, start.taken
		rest := fmt.Sprintf("(%s) %s{ %s }", params, f.results, text)
		if text != "" && t.s.TypeOf(t.scope+itself, "func"+rest, strings.Repeat("\n}", t.open)) != nil {
			return strings.TrimSpace("func "+name) + rest
		}
	}
	panic(notUnderstood{})
}

// returned writes a return.
func (t *translator) returned(list []*node) string {
	need(t.function != nil)
	if len(list) == 1 && list[0].op == "tuple" {
		list = list[0].kids
	}
	var types []string
	for _, n := range list {
		typ := t.typeOf(t.expr(n))
		need(typ != nil)
		types = append(types, typeText(typ))
	}
	results := strings.TrimLeft(strings.Join(types, ", ")+" ", " ")
	if len(types) > 1 {
		results = "(" + strings.TrimSpace(results) + ") "
	}
	f := t.function
	need(!f.returns || f.results == results)
	f.results, f.returns = results, true
	return strings.TrimSpace("return " + t.joined(list))
}

// lambda writes a function of one expression.
func (t *translator) lambda(n *node) string {
	f := &signature{types: map[string]string{}}
	for _, param := range n.kids[:len(n.kids)-1] {
		f.params = append(f.params, param.text)
	}
	return t.typed(f, "", func() string {
		t.loops++
		defer func() { t.loops-- }()
		return t.returned(n.kids[len(n.kids)-1:])
	})
}

// goTypes maps Python's types in annotations and conversions to Go's.
var goTypes = map[string]string{
	"float": "float64", "str": "string", "bytes": "[]byte", "list": "[]int", "dict": "map[string]any", "object": "any",
	"Tensor": "tensor.Tensor", "torch.Tensor": "tensor.Tensor", "np.ndarray": "tensor.Tensor", "number": "float64", "boolean": "bool",
}

// typeNamed writes a type: int, torch.Tensor, list[int].
func (t *translator) typeNamed(n *node) string {
	if n.op == "index" {
		switch args := n.kids[1:]; strings.ToLower(n.kids[0].path()) + fmt.Sprint(len(args)) {
		case "list1":
			return "[]" + t.typeNamed(args[0])
		case "dict2":
			return "map[" + t.typeNamed(args[0]) + "]" + t.typeNamed(args[1])
		}
	}
	need(n.path() != "")
	return cmp.Or(goTypes[n.path()], n.path())
}

// class writes a model of PyTorch: a type with its layers, the function that makes it, Forward, and Members.
func (t *translator) class(n *node) string {
	methods := map[string]*node{}
	if body := n.kids[0]; body != nil {
		for _, m := range body.kids {
			if m.op == "def" {
				methods[m.text] = m
			}
		}
	}
	made, forward := methods["__init__"], methods["forward"]
	need(made != nil && forward != nil && made.last() != nil && len(forward.kids) == 3 && forward.last() != nil)
	need(forward.last().kids != nil && forward.last().last().op == "return")
	var fields, values, members []string
	for _, s := range made.last().kids {
		if s.op == "call" && s.has("call", "super") {
			continue
		}
		need(s.op == "=" && len(s.kids) == 2 && s.kids[0].op == "." && s.kids[0].kids[0].text == "self")
		name, value := s.kids[0].text, t.expr(s.kids[1])
		typ := t.typeOf(value)
		need(Kind(typ) == "Module")
		fields = append(fields, name+" "+typeText(typ))
		values = append(values, name+": "+value)
		members = append(members, fmt.Sprintf("{Name: %q, Part: net.%s}", name, name))
	}
	need(len(fields) > 0)
	input, all, body := forward.kids[1].text, strings.Join(fields, "; "), ""
	t.receiver, t.function = "net", &signature{}
	t.inBlock(fmt.Sprintf("var net struct { %s }; _ = func(%s tensor.Tensor) {", all, input), func() {
		t.base = t.depth
		body = t.block(forward.last())
	})
	return fmt.Sprintf("type %[1]s struct { %[2]s }; func New%[1]s() *%[1]s { return &%[1]s{%[3]s} }; "+
		"func (net *%[1]s) Forward(%[4]s tensor.Tensor) tensor.Tensor { %[5]s }; "+
		"func (net *%[1]s) Members() []nn.Member { return []nn.Member{%[6]s} }",
		n.text, all, strings.Join(values, ", "), input, body, strings.Join(members, ", "))
}
