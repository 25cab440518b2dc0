package python

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"

	"golang.org/x/tools/go/types/typeutil"
)

// An argument of a call, as Go and as it was typed; name is set for a keyword argument.
type argument struct {
	name, text string
	node       *node
}

// items returns the elements of a tuple or a list.
func (a argument) items() []*node {
	if a.node != nil && (a.node.op == "tuple" || a.node.op == "list") {
		return a.node.kids
	}
	return nil
}

func (t *translator) arguments(list []*node) []argument {
	args := make([]argument, len(list))
	for i, n := range list {
		args[i] = argument{n.key, t.operand(n), n.bare()}
	}
	return args
}

// call writes a call that no rule knows.
func (t *translator) call(n *node) string {
	f, args := n.kids[0], t.arguments(n.kids[1:])
	module, name := "", f.text
	if f.op == "." {
		module = t.module(f.kids[0], f.text)
	} else if f.op == "name" && t.typeOf(name) == nil {
		module = imported(name)
		if len(args) == 1 && module == "torch" && slices.Contains([]string{"int", "float"}, t.family(args[0].text)) {
			module = "" // sqrt(2) is of package math
		}
		switch {
		case name == "print":
			return printed(args)
		case name == "dict":
			var pairs []*node
			for _, a := range n.kids[1:] {
				need(a.key != "")
				pairs = append(pairs, of("pair", &node{op: "string", text: strconv.Quote(a.key)}, a))
			}
			return t.table(pairs)
		}
	}
	text := ""
	switch {
	case module != "":
		return t.moduleCall(module, name, args)
	case f.op == ".":
		text = in(t.expr(f.kids[0]), primary) + "." + f.text
		if t.typeOf(text) == nil || slices.ContainsFunc(args, func(a argument) bool { return a.name != "" }) {
			return t.methodCall(f, args)
		}
	default:
		text = t.expr(f)
	}
	typ := t.typeOf(text)
	if _, ok := under(typ).(*types.Signature); !ok && has(typ, "Forward") { // a layer
		return t.plainCall(in(text, primary)+".Forward", args)
	}
	if Kind(typ) == "Tokenizer" {
		if text, ok := t.known("Tokenizer", "encode", slices.Insert(args, 0, argument{text: text})); ok {
			return text
		}
	}
	return t.plainCall(text, args)
}

func (t *translator) family(text string) string { return Family(t.typeOf(text)) }

// module returns the module whose member a name is: the names of packages stand for no value.
func (t *translator) module(n *node, member string) string {
	path := n.path()
	if path == "" || t.expr(root(n)) != root(n).text || t.typeOf(root(n).text) != nil {
		if path != "tokenizer" || t.s.Exported("tokenizer", member) != member {
			return ""
		}
	}
	return cmp.Or(map[string]string{"random": "rand", "re": "regexp"}[path], path) // Python's own
}

// imported returns the module from which people import a name to use it alone: nn for Linear, or "".
func imported(name string) string {
	for _, module := range ModulesOf(name) {
		if len(elsewhere.Forms(module, name)) > 0 {
			return module
		}
	}
	return ""
}

// ModulesOf lists the modules from which people import a name to use it alone.
func ModulesOf(name string) []string {
	if name != "" && unicode.IsUpper(rune(name[0])) {
		return []string{"nn", "optim", "data", "torch", "hub"}
	}
	return []string{"torch", "hub"}
}

// packageName returns Go's name for one of a module, and whether it is another library's.
func (t *translator) packageName(module, name string) (goText string, foreign bool) {
	path := module + "." + name
	form := elsewhere.Lookup(module, name)
	if module == "tensor" && strings.HasPrefix(form, path+"(") {
		return path, false
	}
	goPackage := module
	if elsewhere.Known(module) && module != "nn" {
		goPackage = "tensor"
	}
	if to := Callee(module, name); to != "" {
		return to, true
	}
	if found := t.s.Exported(goPackage, strings.ReplaceAll(name, "_", "")); found != "" {
		return goPackage + "." + found, true
	}
	return goPackage + "." + name, true
}

