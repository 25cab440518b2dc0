package python

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

// A form is Go of package elsewhere's table, whose arguments are examples: x.Softmax(-1).
type form struct {
	text  string
	names []string // x, y, weight … stand for tensors, m for a model; in their order
	call  *ast.CallExpr
}

// examples are the names of the table that stand for an argument.
var examples = []string{"p", "x", "y", "index", "mask", "weight", "bias", "loss", "m", "opt"}

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

// known translates a call of a name of PyTorch, NumPy or MLX that the table has. The first argument of a
// method is its operand. There is one form for each number of arguments, and the last is that for more.
func (p *reader) known(module, name string, args []argument) (value, bool) {
	forms := elsewhere.Forms(module, name)
	if len(forms) == 0 {
		return value{}, false
	}
	text, changes := strings.CutPrefix(forms[min(max(len(args)-1, 0), len(forms)-1)], "x = ") // add_
	f, ok := readForm(text)
	if !ok {
		return value{}, false
	}
	if i := slices.Index(f.names, "x"); i > 0 && module == "" { // x.where(mask, y): the operand comes first
		f.names = slices.Insert(slices.Delete(slices.Clone(f.names), i, i+1), 0, "x")
	}
	v, ok := p.filled(f, args)
	if elsewhere.Scheduler(module) {
		v, ok = p.schedule(f, args)
	}
	if ok && changes {
		v = value{text: args[0].text + " = " + v.text, prec: comparePrec}
	}
	return v, ok
}

// inOrder are the names of arguments that stand in their order as well.
var inOrder = []string{"", "dim", "axis", "dims", "dim0", "dim1", "input", "other", "k", "num_classes", "repeats", "tensors", "size", "in_features",
	"out_features", "in_channels", "out_channels", "kernel_size", "num_features", "num_embeddings", "embedding_dim", "normalized_shape", "start_dim", "negative_slope", "params", "target", "max_norm"}

// filled writes a form with arguments. A tensor replaces the next name; any other argument replaces the
// next one of the outermost call. What is left of those has its usual value, but a shape is replaced as a
// whole.
func (p *reader) filled(f form, args []argument) (value, bool) {
	bound := map[string]string{}
	names := slices.Clone(f.names)
	var slots []int // arguments of the call that a value may replace
	if f.call != nil {
		for i, arg := range f.call.Args {
			switch arg.(type) {
			case *ast.BasicLit, *ast.UnaryExpr, *ast.CompositeLit, *ast.SelectorExpr:
				slots = append(slots, i)
			}
		}
	}
	r := rest{given: map[int]string{}}
	for i, a := range args {
		switch {
		case a.name == "keepdim" || a.name == "keepdims":
			r.keep = a.text == "true"
		case a.either != nil:
			return value{}, false
		case a.name != "" && strings.HasPrefix(strings.TrimPrefix(a.name, "d"), "im") || a.name == "axis":
			if at := axisOf(p, f, bound); at >= 0 {
				r.given[at] = a.goText()
				slots = slices.DeleteFunc(slots, func(i int) bool { return i == at })
				continue
			}
			r.more = append(r.more, shapeOf(a)...)
		case !slices.Contains(inOrder, a.name) && !(a.name == "p" && strings.Contains(f.text, "Dropout")):
			r.options = append(r.options, a)
		case len(names) > 0 && (i == 0 && p.operand(a.value) || len(slots) == 0 || p.is(a.value, tensorFamily)):
			bound[names[0]], names = a.in(primary), names[1:]
		case a.items != nil && len(slots) > 0 && square(f, a.items):
			r.given[slots[0]], slots = a.items[0].goText(), slots[1:]
		case a.items != nil && (len(slots) == 0 || !literal(f.call.Args[slots[0]])):
			r.more = append(r.more, shapeOf(a)...)
		case len(slots) > 0 && p.is(a.value, tensorFamily) && strings.HasPrefix(exprText(f, f.call.Args[slots[0]]), "[]tensor.Tensor{"): // cat(x, y)
			r.list = append(r.list, a.goText())
		case len(slots) > 0 && p.is(a.value, tensorFamily) && literal(f.call.Args[slots[0]]) && len(args) == 1: // torch.tensor(x)
			return a.value, true
		case len(slots) > 0:
			next := 0
			if axisLast(f) && len(r.given) == 0 {
				next = len(slots) - 1
			}
			r.given[slots[next]] = a.goText()
			slots = slices.Delete(slots, next, next+1)
		default:
			r.more = append(r.more, a.goText())
		}
	}
	if len(r.list) > 0 {
		r.given[slots[0]], slots = "[]tensor.Tensor{"+strings.Join(r.list, ", ")+"}", slots[1:]
	}
	for _, i := range slots {
		if strings.HasPrefix(f.text, "data.") { // any batch is one
			break
		}
		if n, err := strconv.Atoi(exprText(f, f.call.Args[i])); err == nil && n > 1 && len(r.given)+len(r.more) == 0 || err == nil && n > 1 && !p.variadicAt(f, i, bound) {
			return value{}, false // an example, which is no usual value
		}
	}
	if len(slots) == 1 && strings.Contains(f.text, ".Clip(") {
		return value{}, false
	}
	for _, name := range names { // what the session has for it
		if bound[name] = p.s.Stands(name); bound[name] == "" {
			return value{}, false
		}
	}
	if f.call == nil {
		return value{text: bind(f.text, bound), prec: primary}, len(r.given) == 0 && len(r.more) == 0 && len(r.options) == 0
	}
	return p.rebuilt(f, bound, r)
}

