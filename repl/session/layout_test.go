package session

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// below says which of the packages below a session each may import: docs/architecture.md draws it. Compiling
// knows nothing of running, and running nothing of what a cell means.
var below = map[string][]string{
	"compile":   {"generic", "help", "lower", "world", "yaegi"},
	"program":   {"compile", "help", "lower", "world"},
	"supervise": {"rt", "yaegi"},
	"library":   {"rt"},
	"help":      {"help/cursor", "help/elsewhere", "help/python", "world"},
	"lower":     {"rt"},
	"rt":        {"gotype"},
	"made":      {"gotype", "lower"},
	"world":     nil,
	"yaegi":     nil,
}

func TestLayout(t *testing.T) {
	const path = "github.com/mcs-notebook/mcs/repl/session"
	for pkg, may := range below {
		files, err := filepath.Glob("internal/" + pkg + "/*.go")
		if err != nil || len(files) == 0 {
			t.Errorf("internal/%s: %d files, %v", pkg, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range f.Imports {
				imported := strings.Trim(spec.Path.Value, `"`)
				if own, ok := strings.CutPrefix(imported, path+"/internal/"); imported == path || ok && !slices.Contains(may, own) {
					t.Errorf("%s imports %s, want no more than %v of what is below a session", name, imported, may)
				}
			}
		}
	}
}
