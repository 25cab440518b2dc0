package style

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A floor of the house is packages that lie side by side. The code of a floor may use itself and the floors
// below it; tests may use anything.
type floor struct {
	name string
	// packages are folders: each has what lies below it, unless another floor names a longer one.
	packages []string
	// but is what no package of the floors above may use, except these.
	but []string
}

// floors are drawn in docs/architecture.md, from the ground up.
var floors = []floor{
	{name: "words and files", packages: []string{"internal", "shaders", "engine/dtype", "engine/progress"}},
	{name: "the graph", packages: []string{"engine/internal/scope", "engine/internal/rows", "engine/internal/ir", "engine/internal/events"}},
	{name: "backends", packages: []string{"engine/internal/backend", "engine/internal/kernel", "engine/internal/msl", "engine/internal/ccall"}},
	{name: "the planner", packages: []string{"engine/internal/plan"}},
	{name: "tensors", packages: []string{"engine/device", "engine/profile", "engine/plot", "engine/tensor", "engine/internal/box", "engine/internal/access"}},
	{name: "measuring", packages: []string{"engine/bench", "engine/check"}, but: []string{"magics", "stdlib", "repl/mcs"}},
	{name: "layers and files of tensors", packages: []string{"engine/internal/host", "engine/fft", "engine/safetensors", "engine/npy", "engine/tokenizer", "engine/chat", "engine/grammar", "engine/kernel", "engine/linalg", "engine/nn", "engine/quant", "engine/optim", "engine/gguf"}},
	{name: "models and training", packages: []string{"engine", "engine/internal/pretrained"}},
	{name: "packages of cells", packages: []string{"stdlib"}},
	{name: "the session", packages: []string{"repl/cell", "repl/notation", "repl/display", "repl/journal", "repl/session", "repl/together"}},
	{name: "scripts", packages: []string{"repl/script", "repl/notebook", "repl/lesson"}},
	{name: "commands", packages: []string{"magics"}, but: []string{"repl/mcs"}},
	{name: "front ends", packages: []string{"repl/term", "repl/tuning", "repl/jupyter", "repl/runner", "repl/web", "repl/serve", "repl/grade"}, but: []string{"repl/mcs"}},
	{name: "the program", packages: []string{"repl/mcs"}, but: []string{}},
	{name: "tests", packages: []string{"tests", "examples"}, but: []string{}},
}

// session says which of the packages below a session each may import: compiling knows nothing of running, and
// running nothing of what a cell means. Those that are not named import none of the others.
var session = map[string][]string{
	"compile":   {"generic", "help", "lower", "walk", "world", "yaegi"},
	"program":   {"compile", "help", "lower", "modules", "world"},
	"supervise": {"rt", "yaegi"},
	"library":   {"rt"},
	"help":      {"walk", "world"},
	"lower":     {"rt", "walk"},
	"world":     {"walk"},
	"rt":        {"gotype"},
	"made":      {"gotype", "lower"},
	"yaegi":     {"gotype"},
}

// ofTests says whether only tests import a package: it lies in a room for them, or is the device that a flag
// of a test chooses.
func ofTests(pkg string) bool {
	return strings.Contains("/"+pkg+"/", "/internal/testing/") || strings.HasSuffix(pkg, "/devicetest")
}

// floorOf returns the number of the floor on which a package lies, -1 if none has it.
func floorOf(pkg string) int {
	at, folder := -1, ""
	for i, f := range floors {
		if l := longest(pkg, f.packages); len(l) > len(folder) {
			at, folder = i, l
		}
	}
	return at
}

// TestImports: imports run down only, from floor to floor; the engine knows no session, what measures is used
// by commands, and what is for tests by tests.
func TestImports(t *testing.T) {
	const module = "github.com/mcs-notebook/mcs/"
	seen := map[string]bool{}
	written(t, func(path, text string) {
		pkg := filepath.ToSlash(filepath.Dir(path))
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || ofTests(pkg) || strings.HasSuffix(pkg, "/gen") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		from := floorOf(pkg)
		if from < 0 {
			t.Errorf("%s lies on no floor", pkg)
			return
		}
		for _, spec := range f.Imports {
			imported, own := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module)
			if edge := pkg + " " + imported; !own || seen[edge] {
				continue
			} else {
				seen[edge] = true
			}
			inside, ok := strings.CutPrefix(pkg, "repl/session/internal/")
			other, both := strings.CutPrefix(imported, "repl/session/internal/")
			inside, _, _ = strings.Cut(inside, "/")
			other, _, _ = strings.Cut(other, "/")
			switch to := floorOf(imported); {
			case ok && (both && inside != other && !slices.Contains(session[inside], other) || imported == "repl/session"):
				t.Errorf("%s imports %s, want no more than %v of what is below a session", pkg, imported, session[inside])
			case ofTests(imported):
				t.Errorf("%s imports %s, which is for tests", pkg, imported)
			case to > from:
				t.Errorf("%s (%s) imports %s (%s), which lies above it", pkg, floors[from].name, imported, floors[to].name)
			case to < from && floors[to].but != nil && !lies(pkg, floors[to].but...):
				t.Errorf("%s imports %s, which is for %v", pkg, imported, floors[to].but)
			}
		}
	})
	if len(seen) < 400 {
		t.Errorf("saw %d imports, want those of the whole tree", len(seen))
	}
}
