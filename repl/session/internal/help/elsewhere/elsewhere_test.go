package elsewhere

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tensor/methods"
)

const pageFile = "../../../../../docs/from-pytorch.md"

var write = flag.Bool("write", false, "write docs/from-pytorch.md")

// A row is a name of the table in a section, with its Go or the reason why there is none.
type row struct{ Section, Name, Key, Go string }

// rows returns the table. A class of reasons is a row whose name begins with an exclamation mark.
func rows() (list []row) {
	section := ""
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		names, goText, ok := strings.Cut(line, "\t")
		switch {
		case strings.HasPrefix(line, "## "):
			section = line[len("## "):]
		case ok && names[0] == '!':
			list = append(list, row{section, names, names, goText})
		case ok:
			for name := range strings.FieldsSeq(names) {
				list = append(list, row{section, name, keyOf(name, goText), goText})
			}
		}
	}
	return list
}

func TestPageIsCurrent(t *testing.T) {
	if *write {
		if err := os.WriteFile(pageFile, []byte(page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(pageFile); err != nil || string(got) != page() {
		t.Errorf("%s is not current (%v): run go generate ./repl/session/internal/help/elsewhere", pageFile, err)
	}
}

const pageHead = `# From PyTorch

What stands here for the names of PyTorch, NumPy and MLX, and for the first of matplotlib. Typed by habit in a cell, such a name is answered with its
Go, and most lines of their tutorials with a line to paste. [quickstart](../examples/quickstart.mcs) goes through the first tutorial
of PyTorch, with its lines beside the Go.

Names without a module are functions and methods of arrays. In the Go, x, y, weight, bias and loss are tensors, index is one
of integers, mask one of bools, m is a model, p one of its parameters, opt an optimizer, ctx the context of the cell. A name with _
at its end assigns what the name without it returns: add_ is x = x.Add(y). Two texts are for fewer and for more arguments.

Made by ` + "`go generate ./repl/session/internal/help/elsewhere`" + `; do not edit.
`

// page returns docs/from-pytorch.md: the sections of the table, in each the names in their order.
func page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	section := ""
	for rows := rows(); len(rows) > 0; {
		r, n := rows[0], 1
		for n < len(rows) && rows[n].Section == r.Section && class(rows[n]) == class(r) {
			n++
		}
		list := rows[:n]
		rows = rows[n:]
		slices.SortFunc(list, func(a, b row) int { return cmp.Compare(a.Key, b.Key) })
		if r.Section != section {
			section = r.Section
			fmt.Fprintf(&b, "\n## %s\n", section)
		}
		switch class(r) {
		case "":
			b.WriteString("\n| there | here |\n|---|---|\n")
			for _, r := range list {
				fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name, shown(r.Go))
			}
		case "!":
			fmt.Fprintf(&b, "\n**%s**: %s.\n\n", strings.ToUpper(r.Name[1:2])+r.Name[2:], r.Go)
		default:
			slices.SortFunc(list, func(a, b row) int { return cmp.Compare(a.Name, b.Name) })
			before := "`"
			for _, r := range list {
				b.WriteString(before + r.Name + "`")
				before = " `"
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// class is that of the reason why a name has nothing, "!" of a row that says it, and "" of a name that has
// Go.
func class(r row) string {
	switch {
	case r.Go[0] == '!':
		return r.Go
	case r.Name[0] == '!':
		return "!"
	}
	return ""
}

// shown returns the Go of a row as the page has it, or the remark in its place.
func shown(goText string) string {
	if remark, ok := strings.CutPrefix(goText, "// "); ok {
		return remark
	}
	return "`" + strings.ReplaceAll(goText, " | ", "`, `") + "`"
}

// Each public name of the other libraries has its Go, or the reason why nothing stands for it. The table has
// each name and each reason once.
func TestEachNameIsAnswered(t *testing.T) {
	names, err := os.ReadFile("names.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(names)) {
		module, list, _ := strings.Cut(strings.TrimSpace(line), ":")
		for name := range strings.FieldsSeq(list) {
			n++
			if Lookup(module, name) == "" {
				t.Errorf("%s.%s: table.txt has no Go and no reason why there is none", module, name)
			}
		}
	}
	if n < 1900 {
		t.Errorf("there are %d names, want at least 1900", n)
	}
	seen, said := map[string]bool{}, map[string]bool{}
	for _, r := range rows() {
		if seen[r.Key] && r.Go[0] != '!' {
			t.Errorf("table.txt: %s stands there twice", r.Name)
		}
		seen[r.Key], said[r.Go] = true, true
		if r.Go[0] == '!' && !seen[r.Go] {
			t.Errorf("table.txt: %s: there is no reason %s above it", r.Name, r.Go)
		}
	}
	for key := range seen {
		if key[0] == '!' && !said[key] {
			t.Errorf("table.txt: nothing has the reason %s", key)
		}
	}
}

// A function that tensors have is the answer to its name: mathematics means the same everywhere.
func TestFunctionsAnswerTheirNames(t *testing.T) {
	has := map[string]string{}
	for _, g := range methods.Groups {
		if g.Title != "arithmetic" && g.Title != "functions" && g.Title != "sort and accumulate" {
			continue
		}
		for _, m := range g.Names {
			has[strings.ToLower(m)] = m
		}
	}
	for _, r := range rows() {
		name := strings.ReplaceAll(r.Name[strings.LastIndexByte(r.Name, '.')+1:], "_", "")
		if m := has[name]; m != "" && !strings.Contains(r.Go, "."+m+"(") {
			t.Errorf("table.txt: %s: got %s, want x.%s(…), which tensors have", r.Name, r.Go, m)
		}
	}
}
