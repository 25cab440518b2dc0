package python

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

// A form is Go of package elsewhere's table, whose arguments are examples: x.Softmax(-1).
type form struct {
	text  string
	names []string // x, y, weight … stand for tensors, m for a model; in their order
	call  *ast.CallExpr
}

// examples are the names of the table that stand for an argument, as a cell declares them.
const examples = "var x, y, index, mask, weight, bias, loss tensor.Tensor; var m nn.Layer; var p nn.Param; " +
	"var opt optim.Optimizer; var lm *llm.Model; var tok *tokenizer.Tokenizer"

// exampleNames are the same in the order in which other libraries take them.
var exampleNames = strings.Fields("p m opt lm tok loss x index mask y weight bias")

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
			if slices.Contains(exampleNames, n.Name) {
				f(n)
			}
		}
		return true
	})
}

// bind writes a text of a form with the names replaced.
func bind(text string, bound map[string]string) string {
	expr, err := parser.ParseExpr(text)
	if err != nil {
		return text
	}
	var ids []*ast.Ident
	eachExample(expr, func(id *ast.Ident) { ids = append(ids, id) })
	for _, id := range slices.Backward(ids) {
		if to, ok := bound[id.Name]; ok {
			text = text[:id.Pos()-1] + to + text[id.End()-1:]
		}
	}
	return text
}

// WithOperand returns Go of the table with the operand of a method put in.
func WithOperand(goText, operand string) string {
	name := "x"
	if names := Operands(goText); !slices.Contains(names, name) {
		name = append(names, name)[0]
	}
	text, changes := strings.CutPrefix(goText, "x = ")
	if text = bind(text, map[string]string{name: operand}); changes {
		return operand + " = " + text
	}
	return text
}

// Operands returns the names in Go of the table that stand for an argument.
func Operands(goText string) []string {
	f, _ := readForm(strings.TrimPrefix(goText, "x = "))
	return f.names
}

// Callee returns what is called in the table's Go for a name of a module: tensor.Concat for torch.cat,
// optim.AdamW for optim.Adam, dtype.F16 for torch.float16. It is "" if that is a method.
func Callee(module, name string) string {
	forms := elsewhere.Forms(module, name)
	if len(forms) == 0 {
		return ""
	}
	if t, ok := strings.CutPrefix(forms[0], "x.Cast(dtype."); ok {
		return "dtype." + strings.TrimSuffix(t, ")")
	}
	f, _ := readForm(forms[0])
	called := forms[0]
	for call := f.call; call != nil; call, _ = call.Fun.(*ast.CallExpr) {
		called = types.ExprString(call.Fun)
	}
	m := ofPackage().FindStringSubmatch(called)
	if m == nil || slices.Contains(exampleNames, m[2]) {
		return ""
	}
	return m[1]
}

// ofPackage matches an exported name of a package, or what is made of its type: optim.AdamW{}.New.
var ofPackage = lazy.Regexp(`^((\w+)\.[A-Z]\w*)(?:\{.*\}(?:\.\w+)?)?$`)

// known writes a call of a name of PyTorch, NumPy or MLX that the table has. The first argument of a
// method is its operand. There is one form for each number of arguments, and the last is that for more.
func (t *translator) known(module, name string, args []argument) (string, bool) {
	forms := elsewhere.Forms(module, name)
	if len(forms) == 0 {
		return "", false
	}
	text, changes := strings.CutPrefix(forms[min(max(len(args)-1, 0), len(forms)-1)], "x = ") // add_
	f, ok := readForm(text)
	if !ok {
		return "", false
	}
	if module == "" || elsewhere.Fold(name) != "where" { // where(mask, x, y)
		slices.SortStableFunc(f.names, func(a, b string) int {
			return slices.Index(exampleNames, a) - slices.Index(exampleNames, b)
		})
	}
	if i := slices.Index(f.names, "x"); i > 0 && module == "" { // x.where(mask, y): the operand comes first
		f.names = slices.Insert(slices.Delete(f.names, i, i+1), 0, "x")
	}
	args = slices.DeleteFunc(slices.Clone(args), implied)
	goText, ok := t.filled(f, args)
	if ok && changes && gotoken.IsIdentifier(args[0].text) {
		goText = args[0].text + " = " + goText
	}
	return goText, ok
}

