package magics

import (
	"context"
	"fmt"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/session"
)

func runInspect(_ context.Context, c *call) (display.Value, error) {
	name := strings.TrimSpace(c.rest)
	if name == "" {
		return nil, fmt.Errorf("?: got no name; write it before the question mark")
	}
	return c.table.Inspect(c.s, name, c.magic.Name == "??")
}

// Inspect describes a name, a member or another expression as `name?` does, or, with all, as `name??`. For
// %name it is the command's manual.
func (t Table) Inspect(s *session.Session, name string, all bool) (display.Value, error) {
	if command, ok := strings.CutPrefix(name, "%"); ok {
		m := t.lookup(strings.TrimLeft(command, "%"))
		if m == nil {
			return nil, t.unknown(command, "")
		}
		return manual{m}, nil
	}
	info, err := s.Inspect(name)
	if err != nil {
		return nil, err
	}
	v := inspection{Info: info, all: all}
	if t, ok := tensorOf(info.Value); ok {
		v.tensor = &t
		if t.Evaluated() {
			v.stats = statistics(t)
		} else if v.all {
			v.plan = t.Plan()
		}
	}
	if v.all && v.tensor == nil {
		if v.source, err = info.ReadSource(); err != nil {
			v.noSource = err.Error()
		}
	}
	return v, nil
}

// tensorOf is the tensor that a value is or points to.
func tensorOf(v any) (t tensor.Tensor, ok bool) {
	switch v := v.(type) {
	case tensor.Tensor:
		return v, !v.IsNone() && !v.Freed()
	case *tensor.Tensor:
		if v != nil {
			return *v, !v.IsNone() && !v.Freed()
		}
	}
	return t, false
}

// An inspection describes a name. It fits a screen, unless the person asked for everything.
type inspection struct {
	session.Info
	all              bool
	source, noSource string
	tensor           *tensor.Tensor
	stats            *stats // of an evaluated tensor
	plan             string // of a tensor that is not evaluated
}

// Unless all is asked for, so many lines are shown of a documentation, of a value, and of the lists of
// members together.
const (
	docLines    = 10
	valueLines  = 8
	memberLines = 12
)

// Text is StyledText without styles.
func (v inspection) Text(width int) string { return v.StyledText(width, nil) }

// StyledText writes the name with its type and place, the value, the documentation, and the members; with ??
// the source or the plan, too.
func (v inspection) StyledText(width int, style display.Style) string {
	width = lines.Columns(width)
	w := &page{width: max(width-4, 16), style: style}
	heading := style.Paint(display.Name, v.Name)
	if v.Type != "" {
		heading += "  " + v.Type
	}
	w.lines = append(w.lines, heading+style.Paint(display.Dim, "   "+v.note()))
	w.value(v)
	w.doc(v.docText(), v.all)
	w.modules(v)
	switch {
	case v.plan != "":
		w.add(style.Paint(display.Heading, "plan"))
		w.add("  " + strings.ReplaceAll(v.plan, "\n", "\n  "))
	case v.source != "":
		w.add(style.Paint(display.Code, v.source))
	case v.noSource != "":
		w.add(style.Paint(display.Dim, "no source: "+v.noSource))
	}
	if v.all && (v.source != "" || v.plan != "") {
		return strings.Join(w.lines, "\n")
	}
	for _, g := range v.Groups {
		w.group(g, max(memberLines/len(v.Groups), 3), v.all)
	}
	if w.cut && !v.all {
		w.add(style.Paint(display.Dim, v.Name+"?? shows all"))
	}
	return strings.Join(w.lines, "\n")
}

// docText returns the documentation. For the type of a variable it is one paragraph.
func (v inspection) docText() string {
	if v.Kind != "var" && v.Kind != "field" && v.Kind != "expression" || v.all {
		return v.Doc
	}
	_, comment, _ := strings.Cut(v.Doc, "\n\n")
	first, _, _ := strings.Cut(comment, "\n\n")
	return strings.Join(strings.Fields(first), " ")
}

// A page is lines that are being written.
type page struct {
	lines []string
	width int
	style display.Style
	cut   bool // something was left out
}

// add writes lines, indented.
func (w *page) add(text string) {
	for l := range strings.SplitSeq(text, "\n") {
		w.lines = append(w.lines, strings.TrimRight("    "+l, " "))
	}
}

// value writes the value of a variable. It does not evaluate a tensor.
func (w *page) value(v inspection) {
	if v.tensor != nil {
		w.add(strings.Join(display.Wrap(tensorLine(*v.tensor), w.width, 2), "\n"))
		if v.stats == nil {
			return
		}
		w.add(v.stats.text(min(w.width, 60)))
	}
	if v.Shown == nil {
		return
	}
	lines := strings.Split(display.Styled(v.Shown, w.width, w.style), "\n")
	if v.tensor != nil {
		lines = lines[1:] // the header is there already
	}
	if len(lines) > valueLines {
		rest := len(lines) - valueLines + 1
		lines = append(lines[:valueLines-1], w.style.Paint(display.Dim, fmt.Sprintf("… %s more lines, %%show %s", units.Int(int64(rest)), v.Name)))
	}
	w.add(strings.Join(lines, "\n"))
}

