package help

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/notation"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
	"github.com/mcs-notebook/mcs/stdlib"

	"golang.org/x/tools/go/ast/astutil"
)

// maxForeign is the largest number of bytes that are read as Python: typed lines and blocks are short.
const maxForeign = 2000

// translated returns "write …" with the Go for line n of a cell and the block below it, if they read as
// Python. The Go checks in the place of the line.
func (h *Helper) translated(st *world.Stage, src string, n int) string {
	lines := strings.Split(src, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	f := &foreign{h: h, st: st, before: statementsAbove(src, n)}
	line := python.Block(lines[n-1:])
	if len(line) > maxForeign {
		return ""
	}
	text := python.Line(strings.TrimSpace(line), f)
	if text == "" || types.Universe.Lookup(text) != nil || sameCode(text, strings.TrimSpace(lines[n-1])) || !f.checks(text, line) {
		return ""
	}
	return "write " + text
}

// statementsAbove returns the lines of a cell before line n, if they can stand in a function.
func statementsAbove(cell string, n int) string {
	lines := strings.Split(cell, "\n")
	above := strings.Join(lines[:min(n-1, len(lines))], "\n") + "\n"
	if _, err := notation.ParseStatements(above); err != nil {
		return ""
	}
	return above
}

// sameCode says whether two lines differ in blanks only, or in the case of one name, which is then misspelt.
func sameCode(a, b string) bool {
	if a, b = unblanked(a), unblanked(b); !strings.EqualFold(a, b) {
		return false
	}
	others := map[string]bool{}
	inB := namesIn(b)
	for i, name := range namesIn(a) {
		if i < len(inB) && name != inB[i] {
			others[name] = true
		}
	}
	return len(others) <= 1
}

// namesIn returns the names and numbers of a line.
func namesIn(line string) []string {
	return strings.FieldsFunc(line, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

func unblanked(s string) string {
	return strings.NewReplacer(" ", "", "\t", "", ";", "").Replace(s)
}

// foreign is package python's view of the session.
type foreign struct {
	h      *Helper
	st     *world.Stage
	before string // statements of the cell above the line
	known  map[string]types.Type
}

// TypeOf implements python.Session.
func (f *foreign) TypeOf(before, expr, after string) types.Type {
	if f.known == nil {
		f.known = map[string]types.Type{}
	}
	body := f.before + before + "\n_ = " + expr + after
	t, ok := f.known[body]
	if !ok {
		t = f.typeOf(body)
		f.known[body] = t
	}
	return t
}

func (f *foreign) typeOf(body string) types.Type {
	c := f.check("func cell(){\n" + body + "\n}")
	if c == nil {
		return nil
	}
	var asked ast.Expr
	for n := range ast.Preorder(c.Files[0]) {
		if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.ASSIGN && len(a.Rhs) == 1 && types.ExprString(a.Lhs[0]) == "_" {
			asked = a.Rhs[0]
		}
	}
	for _, err := range c.Errs {
		if asked == nil || asked.Pos() <= err.Pos && err.Pos <= asked.End() {
			return nil
		}
	}
	if tv := c.Info.Types[asked]; tv.IsValue() && known(tv.Type) {
		return tv.Type
	}
	return nil
}

// Exported implements python.Session.
func (f *foreign) Exported(pkg, name string) string {
	path := f.st.ImportPath(pkg)
	if path == "" {
		path, _ = stdlib.ImportFor(pkg)
	}
	return f.h.exported(path, name)
}

// exported returns the exported name of a package that equals name in any case, or "".
func (h *Helper) exported(path, name string) string {
	p, err := h.Package(path)
	if path == "" || err != nil {
		return ""
	}
	for _, n := range p.Scope().Names() {
		if token.IsExported(n) && strings.EqualFold(n, name) {
			return n
		}
	}
	return ""
}

// Rank implements python.Session.
func (f *foreign) Rank(name string) int {
	if e := f.st.Lookup(name); e != nil && strings.TrimSpace(f.before) == "" {
		return f.rank(e)
	}
	return -1
}

func (f *foreign) rank(e *world.Entity) int {
	if e.Kind == world.Var && python.IsTensor(e.Obj.Type()) {
		v, _ := f.h.Value(e)
		if x, ok := v.(interface {
			Rank() int
			IsNone() bool
			Freed() bool
		}); ok && !x.IsNone() && !x.Freed() {
			return x.Rank()
		}
	}
	return -1
}

// Stands implements python.Session.
func (f *foreign) Stands(name string) string {
	switch name {
	case "loss":
		return f.newest(func(e *world.Entity) bool { return f.rank(e) == 0 })
	case "weight":
		return strings.Join(f.params(), ", ")
	}
	found := f.ofType(func(variable string, t types.Type) bool {
		switch typ := world.TypeString(t); name {
		case "m":
			return python.Kind(t) == "Module"
		case "opt":
			return python.Kind(t) == "Optimizer"
		case "lossfn": // of outputs and targets
			sig, ok := t.Underlying().(*types.Signature)
			return ok && sig.Params().Len() == 2 && sig.Results().Len() == 1 && strings.Count(types.TypeString(sig, world.Qualifier), "tensor.Tensor") == 3
		case "rate":
			return typ == "float64" && slices.Contains([]string{"lr", "learning_rate", "rate"}, variable)
		default:
			return typ == map[string]string{"lm": "*llm.Model", "tok": "*tokenizer.Tokenizer", "schedule": "optim.Schedule"}[name]
		}
	})
	if name == "tok" && found == "" {
		if model := f.Stands("lm"); model != "" {
			return model + ".Tokenizer"
		}
	}
	return found
}

// ofType returns the newest variable whose name and type are as is says: of those that the statements above
// the line declare, or else of the session's.
func (f *foreign) ofType(is func(name string, t types.Type) bool) string {
	var found token.Pos
	name := ""
	if c := f.check("func cell(){\n" + f.before + "\n}"); c != nil && f.before != "" {
		for id, o := range c.Info.Defs {
			if v, ok := o.(*types.Var); ok && !v.IsField() && id.Pos() > found && known(v.Type()) && is(id.Name, v.Type()) {
				name, found = id.Name, id.Pos()
			}
		}
	}
	if name != "" {
		return name
	}
	return f.newest(func(e *world.Entity) bool { return is(e.Name, e.Obj.Type()) })
}

// madeParam matches a statement that makes a parameter.
var madeParam = lazy.Regexp(`(?m)^\s*(\w+) :?= .*\.Param\(\)$`)

// params returns the variables that hold parameters, in their order.
func (f *foreign) params() []string {
	var found []*world.Entity
	f.st.All(func(e *world.Entity) {
		v, ok := f.h.Value(e)
		x, tensor := v.(interface{ IsParam() bool })
		if e.Kind == world.Var && ok && tensor && family(e.Obj.Type()) == "tensor" && x.IsParam() {
			found = append(found, e)
		}
	})
	slices.SortFunc(found, func(a, b *world.Entity) int {
		return cmp.Or(a.Cell-b.Cell, strings.Compare(a.Name, b.Name))
	})
	names := make([]string, len(found))
	for i, e := range found {
		names[i] = e.Name
	}
	for _, m := range madeParam().FindAllStringSubmatch(f.before, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// newest returns the variable of the newest cell that is of a kind.
func (f *foreign) newest(is func(e *world.Entity) bool) string {
	var found *world.Entity
	f.st.All(func(e *world.Entity) {
		if e.Kind == world.Var && (found == nil || e.Cell > found.Cell || e.Cell == found.Cell && e.Name > found.Name) && is(e) {
			found = e
		}
	})
	if found == nil {
		return ""
	}
	return found.Name
}

// checks says whether a line can be pasted: it checks in the place of the original. The line may use
// undeclared names of the original.
func (f *foreign) checks(line, original string) bool {
	if strings.HasPrefix(line, "%") {
		return true
	}
	c := f.check("func cell(){\n" + f.before + line + "\n}")
	if strings.HasPrefix(line, "type ") || declaresFunc().MatchString(line) {
		c = f.check(line)
	}
	if c == nil {
		return false
	}
	for _, err := range c.Errs {
		name, undefined := strings.CutPrefix(err.Msg, "undefined: ")
		part := strings.Contains(err.Msg, "single-value context")
		missing := !part && strings.Contains(err.Msg, "(value of type (") && strings.Contains(err.Msg, "error)") || errorLeftOut().MatchString(err.Msg) && atTop(c.Files[0], err.Pos)
		switch {
		case undefined && strings.Contains(original, name) && ForeignNames()[name] == "" && !strings.Contains(line, name+"(") && !strings.Contains(line, name+"."):
		case strings.HasSuffix(err.Msg, "is not used"), missing:
		default:
			return false
		}
	}
	return true
}

// declaresFunc matches a declaration, which cannot stand in a function.
var declaresFunc = lazy.Regexp(`^func \w`)

// atTop says whether a place is in a statement of the cell itself, not in a block.
func atTop(file *ast.File, pos token.Pos) bool {
	path, _ := astutil.PathEnclosingInterval(file, pos, pos)
	return around[*ast.BlockStmt](path) == file.Decls[len(file.Decls)-1].(*ast.FuncDecl).Body
}

// errorLeftOut matches the complaint about an assignment that leaves out an error, which a cell may.
var errorLeftOut = lazy.Regexp(`^assignment mismatch: (?:1 variable but|2 variables but .* returns 3 values)`)

// checksDeclared says whether declarations can be pasted.
func (f *foreign) checksDeclared(decls string) bool {
	c := f.check(decls)
	return c != nil && len(c.Errs) == 0
}

// check checks a file with declarations. It returns nil if the file does not parse. It leaves nothing
// in the session.
func (f *foreign) check(decl string) *Facts {
	fset := token.NewFileSet()
	file, err := notation.ParseFile(fset, "", "package "+world.PkgPath+";"+decl, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	return f.h.Check(fset, f.st, file)
}

// commented matches a value with a comment that looks like an operand: n // 2, n //= 2.
var commented = lazy.Regexp(`[\w)\]]\s*//=?\s*(\d[\d.]*|[A-Za-z_]\w*)\s*$`)

// doubt returns a note for a value whose Go means something else than the same text in a formula: n^2, n
// // 2.
func (h *Helper) doubt(x ast.Expr, t types.Type, cell string) string {
	note := ""
	ast.Inspect(x, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && note == "" && strings.Contains(cell, "^") && len(call.Args) == 1 { // x^2 of a tensor
			f, isMethod := call.Fun.(*ast.SelectorExpr)
			power, isLit := call.Args[0].(*ast.BasicLit)
			if isMethod && isLit && f.Sel.Name == "Xor" && len(power.Value) <= 2 {
				note = fmt.Sprintf("^ is exclusive or; a power is %s.Pow(%s)", types.ExprString(f.X), power.Value)
			}
		}
		b, ok := n.(*ast.BinaryExpr)
		if !ok || b.Op != token.XOR || note != "" {
			return true
		}
		power, ok := b.Y.(*ast.BasicLit)
		last := b.X // the n of 2*n^3: in a formula powers come first
		for {
			factors, ok := last.(*ast.BinaryExpr)
			if !ok {
				break
			}
			last = factors.Y
		}
		base := types.ExprString(last)
		switch {
		case !ok || power.Kind != token.INT || len(power.Value) > 2 || strings.HasPrefix(base, "0"):
			return true
		case base != "10" && base != "2":
			base = "float64(" + base + ")"
		}
		note = fmt.Sprintf("^ is exclusive or; a power is math.Pow(%s, %s)", base, power.Value)
		return true
	})
	if m := commented().FindStringSubmatch(cell); m != nil && note == "" && !strings.Contains(strings.TrimSpace(cell), "\n") {
		if e := h.World().Names[m[1]]; e != nil && e.Kind == world.Var || m[1][0] <= '9' {
			note = "// begins a comment; / divides, and integers give integers"
			if python.IsTensor(t) {
				note = fmt.Sprintf("// begins a comment; %s.FloorDiv(%s) divides and rounds down", types.ExprString(x), m[1])
			}
		}
	}
	return note
}

// NoteOf returns the note behind the value, of type t, of an expression: where a function is declared, or
// what was probably meant.
func (h *Helper) NoteOf(x ast.Expr, t types.Type, src string) string {
	if e := h.World().Names[types.ExprString(x)]; e != nil && e.Kind == world.Func {
		return h.placeOf(e)
	}
	if sel, ok := x.(*ast.SelectorExpr); ok { // x.T without its parentheses
		if e := h.World().Names[types.ExprString(sel.X)]; e != nil && e.Kind == world.Var && family(e.Obj.Type()) == "tensor" {
			return fmt.Sprintf("(a method: %s() calls it)", types.ExprString(sel))
		}
	}
	if doubt := h.doubt(x, t, src); doubt != "" {
		return "(" + doubt + ")"
	}
	return ""
}
