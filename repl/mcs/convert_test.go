package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const converted = `// %% [markdown]
// # A <title>

// %% doubled
x := tensor.Range(4).Reshape(2, 2)
x
// > i64[2 2] cpu 32 B
// > ...

// %%
fmt.Println("printed", 1.5)
2.5
// > printed 1.5
// > 2.500[~1e-2] float64
`

// A file becomes every other kind, and a notebook is run and tested as a file is.
func TestConvert(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"a.mcs": converted, "broken.ipynb": `{"cells": [`, "old.ipynb": `{"nbformat": 3}`})
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"convert a.mcs a.ipynb", 0, "a.ipynb: 3 cells"},
		{"convert a.mcs a.ipynb", 2, "a.ipynb exists; -f replaces it"},
		{"convert -f a.ipynb b.mcs", 0, "b.mcs: 3 cells"},
		{"convert a.mcs a.txt", 2, "got a.txt, want a name that ends in .mcs, .ipynb, .md, .html or .go"},
		{"convert broken.ipynb c.mcs", 2, "broken.ipynb: got no notebook"},
		{"convert old.ipynb c.mcs", 2, "got nbformat 3, want 4"},
		{"convert nothing.ipynb c.mcs", 2, "nothing.ipynb"},
		{"convert a.mcs a.md", 0, ""}, {"convert a.mcs a.html", 0, ""}, {"convert a.mcs a.go", 0, ""},
		{"run a.ipynb", 0, "printed 1.5\n2.5 float64"},
		{"test a.ipynb", 0, "ok    a.ipynb  2 cells"},
		{"run old.ipynb", 2, "got nbformat 3"},
		{"fmt a.ipynb", 2, "want a .mcs or .go file"},
		{"run a.mcs -o a.txt", 2, "want a name that ends in .html, .md or .ipynb"},
	} {
		stdout, stderr, code := mcs(t, dir, "", strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: got %d %s%s, want %d and %s", c.args, code, stdout, stderr, c.code, c.want)
		}
	}
	for name, want := range map[string][]string{
		"b.mcs":  {converted},
		"a.md":   {"# A <title>\n\n*doubled*\n\n```go\nx := ", "```\nprinted 1.5\n"},
		"a.go":   {"package main", `fmt.Println("printed", 1.5)`},
		"a.html": {"prefers-color-scheme: dark", "<button>copy</button>", "base-uri 'none'; form-action 'none'", `<span class="s">&#34;printed&#34;</span>`},
	} {
		text := fileText(t, dir, name)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %s in\n%s", name, part, text)
			}
		}
	}
	if fileText(t, dir, "b.mcs") != converted {
		t.Error("b.mcs is not a.mcs")
	}
}

// A cell of a notebook that puts out something else fails its test, and -u writes what it puts out, where
// everything else stays.
func TestNotebookIsTested(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"a.ipynb": `{"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"file_extension": ".mcs"}}, "cells": [
{"cell_type": "code", "id": "one", "metadata": {"tags": ["t"]}, "execution_count": 1, "source": ["1 + 1"], "outputs": [{"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": ["3"]}}]},
{"cell_type": "code", "id": "two", "metadata": {}, "execution_count": 2, "source": ["5"], "outputs": [{"output_type": "execute_result", "execution_count": 2, "metadata": {}, "data": {"text/plain": ["5"]}}]}]}`})
	if out, _, code := mcs(t, dir, "", "test", "a.ipynb"); code != exitFailed || !strings.Contains(out, "a.ipynb: cell 1: output differs") || !strings.Contains(out, "+ 2") {
		t.Errorf("got %d %s", code, out)
	}
	if out, _, code := mcs(t, dir, "", "test", "-u", "a.ipynb"); code != 0 || !strings.Contains(out, "a.ipynb: cell 1: updated") {
		t.Errorf("-u: got %d %s", code, out)
	}
	text := fileText(t, dir, "a.ipynb")
	for _, part := range []string{`"id": "one"`, `"tags"`, `"2\n"`, `"id": "two"`, `"text/plain"`} {
		if !strings.Contains(text, part) {
			t.Errorf("-u: no %s in\n%s", part, text)
		}
	}
	if out, _, code := mcs(t, dir, "", "test", "a.ipynb"); code != 0 {
		t.Errorf("after -u: got %d %s", code, out)
	}
}

// A run is reported as a page and as a notebook: with pictures, and with the error that ended it.
func TestReports(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"a.mcs": "// %%\nfmt.Println(\"before\")\nplot.Line([]float64{1, 2, 4})\n// %%\n[]struct{ A int }{{1}, {2}}\n// %%\npanic(\"<no>\")\n// %%\n1\n"})
	for name, want := range map[string][]string{
		"r.html":  {"data:image/svg+xml;base64,", "<table>", "&lt;no&gt;", "before"},
		"r.ipynb": {`"image/png"`, `"text/html"`, `"output_type": "error"`, `"execution_count": 2`, `"before\n"`},
		"r.md":    {"before", "<no>"},
	} {
		stdout, stderr, code := mcs(t, dir, "", "run", "a.mcs", "-o", name)
		if code != exitFailed || !strings.Contains(stdout, "before\n") || !strings.Contains(stderr, "<no>") {
			t.Errorf("%s: got %d %s%s", name, code, stdout, stderr)
		}
		text := fileText(t, dir, name)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: no %s in\n%.3000s", name, part, text)
			}
		}
	}
	if _, stderr, code := mcs(t, writeFiles(t, map[string]string{"p.mcs": "n := 1\nn\n"}), "", "run", "p.mcs", "-p", "n=1,2", "-o", "r.html"); code != exitUsage || !strings.Contains(stderr, "a report is of one run") {
		t.Errorf("several values: got %d %s", code, stderr)
	}
}

func fileText(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
