package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const pageHead = `# From PyTorch

What stands here for the names of PyTorch, NumPy and MLX, and for the first of matplotlib. Typed by habit in a cell, such a name is answered with its
Go, and most lines of their tutorials with a line to paste. [quickstart](../examples/quickstart.mcs) goes through the first tutorial
of PyTorch, with its lines beside the Go.

Names without a module are functions and methods of arrays. In the Go, x, y, weight, bias and loss are tensors, index is one
of integers, mask one of bools, m is a model, p one of its parameters, opt an optimizer, ctx the context of the cell. A name with _
at its end assigns what the name without it returns: add_ is x = x.Add(y). Two texts are for fewer and for more arguments.

Made by ` + "`go generate ./repl/session/internal/help/elsewhere`" + `; do not edit.
`

// others is the section of the names that only differ in their letters' case.
const others = "The same name"

// shown returns the Go of a row as the page has it, or the remark in its place.
func shown(goText string) string {
	if remark, ok := strings.CutPrefix(goText, "// "); ok {
		return remark
	}
	return "`" + strings.ReplaceAll(goText, " | ", "`, `") + "`"
}

// page returns docs/from-pytorch.md: the rows in the sections of means.txt, and what has no equivalent.
func (t *table) page() string {
	var b strings.Builder
	b.WriteString(pageHead)
	lists := map[string][]string{} // the lines of each section
	nothing := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(t.rows)) {
		r := t.rows[key]
		if r.why != "" {
			nothing[r.why] = append(nothing[r.why], "`"+r.name+"`")
			continue
		}
		if strings.HasPrefix(r.goText, "x = ") && t.rows[strings.TrimSuffix(key, "_")].goText == strings.ReplaceAll(r.goText, "x = ", "") {
			continue // add_, which the page's head explains
		}
		section := t.sections[key]
		if section == "" {
			section = t.sections[strings.TrimSuffix(key, "_")]
		}
		if section == "" {
			section = others
		}
		lists[section] = append(lists[section], fmt.Sprintf("| `%s` | %s |", r.name, shown(r.goText)))
	}
	for _, section := range append(slices.Clone(t.order), others) {
		if len(lists[section]) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n| there | here |\n|---|---|\n%s\n", section, strings.Join(lists[section], "\n"))
		}
	}
	b.WriteString("\n## Nothing here\n")
	for _, class := range t.classes {
		list := nothing[class]
		slices.Sort(list)
		fmt.Fprintf(&b, "\n**%s**: %s.\n\n%s\n", strings.ToUpper(class[:1])+class[1:], t.reasons[class], strings.Join(list, " "))
	}
	return b.String()
}
