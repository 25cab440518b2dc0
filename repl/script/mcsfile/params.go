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

// Combinations reads -p arguments whose values may be lists, lr=1e-3,1e-4, and returns every combination of
// the values as such arguments. The first name changes slowest. A comma within brackets, or in a value in
// quotes, separates nothing; such quotes are left out.
func Combinations(args []string) ([][]string, error) {
	var names []string
	values := map[string][]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("-p %s: got no name=value", arg)
		}
		list := splitValues(value)
		if len(list) > 1 && slices.Contains(list, "") {
			return nil, fmt.Errorf("-p %s: got an empty value among others", arg)
		}
		if values[name] == nil {
			names = append(names, name)
		}
		values[name] = list
	}
	all := [][]string{nil}
	for _, name := range names {
		var more [][]string
		for _, before := range all {
			for _, v := range values[name] {
				more = append(more, append(slices.Clip(before), name+"="+v))
			}
		}
		all = more
	}
	return all, nil
}

// splitValues splits a list at its commas.
func splitValues(text string) (list []string) {
	quote, depth, start, kept := rune(0), 0, 0, false
	add := func(end int) {
		v := text[start:end]
		if n := len(v); kept && n > 1 && v[0] == v[n-1] && strings.Contains("\"'`", v[:1]) {
			v = v[1 : n-1]
		}
		list, kept = append(list, v), false
	}
	for i, r := range text {
		switch {
		case quote != 0:
			kept = kept || r == ','
			if r == quote {
				quote = 0
			}
		case i == start && strings.ContainsRune("\"'`", r) && strings.ContainsRune(text[i+1:], r):
			quote = r
		case strings.ContainsRune("([{", r):
			depth++
		case strings.ContainsRune(")]}", r):
			depth--
		case r == ',' && depth <= 0:
			add(i)
			start = i + 1
		}
	}
	add(len(text))
	return list
}

func available(params map[string]string) string {
	if len(params) == 0 {
		return "it has none (a parameter is a line `name := literal`)"
	}
	return "it has " + strings.Join(slices.Sorted(maps.Keys(params)), ", ")
}
