package python

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/ast"
	gotoken "go/token"
	"go/types"
	"slices"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

// A rule is a line of rules.txt, which says what they look like.
type rule struct {
	pattern *node
	goText  string
	spreads map[string]bool // whether its Go has the arguments *A; if not they have to be implied
}

//go:embed rules.txt
var rulesText string

// rules has the rules by the op of their pattern, in their order.
var rules = sync.OnceValue(func() map[string][]rule {
	m := map[string][]rule{}
	for line := range strings.Lines(rulesText) {
		patterns, goText, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, text := range alternatives(patterns) {
			r, err := readRule(text, goText)
			if err != nil {
				panic(err)
			}
			m[r.pattern.op] = append(m[r.pattern.op], r)
		}
	}
	return m
})

// readRule parses a pattern.
func readRule(text, goText string) (r rule, err error) {
	p := &reader{line: text, toks: scan(text), rule: true}
	var n *node
	if !understood(func() { n = p.statement() }) || !p.at(end) {
		return r, fmt.Errorf("rules.txt: %s cannot be read", text)
	}
	if n.op == "for" { // of which it is the loop
		n = n.kids[0]
	}
	r = rule{n, strings.TrimSpace(goText), map[string]bool{}}
	n.each(func(k *node) {
		if k.op == "spread" && k.kids[0].kind == "" {
			r.spreads[k.kids[0].text] = strings.Contains(goText, "*"+k.kids[0].text)
		}
	})
	return r, nil
}

// alternatives writes a.{b,c} as a.b and a.c.
func alternatives(text string) (list []string) {
	before, rest, ok := strings.Cut(text, "{")
	if !ok {
		return []string{text}
	}
	names, after, _ := strings.Cut(rest, "}")
	for name := range strings.SplitSeq(names, ",") {
		list = append(list, alternatives(before+name+after)...)
	}
	return list
}

// hole says whether a name of a pattern stands for any expression.
func hole(n *node) bool {
	return n.op == "name" && len(n.text) == 1 && n.text >= "A" && n.text <= "Z"
}

// A binding has what stands for the names of a pattern, and which of it has to be of a kind. A spread *A
// has several.
type binding struct {
	nodes map[string][]*node
	kinds []*node // of the pattern
}

// ruled translates a node by the first rule that matches it.
func (t *translator) ruled(n *node) (string, bool) {
	list := rules()[n.op]
	if n.op == "." { // what is called here may be a field there
		list = append(slices.Clone(list), rules()["call"]...)
	}
	for _, r := range list {
		b := &binding{nodes: map[string][]*node{}}
		another := func(k *node) bool { return !t.isKind(b.nodes[k.text][0], k.kind) }
		if !t.matches(r.pattern, n, b) || slices.ContainsFunc(b.kinds, another) || b.loses(r) {
			continue
		}
		need(r.goText != "-")
		return t.filledRule(r.goText, b, n.op == "loop"), true
	}
	return "", false
}

// loses says whether a rule's Go has no place for an argument that a spread stands for: it has none for the
// name of an argument, unless that is an axis.
func (b *binding) loses(r rule) bool {
	for letter, kept := range r.spreads {
		lost := func(n *node) bool { return !kept || n.key != "" && !isAxis(n.key) }
		if slices.ContainsFunc(b.nodes[letter], lost) {
			return true
		}
	}
	return false
}

// isAxis says whether an argument of a name is an axis, or several.
func isAxis(name string) bool { return slices.Contains([]string{"axis", "axes", "dim", "dims"}, name) }

// matches says whether a node looks like a pattern. The kinds of its parts are looked at later.
func (t *translator) matches(p, n *node, b *binding) bool {
	if p == nil || n == nil {
		return p == n
	}
	if n = n.bare(); hole(p) {
		if old := b.nodes[p.text]; old != nil {
			return n.op == "name" && n.text == old[0].text
		}
		b.nodes[p.text] = []*node{n}
		if p.kind != "" {
			b.kinds = append(b.kinds, p)
		}
		return true
	}
	if p.op == "list" && n.op == "tuple" && n.text == "" {
		n = of("list", n.kids...)
	}
	if p.op == "call" && len(p.kids) == 1 && n.op == "." {
		n = of("call", n)
	}
	switch {
	case p.op != n.op:
		return false
	case p.op == "call":
		return t.matchesCallee(p.kids[0], n.kids[0], b) && t.matchesArguments(p.kids[1:], n.kids[1:], b)
	case p.op == ".":
		return elsewhere.Fold(p.text) == elsewhere.Fold(n.text) && t.matches(p.kids[0], n.kids[0], b)
	}
	return p.text == n.text && slices.EqualFunc(p.kids, n.kids, func(p, n *node) bool { return t.matches(p, n, b) })
}

