package python

import (
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/help/elsewhere"
)

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
	if slices.Equal(f.names, []string{"weight", "index"}) { // F.embedding(index, weight)
		slices.Reverse(f.names)
	}
	if i := slices.Index(f.names, "x"); i > 0 && module == "" { // x.where(mask, y): the operand comes first
		f.names = slices.Insert(slices.Delete(slices.Clone(f.names), i, i+1), 0, "x")
	}
	args = slices.DeleteFunc(slices.Clone(args), func(a argument) bool { return implied[a.name] })
	v, ok := p.filled(f, args)
	if at := slices.IndexFunc(args, func(a argument) bool { return a.name == "dim" || a.name == "axis" }); !ok && at > 0 && strings.Count(text, "(-1)") == 1 {
		inner, _ := readForm(strings.Replace(text, "(-1)", "("+args[at].goText()+")", 1)) // the axis of a call in the form
		v, ok = p.filled(inner, slices.Delete(slices.Clone(args), at, at+1))
	}
	if elsewhere.Scheduler(module) {
		v, ok = p.schedule(f, args)
	}
	if ok && changes && gotoken.IsIdentifier(args[0].text) {
		v = value{text: args[0].text + " = " + v.text, prec: comparePrec, changes: args[0].text}
	}
	return v, ok
}

// schedule fills in the rate and the steps of a schedule, which knows no optimizer:
// CosineAnnealingLR(optimizer, 100).
func (p *reader) schedule(f form, args []argument) (value, bool) {
	if !strings.HasPrefix(f.text, "optim.") {
		return p.filled(f, nil)
	}
	rate, steps, floor := p.rate(), "", ""
	for i, a := range args {
		switch {
		case i == 1 && a.name == "" || a.name == "T_max" || strings.HasPrefix(a.name, "total_"):
			steps = a.goText()
		case a.name == "max_lr":
			rate = a.goText()
		case a.name == "eta_min":
			floor = fmt.Sprintf(".To(%s)", a.goText())
		case a.name != "" && a.name != "optimizer" && a.name != "verbose":
			return value{}, false // start_factor=1, pct_start=0.1
		}
	}
	text := strings.Replace(f.text, "1e-3", rate, 1)
	if at := strings.LastIndexAny(text, " "); steps != "" {
		text = text[:at] + " " + steps + text[len(text)-1:]
	}
	return simple("%s%s", text, floor), true
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
// "Optimizer", "Param", "Tokenizer", or "-" if there is none.
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
	case has("Encode") && has("IsSpecial"):
		return "Tokenizer"
	}
	return "-"
}