// moduleCall writes the call of a name in a module. Arguments that say where and of which type a tensor is
// made become calls behind it.
func (t *translator) moduleCall(module, name string, args []argument) string {
	text, foreign := t.packageName(module, name)
	if text == "optim.SGD" || text == "optim.AdamW" {
		if text, ok := t.optimizer(text, name, args); ok {
			return text
		}
	}
	sig, ok := t.typeOf(text).(*types.Signature)
	if ok && len(args) == 0 && strings.HasSuffix(name, "Loss") && sig.Params().Len() == 2 {
		return text // nn.MSELoss() returns the function
	}
	after := ""
	var rest []argument
	var to []*node
	for i, a := range args {
		switch {
		case a.name == "requires_grad":
			if a.text == "true" {
				after = ".Param()"
			}
		case i > 0 && a.name == "" && strings.HasPrefix(a.text, "dtype."), a.name == "dtype" && strings.HasPrefix(dtypeOf(a.text), "dtype."):
			to = append(to, &node{op: "go", text: dtypeOf(a.text)})
		case a.name == "device":
			to = append(to, &node{op: a.node.op, text: a.node.text, kids: a.node.kids})
		default:
			rest = append(rest, a)
		}
	}
	made, ok := "", false
	if !foreign {
		if made, ok = t.plainCall(text, rest), true; t.typeOf(made) == nil {
			made, ok = t.known(module, name, rest)
		}
	} else {
		made, ok = t.known(module, name, rest)
	}
	if !ok && len(rest) > 0 && t.family(rest[0].text) == "tensor" && elsewhere.Known(module) { // F.relu(x)
		n := of("call", &node{op: ".", text: name, kids: []*node{rest[0].node}})
		for _, a := range rest[1:] {
			n.kids = append(n.kids, a.node)
		}
		if made, ok = t.ruled(n); !ok && !strings.HasPrefix(elsewhere.Lookup(module, name), "// ") {
			made, ok = t.known("", name, rest)
		}
	}
	if !ok {
		need(!strings.HasPrefix(elsewhere.Lookup(module, name), "// ")) // it has words
		made = t.plainCall(text, rest)
	}
	for _, d := range slices.Backward(to) {
		made = t.expr(of("call", &node{op: ".", text: "to", kids: []*node{{op: "go", text: made}}}, d))
	}
	if after != "" {
		made = in(made, primary) + after
	}
	return made
}

// dtypeOf returns the type that a text names, "float32", or the text.
func dtypeOf(text string) string {
	if name, err := strconv.Unquote(text); err == nil {
		if to := Callee("", name); strings.HasPrefix(to, "dtype.") {
			return to
		}
	}
	return text
}

// methodCall writes the call of a method of a value.
func (t *translator) methodCall(f *node, args []argument) string {
	operand, name := f.kids[0].bare(), f.text
	if body, err := strconv.Unquote(operand.text); operand.op == "string" && name == "format" && err == nil {
		format, fields := formatOf(body)
		need(strings.Join(fields, "") == "")
		var list []string
		for _, a := range args {
			need(a.name == "")
			list = append(list, a.text)
		}
		return fmt.Sprintf("fmt.Sprintf(%q, %s)", format, t.formatted(format, list))
	}
	x := t.expr(operand)
	typ := t.typeOf(x)
	text := in(x, primary) + "." + name
	if typ == nil {
		return t.plainCall(text, args)
	}
	kind := Kind(typ)
	named := slices.ContainsFunc(args, func(a argument) bool { return a.name != "" })
	if found := sameLetters(typ, name); found != nil && (found.Name() == name && !named || len(elsewhere.Forms(kind, name)) == 0) {
		return t.plainCall(in(x, primary)+"."+found.Name(), args)
	}
	if kind == "Module" && name == "generate" && len(args) > 0 && t.family(args[0].text) == "slice" {
		name = "generate_tokens"
	}
	if text, ok := t.known(kind, name, slices.Insert(args, 0, argument{text: x, node: operand})); ok {
		return text
	}
	return t.plainCall(text, args)
}

