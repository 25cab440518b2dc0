package compile

import (
	"go/types"
	"testing"

	"github.com/mcs-notebook/mcs/repl/session/internal/generic"
	"github.com/mcs-notebook/mcs/repl/session/internal/yaegi"
	"github.com/mcs-notebook/mcs/stdlib"
)

// Each generic function of the packages that cells can import has source, or a reason not to.
func TestGenericsHaveSource(t *testing.T) {
	in, err := yaegi.New(yaegi.Hooks{Trace: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{Interp: in})
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
			isGeneric := false
			switch o := o.(type) {
			case *types.Func:
				isGeneric = o.Signature().TypeParams().Len() > 0
			case *types.TypeName:
				n, ok := o.Type().(*types.Named)
				isGeneric = ok && n.TypeParams().Len() > 0
			}
			if !isGeneric {
				continue
			}
			p, err := s.sources.load(path)
			available := err == nil && p.decls[name] != nil
			switch reason := generic.Without[path+"."+name]; {
			case !available && reason == "":
				t.Errorf("%s.%s is generic and has no source", path, name)
			case available && reason != "":
				t.Errorf("%s.%s has source: generic.Without need not have it", path, name)
			case available:
				n++
			}
		}
	}
	t.Logf("%d generic functions have source, %d generic names have none", n, len(generic.Without))
}
