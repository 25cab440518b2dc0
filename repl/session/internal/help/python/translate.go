package python

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// A translator writes a tree as Go, from the left to the right.
type translator struct {
	s      Session
	toks   []token
	root   *node
	done   map[*node]string // the Go of expressions: each is written once
	scope  string           // the Go before the current expression: statements and open blocks
	open   int              // number of open blocks
	before []string         // statements that the current statement needs before it
	loops  int              // depth of comprehensions: their parts cannot put statements before the statement
	target string           // the variable that the expression is assigned to: a list can be made in it
	taken  map[string]bool  // names that the translation has given

	function *signature // around the current statement, or nil
	receiver string     // what self is called
	training training
	depth    int      // of blocks around the current statement
	base     int      // that of the function around it
	end      int      // the token behind the block around the current statement
	hoisted  []string // declarations before the outermost block of the function
	epoch    string   // the variable of the loop around the current statement
	epochs   string   // how often that loop goes round
	whole    string   // the Go of the line, if its parts have none of their own
}

// expr returns the Go for an expression.
func (t *translator) expr(n *node) string {
	if text, ok := t.done[n]; ok {
		return text
	}
	text := t.translate(n)
	t.done[n] = text
	return text
}

// operand is expr for a part of what is assigned: the variable's name is not for it.
func (t *translator) operand(n *node) string {
	target := t.target
	t.target = ""
	defer func() { t.target = target }()
	return t.expr(n)
}

func (t *translator) texts(list []*node) (texts []string) {
	for _, n := range list {
		texts = append(texts, t.expr(n))
	}
	return texts
}

func (t *translator) joined(list []*node) string { return strings.Join(t.texts(list), ", ") }

func (t *translator) translate(n *node) string {
	if n.op == "call" && n.kids[0].op == "." {
		d := n.kids[0].kids[0]
		if d.is(".", "data") && t.family(t.expr(d.kids[0])) == "tensor" { // x.data.fill_(0) changes x
			n.kids[0].kids[0] = d.kids[0]
		}
	}
	if n.op == "%" && len(n.kids) == 2 && n.kids[0].op == "string" { // "%.2f" % loss
		list := []*node{n.kids[1]}
		if n.kids[1].op == "tuple" {
			list = n.kids[1].kids
		}
		return fmt.Sprintf("fmt.Sprintf(%s, %s)", n.kids[0].text, t.formatted(n.kids[0].text, t.texts(list)))
	}
	callee := n.op == "call" && n.kids[0].op == "name" && t.typeOf(n.kids[0].text) != nil // a function of the user's
	if !callee && n.op != "name" {
		if text, ok := t.ruled(n); ok {
			return text
		}
	}
	switch n.op {
	case "name":
		if n.text == "self" && t.receiver != "" {
			return t.receiver
		}
		if n.text == "tokenizer" && t.typeOf(n.text) == nil && t.stands("tok") != "" {
			return t.stands("tok")
		}
		return n.text
	case "number", "string", "go":
		return n.text
	case "f":
		return fmt.Sprintf("fmt.Sprintf(%s, %s)", n.text, t.formatted(n.text, t.texts(n.kids)))
	case "(":
		return in(t.expr(n.kids[0]), primary)
	case "list", "tuple":
		return t.literal(n.kids)
	case "dict", "set":
		return t.table(n.kids)
	case "comprehension":
		return t.comprehension(n)
	case "lambda":
		return t.lambda(n)
	case ".":
		return t.member(n)
	case "call":
		return t.call(n)
	case "index":
		return t.index(n)
	case "-":
		if len(n.kids) == 1 {
			return "-" + in(t.expr(n.kids[0]), unaryPrec)
		}
	}
	need(levels[n.op] != 0 && len(n.kids) == 2)
	return t.operation(n)
}

// verb matches one of package fmt for a value.
var verb = lazy.Regexp(`%[-+# 0-9.]*[a-zA-Z]`)

// formatted writes the values of a format: for a verb of numbers a tensor is its one number.
func (t *translator) formatted(format string, values []string) string {
	for i, v := range verb().FindAllString(strings.ReplaceAll(format, "%%", ""), -1) {
		if i < len(values) && t.family(values[i]) == "tensor" && !strings.HasSuffix(v, "v") && !strings.HasSuffix(v, "s") {
			values[i] = in(values[i], primary) + map[bool]string{true: ".Int()", false: ".Item()"}[strings.HasSuffix(v, "d")]
		}
	}
	return strings.Join(values, ", ")
}

// renamed are operators that Go writes otherwise.
var renamed = map[string]string{"and": "&&", "or": "||", "is": "==", "is not": "!=", "//": "/"}

// operation writes an operator between operands. An integer beside a float is converted.
func (t *translator) operation(n *node) string {
	x, y := t.expr(n.kids[0]), t.expr(n.kids[1])
	tx, ty := t.typeOf(x), t.typeOf(y)
	fx, fy := Family(tx), Family(ty)
	op := cmp.Or(renamed[n.op], n.op)
	prec := precedence("a " + op + " b")
	need(prec > 0)
	switch {
	case fx == "int" && fy == "float" && !untyped(x, tx):
		x = "float64(" + x + ")"
	case fx == "float" && fy == "int" && !untyped(y, ty):
		y = "float64(" + y + ")"
	}
	return in(x, prec) + " " + op + " " + in(y, prec+1)
}

