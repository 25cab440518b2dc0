package python

import (
	"go/ast"
	"go/parser"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// A form is Go of package elsewhere's table, whose arguments are examples: x.Softmax(-1).
type form struct {
	text  string
	names []string // x, y, weight … stand for tensors, m for a model; in their order
	call  *ast.CallExpr
}

// examples are the names of the table that stand for an argument.
var examples = []string{"p", "x", "y", "index", "mask", "weight", "bias", "loss", "m", "opt", "lm", "tok"}

// readForm parses Go of the table; it fails for a statement.
func readForm(text string) (form, bool) {
	expr, err := parser.ParseExpr(text)
	if err != nil {
		return form{}, false
	}
	f := form{text: text}
	f.call, _ = expr.(*ast.CallExpr)
	eachExample(expr, func(id *ast.Ident) {
		if !slices.Contains(f.names, id.Name) {
			f.names = append(f.names, id.Name)
		}
	})
	return f, true
}

// eachExample calls f with the names of an expression that stand for an argument.
func eachExample(x ast.Node, f func(id *ast.Ident)) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			eachExample(n.X, f)
			return false
		case *ast.FuncLit, *ast.CompositeLit: // has parameters of its own; is replaced as a whole
			return false
		case *ast.Ident:
			if slices.Contains(examples, n.Name) {
				f(n)
			}
		}
		return true
	})
}

// A filling is a form on its way to a call with the arguments of a line.
type filling struct {
	p *reader
	form
	names []string          // that no argument has replaced yet
	slots []int             // arguments of the outermost call that a value may still replace
	bound map[string]string // what replaces the names
	given map[int]string    // what replaces arguments of the outermost call
	more  []string          // arguments behind those: a shape
	// list are tensors for a slice of them, which is argument listAt, or -1 if there is none.
	list    []string
	listAt  int
	options []argument // the fields of a struct
	keep    bool       // axes: Sum becomes SumKeep
}

// filled writes a form with arguments. A tensor replaces the next name; any other argument replaces the
// next one of the outermost call. What is left of those has its usual value, but a shape is replaced as a
// whole.
func (p *reader) filled(f form, args []argument) (value, bool) {
	l := &filling{p: p, form: f, names: slices.Clone(f.names), bound: map[string]string{}, given: map[int]string{}, listAt: -1}
	if f.call != nil {
		for i, arg := range f.call.Args {
			switch arg.(type) {
			case *ast.BasicLit, *ast.UnaryExpr, *ast.CompositeLit, *ast.SelectorExpr:
				l.slots = append(l.slots, i)
			}
		}
	}
	if len(args) == 1 && l.nextIs("[]") && p.is(args[0].value, tensorFamily) { // torch.tensor(x) of a tensor
		return args[0].value, !l.nextIs("[]tensor.Tensor{")
	}
	for i, a := range args {
		switch {
		case a.either != nil:
			return value{}, false
		case a.name == "":
			l.take(a, i == 0)
		default:
			l.takeNamed(a, i == 0)
		}
	}
	if l.listAt >= 0 {
		l.given[l.listAt] = "[]tensor.Tensor{" + strings.Join(l.list, ", ") + "}"
	}
	if l.lacks() {
		return value{}, false
	}
	if f.call == nil {
		return value{text: bind(f.text, l.bound), prec: primary}, len(l.given)+len(l.more)+len(l.options) == 0
	}
	return l.written()
}

// take puts in an argument without a name.
func (l *filling) take(a argument, first bool) {
	ofTensor := l.p.is(a.value, tensorFamily)
	switch {
	case first && len(l.names) > 0 && l.names[0] == "x" && strings.HasPrefix(l.text, "x.") && l.p.makesTensor(a.value): // np.mean([1, 2])
		l.bound["x"], l.names = "tensor.From("+a.goText()+")", l.names[1:]
	case len(l.names) > 0 && (first && l.p.operand(a.value) || len(l.slots) == 0 || ofTensor):
		l.bound[l.names[0]], l.names = a.in(primary), l.names[1:]
	case ofTensor && (l.listAt >= 0 || l.nextIs("[]tensor.Tensor{")): // cat(x, y)
		if l.listAt < 0 {
			l.listAt, l.slots = l.slots[0], l.slots[1:]
		}
		l.list = append(l.list, a.goText())
	case a.items != nil && len(l.slots) > 0 && l.square(a.items):
		l.given[l.slots[0]], l.slots = a.items[0].goText(), l.slots[1:]
	case len(l.slots) == 0 || a.items != nil && !l.nextIs("[]"):
		l.more = append(l.more, shapeOf(a)...)
	default:
		next := 0
		if axisLast(l.form) && len(l.given) == 0 {
			next = len(l.slots) - 1
		}
		l.given[l.slots[next]] = a.goText()
		l.slots = slices.Delete(l.slots, next, next+1)
	}
}