// member writes x.name that is not called: what is a field in Python may be a method here.
func (t *translator) member(n *node) string {
	name := n.text
	if at := slices.Index(halves, name); at >= 0 {
		if pair := t.pair(n.kids[0]); pair != nil {
			return t.half(pair, at)
		}
	}
	if module := t.module(n.kids[0], name); module != "" {
		if form := elsewhere.Lookup(module, name); strings.HasPrefix(form, "math.") {
			return form
		}
		text, _ := t.packageName(module, name)
		return text
	}
	x := t.expr(n.kids[0])
	typ := t.typeOf(x)
	if typ != nil && typeText(typ) == "nn.Layer" && (name == "weight" || name == "bias") { // of nn.Sequential
		x += ".(*nn.Linear)"
		typ = t.typeOf(x)
	}
	text := in(x, primary) + "." + name
	if typ == nil {
		return text
	}
	if t.typeOf(text) == nil {
		if text, ok := t.known(Kind(typ), name, []argument{{text: x, node: n.kids[0]}}); ok {
			return text
		}
	}
	if found := sameLetters(typ, name); found != nil {
		text = in(x, primary) + "." + found.Name()
		if m, ok := found.(*types.Func); ok && m.Signature().Params().Len() == 0 {
			text += "()"
		}
	}
	return text
}

// sameLetters returns the exported member of a type that has the same name in any case.
func sameLetters(t types.Type, name string) types.Object {
	name = strings.ReplaceAll(name, "_", "")
	for _, o := range Members(t) {
		if o.Exported() && strings.EqualFold(o.Name(), name) {
			return o
		}
	}
	return nil
}

