package magics

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/repl/display"
)

func helpMagics() []*Magic {
	return []*Magic{{
		Name: "help", Family: "Help", Session: true, Args: "[COMMAND]", Takes: TakesMagics,
		Summary: "list the commands, or explain one",
		Help:    "%name? is the same as %help name.",
		Example: "%help\n%help timeit",
		run:     runHelp,
	}, {
		Name: "?", Family: "Help", Args: "", Takes: TakesGo,
		Summary: "what a name is: type, place, value, documentation, members",
		Help: "Works on variables, functions, types, packages, fields, methods and keywords, of the session, the engine and the standard\n" +
			"library. A tensor shows the statistics and the histogram of its values, if it is evaluated; a model its parameters.",
		Example: "x?\ntensor.Randn?\nx.MatMul?",
		run:     runInspect,
	}, {
		Name: "??", Family: "Help", Args: "", Takes: TakesGo,
		Summary: "the same in full, with the source",
		Help: "The source is that of the cell, the copy of the engine's that mcs carries, or the Go installation's for the standard library.\n" +
			"For a tensor that is not evaluated it is the plan: what each launch reads, computes and writes.",
		Example: "f??\nnn.Linear.Forward??",
		run:     runInspect,
	}}
}

func runHelp(_ context.Context, c *call) (display.Value, error) {
	name := strings.TrimLeft(strings.TrimSpace(c.rest), "%")
	if name == "" {
		return overview(c.table), nil
	}
	return c.table.Inspect(c.s, "%"+name, false)
}

// habits are what people type most, for the start of the overview: commands, keys and Go.
var habits = [][2]string{
	{"x", "shows a value; x; hides it; _ is the last one that was shown"},
	{"x?", "what x is: type, values, methods by purpose; x?? says all"},
	{"Tab", "completes names, members, files, keys of maps"},
	{"%time f(x)", "runs it once: the value, the time, the kernels"},
	{"%whos", "lists your variables"},
	{"%plot x", "draws a tensor, a curve, a training run"},
	{"!ls, v := !ls", "runs a command of the shell; keeps its lines"},
	{"%save a.mcs", "writes the session to a file, which mcs run and mcs test take"},
	{"Ctrl-C, Ctrl-D", "stops a cell; leaves"},
}

// overview lists what people type most, and then all magics by family.
func overview(all Table) display.Value {
	most := display.NewTable("typed most", "~does")
	for _, h := range habits {
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