// inOrder are the names of arguments that stand in their order as well.
var inOrder = []string{"diagonal", "dim0", "dim1", "input", "other", "k", "num_classes", "repeats", "tensors", "size", "in_features", "out_features",
	"in_channels", "out_channels", "kernel_size", "num_features", "num_embeddings", "embedding_dim", "normalized_shape", "start_dim",
	"negative_slope", "params", "target", "max_norm"}

// takeNamed puts in an argument with a name: an axis, an option, or one that may stand without its name.
func (l *filling) takeNamed(a argument, first bool) {
	switch {
	case a.name == "retain_graph" || a.name == "create_graph": // gradients are values, which can be used again
	case a.name == "keepdim" || a.name == "keepdims":
		l.keep = a.text == "true"
	case a.name == "dim" || a.name == "axis" || a.name == "dims":
		at := l.axis()
		if at < 0 {
			l.more = append(l.more, shapeOf(a)...)
			return
		}
		l.given[at] = a.goText()
		l.slots = slices.DeleteFunc(l.slots, func(i int) bool { return i == at })
	case slices.Contains(inOrder, a.name) || a.name == "p" && strings.Contains(l.text, "Dropout") || (a.name == "min" || a.name == "max") && strings.Contains(l.text, ".Clip("):
		l.take(a, first)
	default:
		l.options = append(l.options, a)
	}
}

// nextIs says whether the next argument to replace begins with a text.
func (l *filling) nextIs(text string) bool {
	return len(l.slots) > 0 && strings.HasPrefix(l.textOf(l.call.Args[l.slots[0]]), text)
}

// lacks says whether something is left of the form that is no usual value: a name for which the session has
// nothing, or a number above 1, which is an example.
func (l *filling) lacks() bool {
	for _, name := range l.names {
		if l.bound[name] = l.p.stands(name); l.bound[name] == "" {
			return true
		}
	}
	if len(l.slots) == 1 && strings.Contains(l.text, ".Clip(") { // both ends are needed
		return true
	}
	replaced := len(l.given)+len(l.more) > 0
	return !strings.HasPrefix(l.text, "data.") && slices.ContainsFunc(l.slots, func(i int) bool { // any batch is one
		n, err := strconv.Atoi(l.textOf(l.call.Args[i]))
		return err == nil && n > 1 && !(replaced && l.ofShape(i))
	})
}

// makesTensor says whether a value is a number or a list, as NumPy's functions take them.
func (p *reader) makesTensor(v value) bool {
	f, _ := p.family(v)
	return f == integer || f == float || f == slice
}

// operand says whether a first argument is what a form is about: not a path or a number.
func (p *reader) operand(v value) bool {
	f, _ := p.family(v)
	return f != stringFamily && f != integer && f != float && v.items == nil
}

// shapeOf returns the texts of a tuple's or list's elements, or that of another value.
func shapeOf(a argument) []string {
	if a.items == nil {
		return []string{a.goText()}
	}
	list := make([]string, len(a.items))
	for i, item := range a.items {
		list[i] = item.goText()
	}
	return list
}

// square says whether a tuple is the kernel of a convolution or pooling, with the same length in all axes.
func (l *filling) square(items []value) bool {
	if len(items) == 0 || !strings.Contains(l.text, "Pool") && !strings.Contains(l.text, "Conv") {
		return false
	}
	return !slices.ContainsFunc(items, func(v value) bool { return v.text != items[0].text })
}

// axisLast says whether the axis stands last in PyTorch, but first in the Go of a form.
func axisLast(f form) bool {
	sel, ok := f.call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Chunk", "Split", "Roll", "Repeat"}, sel.Sel.Name)
}