// matchesCallee matches names of functions: of a module of other libraries each of its names will do.
func (t *translator) matchesCallee(p, n *node, b *binding) bool {
	want, have := p.path(), n.path()
	if want == "" || hole(p) || !strings.Contains(want, ".") || hole(root(p)) {
		return t.matches(p, n, b)
	}
	module, name := cutLast(want)
	mod, last := cutLast(have)
	if elsewhere.Fold(last) != elsewhere.Fold(name) || t.typeOf(root(n).text) != nil {
		return false
	}
	if !elsewhere.Known(module) && !slices.Contains([]string{"optim", "data", "hub"}, module) {
		return want == have
	}
	if mod == "" {
		mod = imported(last)
	}
	return mod != "" && elsewhere.Module(mod) == elsewhere.Module(module)
}

func root(n *node) *node {
	for n.op == "." {
		n = n.kids[0]
	}
	return n
}

func cutLast(path string) (before, name string) {
	at := strings.LastIndexByte(path, '.')
	return path[:max(at, 0)], path[at+1:]
}

// matchesArguments matches those with a name by it, and the others in their order; *A takes what is left.
func (t *translator) matchesArguments(patterns, args []*node, b *binding) bool {
	args = slices.DeleteFunc(slices.Clone(args), func(n *node) bool { return n.key != "" && implied(argument{name: n.key}) })
	rest := ""
	for _, p := range patterns {
		if p.op == "spread" && p.kids[0].kind == "" {
			rest = p.kids[0].text
			continue
		}
		at := slices.IndexFunc(args, func(a *node) bool { return a.key == p.key })
		if at < 0 || !t.matches(p, args[at], b) {
			return false
		}
		args = slices.Delete(args, at, at+1)
	}
	if rest != "" {
		b.nodes[rest] = args
	}
	return rest != "" || len(args) == 0
}

// holes matches what a rule's Go has for the parts of its pattern: X, *X, and a function of one.
var holes = lazy.Regexp(`\*[A-Z]\b|\b(?:elem|frac|f64|truth|count|at|file|name|type|items|rate)\([A-Z]\)|\b[A-Z]\b`)

// declares matches a statement that declares names.
var declares = lazy.Regexp(`^(\w+(?:, \w+)*) := `)

// filledRule writes a rule's Go. Of several statements the last is the value; the others stand before the
// current statement, and declare new names.
func (t *translator) filledRule(goText string, b *binding, header bool) string {
	if header {
		return t.filledText(goText, b)
	}
	statements := split(goText, "; ")
	last, names := len(statements)-1, map[string]string{}
	renamed := func(s string) string {
		return lowercase().ReplaceAllStringFunc(s, func(word string) string { return cmp.Or(names[word], word) })
	}
	for _, s := range statements[:last] {
		if m := declares().FindStringSubmatch(s); m != nil {
			for name := range strings.SplitSeq(m[1], ", ") {
				switch name {
				case "_":
				case statements[last]:
					names[name] = t.result(name)
				default:
					names[name] = t.fresh(name)
				}
			}
		}
		t.first("%s", t.filledText(renamed(s), b))
	}
	return t.filledText(renamed(statements[last]), b)
}

// lowercase matches a word that may be a name that a rule declares, and one behind a dot.
var lowercase = lazy.Regexp(`\.?\b[a-z]\w*\b`)

// split cuts a text at a separator outside of brackets.
func split(text, sep string) (list []string) {
	depth, from := 0, 0
	for i := range len(text) {
		switch {
		case strings.IndexByte("([{", text[i]) >= 0:
			depth++
		case strings.IndexByte(")]}", text[i]) >= 0:
			depth--
		case depth == 0 && strings.HasPrefix(text[i:], sep):
			list, from = append(list, text[from:i]), i+len(sep)
		}
	}
	return append(list, text[from:])
}

// filledText puts the parts in their places.
func (t *translator) filledText(goText string, b *binding) string {
	var out strings.Builder
	from := 0
	for _, at := range holes().FindAllStringIndex(goText, -1) {
		if goText[at[0]] == '*' && at[0] > 0 && goText[at[0]-1] >= '0' && goText[at[0]-1] <= '9' { // times
			at[0]++
		}
		word := goText[at[0]:at[1]]
		nodes, ok := b.nodes[strings.Trim(word[max(0, strings.IndexByte(word, '(')):], "*()")]
		if !ok || at[0] > 0 && goText[at[0]-1] == '.' {
			continue
		}
		out.WriteString(goText[from:at[0]])
		text := t.part(word, nodes)
		before, after := strings.TrimRight(goText[:at[0]], " "), goText[at[1]:]
		switch prec := precedence(text); {
		case after != "" && strings.IndexByte(".[(", after[0]) >= 0:
			text = in(text, primary)
		case prec < unaryPrec && (endsOperator().MatchString(before) || beginsOperator().MatchString(after)):
			text = "(" + text + ")"
		}
		out.WriteString(text)
		from = at[1]
	}
	return out.String() + goText[from:]
}

