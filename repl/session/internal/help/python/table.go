package python

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"slices"
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
var examples = []string{"x", "y", "index", "mask", "weight", "bias", "loss", "m", "opt"}

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
	v, ok := p.filled(f, args)
	if ok && changes {
		v = value{text: args[0].text + " = " + v.text, prec: comparePrec}
	}
	return v, ok
}

// inOrder are the names of arguments that stand in their order as well.
var inOrder = []string{"", "dim", "axis", "dims", "dim0", "dim1", "input", "other", "p", "k", "n", "num_classes", "repeats", "tensors", "size", "in_features",
	"out_features", "normalized_shape", "start_dim", "negative_slope", "params", "target", "max_norm"}

// filled writes a form with arguments. A tensor replaces the next name; any other argument replaces the
// next one of the outermost call. What is left of those has its usual value, but a shape is replaced as a
// whole.
func (p *reader) filled(f form, args []argument) (value, bool) {
	bound := map[string]string{}
	names := slices.Clone(f.names)
	if i := slices.Index(names, "x"); i > 0 { // the operand
		names = slices.Insert(slices.Delete(names, i, i+1), 0, "x")
	}
	var slots []int // arguments of the call that a value may replace
	if f.call != nil {
		for i, arg := range f.call.Args {
			switch arg.(type) {
			case *ast.BasicLit, *ast.UnaryExpr, *ast.CompositeLit, *ast.SelectorExpr:
				slots = append(slots, i)
			}
		}
	}
	given := map[int]string{}
	var shape []string
	keep := false
	for i, a := range args {
		switch {
		case a.name == "keepdim" || a.name == "keepdims":
			keep = a.text == "true"
		case a.either != nil || !slices.Contains(inOrder, a.name):
			return value{}, false
		case len(names) > 0 && (i == 0 || len(slots) == 0 || p.is(a.value, tensorFamily)):
			bound[names[0]], names = a.in(primary), names[1:]
		case a.items != nil && (len(slots) == 0 || !literal(f.call.Args[slots[0]])):
			for _, item := range a.items {
				shape = append(shape, item.goText())
			}
		case len(slots) > 0:
			given[slots[0]], slots = a.goText(), slots[1:]
		default:
			shape = append(shape, a.goText())
		}
	}
	for _, name := range names { // what the session has for it
		if bound[name] = p.s.Stands(name); bound[name] == "" {
			return value{}, false
		}
	}
	if f.call == nil {
		return value{text: bind(f.text, bound), prec: primary}, len(given) == 0 && len(shape) == 0
	}
	return p.rebuilt(f, bound, given, shape, keep)
}

// literal says whether an argument is a slice, whose place a list takes.
func literal(x ast.Expr) bool {
	_, ok := x.(*ast.CompositeLit)
	return ok
}

// rebuilt writes the outermost call of a form anew.
func (p *reader) rebuilt(f form, bound map[string]string, given map[int]string, shape []string, keep bool) (value, bool) {
	part := func(x ast.Expr) string { return bind(f.text[x.Pos()-1:x.End()-1], bound) }
	fun := part(f.call.Fun)
	if keep {
		fun += "Keep"
	}
	sig, _ := p.typeOf(fun).(*types.Signature)
	if sig == nil {
		return value{}, false
	}
	var list []string
	replaced := len(shape) > 0
	for i, arg := range f.call.Args {
		text, ok := given[i]
		if sig.Variadic() && i >= sig.Params().Len()-1 {
			replaced = replaced || ok
			if replaced && !ok {
				continue
			}
		}
		if !ok {
			text = part(arg)
		}
		list = append(list, text)
	}
	if len(shape) > 0 && !sig.Variadic() {
		return value{}, false
	}
	list = append(list, shape...)
	dots := ""
	if f.call.Ellipsis.IsValid() {
		dots = "..."
	}
	return simple("%s(%s%s)", fun, strings.Join(list, ", "), dots), true
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

// callee returns what is called in the table's Go for a name of a module: tensor.Concat for torch.cat,
// optim.AdamW for optim.Adam, dtype.F16 for torch.float16. It is "" if that is a method.
func callee(module, name string) string {
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
// "Optimizer", or "-" if there is none.
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
	}
	return "-"
}