// Members returns the methods that can follow a dot after a value of the type, and its fields and those of
// its embedded structs, which cells can name, in the order of their names.
func Members(t types.Type) (list []types.Object) {
	seen := map[string]bool{}
	add := func(o types.Object) {
		if !seen[o.Name()] && Visible(o) {
			seen[o.Name()] = true
			list = append(list, o)
		}
	}
	for _, m := range typeutil.IntuitiveMethodSet(t, nil) {
		add(m.Obj())
	}
	fields(t, 0, add)
	slices.SortFunc(list, func(a, b types.Object) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

// fields calls f for the fields of a struct and of its embedded structs.
func fields(t types.Type, depth int, f func(types.Object)) {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok || depth > 4 {
		return
	}
	for field := range st.Fields() {
		f(field)
	}
	for field := range st.Fields() {
		if field.Embedded() {
			fields(field.Type(), depth+1, f)
		}
	}
}

// Visible says whether cells can name an object.
func Visible(o types.Object) bool { return o.Exported() || o.Pkg() != nil && o.Pkg().Path() == "mcs" }

// printed writes print(…): with a format, if a text has one or stands between the others.
func printed(args []argument) string {
	var list []string
	said := map[string]string{"sep": " ", "end": "\n"}
	for _, a := range args {
		value, err := strconv.Unquote(a.text)
		switch _, known := said[a.name]; {
		case known && err == nil:
			said[a.name] = value
		case a.name != "":
			giveUp()
		default:
			list = append(list, a.text)
		}
	}
	all := strings.Join(list, ", ")
	if said["sep"] != " " && len(list) > 1 || said["end"] != "\n" && len(list) > 0 {
		between := strings.ReplaceAll(said["sep"], "%", "%%")
		format := strings.TrimSuffix(strings.Repeat("%v"+between, len(list)), between) + strings.ReplaceAll(said["end"], "%", "%%")
		return fmt.Sprintf("fmt.Printf(%q, %s)", format, all)
	}
	if format, rest, ok := strings.Cut(all, `", `); ok && len(list) == 1 && strings.HasPrefix(format, `fmt.Sprintf("`) { // one call is enough
		return strings.Replace(format, "Sprintf", "Printf", 1) + `\n", ` + rest
	}
	return "fmt.Println(" + all + ")"
}

//go:embed arguments.txt
var argumentsText string

// A setting is what stands here for a keyword argument, as arguments.txt says.
type setting struct{ field, value string }

var settings = sync.OnceValue(func() map[string]setting {
	m := map[string]setting{}
	for line := range strings.Lines(argumentsText) {
		if words := strings.Split(strings.TrimSpace(line), "\t"); len(words) > 1 && words[0][0] != '#' {
			words = append(words, "A")
			for name := range strings.FieldsSeq(words[0]) {
				m[name] = setting{words[1], words[2]}
			}
		}
	}
	return m
})

// implied says whether an argument says what is so here in any case.
func implied(a argument) bool { return settings()[a.name].field == "-" }

// plainCall writes a call of a Go function. Keyword arguments become the fields of its options, or arguments
// in their place.
func (t *translator) plainCall(f string, args []argument) string {
	var list []string
	var named []argument
	for _, a := range args {
		switch {
		case a.name == "":
			list = append(list, a.text)
		case !implied(a):
			named = append(named, a)
		}
	}
	sig, _ := under(t.typeOf(f)).(*types.Signature)
	if sig == nil {
		switch made := under(t.typeOf("*new(" + f + ")")).(type) {
		case *types.Struct:
			if len(list) > 0 || t.typeOf("New"+f) != nil { // nn.Linear(4, 8), Net()
				need(len(named) == 0)
				module, name := cutLast(f)
				return fmt.Sprintf("%sNew%s(%s)", strings.TrimPrefix(module+".", "."), name, strings.Join(list, ", "))
			}
			if f == "lora.Config" && !slices.ContainsFunc(named, func(a argument) bool { return a.name == "lora_alpha" }) {
				named = append(named, argument{name: "lora_alpha", text: "8"}) // as peft has it
			}
			return f + "{" + t.fields(made, named) + "}"
		case *types.Slice: // nn.Sequential(a, b)
			need(len(named) == 0)
			return f + "{" + strings.Join(list, ", ") + "}"
		}
	}
	for _, a := range named { // in their places
		need(sig != nil && len(list) < sig.Params().Len())
		name := sig.Params().At(len(list)).Name()
		need(strings.EqualFold(name, strings.ReplaceAll(a.name, "_", "")) || isAxis(name) && isAxis(a.name) || settings()[a.name].field == ".")
		list = append(list, a.text)
	}
	last := len(args) - 1
	if sig != nil && sig.Variadic() && len(list) == sig.Params().Len() && last >= 0 && args[last].items() != nil {
		list = append(list[:len(list)-1], t.texts(args[last].items())...) // a shape: zeros((2, 3))
	}
	return fmt.Sprintf("%s(%s)", in(f, primary), strings.Join(list, ", "))
}

// fields writes keyword arguments as the fields of a literal.
func (t *translator) fields(s *types.Struct, named []argument) string {
	var parts []string
	for _, a := range named {
		if implied(a) {
			continue
		}
		name, text := a.name, a.text
		if to := settings()[name]; to.field != "" && to.field != "." {
			name, text = to.field, strings.Replace(to.value, "A", text, 1)
			if to.value == "names" { // of layers: one text
				text = strings.NewReplacer("[]string{", "", `", "`, " ", "}", "", `"all-linear"`, "lora.AllLinear").Replace(a.text)
			}
		}
		for f := range s.Fields() {
			if strings.EqualFold(f.Name(), strings.ReplaceAll(name, "_", "")) {
				name = f.Name()
			}
		}
		parts = append(parts, name+": "+text)
	}
	return strings.Join(parts, ", ")
}