// index is x[…], which cells have as Python does for tensors.
func (t *translator) index(n *node) string {
	if pair := t.pair(n.kids[0]); pair != nil && len(n.kids) == 2 && (n.kids[1].text == "0" || n.kids[1].text == "1") {
		return t.half(pair, int(n.kids[1].text[0]-'0'))
	}
	x := t.expr(n.kids[0])
	f := Family(t.typeOf(x))
	parts := make([]string, len(n.kids)-1)
	for i, s := range n.kids[1:] {
		bounds := []*node{s}
		if s.op == "slice" {
			bounds = s.kids
		}
		need(f == "tensor" || len(parts) == 1 && s.text != "nil" && len(bounds) < 3)
		texts := make([]string, len(bounds))
		for j, at := range bounds {
			if at == nil {
				continue
			}
			texts[j] = t.expr(at)
			if back, ok := strings.CutPrefix(texts[j], "-"); ok && f != "tensor" && f != "map" { // from the end
				texts[j] = "len(" + x + ")-" + back
			}
		}
		parts[i] = strings.Join(texts, ":")
	}
	return fmt.Sprintf("%s[%s]", in(x, primary), strings.Join(parts, ", "))
}

// places are the methods of tensors that say where the values of others are.
var places = map[string]string{"max": "Max", "min": "Min", "sort": "Sort"}

// pair returns the values and their places where a call of Python has both, as x.max(1) does; one text that
// is both for a call of Go that returns two.
func (t *translator) pair(n *node) []string {
	if n = n.bare(); n.op != "call" || n.kids[0].op != "." {
		return nil
	}
	name := elsewhere.Fold(n.kids[0].text)
	if places[name] == "" && name != "topk" {
		return nil
	}
	text := t.expr(n)
	at := strings.LastIndex(text, "."+places[name]+"(")
	switch {
	case name == "topk" && strings.Contains(text, ".TopK("):
		return []string{text}
	case name == "topk" || at < 0 || strings.HasSuffix(text, "()"):
		return nil
	}
	return []string{text, text[:at] + ".Arg" + text[at+1:]}
}

// half returns the values of a pair, or their places.
func (t *translator) half(pair []string, at int) string {
	if len(pair) == 2 {
		return pair[at]
	}
	name := t.result(halves[at])
	t.first([]string{"%s, _ := %s", "_, %s := %s"}[at], name, pair[0])
	return name
}

// halves are the members of a pair.
var halves = []string{"values", "indices"}

// literal writes a slice with some elements.
func (t *translator) literal(list []*node) string {
	if len(list) == 0 {
		return "[]float64{}" // for losses, most likely
	}
	if slices.ContainsFunc(list, func(n *node) bool { return n.op != "list" }) {
		return "[]" + t.common(t.texts(list)) + "{" + t.joined(list) + "}"
	}
	var all, rows []string // [[1, 2], [3.5]] is [][]float64
	for _, n := range list {
		all = append(all, t.texts(n.kids)...)
		rows = append(rows, "{"+t.joined(n.kids)+"}")
	}
	return "[][]" + t.common(all) + "{" + strings.Join(rows, ", ") + "}"
}

// table writes a map of pairs, or of keys.
func (t *translator) table(list []*node) string {
	if len(list) == 0 {
		return "map[string]any{}"
	}
	var pairs, keys, values []string
	for _, n := range list {
		key, value := n, "true"
		if n.op == "pair" {
			key, value = n.kids[0], t.expr(n.kids[1])
		}
		keys, values = append(keys, t.expr(key)), append(values, value)
		pairs = append(pairs, t.expr(key)+": "+value)
	}
	return fmt.Sprintf("map[%s]%s{%s}", t.common(keys), t.common(values), strings.Join(pairs, ", "))
}

// common returns the text of a type that all values have. For integers and floats it is that of floats.
func (t *translator) common(list []string) string {
	found := ""
	for _, x := range list {
		text := typeText(t.typeOf(x))
		switch {
		case found == "" || found == text:
			found = text
		case (found == "int" || found == "float64") && (text == "int" || text == "float64"):
			found = "float64"
		default:
			return "any"
		}
	}
	return cmp.Or(strings.TrimSuffix(found, "untyped nil"), "any")
}