// endsOperator and beginsOperator match a text that ends or begins with an operator between operands.
var (
	endsOperator   = lazy.Regexp(`([=!]=|[-+*/%!<>]|&&)$`)
	beginsOperator = lazy.Regexp(`^ *([=!]=|[-+*/%!<>]|&&)`)
)

// part writes one part: word is its name in the rule, or a function of it.
func (t *translator) part(word string, nodes []*node) string {
	if strings.HasPrefix(word, "*") {
		return t.joined(nodes)
	}
	n := nodes[0]
	function, _, _ := strings.Cut(word, "(")
	switch function {
	case "type":
		return t.typeNamed(n)
	case "truth":
		return t.truth(n)
	case "rate":
		return t.rate()
	}
	if function == "items" && (n.op == "tuple" || n.op == "list") {
		return t.joined(n.kids)
	}
	x := t.operand(n)
	switch typ := t.typeOf(x); function {
	case "elem":
		if u, ok := under(typ).(interface{ Elem() types.Type }); ok {
			return typeText(u.Elem())
		}
		return "any"
	case "frac":
		if n.op == "number" {
			return x + ".0"
		}
		return "float64(" + x + ")"
	case "f64":
		if Family(typ) == "int" && !untyped(x, typ) {
			return "float64(" + x + ")"
		}
	case "count":
		if IsTensor(typ) {
			return in(x, primary) + ".Len(0)"
		}
	case "at":
		if IsTensor(typ) {
			return in(x, primary) + ".At(i)"
		}
		return in(x, primary) + "[i]"
	case "name":
		return fmt.Sprintf("%q", x)
	case "file": // in the format that it will have
		return ofTorch().ReplaceAllString(x, `.safetensors"`)
	}
	return x
}

// ofTorch matches the end of the name of a file of PyTorch.
var ofTorch = lazy.Regexp(`\.(?:pth?|bin)"$`)

// isKind says whether an expression is of a kind that a rule names.
func (t *translator) isKind(n *node, kind string) bool {
	switch kind {
	case "tuple":
		return n.op == "tuple" || n.op == "list"
	case "repo":
		return n.op == "string" && strings.Contains(n.text, "/")
	case "vector":
		return t.s.Rank(t.operand(n)) == 1
	case "matrix":
		return t.s.Rank(t.operand(n)) == 2
	case "dtype":
		return strings.HasPrefix(t.expr(n), "dtype.")
	}
	if n.op == "either" || n.op == "go" { // of a call, a tensor is moved
		return n.op == "go" && kind == "tensor"
	}
	x := t.operand(n)
	typ := t.typeOf(x)
	switch f := Family(typ); kind {
	case f:
		return true
	case "const":
		return untyped(x, typ)
	case "float_const":
		return f == "float" && untyped(x, typ)
	case "number":
		return f == "int" || f == "float"
	case "var":
		return gotoken.IsIdentifier(x) && (f == "int" || f == "float")
	case "other":
		return f != "" && f != "string"
	case "list":
		return f == "slice" || f == "map"
	case "ints":
		return typ != nil && typeText(typ) == "[]int"
	case "loader":
		return isSource(typ) && strings.Contains(strings.ToLower(x), "load")
	case "source":
		return isSource(typ)
	case "made":
		return Kind(typ) == "Module" && !gotoken.IsIdentifier(x)
	case "module", "param", "optimizer", "tokenizer":
		return strings.ToLower(Kind(typ)) == kind
	}
	return typ != nil && typeText(typ) == kind
}

// Precedences of Go's operators; a primary can be called and selected from.
const (
	unaryPrec = gotoken.HighestPrec - 1
	primary   = gotoken.HighestPrec
)

// precedence returns that of the outermost operator of a text; that of a statement is 0.
func precedence(text string) int {
	x, err := notation.ParseExpr(text)
	if err != nil {
		return 0
	}
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return x.Op.Precedence()
	case *ast.UnaryExpr, *ast.StarExpr:
		return unaryPrec
	}
	return primary
}

// in returns a text as an operand of an operator with a precedence.
func in(text string, prec int) string {
	if precedence(text) < prec {
		return "(" + text + ")"
	}
	return text
}
