package python

import (
	"cmp"
	"fmt"
	gotoken "go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/notation"
)

// block writes statements. Each sees what those before it declare.
func (t *translator) block(b *node) string {
	var all []string
	end := t.end
	t.end = b.end
	for _, n := range b.kids {
		outer := t.before
		t.before = nil
		if text := t.statement(n); text != "" {
			t.before = append(t.before, text)
		}
		text := strings.Join(t.before, "; ")
		t.before = outer
		if t.depth == t.base {
			all, t.hoisted = append(all, t.hoisted...), nil
		}
		if text != "" {
			all = append(all, text)
			t.scope += text + "\n"
		}
	}
	t.end = end
	return strings.Join(all, "; ")
}

// inBlock calls f with a block opened around what f writes.
func (t *translator) inBlock(opening string, f func()) {
	scope, open, hoisted := t.scope, t.open, len(t.hoisted)
	t.scope += opening + "\n"
	t.open += strings.Count(opening, "{") - strings.Count(opening, "}")
	t.depth++
	f()
	t.depth--
	t.scope, t.open = scope, open
	for _, declaration := range t.hoisted[min(hoisted, len(t.hoisted)):] {
		t.scope += declaration + "\n"
	}
}

// body writes a block behind an opening; otherwise stands for one that is missing.
func (t *translator) body(b *node, opening, otherwise string) (text string) {
	if b == nil {
		return otherwise
	}
	if b.op == "go" {
		return b.text
	}
	t.inBlock(opening, func() { text = t.block(b) })
	return text
}

func (t *translator) statement(n *node) string {
	switch n.op {
	case "=", "with", "del", "assert", "raise":
		if text, ok := t.ruled(n); ok {
			return text
		}
	}
	switch n.op {
	case "go":
		return n.text
	case "return":
		return t.returned(n.kids)
	case "for":
		return t.forLoop(n)
	case "while":
		return t.while(n)
	case "if":
		return t.ifStatement(n)
	case "with":
		return t.withoutGradients(n)
	case "try": // the errors of tensors, which other code here returns
		err := t.fresh("err")
		if n.kids[1] != nil {
			err = n.kids[1].text
		}
		opening := fmt.Sprintf("if %s := tensor.Try(func() { %s }); %[1]s != nil { ", err, t.body(n.kids[0], "_ = func() {", ""))
		return opening + t.body(n.kids[2], opening, "") + " }"
	case "def":
		need(t.function == nil && t.open == 0)
		return t.definition(n)
	case "class":
		return t.class(n)
	case "update":
		return t.update(n)
	case "=":
		return t.assignments(n)
	case "either":
		return fmt.Sprintf("if %s { fmt.Println(%s) } else { fmt.Println(%s) }", t.truth(n.kids[0]), t.expr(n.kids[1]), t.expr(n.kids[2]))
	case "call":
		if n.is("call", "range") && len(n.kids) > 1 {
			return t.forLoop(of("for", of("loop", &node{op: "name", text: "i"}, n), nil))
		}
		if text, ok := t.step(n); ok {
			return text
		}
	case "tuple":
		need(n.text != "open")
	}
	text := t.expr(n)
	if strings.HasPrefix(text, "!") { // a command of the shell, at the start of a line
		return "(" + text + ")"
	}
	return text
}

func (t *translator) while(n *node) string {
	condition := n.kids[0].bare()
	text, otherwise := t.expr(condition), "break"
	if condition.op == "<" || condition.op == "<=" {
		if name := condition.kids[0]; name.op == "name" && t.family(name.text) == "int" {
			otherwise = name.text + "++"
		}
	}
	header := "for " + text + " { "
	if text == "true" || text == "1" {
		header = "for { "
	}
	return header + strings.TrimLeft(t.body(n.last(), header, otherwise)+" }", " ")
}

