package magics

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

func runInspect(_ context.Context, c *call) (display.Value, error) {
	name := strings.TrimSpace(c.rest)
	if name == "" {
		return nil, fmt.Errorf("?: got no name; write it before the question mark")
	}
	info, err := c.s.Inspect(name)
	if err != nil {
		return nil, err
	}
	return inspection{info, c.magic.Name == "??"}, nil
}

// An inspection shows what is known about a name.
type inspection struct {
	session.Info
	source bool
}

func (v inspection) Text(width int) string { return v.StyledText(width, nil) }

func (v inspection) StyledText(width int, style display.Style) string {
	var b strings.Builder
	b.WriteString(style.Paint(display.Name, v.Name))
	if v.Type != "" {
		b.WriteString("  " + v.Type)
	}
	if v.Cell > 0 {
		b.WriteString(style.Paint(display.Dim, fmt.Sprintf("   %s of cell %d", v.Kind, v.Cell)))
	} else if v.Kind != "" {
		b.WriteString(style.Paint(display.Dim, "   "+v.Kind))
	}
	if v.HasValue {
		b.WriteString("\n" + indent(valueText(v.Value, width-4, style)))
	}
	if v.Doc != "" {
		b.WriteString("\n" + indent(v.Doc))
	}
	if v.source {
		if v.Source == "" {
			b.WriteString("\n" + style.Paint(display.Dim, "    no source: it is compiled into mcs"))
		} else {
			b.WriteString("\n" + indent(style.Paint(display.Code, v.Source)))
		}
		return b.String()
	}
	writeList(&b, "fields", v.Fields, style)
	writeList(&b, "methods", v.Methods, style)
	return b.String()
}

// valueText is what a value looks like in an inspection: its first lines.
func valueText(v any, width int, style display.Style) string {
	const most = 8
	text := display.Styled(display.Format(v), width, style)
	lines := strings.Split(text, "\n")
	if len(lines) > most {
		lines = append(lines[:most], style.Paint(display.Dim, "…"))
	}
	return strings.Join(lines, "\n")
}

func writeList(b *strings.Builder, heading string, names []string, style display.Style) {
	if len(names) == 0 {
		return
	}
	b.WriteString("\n    " + style.Paint(display.Heading, heading))
	for _, n := range names {
		b.WriteString("\n      " + n)
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
