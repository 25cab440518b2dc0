package style

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// textOf joins the files that a pattern names, seen from the root.
func textOf(t *testing.T, patterns ...string) string {
	var b strings.Builder
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(text)
		}
	}
	return b.String()
}

// submatches are the parts in brackets of what an expression finds in a text.
func submatches(text, expression string) (list []string) {
	for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestPlaces: a backend and a vector function are in all the places that CONTRIBUTING.md lists. Package ir
// has the same of an op, llm of a family of models, lora of a kind of adapter, magics of a command.
func TestPlaces(t *testing.T) {
	exists := func(what, path string) {
		if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(path))); err != nil {
			t.Errorf("%s: no %s", what, path)
		}
	}
	devices := textOf(t, "docs/devices.md")
	backends := submatches(textOf(t, "engine/internal/backend/all/*.go"), `engine/internal/backend/(\w+)"`)
	for _, name := range backends {
		what := "backend " + name
		if name != "metal" { // no Mac has run it
			exists(what, "engine/internal/testing/backendtest/record/"+name+".txt")
		}
		if tests, _ := filepath.Glob(filepath.Join("..", "..", "engine", "internal", "backend", name, "*_test.go")); len(tests) == 0 {
			t.Errorf("%s has no tests", what)
		}
		if !strings.Contains(devices, "`"+name) {
			t.Errorf("docs/devices.md does not name the %s", what)
		}
	}

	const vec = "engine/internal/backend/cpu/vec/"
	ids, _, _ := strings.Cut(textOf(t, vec+"vec.go"), "\n)")
	functions := submatches(ids, `(?m)^	([A-Z]\w*)(?: ID = iota)?(?: //.*)?$`)
	for file, text := range map[string]string{"portable*.go": textOf(t, vec+"portable*.go"), "gen/*.go": textOf(t, vec+"gen/*.go")} {
		words := regexp.MustCompile(`\w+`).FindAllString(text, -1)
		for _, name := range functions {
			if !slices.Contains(words, name) && name != "NumIDs" && name != "Pow" { // Pow is made of others
				t.Errorf("vector function %s: not in %s", name, vec+file)
			}
		}
	}
	if len(backends) < 4 || len(functions) < 30 {
		t.Errorf("found %d backends and %d vector functions, want all", len(backends), len(functions))
	}
}
