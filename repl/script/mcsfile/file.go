// Package mcsfile reads and writes the text of a .mcs file: cells of Go and prose, and the expected output
// of the cells. It does not run them. docs/mcs-format.md describes the format.
package mcsfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
)

// A File is a parsed .mcs file. Every line belongs to one cell or is a mark between two cells.
type File struct {
	Name  string // for messages
	Cells []Cell
	// Kept is what a [notebook] mark at the end of the file holds, a line each: what a notebook has that a
	// file does not, such as names of cells and pictures. It neither runs nor is shown.
	Kept []string
	// Made says that the text was made of a notebook: its lines are not those of the file.
	Made  bool
	text  string
	lines []string
	ends  []int // of each cell the line behind it, from 0

	problem error
}

// A Cell is one cell of a file.
type Cell struct {
	Markdown bool
	Title    string        // the text behind the mark, without the limit
	Limit    time.Duration // of a mark with timeout=5s, how long the cell may run in a test; 0: no limit
	Line     int           // first line of Source in the file, from 1
	Source   string        // Go and commands; for markdown the text without "// "
	Checked  bool          // whether the file has expected output for the cell
	Want     []string
	WantLine int // first line of the expected output in the file, from 1
}

const (
	cellMark = "// %%"
	wantMark = "// >"
	keptTag  = "[notebook]"
)

// Read parses the file at path, which must be text of at most regular.MaxSource bytes. The name is for
// messages.
func Read(path, name string) (*File, error) {
	text, err := regular.Text(path, regular.MaxSource)
	if err != nil {
		return nil, err
	}
	return Parse(name, text), nil
}

// Parse splits a file into cells. A cell begins at a `// %%` line and ends at the next one, or after its
// expected output: the `// >` lines. Any text is a valid file; cells without content are left out.
func Parse(name, text string) *File {
	f := &File{Name: name, text: text}
	text = strings.TrimPrefix(text, "\ufeff")
	f.lines = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range f.lines {
		f.lines[i] = strings.TrimRight(line, "\r")
	}
	start, at := 0, mark{}
	for i, line := range f.lines {
		if next, ok := parseMark(line); ok {
			f.addCell(start, i, at)
			if next.problem != nil && f.problem == nil {
				f.problem = fmt.Errorf("%s:%d: %w", name, i+1, next.problem)
			}
			start, at = i+1, next
			continue
		}
		endsOutput := isWant(line) && (i+1 == len(f.lines) || !isWant(f.lines[i+1]))
		if endsOutput && !at.markdown && !at.kept {
			f.addCell(start, i+1, at)
			start, at = i+1, mark{}
		}
	}
	f.addCell(start, len(f.lines), at)
	return f
}

// Problem is what a mark says and cannot mean, such as timeout=soon, or nil. The text of the mark is then its
// title.
func (f *File) Problem() error { return f.problem }

type mark struct {
	markdown bool
	kept     bool // not a cell
	title    string
	limit    time.Duration
	problem  error
}

const limitWord = "timeout="

// takeLimit takes the limit out of a title.
func (m *mark) takeLimit() {
	words := strings.Fields(m.title)
	for i, w := range words {
		text, ok := strings.CutPrefix(w, limitWord)
		if !ok {
			continue
		}
		if d, err := time.ParseDuration(text); err != nil || d <= 0 {
			m.problem = fmt.Errorf("got %s, want a time such as %s5s", w, limitWord)
			return
		} else {
			m.limit = d
		}
		m.title = strings.Join(slices.Delete(words, i, i+1), " ")
		return
	}
}

// parseMark reads `// %%`, `// %% title`, `// %% [markdown] title`. Spaces between the slashes and %% may be
// missing.
func parseMark(line string) (mark, bool) {
	rest, ok := strings.CutPrefix(strings.TrimRight(line, " \t"), "//")
	if !ok {
		return mark{}, false
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(rest, " "), "%%")
	if !ok || rest != "" && rest[0] != ' ' {
		return mark{}, false
	}
	rest = strings.TrimSpace(rest)
	for _, tag := range []string{"[markdown]", "[md]"} {
		if title, ok := strings.CutPrefix(rest, tag); ok {
			return mark{markdown: true, title: strings.TrimSpace(title)}, true
		}
	}
	if rest == keptTag {
		return mark{kept: true}, true
	}
	m := mark{title: rest}
	m.takeLimit()
	return m, true
}

func isWant(line string) bool {
	line = strings.TrimRight(line, " \t")
	return line == wantMark || strings.HasPrefix(line, wantMark+" ")
}

// addCell makes a cell of lines[start:end], unless they are blank.
func (f *File) addCell(start, end int, at mark) {
	for start < end && strings.TrimSpace(f.lines[start]) == "" {
		start++
	}
	for end > start && strings.TrimSpace(f.lines[end-1]) == "" {
		end--
	}
	if start == end {
		return
	}
	if at.kept {
		f.Kept = strings.Split(markdownText(f.lines[start:end]), "\n")
		return
	}
	c := Cell{Markdown: at.markdown, Title: at.title, Limit: at.limit, Line: start + 1}
	f.ends = append(f.ends, end)
	if at.markdown {
		c.Source = markdownText(f.lines[start:end])
		f.Cells = append(f.Cells, c)
		return
	}
	code := end
	for code > start && isWant(f.lines[code-1]) {
		code--
	}
	if code < end {
		c.Checked, c.WantLine = true, code+1
		c.Want = wantText(f.lines[code:end])
	}
	c.Source = strings.Join(f.lines[start:code], "\n")
	f.Cells = append(f.Cells, c)
}