// LeftOut returns the arguments of the call of a name in a line that Go of the table has no place for, as
// they were typed, and whether the line is that call alone, with names as arguments that the Go has, too.
func LeftOut(line, name, goText string) (list []string, alone bool) {
	var b *node
	if !understood(func() { b, _ = parsed(line) }) {
		return nil, false
	}
	f, _ := readForm(strings.TrimPrefix(goText, "x = "))
	b.each(func(n *node) {
		if n.op != "call" || elsewhere.Fold(n.kids[0].text) != elsewhere.Fold(name) || len(list) > 0 {
			return
		}
		places := len(f.names) + len(literals(f.call))
		if callee := n.kids[0]; callee.op == "." && elsewhere.Lookup(callee.kids[0].path(), name) == "" { // the operand of a method
			places--
		}
		alone = n == b.kids[0]
		for _, a := range n.kids[1:] {
			places--
			_, known := settings()[a.key]
			known = known || isAxis(a.key) && !(&filling{form: f}).flat()
			if a.key == "" && places < 0 || a.key != "" && !known {
				list = append(list, a.typed)
			}
			alone = alone && a.op == "name" && a.key == "" && regexp.MustCompile(`\b`+a.text+`\b`).MatchString(goText)
		}
	})
	first := b.kids[0]
	return list, len(b.kids) == 1 && (alone || first.op == "." && elsewhere.Fold(first.text) == elsewhere.Fold(name))
}

// literals returns the arguments of a call, which may be nil, that values of a line may replace.
func literals(call *ast.CallExpr) (list []int) {
	if call == nil {
		return nil
	}
	for i, arg := range call.Args {
		switch arg.(type) {
		case *ast.BasicLit, *ast.UnaryExpr, *ast.CompositeLit, *ast.SelectorExpr:
			list = append(list, i)
		}
	}
	return list
}