func (t *translator) ifStatement(n *node) string {
	text := t.truth(n.kids[0])
	if last := len(t.before) - 1; last >= 0 && strings.HasPrefix(t.before[last], "_, ok") { // _, ok := m[k] belongs to the condition
		text = t.before[last] + "; " + text
		t.before = t.before[:last]
	}
	header := "if " + text + " { "
	text = header + t.body(n.kids[1], header, `fmt.Println("yes")`) + " }"
	otherwise := n.kids[2]
	if otherwise != nil && otherwise.op == "if" {
		before := len(t.before)
		text += " else " + t.ifStatement(otherwise)
		need(len(t.before) == before) // would run before the first condition
		return text
	}
	if body := t.body(otherwise, "{", ""); body != "" {
		text += " else { " + body + " }"
	}
	return text
}

// truth writes a condition; a value of another type is true if it is not zero or empty.
func (t *translator) truth(n *node) string {
	n = n.bare()
	text := t.expr(n)
	switch t.family(text) {
	case "int", "float":
		return in(text, 4) + " != 0"
	case "string":
		return in(text, 4) + ` != ""`
	case "slice", "map":
		return "len(" + text + ") != 0"
	case "tensor":
		return in(text, primary) + ".All().Item() != 0"
	}
	return text
}

// assignments writes a = b = 3.
func (t *translator) assignments(n *node) string {
	last := len(n.kids) - 1
	target, value := n.kids[0], n.kids[last]
	if last == 1 {
		if target.op == "tuple" {
			return t.several(target.kids, value)
		}
		return t.assign(target, value)
	}
	text := t.expr(value)
	for i := last - 1; i > 0; i-- {
		name := t.expr(n.kids[i])
		t.first("%s %s %s", name, t.operator(name, text), text)
		text = name
	}
	return t.assign(target, &node{op: "name", text: text})
}

// assign writes x = …; it declares x if it is new or of another type.
func (t *translator) assign(x, value *node) string {
	name := ""
	if x.op == "name" {
		if name = x.text; t.typeOf(name) == nil {
			t.target, t.taken[name] = name, true
		}
	}
	if e := value.bare(); e.op == "either" && name != "" {
		if _, ok := t.ruled(e); !ok {
			t.target = ""
			no := t.expr(e.kids[2])
			return fmt.Sprintf("%s %s %s; if %s { %[1]s = %[5]s }", name, t.operator(name, no), no, t.truth(e.kids[0]), t.expr(e.kids[1]))
		}
	}
	start, before := *t, len(t.before)
	y := t.expr(value)
	if start.target != "" && t.target == "" && y != name { // the name is not for a part of the value
		*t = start
		t.before, t.target, t.done = t.before[:before], "", map[*node]string{}
		y = t.expr(value)
	}
	t.target = ""
	if changed, _, ok := strings.Cut(y, " = "); ok && gotoken.IsIdentifier(changed) { // y = x.add_(1)
		t.first("%s", y)
		y = changed
	}
	call, _, _ := strings.Cut(y, "(")
	switch {
	case name == "":
		text := t.expr(x)
		_, err := notation.ParseExpr(text)
		need(err == nil)
		return text + " = " + y
	case name == "tokenizer" && call == "tokenizer.Load": // so does this package
		return "tok := " + y
	case name == "device" && y == "device.Default()":
		return "dev := " + y
	case strings.HasPrefix(y, "lora.Of("+name+")"):
		return y
	case strings.HasPrefix(y, "lora.Inject("+name+", "): // changes the model
		return "adapter := " + y
	case y == "nil" && t.typeOf(name) == nil:
		return "var " + name + " any"
	case call == "safetensors.Load":
		return name + ", _ := " + y
	case call == "nn.To": // model = model.to(device)
		model, rest, _ := strings.Cut(strings.TrimPrefix(y, "nn.To("), ",")
		if model == name {
			return y
		}
		return fmt.Sprintf("%s := %s; nn.To(%[1]s,%[3]s", name, model, rest)
	case y == name: // the statements that make it use this name
		return name
	case t.typeOf(name) == nil && t.hoist(name, y):
		return name + " = " + y
	}
	return name + " " + t.operator(name, y) + " " + y
}