func markdownText(lines []string) string {
	text := make([]string, len(lines))
	for i, line := range lines {
		line = strings.TrimPrefix(strings.TrimRight(line, " \t"), "//")
		if text[i] = strings.TrimPrefix(line, " "); proseMark(text[i]) {
			text[i] = text[i][1:]
		}
	}
	return strings.Join(text, "\n")
}

// wantText takes the marks off. A lone mark stands for no output at all.
func wantText(lines []string) []string {
	want := make([]string, len(lines))
	for i, line := range lines {
		line = strings.TrimPrefix(strings.TrimRight(line, " \t"), wantMark)
		want[i] = strings.TrimPrefix(line, " ")
	}
	if len(want) == 1 && want[0] == "" {
		return nil
	}
	return want
}

// Code returns the cells that run, in order.
func (f *File) Code() []*Cell {
	var cells []*Cell
	for i := range f.Cells {
		if !f.Cells[i].Markdown {
			cells = append(cells, &f.Cells[i])
		}
	}
	return cells
}

// At names a line of the file for messages: a.mcs:12, or, of a notebook, its name.
func (f *File) At(line int) string {
	if f.Made {
		return visible.Line(f.Name)
	}
	return fmt.Sprintf("%s:%d", visible.Line(f.Name), line)
}

// Text is the file's text as it was parsed.
func (f *File) Text() string { return f.text }

// Lines is the text with newlines as its line ends, also at its end.
func (f *File) Lines() string { return joined(f.lines) }

// Parts returns the lines of a cell as they stand in the file: before it, from the end of the cell before,
// and its own, with its expected output. All end in newlines.
func (f *File) Parts(i int) (before, own string) {
	from := 0
	if i > 0 {
		from = f.ends[i-1]
	}
	c := &f.Cells[i]
	return joined(f.lines[from : c.Line-1]), joined(f.lines[c.Line-1 : f.ends[i]])
}

// Rest returns the lines behind the last cell.
func (f *File) Rest() string {
	if len(f.Cells) == 0 {
		return joined(f.lines)
	}
	return joined(f.lines[f.ends[len(f.ends)-1]:])
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Keep returns the text of cells with what a notebook has beside them.
func Keep(text string, kept []string) string {
	lines := []string{"", cellMark + " " + keptTag}
	for _, line := range kept {
		lines = append(lines, "// "+line)
	}
	return text + joined(lines)
}

// Same says whether the file at path still has the text that was parsed.
func (f *File) Same(path string) (bool, error) {
	text, err := regular.Text(path, regular.MaxSource)
	return text == f.text, err
}

// WithWant returns the file's text with other expected output for some cells. The rest stays unchanged,
// except that all line ends become newlines.
func (f *File) WithWant(want map[*Cell][]string) string {
	var lines []string
	at := 0
	for i := range f.Cells {
		cell := &f.Cells[i]
		output, ok := want[cell]
		if !ok || !cell.Checked {
			continue
		}
		start := cell.WantLine - 1
		lines = append(lines, f.lines[at:start]...)
		lines = append(lines, wantLines(output)...)
		for at = start; at < len(f.lines) && isWant(f.lines[at]); at++ {
		}
	}
	lines = append(lines, f.lines[at:]...)
	return strings.Join(lines, "\n") + "\n"
}

// WithSource returns the file's text with other sources for some cells. The rest stays unchanged, except that
// all line ends become newlines.
func (f *File) WithSource(sources map[*Cell]string) string {
	var lines []string
	at := 0
	for i := range f.Cells {
		cell := &f.Cells[i]
		source, ok := sources[cell]
		if !ok || cell.Markdown {
			continue
		}
		start := cell.Line - 1
		lines = append(append(lines, f.lines[at:start]...), source)
		at = start + 1 + strings.Count(cell.Source, "\n")
	}
	lines = append(lines, f.lines[at:]...)
	return strings.Join(lines, "\n") + "\n"
}

// Format writes cells as a .mcs file, for %save. A line of a cell that looks like a mark is escaped.
func Format(cells []Cell) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(cellMark)
		if c.Markdown {
			b.WriteString(" [markdown]")
		}
		if c.Title != "" {
			b.WriteString(" " + c.Title)
		}
		if c.Limit > 0 {
			b.WriteString(" " + limitWord + c.Limit.String())
		}
		b.WriteByte('\n')
		source := c.Source
		if !c.Markdown {
			source = withoutMarks(source)
		}
		for line := range strings.SplitSeq(strings.TrimRight(source, "\n"), "\n") {
			if c.Markdown {
				if proseMark(`\` + line) {
					line = `\` + line
				}
				line = strings.TrimRight("// "+line, " ")
			}
			b.WriteString(line + "\n")
		}
		if c.Checked {
			b.WriteString(strings.Join(wantLines(c.Want), "\n") + "\n")
		}
	}
	return b.String()
}

// wantLines puts the marks on again.
func wantLines(want []string) []string {
	if len(want) == 0 {
		return []string{wantMark}
	}
	lines := make([]string, len(want))
	for i, line := range want {
		lines[i] = strings.TrimRight(wantMark+" "+line, " ")
	}
	return lines
}
