package terminal

import (
	"os"
	"path/filepath"
	"testing"
)

// The folder, the environment, aliases, and what commands print, as they are typed.
func TestShell(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for _, name := range []string{"data set/one.txt", "data set/two.txt"} {
		path := filepath.Join(h.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text of "+name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p := h.open([]string{"MY_TOKEN=hidden-value"})
	ready(p)
	p.Send("%cd data\t")
	p.See("%cd data set" + string(filepath.Separator))
	p.Send("\r")
	p.See("/data set\n")
	run(p, "files := !ls", "In [3]:")
	run(p, "files", `Out[3]: ["one.txt" "two.txt"]`)
	run(p, "text := os.ReadFile(files[0])\nstring(text)", `"text of data set/one.txt"`)
	run(p, "name := \"it's\"\n!echo {name} '{name}'", "it's it's")
	run(p, "%cd -", h.dir)
	run(p, "%alias count = !ls | wc -l", "In [8]:")
	run(p, "%alias", "%count  !ls | wc -l")
	run(p, "%env MY_TOKEN=other", "In [10]:")
	run(p, "os.Getenv(\"MY_TOKEN\")", `Out[10]: "other"`)
	ready(p)
	p.Send(`sizes := map[string]int{"layer 1": 3}` + "\r")
	p.See("In [12]:")
	p.Send("sizes[\"\t")
	p.See(`sizes["layer 1`)
	p.Send("\x03")
	leave(t, p)
}

// A terminal that understands no escape sequences cannot step through a file, and is not told to.
func TestFileInDumbTerminal(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	if err := os.WriteFile(filepath.Join(h.dir, "a.mcs"), []byte("x := 6\n// %%\nx * 7\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p := h.open([]string{"TERM=dumb"}, "a.mcs")
	p.See("a.mcs has 2 cells: %run a.mcs runs them")
	p.Send("%run a.mcs\r")
	p.See("42")
	leave(t, p)
}