// comprehension writes [v*v for v in xs if v > 1] as a loop before the statement.
func (t *translator) comprehension(n *node) string {
	need(t.loops == 0)
	elem, target := n.kids[0], t.target
	t.target = ""
	opening := t.loop(n.kids[1])
	condition, key, value, typ := "", "", "", ""
	t.inBlock(opening, func() {
		t.loops++
		defer func() { t.loops-- }()
		if n.kids[2] != nil {
			condition = t.expr(n.kids[2])
		}
		switch {
		case elem.op == "pair":
			key, value = t.expr(elem.kids[0]), t.expr(elem.kids[1])
		case n.text == "}":
			key, value = t.expr(elem), "true"
		default:
			value = t.expr(elem)
		}
		if typ = "[]" + t.common([]string{value}); key != "" {
			typ = fmt.Sprintf("map[%s]%s", t.common([]string{key}), typ[2:])
		}
	})
	t.target = target
	need(!strings.HasSuffix(typ, "]any"))
	form, name := "%[1]s = append(%[1]s, %[3]s)", "list"
	if key != "" {
		form, name = "%s[%s] = %s", "table"
	}
	name = t.result(name)
	body := fmt.Sprintf(form, name, key, value)
	if condition != "" {
		body = "if " + condition + " { " + body + " }"
	}
	t.first("%s := %s{}", name, typ)
	t.first("%s%s%s", opening, body, closed(opening))
	return name
}

// closed returns the braces that close the blocks of an opening.
func closed(opening string) string {
	return strings.Repeat(" }", strings.Count(opening, "{")-strings.Count(opening, "}"))
}

// stands returns what the line, or else the session, has for a name of the table.
func (t *translator) stands(name string) string {
	switch name {
	case "loss":
		if t.training.loss != "" {
			return t.training.loss
		}
		if IsTensor(t.typeOf("loss")) {
			return "loss"
		}
	case "m":
		if t.function != nil {
			for _, param := range t.function.params {
				if Kind(t.typeOf(param)) == "Module" {
					return param
				}
			}
		}
	case "weight":
		if m := t.stands("m"); m != "" {
			return "nn.Values(nn.Trainable(" + m + "))..."
		}
	case "rate":
		if Family(t.typeOf("lr")) == "float" {
			return "lr"
		}
	}
	return t.s.Stands(name)
}

// typeOf returns the type of a Go expression here, or nil.
func (t *translator) typeOf(expr string) types.Type {
	if _, err := notation.ParseExpr(expr); err != nil {
		return nil
	}
	return t.s.TypeOf(t.scope, expr, strings.Repeat("\n}", t.open))
}

// first puts a statement before the current one.
func (t *translator) first(format string, args ...any) {
	need(t.loops == 0)
	s := fmt.Sprintf(format, args...)
	t.before = append(t.before, s)
	t.scope += s + "\n"
}

// fresh returns a name that the session does not use yet.
func (t *translator) fresh(name string) string {
	free := name
	for n := 2; t.taken[free] || t.typeOf(free) != nil; n++ {
		free = fmt.Sprint(name, n)
	}
	t.taken[free] = true
	return free
}

// result returns a name for a value that needs statements: the name that it is assigned to, if that is
// new.
func (t *translator) result(name string) string {
	if t.target == "" {
		return t.fresh(name)
	}
	name, t.target = t.target, ""
	return name
}

// IsTensor says whether a type is that of tensors. It may be nil.
func IsTensor(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && strings.HasSuffix(n.String(), "/tensor.Tensor")
}

// Family returns what kind of values a type has: "tensor", "slice", "map", "int", "float", "string", "bool",
// or "".
func Family(t types.Type) string {
	if IsTensor(t) {
		return "tensor"
	}
	switch u := under(t).(type) {
	case *types.Slice, *types.Array:
		return "slice"
	case *types.Map:
		return "map"
	case *types.Basic:
		switch info := u.Info(); {
		case info&types.IsInteger != 0:
			return "int"
		case info&types.IsFloat != 0:
			return "float"
		case info&types.IsString != 0:
			return "string"
		case info&types.IsBoolean != 0:
			return "bool"
		}
	}
	return ""
}

// untyped says whether a text is a constant that takes another type where that is wanted.
func untyped(text string, t types.Type) bool {
	b, ok := under(t).(*types.Basic)
	if strings.Trim(text, "-+0123456789.eE_") == "" {
		return true // though the checker has given it a type
	}
	return ok && b.Info()&types.IsUntyped != 0
}

// typeText writes a type as cells do; no type is any.
func typeText(t types.Type) string {
	if t == nil {
		return "any"
	}
	return world.TypeString(t)
}

func under(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// has says whether values of a type have a method.
func has(t types.Type, name string) bool {
	if t == nil {
		return false
	}
	o, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
	_, ok := o.(*types.Func)
	return ok
}

// isSource says whether values of a type give out batches.
func isSource(t types.Type) bool { return has(t, "Batch") && has(t, "Fingerprint") }

// Kind returns the module of package elsewhere that has the methods of a type: "" for tensors, "Module",
// "Optimizer", "Param", "Tokenizer", or "-" if there is none.
func Kind(t types.Type) string {
	switch {
	case IsTensor(t):
		return ""
	case has(t, "Members"):
		return "Module"
	case has(t, "Update") && has(t, "SetState"):
		return "Optimizer"
	case has(t, "Trainable") && has(t, "Unfreeze"):
		return "Param"
	case has(t, "Encode") && has(t, "IsSpecial"):
		return "Tokenizer"
	}
	return "-"
}
