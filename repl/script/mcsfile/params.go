package mcsfile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

var assignment = lazy.Regexp(`(?m)^(?:([\pL_][\pL_\d]*)[ \t]*:=|var[ \t]+([\pL_][\pL_\d]*)(?:[ \t][^=,\n]*)?=)[ \t]*(.+)$`)

// Params returns the names that -p can set, with their literals: names that a cell gives a literal at the
// start of a line, as `steps := 300` or `var steps = 300`.
func (f *File) Params() map[string]string {
	params := map[string]string{}
	for _, cell := range f.Code() {
		for _, m := range assignment().FindAllStringSubmatch(cell.Source, -1) {
			if expr, err := parser.ParseExpr(strings.TrimRight(m[3], "; \t")); err == nil && isLiteral(expr) {
				params[m[1]+m[2]] = m[3]
			}
		}
	}
	return params
}

func isLiteral(expr ast.Expr) bool {
	switch e := expr.(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return e.Name == "true" || e.Name == "false"
	case *ast.UnaryExpr:
		return isLiteral(e.X)
	}
	return false
}

// ParseParams reads -p arguments of the form name=value and checks that the file has the names.
func (f *File) ParseParams(args []string) (map[string]string, error) {
	known := f.Params()
	params := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("-p %s: got no name=value", arg)
		}
		if _, ok := known[name]; !ok {
			return nil, fmt.Errorf("-p %s: %s has no parameter %s; %s", arg, f.Name, name, available(known))
		}
		params[name] = value
	}
	return params, nil
}

func available(params map[string]string) string {
	if len(params) == 0 {
		return "it has none (a parameter is a line `name := literal`)"
	}
	return "it has " + strings.Join(slices.Sorted(maps.Keys(params)), ", ")
}
