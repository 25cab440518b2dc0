package help

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// isTensor matches the checker's words for a tensor behind its text.
const isTensor = ` \(.* of struct type tensor\.Tensor\)`

// tensorRules are for tensors where Go wants numbers, slices or pointers.
var tensorRules = []rule{
	{lazy.Regexp(`^cannot range over (.+)` + isTensor), goOr("write for i := range $1.Len(0) { row := $1[i]; fmt.Println(row) }")},
	{lazy.Regexp(`^invalid argument: .+` + isTensor + ` cannot be ordered`), (*advisor).extreme},
	{lazy.Regexp(`^cannot use .+` + isTensor + ` as float64 value in argument to math\.(\w+)`), (*advisor).mathOfTensor},
	{lazy.Regexp(`^cannot (?:use|convert) (.+)` + isTensor + ` (?:as|to type) float64(?: value in .*)?$`), advice("write $1.Item()")},
	{lazy.Regexp(`^cannot (?:use|convert) (.+)` + isTensor + ` (?:as|to type) ` + numeric + `(?: value in .*)?$`), advice("write $2($1.Item())")},
	{lazy.Regexp(`^invalid operation: .+ \(mismatched types (?:tensor\.Tensor and (?:untyped )?string|(?:untyped )?string and tensor\.Tensor)\)`), goOr("an operand of a tensor is a number or a tensor")},
	{lazy.Regexp(`^invalid operation: (\S+) == nil \(mismatched types tensor\.Tensor`), advice("write $1.IsNone()")},
	{lazy.Regexp(`^invalid operation: (\S+) != nil \(mismatched types tensor\.Tensor`), advice("write !$1.IsNone()")},
	{lazy.Regexp(`^invalid operation: .+ \(mismatched types (?:tensor\.Tensor and \[\]\S+|\[\]\S+ and tensor\.Tensor)\)`), advice("tensor.From makes a tensor of a slice")},
	{lazy.Regexp(`^invalid operation: (\S+) ([<>]=?) (\S+) ([<>]=?) (\S+) \((?:mismatched types tensor\.Tensor|operator [<>]=? not defined on struct)`), advice("join two comparisons: ($1 $2 $3) & ($3 $4 $5)")},
}

// callAround returns the innermost call around the complaint.
func (a *advisor) callAround() *ast.CallExpr {
	for _, n := range a.path() {
		if call, ok := n.(*ast.CallExpr); ok && !(call.Lparen < a.pos && call.Rparen < a.pos) && call.Lparen < a.pos {
			return call
		}
	}
	return nil
}

// extreme writes min(x, y) of tensors.
func (a *advisor) extreme(msg string, _ []string) (string, string) {
	call := a.callAround()
	if call == nil || len(call.Args) != 2 {
		return msg, ""
	}
	method := map[string]string{"min": "Minimum", "max": "Maximum"}[types.ExprString(call.Fun)]
	x, y := call.Args[0], call.Args[1]
	if family(a.c.Info.Types[x].Type) != "tensor" {
		x, y = y, x
	}
	if method == "" || family(a.c.Info.Types[x].Type) != "tensor" {
		return msg, ""
	}
	return msg, "write " + types.ExprString(x) + "." + method + "(" + types.ExprString(y) + ")"
}

// mathOfTensor writes a function of package math as the method of a tensor, if there is one.
func (a *advisor) mathOfTensor(msg string, m []string) (string, string) {
	call := a.callAround()
	if call == nil || len(call.Args) == 0 {
		return msg, ""
	}
	t := a.c.Info.Types[call.Args[0]].Type
	if o, _, _ := types.LookupFieldOrMethod(t, false, nil, m[1]); o == nil || family(t) != "tensor" {
		return msg, ""
	}
	rest := make([]string, len(call.Args)-1)
	for i, x := range call.Args[1:] {
		rest[i] = types.ExprString(x)
	}
	return msg, "write " + types.ExprString(call.Args[0]) + "." + m[1] + "(" + strings.Join(rest, ", ") + ")"
}
