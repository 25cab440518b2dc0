package session

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"runtime"
	"strings"

	"github.com/mcs-notebook/mcs/repl/session/internal/world"
)

// boundsHint gives the length of the slice whose index was out of range, because the interpreter's panic
// leaves it out. It is known only where one line at the top of a cell indexes one variable of the session.
// The length is the variable's current one.
func (s *Session) boundsHint(e *PanicError) string {
	if _, fault := e.Value.(runtime.Error); !fault || !strings.HasSuffix(e.text, "out of range") || e.Diag == nil || e.Diag.Cell == 0 || len(e.Frames) > 1 || len(e.Frames) == 1 && e.Frames[0].Func != "" {
		return ""
	}
	name, ok := onlyIndexed(e.Diag.Source)
	if !ok || localIn(s.source(e.Diag.Cell), name) {
		return ""
	}
	entity := s.compiler.World.Names[name]
	if entity == nil || entity.Kind != world.Var {
		return ""
	}
	v := reflect.ValueOf(first(s.value(entity)))
	for v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return ""
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		return fmt.Sprintf("%s has length %d", name, v.Len())
	case reflect.String:
		return fmt.Sprintf("%s has %d bytes", name, v.Len())
	}
	return ""
}

func first(v any, _ bool) any { return v }

// onlyIndexed returns the name of the only variable that a line of Go indexes or slices.
func onlyIndexed(line string) (name string, ok bool) {
	line = strings.TrimSuffix(strings.TrimSpace(line), "{")
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p;func _(){"+line+"\n}", parser.SkipObjectResolution)
	if err != nil {
		return "", false
	}
	indexed := map[string]bool{}
	simple := true
	ast.Inspect(f, func(n ast.Node) bool {
		var x ast.Expr
		switch n := n.(type) {
		case *ast.IndexExpr:
			x = n.X
		case *ast.SliceExpr:
			x = n.X
		case *ast.FuncLit:
			simple = false
		}
		if x != nil {
			id, isName := x.(*ast.Ident)
			if simple = simple && isName; isName {
				name = id.Name
				indexed[name] = true
			}
		}
		return true
	})
	return name, simple && len(indexed) == 1
}

// localIn says whether a cell may declare a name inside of a block, where it hides the session's variable.
func localIn(cell, name string) bool {
	declared := regexp.MustCompile(`(?m)^(.*)\b` + regexp.QuoteMeta(name) + `\b[\w, ]*(?::=| [\w\[\]*.]+ =)`)
	for _, m := range declared.FindAllStringSubmatch(cell, -1) {
		if strings.TrimLeft(m[1], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_,") != "" {
			return true
		}
	}
	return false
}
