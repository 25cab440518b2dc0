package python

import (
	"fmt"
	gotoken "go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

// primary reads an operand with the calls, members and indices behind it.
func (p *reader) primary() value {
	v := p.atom()
	for {
		switch {
		case p.take("."):
			v = p.member(v, p.name())
		case p.take("("):
			v = p.call(v)
		case p.take("["):
			v = p.index(v)
		default:
			return v
		}
	}
}

// constants maps values of Python and JavaScript to Go.
var constants = map[string]string{"True": "true", "False": "false", "None": "nil", "null": "nil", "undefined": "nil"}

func (p *reader) atom() value {
	t := p.tok()
	switch {
	case t.kind == number:
		p.i++
		return simple("%s", strings.TrimSuffix(t.text, "L"))
	case t.kind == text && t.text != unclosed:
		return p.strings()
	case t.kind == word:
		p.i++
		if c, ok := constants[t.text]; ok {
			return simple("%s", c)
		}
		return simple("%s", t.text)
	case p.take("("):
		return p.parenthesized()
	case p.take("["):
		return p.list()
	case p.take("{"):
		return p.braces()
	}
	giveUp()
	return value{}
}

// strings reads strings; neighbours are joined.
func (p *reader) strings() value {
	var all []string
	for p.tok().kind == text {
		t := p.tok()
		p.i++
		if strings.Contains(t.prefix, "f") {
			all = append(all, p.formatted(t.text))
			continue
		}
		all = append(all, quote(t))
	}
	v := value{text: strings.Join(all, " + "), prec: primary}
	if len(all) > 1 {
		v.prec = addPrec
	}
	return v
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

// formatted is an f-string.
func (p *reader) formatted(body string) string {
	var format strings.Builder
	var args []string
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case strings.HasPrefix(body[i:], "{{") || strings.HasPrefix(body[i:], "}}"):
			format.WriteByte(c)
			i++
		case c == '{':
			expr, spec, length := field(body[i+1:])
			if name, ok := strings.CutSuffix(expr, "="); ok { // {n=}
				format.WriteString(expr)
				expr = name
			}
			text := p.inner(expr)
			if strings.HasSuffix(spec, "%") {
				text = "100*" + text
			}
			args = append(args, text)
			format.WriteString(verbOf(spec))
			i += length + 1
		case c == '%':
			format.WriteString("%%")
		default:
			format.WriteByte(c)
		}
	}
	if len(args) == 0 {
		return quote(token{text: strings.ReplaceAll(format.String(), "%%", "%")})
	}
	return fmt.Sprintf("fmt.Sprintf(%s, %s)", quote(token{text: format.String()}), strings.Join(args, ", "))
}

// field reads a field of a formatted string up to its closing brace, whose place it returns: an expression
// and, behind a colon outside of all brackets, the format.
func field(s string) (expr, spec string, length int) {
	depth, colon := 0, -1
	for i := range len(s) {
		switch c := s[i]; {
		case c == '}' && depth == 0:
			if colon < 0 {
				colon = i
			}
			expr, _, _ = strings.Cut(s[:colon], "!") // {s!r}
			return strings.TrimSpace(expr), strings.TrimPrefix(s[colon:i], ":"), i
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ':' && depth == 0 && colon < 0:
			colon = i
		}
	}
	giveUp()
	return "", "", 0
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
	return "%" + strings.TrimSuffix(format, "s") + "v"
}

// inner translates an expression inside of a string.
func (p *reader) inner(expr string) string {
	q := newReader(expr, p.s)
	q.scope, q.open, q.loops, q.taken = p.scope, p.open, 1, p.taken
	v := q.expr()
	if !q.at(end) {
		giveUp()
	}
	return v.goText()
}

// parenthesized reads (a), (a, b) or a generator.
func (p *reader) parenthesized() value {
	if start := p.i; p.comprehended(")") {
		p.i = start
		return p.comprehension(")")
	}
	items, comma := p.items(")")
	if len(items) == 1 && !comma {
		v := items[0]
		if v.either == nil && v.prec < primary {
			v = simple("(%s)", v.text)
		}
		return v
	}
	v := p.literal(items)
	v.tuple = true
	return v
}