// several is a, b = 1, 2.
func (t *translator) several(targets []*node, value *node) string {
	names := t.texts(targets)
	known := !slices.ContainsFunc(names, func(name string) bool { return t.typeOf(name) == nil })
	var values []string
	switch pair := t.pair(value); {
	case pair != nil:
		for i := len(names) - 1; i >= 0 && len(pair) == len(names); i-- {
			if names[i] == "_" { // is not wanted
				names, pair = slices.Delete(names, i, i+1), slices.Delete(pair, i, i+1)
			}
		}
		values = pair
	case value.op == "tuple":
		values = t.texts(value.kids)
	default:
		list := t.expr(value)
		if values = []string{list}; t.family(list) == "slice" { // rows, columns = x.shape
			values = nil
			x, form := list, "%s[%d]"
			if shaped, ok := strings.CutSuffix(list, ".Shape()"); ok {
				x, form = shaped, "%s.Len(%d)"
			}
			for i := range names {
				values = append(values, fmt.Sprintf(form, x, i))
			}
		}
	}
	return strings.Join(names, ", ") + map[bool]string{true: " = ", false: " := "}[known] + strings.Join(values, ", ")
}

// operator returns = for a variable that can hold the value, and := otherwise.
func (t *translator) operator(name, value string) string {
	have, want := t.typeOf(name), t.typeOf(value)
	if have != nil && want != nil && types.AssignableTo(types.Default(want), have) {
		return "="
	}
	return ":="
}

// update is x += y.
func (t *translator) update(n *node) string {
	x, y := t.expr(n.kids[0]), t.expr(n.kids[1])
	need(t.family(y) != "string" || t.family(x) == "string") // wrong in Python, too
	op := cmp.Or(renamed[n.text], n.text)
	text := t.expr(of(n.text, n.kids...))
	switch {
	case text == x+" "+op+" "+in(y, precedence("a "+op+" b")+1):
		return x + " " + op + "= " + y
	case t.training.held && t.family(x) == "tensor": // a parameter stays one
		return fmt.Sprintf("%s.Set(%s)", x, text)
	}
	return x + " " + t.operator(x, text) + " " + text
}

// hoist declares a variable before the outermost block, if it is used behind the block that assigns it first:
// in Python it lives as long as the function.
func (t *translator) hoist(name, value string) bool {
	typ := t.typeOf(value)
	behind := func(k token) bool {
		return k.is(name) || k.kind == text && strings.Contains(k.prefix, "f") && strings.Contains(k.text, name)
	}
	if t.depth == t.base || t.loops > 0 || typ == nil || !slices.ContainsFunc(t.toks[t.end:], behind) {
		return false
	}
	declaration := "var " + name + " " + typeText(typ)
	t.hoisted = append(t.hoisted, declaration)
	t.scope += declaration + "\n"
	return true
}

// forLoop writes a loop over something. If it has no body, the names are printed.
func (t *translator) forLoop(n *node) string {
	epoch, epochs := t.epoch, t.epochs
	defer func() { t.epoch, t.epochs = epoch, epochs }()
	loop, body := n.kids[0], n.kids[1]
	over := loop.last()
	if over.is("call", "range") && len(over.kids) > 1 {
		t.epoch, t.epochs = loop.kids[0].text, t.expr(over.kids[1])
		if len(over.kids) > 2 {
			t.epochs = in(t.expr(over.kids[2]), 4) + "-" + in(t.expr(over.kids[1]), 5)
		}
	}
	opening := t.loop(loop)
	if strings.Contains(opening, ".Batch(") {
		t.learn(n, opening)
	}
	names := t.texts(loop.kids[:len(loop.kids)-1])
	text := t.body(body, opening, "fmt.Println("+strings.Join(names, ", ")+")")
	if text == "" { // pass
		text = strings.TrimSuffix(strings.Repeat("_, ", len(names)), ", ") + " = " + strings.Join(names, ", ")
	}
	return opening + text + closed(opening)
}

// loop writes the Go that opens the loop `row in xs`.
func (t *translator) loop(n *node) string {
	names, over := n.kids[:len(n.kids)-1], n.last()
	if over.is("call", "enumerate") && len(names) > 1 && len(over.kids) == 2 {
		if source := t.expr(over.kids[1]); isSource(t.typeOf(source)) {
			return t.batches(source, names[0].text, names[1:])
		}
	}
	if over.op != "call" && isSource(t.typeOf(t.expr(over))) {
		return t.batches(t.expr(over), "", names)
	}
	text, ok := t.ruled(n)
	need(ok)
	return text + " "
}
