package help

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session/internal/help/python"
	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// Divisions finds the divisions of two integer constants that leave a rest, where a float or a tensor takes
// what is left of them, or where nothing is left of them: 1/2*x, math.Pow(2, 1/2), lr := 1/10. It looks at
// what is said to be own.
func Divisions(f *Facts, own func(pos token.Pos) bool) (list []string) {
	for _, file := range f.Files {
		var above []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				above = above[:len(above)-1]
				return true
			}
			if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.QUO && own(b.OpPos) {
				if text := f.division(b, above); text != "" && !slices.Contains(list, text) {
					list = append(list, text)
				}
			}
			above = append(above, n)
			return true
		})
	}
	return list
}

// division returns the notice of a division below other nodes, or "".
func (f *Facts) division(n *ast.BinaryExpr, above []ast.Node) string {
	a, b := f.Info.Types[n.X], f.Info.Types[n.Y]
	if !isInteger(a) || !isInteger(b) || constant.Sign(b.Value) == 0 {
		return ""
	}
	x, y := constant.ToInt(a.Value), constant.ToInt(b.Value)
	quotient := constant.BinaryOp(x, token.QUO_ASSIGN, y)
	if constant.Sign(constant.BinaryOp(x, token.REM, y)) == 0 || constant.Sign(quotient) != 0 && !f.wantsFraction(n, above) {
		return ""
	}
	left, right := types.ExprString(n.X), types.ExprString(n.Y)
	fraction := left + ".0"
	if lit, ok := n.X.(*ast.BasicLit); !ok || lit.Kind != token.INT || len(left) > 1 && left[0] == '0' {
		fraction = "float64(" + left + ")"
	}
	return fmt.Sprintf("%s / %s is %s, as Go divides integer constants; %s / %s is a fraction", left, right, quotient, fraction, right)
}

func isInteger(v types.TypeAndValue) bool {
	return v.Value != nil && hasInfo(v.Type, types.IsInteger) && constant.ToInt(v.Value).Kind() == constant.Int
}

func hasInfo(t types.Type, info types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&info != 0
}

// wantsFraction says whether a float, or a call that makes a tensor, takes the value of the constant that n
// is a part of.
func (f *Facts) wantsFraction(n ast.Expr, above []ast.Node) bool {
	for _, a := range slices.Backward(above) {
		up, ok := a.(ast.Expr)
		if !ok {
			break
		}
		if call, ok := up.(*ast.CallExpr); ok && n != call.Fun && python.IsTensor(f.Info.Types[call].Type) {
			return true
		}
		if f.Info.Types[up].Value == nil || hasInfo(f.Info.Types[up].Type, types.IsBoolean) {
			break
		}
		n = up
	}
	return hasInfo(f.Info.Types[n].Type, types.IsFloat|types.IsComplex)
}

// operandOnly matches a comment that looks like the right operand of a division: // 2.
var operandOnly = lazy.Regexp(`^//\s*(\d[\d.]*|[A-Za-z_]\w*)$`)

// CommentedDivisions finds, behind assignments of tensors or numbers, a comment that looks like a division.
// Of a comment behind an expression the note behind its value speaks.
func (h *Helper) CommentedDivisions(src string) (list []string) {
	if !strings.Contains(src, "/") {
		return nil
	}
	var line []cell.Token
	made := map[string]bool{} // names that the cell declares: the session may have others
	for _, t := range cell.Scan(src) {
		line = append(line, t)
		if t.Ends() || t.Tok == token.COMMENT {
			if text := h.commentedDivision(src, line, made); text != "" {
				list = append(list, text)
			}
			for i, t := range line {
				if t.Tok == token.DEFINE {
					for _, name := range line[:i] {
						made[name.Text(src)] = true
					}
				}
			}
			line = line[:0]
		}
	}
	return list
}

func (h *Helper) commentedDivision(src string, line []cell.Token, made map[string]bool) string {
	code, last := cell.Code(line), line[len(line)-1]
	tensor, number, from := "", false, 0 // where what is assigned begins
	for i, t := range code {
		name := t.Text(src)
		switch e := h.World().Names[name]; {
		case t.Tok.Precedence() == token.LowestPrec && strings.HasSuffix(t.Tok.String(), "="):
			number, from = false, i+1
		case t.Tok != token.IDENT || made[name] || i > 0 && code[i-1].Tok == token.PERIOD:
		case e == nil:
			number = number || name == "len"
		case e.Kind == world.Var && family(e.Obj.Type()) == "tensor":
			tensor = name
		case e.Kind == world.Var && family(e.Obj.Type()) == "number":
			number = true
		}
	}
	m := operandOnly().FindStringSubmatch(strings.TrimSpace(last.Text(src)))
	if m == nil || last.Tok != token.COMMENT || from == 0 || len(code) == 0 {
		return ""
	}
	if len(code) == from+1 && code[from].Tok == token.INT { // beside others the comment may be the value
		number = number || code[from].Text(src)[0] != '0'
	}
	way := "/ divides, and integers give integers"
	if tensor != "" {
		way = fmt.Sprintf("%s.FloorDiv(%s) divides and rounds down", tensor, m[1])
	} else if !number {
		return ""
	}
	if e := h.World().Names[m[1]]; m[1][0] <= '9' || e != nil && e.Kind == world.Var {
		return fmt.Sprintf("%s is a comment, so nothing was divided; %s", last.Text(src), way)
	}
	return ""
}
