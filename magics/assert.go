package magics

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/internal/units"
)

// holds checks the condition of an -assert flag, for example "launches <= 3 && copies == 0", against a
// recording. The empty condition holds.
func (c *call) holds(condition string, r *profile.Recording) error {
	if condition == "" {
		return nil
	}
	counts := map[string]int64{
		"launches": int64(r.Launches), "kernels": int64(len(r.Kernels)), "copies": int64(r.Copies), "plans": int64(r.PlansBuilt),
		"bytes": r.Bytes(), "flops": r.Flops(),
	}
	if r.Uncounted() {
		delete(counts, "flops")
	}
	var used []string
	v, err := evaluate(condition, func(name string) (constant.Value, bool) {
		n, ok := counts[name]
		if said := fmt.Sprintf("%s is %s", name, units.Int(n)); ok && !slices.Contains(used, said) {
			used = append(used, said)
		}
		return constant.MakeInt64(n), ok
	}, slices.Sorted(maps.Keys(counts)))
	if err != nil {
		return c.errorf("-assert: %w", err)
	}
	if v.Kind() != constant.Bool {
		return c.errorf("-assert: got %s, want a condition such as launches <= 3", condition)
	}
	if !constant.BoolVal(v) {
		return c.errorf("%s does not hold: %s", condition, strings.Join(used, ", "))
	}
	return nil
}

// evaluate computes an expression of numbers and names in Go's syntax.
func evaluate(text string, value func(name string) (constant.Value, bool), names []string) (v constant.Value, err error) {
	e, err := parser.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("got %q, want a condition such as launches <= 3", text)
	}
	defer func() {
		if recover() != nil { // go/constant panics for "3 && launches"
			err = fmt.Errorf("got %q, whose parts do not go together", text)
		}
	}()
	var of func(e ast.Expr) constant.Value
	of = func(e ast.Expr) constant.Value {
		switch e := e.(type) {
		case *ast.ParenExpr:
			return of(e.X)
		case *ast.BasicLit:
			return constant.MakeFromLiteral(e.Value, e.Kind, 0)
		case *ast.UnaryExpr:
			return constant.UnaryOp(e.Op, of(e.X), 0)
		case *ast.BinaryExpr:
			x, y := of(e.X), of(e.Y)
			switch e.Op {
			case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				return constant.MakeBool(constant.Compare(x, e.Op, y))
			}
			return constant.BinaryOp(x, e.Op, y)
		case *ast.Ident:
			if v, ok := value(e.Name); ok {
				return v
			}
			err = fmt.Errorf("no count is called %s; there are %s", e.Name, strings.Join(names, ", "))
		}
		return constant.MakeUnknown()
	}
	v = of(e)
	if err == nil && v.Kind() == constant.Unknown {
		err = fmt.Errorf("got %q, want a condition such as launches <= 3", text)
	}
	return v, err
}
