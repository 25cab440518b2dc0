package grade

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// Table is a line for each learner: what each exercise is worth, the points, and remarks.
func Table(reports []*Report) *display.Table {
	head := []string{"learner"}
	if len(reports) > 0 {
		for _, m := range reports[0].Marks {
			head = append(head, m.Exercise)
		}
	}
	t := display.NewTable(append(head, ">points", "~remarks")...)
	for _, r := range reports {
		row := []any{display.Cell{Text: visible.Line(r.Learner), Role: display.Name}}
		for _, m := range r.Marks {
			row = append(row, m.cell())
		}
		points, of := r.Points()
		row = append(row, display.Cell{Text: fmt.Sprintf("%d of %d", points, of)}, visible.Line(strings.Join(r.Remarks, "; ")))
		t.Add(row...)
	}
	return t
}

// cell shows a mark: a sign, and the points where they are more than one.
func (m *Mark) cell() display.Cell {
	switch {
	case m.Wrong != "":
		return display.Cell{Text: "✗", Role: display.Bad}
	case m.Of > 1:
		return display.Cell{Text: fmt.Sprintf("✓ %d", m.Points), Role: display.Good}
	}
	return display.Cell{Text: "✓", Role: display.Good}
}

// CSV is a line of names and one for each learner, with the points of each exercise.
func CSV(reports []*Report) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for i, r := range reports {
		head, row := []string{"learner", "file"}, []string{plain(r.Learner), plain(r.File)}
		for _, m := range r.Marks {
			head, row = append(head, m.Exercise), append(row, strconv.Itoa(m.Points))
		}
		points, of := r.Points()
		if i == 0 {
			_ = w.Write(append(head, "points", "of", "remarks")) // into memory
		}
		_ = w.Write(append(row, strconv.Itoa(points), strconv.Itoa(of), plain(strings.Join(r.Remarks, "; "))))
	}
	w.Flush()
	return b.Bytes()
}

// plain is a text that no spreadsheet takes for a formula.
func plain(text string) string {
	text = visible.Line(text)
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

// Page is a learner's page: the points, and the cells with what they have put out and what the checks say.
// Once Options.Done has returned, the cells are let go.
func (r *Report) Page() string {
	f := r.file
	if f == nil {
		f = mcsfile.Parse(r.Learner, "")
	}
	nb := notebook.Recorded(f, r.ran)
	points, of := r.Points()
	list := []notebook.Cell{prose("# %s: %d of %d points\n\n%s", visible.Line(r.Learner), points, of, r.summary())}
	left := map[string]int{} // cells of each exercise that are still to come
	for _, c := range f.Code() {
		left[c.Title]++
	}
	code := f.Code()
	for _, c := range nb.Cells {
		list = append(list, c)
		if c.Kind != "code" || len(code) == 0 || code[0].Source != c.Source {
			continue
		}
		title := code[0].Title
		code = code[1:]
		left[title]--
		for _, m := range r.Marks {
			if title == "exercise "+m.Exercise && left[title] == 0 {
				list = append(list, m.prose())
			}
		}
	}
	nb.Cells = list
	return nb.HTML(r.Learner)
}

// summary is a list of the marks and of the remarks, as Markdown.
func (r *Report) summary() string {
	var b strings.Builder
	for _, m := range r.Marks {
		fmt.Fprintf(&b, "- %s\n", m.headline())
	}
	for _, text := range r.Remarks {
		fmt.Fprintf(&b, "- %s\n", code(visible.Line(text)))
	}
	return b.String()
}

func (m *Mark) headline() string {
	sign := "✓"
	if m.Wrong != "" {
		sign = "✗"
	}
	return fmt.Sprintf("%s %s: %d of %d", sign, code(visible.Line(m.Exercise)), m.Points, m.Of)
}

// prose is the mark as a cell below the answer.
func (m *Mark) prose() notebook.Cell {
	if m.Wrong == "" {
		return prose("**%s**", m.headline())
	}
	return prose("**%s**\n\n%s", m.headline(), display.Fenced("", visible.Text(m.Wrong)))
}

func prose(format string, args ...any) notebook.Cell {
	return notebook.Cell{Kind: "markdown", Source: fmt.Sprintf(format, args...), Metadata: map[string]any{}}
}

// code is a text as it is, in Markdown.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + " " + text + " " + fence
}