// items reads expressions up to a closing bracket.
func (p *reader) items(closing string) (list []value, comma bool) {
	list = []value{}
	for !p.take(closing) {
		list = append(list, p.expr())
		if !p.at(closing) {
			p.want(",")
			comma = true
		}
	}
	return list, comma
}

func (p *reader) list() value {
	if p.comprehended("]") {
		return p.comprehension("]")
	}
	items, _ := p.items("]")
	return p.literal(items)
}

// comprehended says whether the current bracket has a `for` of its own.
func (p *reader) comprehended(closing string) bool {
	depth := 0
	for _, t := range p.toks[p.i:] {
		switch {
		case depth == 0 && t.is("for"):
			return true
		case depth == 0 && (t.is(closing) || t.is(",") || t.is(end)):
			return false
		case t.is("(") || t.is("[") || t.is("{"):
			depth++
		case t.is(")") || t.is("]") || t.is("}"):
			depth--
		}
	}
	return false
}

// skipTo advances to the `for` of a comprehension.
func (p *reader) skipTo(word string) {
	depth := 0
	for !(depth == 0 && p.at(word)) {
		switch {
		case p.at("(") || p.at("[") || p.at("{"):
			depth++
		case p.at(")") || p.at("]") || p.at("}"):
			depth--
		case p.at(end):
			giveUp()
		}
		p.i++
	}
}

// comprehension reads [v*v for v in xs if v > 1] or {k: v for …}, which becomes a loop before the
// statement.
func (p *reader) comprehension(closing string) value {
	if p.loops > 0 {
		giveUp()
	}
	target := p.target
	start := p.i
	p.skipTo("for")
	p.i++
	p.target = ""
	opening := p.loop()
	condition := ""
	var key, elem value
	var keyType, elemType string
	p.inBlock(opening, func() {
		p.loops++
		defer func() { p.loops-- }()
		if p.take("if") {
			condition = p.expr().goText()
		}
		p.want(closing)
		behind := p.i
		p.i = start
		elem = p.expr()
		if closing == "}" {
			if p.take(":") {
				key, elem = elem, p.expr()
			} else {
				key, elem = elem, simple("true")
			}
			keyType = p.common([]value{key})
		}
		elemType = p.common([]value{elem})
		p.want("for")
		p.i = behind
	})
	p.target = target
	if elemType == "any" {
		giveUp()
	}
	made := "list"
	if closing == "}" {
		made = "table"
	}
	list := p.result(made)
	body := fmt.Sprintf("%s = append(%[1]s, %s)", list, elem.goText())
	typ := "[]" + elemType
	if closing == "}" {
		body = fmt.Sprintf("%s[%s] = %s", list, key.goText(), elem.goText())
		typ = fmt.Sprintf("map[%s]%s", keyType, elemType)
	}
	if condition != "" {
		body = "if " + condition + " { " + body + " }"
	}
	p.first("%s := %s{}", list, typ)
	p.first("%s%s%s", opening, body, closed(opening))
	return simple("%s", list)
}

// closed returns the braces that close the blocks of an opening.
func closed(opening string) string {
	return strings.Repeat(" }", strings.Count(opening, "{")-strings.Count(opening, "}"))
}

// braces reads a dictionary or a set.
func (p *reader) braces() value {
	if p.comprehended("}") {
		return p.comprehension("}")
	}
	var keys, elems []value
	dict := p.at("}")
	for !p.take("}") {
		keys = append(keys, p.expr())
		if p.take(":") {
			elems, dict = append(elems, p.expr()), true
		}
		p.take(",")
	}
	if !dict {
		for range keys {
			elems = append(elems, simple("true"))
		}
	}
	if len(keys) != len(elems) {
		giveUp()
	}
	return p.table(keys, elems)
}

// table writes a map with these entries.
func (p *reader) table(keys, elems []value) value {
	if len(keys) == 0 {
		return simple("map[string]any{}")
	}
	pairs := make([]string, len(keys))
	for i := range keys {
		pairs[i] = keys[i].goText() + ": " + elems[i].goText()
	}
	return simple("map[%s]%s{%s}", p.common(keys), p.common(elems), strings.Join(pairs, ", "))
}

// modules maps packages of Python to the nearest Go package, where that is not in package elsewhere's table.
var modules = map[string]string{"random": "rand", "re": "regexp"}

