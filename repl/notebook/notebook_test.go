package notebook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// files are all .mcs files of the repository's examples and tests.
func files(t *testing.T) (list []string) {
	t.Helper()
	for _, pattern := range []string{"../../examples/*.mcs", "../../magics/testdata/*.mcs", "../../docs/guide/*.mcs"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	if len(list) < 20 {
		t.Fatalf("found %d files, want those of examples and commands", len(list))
	}
	return list
}

// back is a file that was a notebook, as text, in between.
func back(t *testing.T, text string) string {
	t.Helper()
	nb, err := Parse("nb", FromFile(mcsfile.Parse("f", text)).Format())
	if err != nil {
		t.Fatal(err)
	}
	return nb.File()
}

// A file that becomes a notebook and comes back is the same, byte for byte.
func TestFilesComeBack(t *testing.T) {
	texts := map[string]string{
		"nothing": "", "no mark": "x := 1\nx\n", "no line end": "// %%\nx", "blank lines": "\n\n// %% a title\n\n\nx := 1\n\n\n// %%\n\ny\n\n",
		"line ends of Windows": "// %%\r\nx\r\n// > 1\r\n", "mixed line ends": "// %%\r\nx\n", "a byte order mark": "\ufeff// %%\nx\n",
		"expecting nothing": "// %%\nx;\n// >\n", "limits": "// %% slow timeout=5s\nx\n// > [number]\n", "no mark after output": "x\n// > 1\ny\n// > 2\nz\n",
		"markdown": "//%%[md]\n// # T\n//\n//\ttab\n//x\n// %% [markdown] named\ntext without slashes\n", "an empty mark": "// %%\n// %% b\nx\n// %%\n",
		"blanks at ends": "// %%  \nx := 1  \nx\t\n// > 1  \n", "a mark in a string": "// %%\ns := `\n// %%%\n`\n", "HTML": "// %%\n\"<&>\"\n// > \"<&>\"\n",
	}
	for _, name := range files(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		if got := back(t, text); got != text {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, text)
		}
	}
}

// A notebook of any kernel keeps names, metadata, attachments, outputs and cells without text.
const foreign = `{"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "gonb", "language": "go", "display_name": "Go"}, "x": 1.50}, "cells": [
{"cell_type": "markdown", "id": "m1", "metadata": {"tags": ["a"]}, "source": ["# T\n", "\n", "![p](attachment:p.png)\n"], "attachments": {"p.png": {"image/png": "aGk="}}},
{"cell_type": "code", "id": "c1", "metadata": {"collapsed": true}, "execution_count": 7, "source": "\nx := 1\nx\n", "outputs": [
  {"output_type": "execute_result", "execution_count": 7, "metadata": {}, "data": {"text/plain": ["1"], "image/png": "aGk="}},
  {"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]}]},
{"cell_type": "code", "id": "e1", "metadata": {}, "execution_count": null, "source": [], "outputs": []},
{"cell_type": "raw", "id": "r1", "metadata": {"format": "text/latex"}, "source": ["\\LaTeX"]},
{"cell_type": "code", "id": "c2", "metadata": {}, "execution_count": null, "source": ["// %% a mark\n", "// > output?"], "outputs": []},
{"cell_type": "code", "id": "e2", "metadata": {"last": true}, "execution_count": null, "source": [" "], "outputs": []}]}`

func TestNotebooksComeBack(t *testing.T) {
	nb, err := Parse("nb", []byte(foreign))
	if err != nil {
		t.Fatal(err)
	}
	want := string(nb.Format())
	text := nb.File()
	f := mcsfile.Parse("f", text)
	if got := string(FromFile(f).Format()); got != want {
		t.Errorf("got\n%s\nwant\n%s\nthe file\n%s", got, want, text)
	}
	if f.Cells[1].Checked {
		t.Error("output of another kernel is expected of this one")
	}
	edited := strings.Replace(text, "x := 1", "x := 2", 1)
	changed := FromFile(mcsfile.Parse("f", edited))
	if len(changed.Cells) != len(nb.Cells) || changed.Cells[0].ID != "m1" || changed.Cells[1].ID == "c1" || len(changed.Cells[1].Outputs) > 0 || changed.Cells[4].ID != "c2" {
		t.Errorf("a cell that was changed: got\n%s", changed.Format())
	}
}

// Output of this kernel is expected, as text, and what has changed in the file is new output.
func TestExpectedOutput(t *testing.T) {
	nb, err := Parse("nb", []byte(strings.Replace(foreign, `"x": 1.50`, `"language_info": {"name": "go", "file_extension": ".mcs"}`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	text := nb.File()
	c := mcsfile.Parse("f", text).Cells[1]
	if !c.Checked || strings.Join(c.Want, "|") != "1|a|b" {
		t.Errorf("got %q", c.Want)
	}
	same := FromFile(mcsfile.Parse("f", text)).Cells[1]
	other := FromFile(mcsfile.Parse("f", strings.Replace(text, "// > 1", "// > 2", 1))).Cells[1]
	if len(same.Outputs) != 2 || len(other.Outputs) != 1 || other.ID != "c1" || !strings.HasPrefix(outputText(other.Outputs[0]), "2\n") {
		t.Errorf("got %v and %v", same.Outputs, other.Outputs)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, err string }{
		{"", "got no notebook"},
		{"{", "got no notebook"},
		{`{"nbformat": 3, "worksheets": []}`, "got nbformat 3, want 4"},
		{`{"nbformat": 4}`, "it has no cells"},
		{`{"nbformat": 4, "cells": [{"cell_type": "heading", "source": ""}]}`, `cell 1: got cell_type "heading"`},
		{`{"nbformat": 4, "cells": [{"cell_type": "code", "source": 5}]}`, "neither a string nor a list"},
		{`{"nbformat": 4, "cells": [{"cell_type": "code", "source": "x", "outputs": [1]}]}`, "no object"},
		{`{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}`, "no string"},
	} {
		if _, err := Parse("a.ipynb", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "a.ipynb: ") {
			t.Errorf("%s: got %v, want %s", c.text, err, c.err)
		}
	}
}

// Cells that have moved are as many as they were, whatever lines stood between them.
func TestMovedCells(t *testing.T) {
	nb := FromFile(mcsfile.Parse("f", "x := 1\nx\n// > 1\ny\n"))
	nb.Cells = append([]Cell{{Kind: "code", ID: "new", Source: "z := 3"}}, nb.Cells...)
	if got, want := nb.Lines(), "// %%\nz := 3\n\n// %%\nx := 1\nx\n// > 1\n\n// %%\ny\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