// A filling is a form on its way to a call with the arguments of a line.
type filling struct {
	t *translator
	form
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
func (t *translator) filled(f form, args []argument) (string, bool) {
	l := &filling{t: t, form: f, slots: literals(f.call), bound: map[string]string{}, given: map[int]string{}, listAt: -1}
	l.names = slices.Clone(f.names)
	for i, a := range args {
		l.take(a, i == 0)
	}
	if l.listAt >= 0 {
		l.given[l.listAt] = "[]tensor.Tensor{" + strings.Join(l.list, ", ") + "}"
	}
	switch {
	case l.lacks():
		return "", false
	case f.call == nil:
		return bind(f.text, l.bound), len(l.given)+len(l.more)+len(l.options) == 0
	}
	return l.written()
}

// take puts in an argument: an axis, an option, or one that stands in its place.
func (l *filling) take(a argument, first bool) {
	switch {
	case a.name == "" || settings()[a.name].field == ".":
		l.takeNext(a, first)
	case a.name == "keepdim" || a.name == "keepdims":
		l.keep = a.text == "true"
	case isAxis(a.name) && !l.flat():
		at := l.axis()
		if at < 0 || at >= len(l.call.Args) {
			l.more = append(l.more, l.shapeOf(a)...)
			return
		}
		l.given[at] = a.text
		l.slots = slices.DeleteFunc(l.slots, func(i int) bool { return i == at })
	default:
		l.options = append(l.options, a)
	}
}

// flat says whether the form is of all elements, whatever their axes.
func (l *filling) flat() bool {
	return strings.Contains(l.text, ".Masked(") || strings.Contains(l.text, ".Flatten().")
}

func (l *filling) takeNext(a argument, first bool) {
	f, items := l.t.family(a.text), a.items()
	number := f == "int" || f == "float"
	ofTensor := f == "tensor"
	operand := !number && f != "string" && items == nil // not a path or a number
	name := append(l.names, "")[0]
	switch {
	case first && name == "x" && strings.HasPrefix(l.text, "x.") && (number || f == "slice"): // np.mean([1, 2])
		l.bound["x"], l.names = "tensor.From("+a.text+")", l.names[1:]
	case name != "" && (first && operand || len(l.slots) == 0 || ofTensor):
		l.bound[name], l.names = in(a.text, primary), l.names[1:]
	case ofTensor && (l.listAt >= 0 || l.nextIs("[]tensor.Tensor{")): // cat(x, y)
		if l.listAt < 0 {
			l.listAt, l.slots = l.slots[0], l.slots[1:]
		}
		l.list = append(l.list, a.text)
	case len(items) > 0 && len(l.slots) > 0 && l.square(items):
		l.given[l.slots[0]], l.slots = l.t.expr(items[0]), l.slots[1:]
	case len(l.slots) == 0 || items != nil && !l.nextIs("[]"):
		l.more = append(l.more, l.shapeOf(a)...)
	default:
		next := 0
		axisFirst := []string{"Chunk", "Split", "Roll", "Repeat"}
		if sel, ok := l.call.Fun.(*ast.SelectorExpr); ok && len(l.given) == 0 && slices.Contains(axisFirst, sel.Sel.Name) {
			next = len(l.slots) - 1 // the axis stands last in PyTorch, but first here
		}
		if l.given[l.slots[next]] = a.text; l.nextIs("dtype.") {
			l.given[l.slots[next]] = dtypeOf(a.text)
		}
		l.slots = slices.Delete(l.slots, next, next+1)
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
		if l.bound[name] = l.t.stands(name); l.bound[name] == "" {
			return true
		}
	}
	replaced := len(l.given)+len(l.more) > 0
	example := func(i int) bool {
		n, err := strconv.Atoi(l.textOf(l.call.Args[i]))
		return err == nil && n > 1 && !(replaced && l.ofShape(i))
	}
	return madeInside().MatchString(l.text) || !strings.HasPrefix(l.text, "data.") && slices.ContainsFunc(l.slots, example) // any batch is one
}

// madeInside matches a tensor of an example's shape that is an operand within a form.
var madeInside = lazy.Regexp(`(?:^|\()tensor\.\w+\([0-9., ]*[2-9][0-9., ]*\)[.),]`)

// shapeOf returns the texts of a tuple's or list's elements, or that of another value.
func (l *filling) shapeOf(a argument) []string {
	if items := a.items(); items != nil {
		return l.t.texts(items)
	}
	return []string{a.text}
}

// square says whether a tuple is the kernel of a convolution or pooling, with the same length in all axes.
func (l *filling) square(items []*node) bool {
	return (strings.Contains(l.text, "Pool") || strings.Contains(l.text, "Conv")) &&
		!slices.ContainsFunc(items, func(n *node) bool { return n.text != items[0].text })
}

// textOf returns the text of a part of the form.
func (l *filling) textOf(x ast.Expr) string { return l.text[x.Pos()-1 : x.End()-1] }

// signature returns that of the outermost call, or nil.
func (l *filling) signature() *types.Signature {
	if l.call == nil {
		return nil
	}
	fun := l.textOf(l.call.Fun)
	sig, ok := under(l.t.typeOf(bind(fun, l.bound))).(*types.Signature)
	if !ok { // an operand is not declared yet
		sig, _ = under(l.t.s.TypeOf(examples, fun, "")).(*types.Signature)
	}
	return sig
}

// axis returns the parameter of the outermost call that is one axis, or -1.
func (l *filling) axis() int {
	sig := l.signature()
	if sig == nil {
		return -1
	}
	return slices.IndexFunc(slices.Collect(sig.Params().Variables()), func(v *types.Var) bool { return v.Name() == "axis" })
}

// ofShape says whether an argument of the outermost call belongs to a shape.
func (l *filling) ofShape(i int) bool {
	sig := l.signature()
	return sig != nil && sig.Variadic() && i >= sig.Params().Len()-1
}

// written writes the outermost call anew.
func (l *filling) written() (string, bool) {
	sig := l.signature()
	if sig == nil {
		return "", false
	}
	var list []string
	for i, arg := range l.call.Args {
		if text, ok := l.given[i]; ok {
			list = append(list, text)
		} else if !l.ofShape(i) || len(l.given)+len(l.more) == 0 { // not of the example's shape
			list = append(list, bind(l.textOf(arg), l.bound))
		}
	}
	if len(l.options)+len(l.more) > 0 {
		if s, typ := optionsOf(sig); s != nil {
			for i, name := range []string{"Stride", "Padding"} { // behind the kernel of a convolution or pooling
				if i < len(l.more) {
					l.options = slices.Insert(l.options, i, argument{name: name, text: l.more[i]})
				}
			}
			list = append(list[:min(len(list), sig.Params().Len()-1)], typ+"{"+l.t.fields(s, l.options)+"}")
			l.more, l.options = nil, nil
		}
	}
	if len(l.options) > 0 || len(l.more) > 0 && !sig.Variadic() {
		return "", false
	}
	fun, dots := bind(l.textOf(l.call.Fun), l.bound), ""
	if l.keep {
		fun += "Keep"
	}
	if l.call.Ellipsis.IsValid() {
		dots = "..."
	}
	return fmt.Sprintf("%s(%s%s)", fun, strings.Join(append(list, l.more...), ", "), dots), true
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
	if s, ok := t.Underlying().(*types.Struct); ok && !IsTensor(t) {
		return s, typeText(t)
	}
	return nil, ""
}