// doc writes a documentation, wrapped; unless all is wanted, its first paragraphs.
func (w *page) doc(text string, all bool) {
	if text == "" {
		return
	}
	declaration, comment, _ := strings.Cut(text, "\n\n")
	lines := display.Wrap(declaration, w.width, 4)
	if comment != "" {
		lines = append(append(lines, ""), display.Wrap(display.Reflow(comment), w.width, 0)...)
	}
	if len(lines) > docLines && !all {
		lines, w.cut = append(lines[:docLines-1], w.style.Paint(display.Dim, "…")), true
	}
	w.add(strings.Join(lines, "\n"))
}

// modules writes the parameters of a model.
func (w *page) modules(v inspection) {
	m, ok := v.Value.(nn.Module)
	if !ok {
		return
	}
	defer func() { _ = recover() }() // a nil module has no members to list
	params := nn.Params(m)
	if len(params) == 0 {
		return
	}
	t := display.NewTable("parameter", "type", ">elements", "trained")
	total, trained := 0, 0
	for _, p := range params {
		n := p.Value().Size()
		total += n
		state := "no"
		if p.Trainable() {
			trained += n
			state = "yes"
		}
		t.Add(display.Cell{Text: p.Name, Role: display.Name}, fmt.Sprintf("%v%v", p.Value().DType(), p.Value().Shape()), n, state)
	}
	if extra := len(t.Rows) - memberLines; extra > 0 && !v.all {
		t.Rows, w.cut = t.Rows[:memberLines], true
		t.Foot = fmt.Sprintf("… %s more\n", units.Int(int64(extra)))
	}
	t.Foot += fmt.Sprintf("%s parameters, %s trained", units.Int(int64(total)), units.Int(int64(trained)))
	w.add(t.StyledText(w.width, w.style))
}

// group lists members: few, or all if that is wanted, a line each; else their names in columns.
func (w *page) group(g session.Group, rows int, all bool) {
	if g.Ranked && !all {
		w.ranked(g)
		return
	}
	w.add(w.style.Paint(display.Heading, fmt.Sprintf("%s (%d)", g.Title, len(g.Items))))
	if len(g.Items) <= rows || all {
		for _, item := range g.Items {
			w.item(item, all)
		}
		return
	}
	w.cut = true
	names := make([]string, len(g.Items))
	for i, item := range g.Items {
		names[i] = item.Name
	}
	w.add(columns(names, w.width-2, rows))
}

// titleColumn is how wide the titles of ranked groups are on a screen that has room for that.
const titleColumn = 25

// ranked lists the first members of a group in two lines, behind its title or, on a narrow screen, below it.
func (w *page) ranked(g session.Group) {
	title, indent := g.Title, titleColumn
	if w.width < 2*titleColumn {
		w.add(w.style.Paint(display.Heading, title))
		title, indent = "", 2
	}
	lines := []string{""}
	for i, item := range g.Items {
		last := &lines[len(lines)-1]
		more := fmt.Sprintf(" … %d more", len(g.Items)-i)
		room := w.width - indent
		if len(lines) == 2 && i < len(g.Items)-1 {
			room -= len(more) - 1
		}
		switch n := runewidth.StringWidth(*last + " " + item.Name); {
		case *last == "":
			*last = item.Name
		case n <= room:
			*last += " " + item.Name
		case len(lines) == 2:
			*last += more
			w.cut = true
		default:
			lines = append(lines, item.Name)
		}
		if w.cut && strings.HasSuffix(*last, " more") {
			break
		}
	}
	for i, line := range lines {
		head := strings.Repeat(" ", indent)
		if i == 0 {
			head = w.style.Paint(display.Heading, title) + strings.Repeat(" ", indent-runewidth.StringWidth(title))
		}
		w.add(head + line)
	}
}

func (w *page) item(i session.Item, doc bool) {
	line := "  " + i.Name + strings.TrimRight(" "+i.Detail, " ")
	if strings.HasPrefix(i.Detail, "(") {
		line = "  " + i.Name + i.Detail
	}
	if !doc {
		line = runewidth.Truncate(line, w.width, "…")
	}
	w.add(line)
	if doc && i.Doc != "" {
		for _, l := range display.Wrap(i.Doc, w.width-6, 0) {
			w.add("      " + w.style.Paint(display.Dim, l))
		}
	}
}

// columns writes names in columns from top to bottom, at most so many rows.
func columns(names []string, width, most int) string {
	widest := 0
	for _, n := range names {
		widest = max(widest, runewidth.StringWidth(n))
	}
	across := max(1, (width+2)/(widest+2))
	rows := (len(names) + across - 1) / across
	left := 0
	if rows > most {
		rows = most
		left = len(names) - rows*across
		names = names[:rows*across]
	}
	var b strings.Builder
	for r := range rows {
		line := "  "
		for i := r; i < len(names); i += rows {
			line += runewidth.FillRight(names[i], widest+2)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if left > 0 {
		fmt.Fprintf(&b, "  … %d more\n", left)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