// textOf returns the text of a part of the form.
func (l *filling) textOf(x ast.Expr) string { return l.text[x.Pos()-1 : x.End()-1] }

// signature returns that of the outermost call, or nil.
func (l *filling) signature() *types.Signature {
	if l.call == nil {
		return nil
	}
	sig, ok := l.p.typeOf(bind(l.textOf(l.call.Fun), l.bound)).(*types.Signature)
	if !ok { // an operand is not declared yet
		sig, _ = l.p.s.TypeOf("var x, y, index, mask, weight, bias, loss tensor.Tensor; var m nn.Layer; var p nn.Param; var opt optim.Optimizer; var lm *llm.Model; var tok *tokenizer.Tokenizer",
			l.textOf(l.call.Fun), "").(*types.Signature)
	}
	return sig
}

// axis returns the argument of the outermost call that is one axis, or -1.
func (l *filling) axis() int {
	if sig := l.signature(); sig != nil {
		for i := range sig.Params().Len() {
			if sig.Params().At(i).Name() == "axis" && i < len(l.call.Args) {
				return i
			}
		}
	}
	return -1
}

// ofShape says whether an argument of the outermost call belongs to a shape.
func (l *filling) ofShape(i int) bool {
	sig := l.signature()
	return sig != nil && sig.Variadic() && i >= sig.Params().Len()-1
}

// written writes the outermost call anew.
func (l *filling) written() (value, bool) {
	sig := l.signature()
	if sig == nil {
		return value{}, false
	}
	var list []string
	for i, arg := range l.call.Args {
		text, ok := l.given[i]
		if l.ofShape(i) && !ok && len(l.given)+len(l.more) > 0 {
			continue // of the example's shape
		}
		if !ok {
			text = bind(l.textOf(arg), l.bound)
		}
		list = append(list, text)
	}
	if len(l.options) > 0 || len(l.more) > 0 {
		if s, typ := optionsOf(sig); s != nil {
			list = append(list[:min(len(list), sig.Params().Len()-1)], typ+"{"+fields(s, append(windows(s, l.more), l.options...))+"}")
			l.more, l.options = nil, nil
		}
	}
	if len(l.options) > 0 || len(l.more) > 0 && !sig.Variadic() {
		return value{}, false
	}
	fun, dots := bind(l.textOf(l.call.Fun), l.bound), ""
	if l.keep {
		fun += "Keep"
	}
	if l.call.Ellipsis.IsValid() {
		dots = "..."
	}
	return simple("%s(%s%s)", fun, strings.Join(append(list, l.more...), ", "), dots), true
}

// optionsOf returns the struct that is the last parameter of a function, and its name, or nil.
func optionsOf(sig *types.Signature) (*types.Struct, string) {
	if sig.Params().Len() == 0 {
		return nil, ""
	}
	t := sig.Params().At(sig.Params().Len() - 1).Type()
	if list, ok := t.(*types.Slice); ok && sig.Variadic() {
		t = list.Elem()
	}
	if f, _ := familyOf(t); f == tensorFamily {
		return nil, ""
	}
	s, _ := t.Underlying().(*types.Struct)
	return s, typeText(t)
}

// windows names the arguments behind the kernel of a convolution or pooling.
func windows(s *types.Struct, more []string) (list []argument) {
	names := []string{"Stride", "Padding"}
	for i, text := range more {
		if i < len(names) && fieldNamed(s, names[i]) {
			list = append(list, argument{names[i], simple("%s", text)})
		}
	}
	return list
}

func fieldNamed(s *types.Struct, name string) bool {
	for f := range s.Fields() {
		if f.Name() == name {
			return true
		}
	}
	return false
}

// bind writes a text of a form with the names replaced.
func bind(text string, bound map[string]string) string {
	expr, err := parser.ParseExpr(text)
	if err != nil {
		return text
	}
	var places []*ast.Ident
	eachExample(expr, func(id *ast.Ident) { places = append(places, id) })
	for _, id := range slices.Backward(places) {
		if to, ok := bound[id.Name]; ok {
			text = text[:id.Pos()-1] + to + text[id.End()-1:]
		}
	}
	return text
}
