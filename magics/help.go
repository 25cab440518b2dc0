package magics

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/repl/display"
)

func runHelp(_ context.Context, c *call) (display.Value, error) {
	name := strings.TrimLeft(strings.TrimSpace(c.rest), "%")
	if name == "" {
		return overview(c.table), nil
	}
	m := c.table.lookup(name)
	if m == nil {
		return nil, c.table.unknown(name, "")
	}
	return manual{m}, nil
}

// overview lists what people type most, and then all magics by family.
func overview(all Table) display.Value {
	most := display.NewTable("typed most", "~does")
	for _, h := range said().Typed {
		most.Add(display.Cell{Text: h[0], Role: display.Name}, h[1])
	}
	return values{most, display.Text(""), commands(all)}
}

func commands(all Table) *display.Table {
	t := display.NewTable("command", "~does")
	for _, m := range all.rows() {
		usage := m.sign()
		if m.Args != "" {
			usage = strings.TrimSuffix(m.sign()+" "+m.Args, " ")
		}
		if m.Name == "!" || m.Name == ":=!" {
			usage = m.usage()
		}
		t.Add(display.Cell{Text: usage, Role: display.Name}, m.Summary)
	}
	t.Foot = "%help NAME says more · name? explains Go names · %%name takes a whole cell where that makes sense"
	return t
}

// A manual is the long help of one magic.
type manual struct{ *Magic }

// flagColumn is where the explanations of flags begin on a screen that has room for that.
const flagColumn = 19

// Text writes the manual for a screen.
func (m manual) Text(width int) string {
	width = lines.Columns(width)
	lines := display.Wrap(m.usage(), width, 4)
	add := func(text string, hang int) { lines = append(lines, display.Wrap(text, width, hang)...) }
	add("    "+m.Summary, 0)
	if m.Cell {
		add("%"+m.sign(), 0)
		add("    the same for all lines of the cell below", 0)
	}
	if len(m.Flags) > 0 {
		lines = append(lines, "")
	}
	for _, f := range m.Flags {
		help := f.Help
		if f.Default != "" {
			help += " (default " + f.Default + ")"
		}
		if usage := fmt.Sprintf("  %-16s", f.usage()); width >= 3*flagColumn && len(usage) < flagColumn {
			explained := display.Wrap(help, width-flagColumn, 0)
			add(usage+" "+explained[0], 0)
			for _, line := range explained[1:] {
				lines = append(lines, strings.Repeat(" ", flagColumn)+line)
			}
			continue
		}
		add("  "+f.usage(), 2)
		add("      "+help, 0)
	}
	if m.Help != "" {
		lines = append(lines, "")
		add(display.Reflow(m.Help), 0)
	}
	if m.Example != "" {
		lines = append(lines, "")
		for line := range strings.SplitSeq(m.Example, "\n") {
			add("    "+line, 4)
		}
	}
	return strings.Join(lines, "\n")
}