// renamed maps functions of Python's own packages to their names in Go.
var renamed = map[string]string{
	"time.time": "time.Now", "time.perf_counter": "time.Now", "time.monotonic": "time.Now", "time.process_time": "time.Now", "time.sleep": "time.sleep", "os.getcwd": "os.Getwd", "os.listdir": "os.ReadDir",
	"plt.plot": "plot.Line", "plt.scatter": "plot.Scatter", "plt.bar": "plot.Bars", "plt.hist": "plot.Hist", "plt.imshow": "plot.Image",
	"json.dumps": "json.Marshal", "rand.random": "rand.Float64",
}

// member translates x.name to Go's name for it.
func (p *reader) member(x value, name string) value {
	if x.pair != nil && (name == "values" || name == "indices") {
		return p.half(x, name == "indices")
	}
	if x.text == "tokenizer" && p.stands("tok") != "" && p.s.Exported("tokenizer", name) != name {
		x = simple("%s", p.stands("tok"))
	}
	t := p.typeOf(x.text)
	if t == nil && (gotoken.IsIdentifier(x.text) || x.module != "") {
		return p.packageMember(x, name)
	}
	if file, ok := strings.CutPrefix(x.text, "os.Open("); ok && name == "read" && p.take("(") {
		p.want(")")
		return simple("data.ReadText(%s", file)
	}
	if t == nil {
		return simple("%s.%s", x.in(primary), name)
	}
	if name == "data" && p.at(".") && p.is(x, tensorFamily) { // x.data.fill_(0) changes x
		return x
	}
	if typeText(t) == "nn.Layer" && (name == "weight" || name == "bias") { // of nn.Sequential
		x = simple("%s.(*nn.Linear)", x.in(primary))
		t = p.typeOf(x.text)
	}
	f := simple("%s.%s", x.in(primary), name)
	f.member = &member{x, name}
	if !p.at("(") { // what is a field in Python may be a method here
		if v, ok := p.method(f, nil); ok {
			return v
		}
	}
	found := sameLetters(t, name)
	if found == nil || found.Name() != name && p.at("(") && len(elsewhere.Forms(Kind(t), name)) > 0 {
		return f
	}
	f.text = x.in(primary) + "." + found.Name()
	if m, ok := found.(*types.Func); ok && m.Signature().Params().Len() == 0 && !p.at("(") {
		f.text += "()"
	}
	return f
}

// packageMember translates pkg.name.
func (p *reader) packageMember(pkg value, name string) value {
	module := pkg.module
	if module == "" {
		module = pkg.text
	}
	f := simple("%s.%s", pkg.text, name)
	if pkg.text == "tensor" && strings.HasPrefix(elsewhere.Lookup(module, name), f.text+"(") { // is Go
		return f
	}
	f.module, f.name = module+"."+name, name
	if to, ok := modules[pkg.text]; ok { // Python's own random, not NumPy's
		pkg.text, f.text, f.module, module = to, to+"."+name, "", to
	}
	if to, ok := renamed[pkg.text+"."+name]; ok {
		f.text = to
		return f
	}
	goPackage := pkg.text
	if elsewhere.Known(module) && module != "nn" {
		goPackage = "tensor"
	}
	if to := Callee(module, name); to != "" {
		f.text = to
		if form := elsewhere.Lookup(module, name); strings.HasPrefix(form, "math.") && !p.at("(") {
			f.text = form
		}
	} else if found := p.s.Exported(goPackage, strings.ReplaceAll(name, "_", "")); found != "" {
		f.text = goPackage + "." + found
	} else if goPackage == "tensor" {
		f.text = "tensor." + name
	}
	return f
}

// sameLetters returns the exported member of a type that has the same name in any case.
func sameLetters(t types.Type, name string) types.Object {
	name = strings.ReplaceAll(name, "_", "")
	set := types.NewMethodSet(types.NewPointer(t))
	if _, ok := t.Underlying().(*types.Pointer); ok {
		set = types.NewMethodSet(t)
	}
	for m := range set.Methods() {
		if o := m.Obj(); o.Exported() && strings.EqualFold(o.Name(), name) {
			return o
		}
	}
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if s, ok := t.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if f.Exported() && strings.EqualFold(f.Name(), name) {
				return f
			}
		}
	}
	return nil
}
