package session

import (
	"go/types"
	"testing"

	"github.com/mcs-notebook/mcs/stdlib"
)

// withoutSource are the generic functions and types of the standard library that cells cannot use, with the
// reason.
var withoutSource = map[string]string{
	"hash/maphash.Comparable":      "it hashes memory as the compiler lays it out",
	"hash/maphash.WriteComparable": "it hashes memory as the compiler lays it out",
	"iter.Seq":                     "it needs none: a sequence is written as the function that it is",
	"iter.Seq2":                    "it needs none: a sequence is written as the function that it is",
	"runtime.AddCleanup":           "values of cells live as long as the interpreter keeps them",
}

// Each generic function of the packages that cells can import has source, or a reason not to.
func TestGenericsHaveSource(t *testing.T) {
	s, _ := newSession(t, Options{})
	n := 0
	for _, path := range stdlib.Paths() {
		pkg, err := s.importer.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			o := pkg.Scope().Lookup(name)
			if !o.Exported() {
				continue
			}
			generic := false
			switch o := o.(type) {
			case *types.Func:
				generic = o.Signature().TypeParams().Len() > 0
			case *types.TypeName:
				n, ok := o.Type().(*types.Named)
				generic = ok && n.TypeParams().Len() > 0
			}
			if !generic {
				continue
			}
			p, err := s.sources.load(path)
			available := err == nil && p.decls[name] != nil
			switch reason := withoutSource[path+"."+name]; {
			case !available && reason == "":
				t.Errorf("%s.%s is generic and has no source", path, name)
			case available && reason != "":
				t.Errorf("%s.%s has source: withoutSource need not have it", path, name)
			case available:
				n++
			}
		}
	}
	t.Logf("%d generic functions have source, %d generic names have none", n, len(withoutSource))
}