// A rest are the arguments that replace no name of a form.
type rest struct {
	given   map[int]string // by their place in the outermost call
	more    []string       // behind those: a shape
	options []argument     // the fields of a struct
	list    []string       // tensors for a slice of them
	keep    bool           // axes: Sum becomes SumKeep
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

func exprText(f form, x ast.Expr) string { return f.text[x.Pos()-1 : x.End()-1] }

// axisLast says whether the axis stands last in PyTorch, but first in the Go of a form.
func axisLast(f form) bool {
	sel, ok := f.call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Chunk", "Split", "Roll", "Repeat"}, sel.Sel.Name)
}

// signature returns that of the outermost call of a form, or nil.
func (p *reader) signature(f form, bound map[string]string) *types.Signature {
	if f.call == nil {
		return nil
	}
	sig, _ := p.typeOf(bind(exprText(f, f.call.Fun), bound)).(*types.Signature)
	return sig
}

// axisOf returns the argument of the outermost call that is one axis, or -1.
func axisOf(p *reader, f form, bound map[string]string) int {
	if sig := p.signature(f, bound); sig != nil {
		for i := range sig.Params().Len() {
			if sig.Params().At(i).Name() == "axis" && i < len(f.call.Args) {
				return i
			}
		}
	}
	return -1
}

// variadicAt says whether an argument of the outermost call belongs to a shape.
func (p *reader) variadicAt(f form, i int, bound map[string]string) bool {
	sig := p.signature(f, bound)
	return sig != nil && sig.Variadic() && i >= sig.Params().Len()-1
}

// schedule fills in the steps of a schedule, which knows no optimizer: CosineAnnealingLR(optimizer, 100).
func (p *reader) schedule(f form, args []argument) (value, bool) {
	steps := ""
	for i, a := range args {
		if i == 1 && a.name == "" || a.name == "T_max" || strings.HasPrefix(a.name, "total_") {
			steps = a.goText()
		}
	}
	if !strings.HasPrefix(f.text, "optim.") {
		return p.filled(f, nil)
	}
	if at := strings.LastIndex(f.text, ", "); at > 0 && steps != "" {
		f.text = f.text[:at] + ", " + steps + ")"
	}
	return simple("%s", f.text), true
}

// square says whether a tuple is the kernel of a convolution or pooling, with the same length in all axes.
func square(f form, items []value) bool {
	if len(items) == 0 || !strings.Contains(f.text, "Pool") && !strings.Contains(f.text, "Conv") {
		return false
	}
	return !slices.ContainsFunc(items, func(v value) bool { return v.text != items[0].text })
}

// literal says whether an argument is a slice, whose place a list takes.
func literal(x ast.Expr) bool {
	_, ok := x.(*ast.CompositeLit)
	return ok
}

// rebuilt writes the outermost call of a form anew.
func (p *reader) rebuilt(f form, bound map[string]string, r rest) (value, bool) {
	part := func(x ast.Expr) string { return bind(f.text[x.Pos()-1:x.End()-1], bound) }
	fun := part(f.call.Fun)
	if r.keep {
		fun += "Keep"
	}
	sig, _ := p.typeOf(fun).(*types.Signature)
	if sig == nil {
		return value{}, false
	}
	var list []string
	for i, arg := range f.call.Args {
		text, ok := r.given[i]
		if sig.Variadic() && i >= sig.Params().Len()-1 && !ok && len(r.given)+len(r.more) > 0 {
			continue // of the example's shape
		}
		if !ok {
			text = part(arg)
		}
		list = append(list, text)
	}
	if len(r.options) > 0 || len(r.more) > 0 {
		if s, typ := optionsOf(sig); s != nil {
			list = append(list[:min(len(list), sig.Params().Len()-1)], typ+"{"+fields(s, append(windows(s, r.more), r.options...))+"}")
			r.more, r.options = nil, nil
		}
	}
	if len(r.options) > 0 || len(r.more) > 0 && !sig.Variadic() {
		return value{}, false
	}
	list = append(list, r.more...)
	dots := ""
	if f.call.Ellipsis.IsValid() {
		dots = "..."
	}
	return simple("%s(%s%s)", fun, strings.Join(list, ", "), dots), true
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

// WithOperand returns Go of the table with the operand of a method put in.
func WithOperand(goText, operand string) string {
	text, changes := strings.CutPrefix(goText, "x = ")
	f, ok := readForm(text)
	if !ok || len(f.names) == 0 {
		return goText
	}
	name := "x"
	if !slices.Contains(f.names, name) {
		name = f.names[0]
	}
	if text = bind(text, map[string]string{name: operand}); changes {
		return operand + " = " + text
	}
	return text
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
	expr, err := parser.ParseExpr(forms[0])
	if err != nil {
		return ""
	}
	for {
		switch e := expr.(type) {
		case *ast.CallExpr:
			expr = e.Fun
		case *ast.CompositeLit:
			expr = e.Type
		case *ast.SelectorExpr:
			if lit, ok := e.X.(*ast.CompositeLit); ok { // optim.AdamW{}.New
				expr = lit
				continue
			}
			if x, ok := e.X.(*ast.Ident); ok && !slices.Contains(examples, x.Name) && gotoken.IsExported(e.Sel.Name) {
				return types.ExprString(e)
			}
			return ""
		default:
			return ""
		}
	}
}

// Kind returns the module of package elsewhere that has the methods of a type: "" for tensors, "Module",
// "Optimizer", "Param", or "-" if there is none.
func Kind(t types.Type) string {
	has := func(name string) bool {
		o, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		_, ok := o.(*types.Func)
		return ok
	}
	switch f, _ := familyOf(t); {
	case f == tensorFamily:
		return ""
	case t == nil:
		return "-"
	case has("Members"):
		return "Module"
	case has("Update") && has("SetState"):
		return "Optimizer"
	case has("Trainable") && has("Unfreeze"):
		return "Param"
	}
	return "-"
}
