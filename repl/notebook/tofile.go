package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// ours is the key of the metadata in which a notebook keeps what a file has beside it, and fileExtension what
// the kernel says that its files end in.
const (
	ours          = "mcs"
	fileExtension = ".mcs"
)

// A record is a line of a file's [notebook] mark: one of the notebook itself, and one for each of its cells.
type record struct {
	Notebook *map[string]any `json:"notebook,omitempty"`
	Cell     string          `json:"cell,omitempty"`   // which text the cell has in the file; see mark
	Empty    bool            `json:"empty,omitempty"`  // it is not in the file
	Source   *string         `json:"source,omitempty"` // the notebook's text, where the file has another
	Fields   map[string]any  `json:"fields,omitempty"` // the rest of the cell
}

// File returns the notebook as the text of a .mcs file.
func (nb *Notebook) File() string {
	text, whole := nb.cells(), nb.Lines()
	if string(FromFile(mcsfile.Parse("", whole)).Format()) == string(nb.Format()) {
		return whole
	}
	return mcsfile.Keep(text, nb.records(mcsfile.Parse("", text)))
}

// Lines returns the cells as the text of a .mcs file: without what only a notebook has.
func (nb *Notebook) Lines() string {
	text := nb.cells()
	if own, ok := nb.own()["file"].(string); ok && mcsfile.Parse("", own).Lines() == text {
		return own // it was made of this one, which has other line ends
	}
	return text
}

// own is what the notebook keeps of a file.
func (nb *Notebook) own() map[string]any { return ownOf(nb.Metadata) }

func ownOf(metadata map[string]any) map[string]any {
	own, _ := metadata[ours].(map[string]any)
	return own
}

// cells are the cells that have text, as a file has them: with the lines of the file that they were made of,
// unless these mean something else now, because cells have moved.
func (nb *Notebook) cells() string {
	text, n := nb.written(true)
	if len(mcsfile.Parse("", text).Cells) != n {
		text, _ = nb.written(false)
	}
	return text
}

// written are the n cells that have text, with their own lines of a file or without.
func (nb *Notebook) written(lines bool) (text string, n int) {
	var b strings.Builder
	for i := range nb.Cells {
		c := nb.inFile(&nb.Cells[i])
		if strings.TrimSpace(c.Source) == "" {
			continue
		}
		n++
		before, text := canonical(c, b.Len() == 0)
		own := ownOf(nb.Cells[i].Metadata)
		if s, ok := own["before"].(string); ok && lines {
			before = s
		}
		if s, ok := own["text"].(string); ok && means(before+s, c) {
			text = s
		}
		b.WriteString(before + text)
	}
	if rest, ok := nb.own()["rest"].(string); ok {
		b.WriteString(rest)
	}
	return b.String(), n
}

// inFile is a cell as a file has it.
func (nb *Notebook) inFile(c *Cell) mcsfile.Cell {
	if c.Kind != "code" {
		return mcsfile.Cell{Markdown: true, Source: c.Source}
	}
	m := mcsfile.Cell{Source: c.Source}
	if nb.isOurs() {
		m.Want = wanted(c.Outputs)
		m.Checked = len(m.Want) > 0
	}
	return m
}

// isOurs says whether the outputs are those of this program. Those of other kernels are kept, and are not
// expected of it.
func (nb *Notebook) isOurs() bool {
	language, _ := nb.Metadata["language_info"].(map[string]any)
	return nb.own() != nil || language["file_extension"] == fileExtension
}

// canonical are the lines of a cell: its mark, and the rest.
func canonical(c mcsfile.Cell, first bool) (before, text string) {
	mark, text, _ := strings.Cut(mcsfile.Format([]mcsfile.Cell{c}), "\n")
	if first {
		return mark + "\n", text
	}
	return "\n" + mark + "\n", text
}

// means says whether lines of a file are this cell.
func means(lines string, c mcsfile.Cell) bool {
	f := mcsfile.Parse("", lines)
	return len(f.Cells) == 1 && f.Cells[0].Markdown == c.Markdown && f.Cells[0].Source == c.Source && slices.Equal(f.Cells[0].Want, c.Want)
}

// coloured matches the escape sequences of colours.
var coloured = lazy.Regexp(regexp.QuoteMeta("\x1b[") + `[0-9;]*m`)

// wanted are the lines that a cell with these outputs is expected to put out again.
func wanted(outputs []Output) []string {
	var b strings.Builder
	for _, o := range outputs {
		text := outputText(o)
		if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") && o["output_type"] != "stream" {
			b.WriteByte('\n')
		}
		b.WriteString(text)
		if o["output_type"] != "stream" && text != "" {
			b.WriteByte('\n')
		}
	}
	text := strings.TrimRight(b.String(), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return lines
}

// outputText is the text of an output that a file can expect; standard error is none.
func outputText(o Output) string {
	data, _ := o["data"].(map[string]any)
	var v any
	switch {
	case o["output_type"] == "error":
		lines, _ := texts(o["traceback"]) // without them it has no text
		return coloured().ReplaceAllString(strings.Join(lines, "\n"), "")
	case data != nil:
		v = data[display.PlainText]
	case o["name"] == "stdout":
		v = o["text"]
	}
	text, _ := joined(v) // "" if it is none
	return text
}

// mark names the text of a cell in a file.
func mark(c *mcsfile.Cell) string {
	kind := "code:"
	if c.Markdown {
		kind = "markdown:"
	}
	sum := sha256.Sum256([]byte(kind + c.Source))
	return hex.EncodeToString(sum[:6])
}

// records are what the notebook has beside the cells of a file, of which it was made.
func (nb *Notebook) records(f *mcsfile.File) (lines []string) {
	add := func(r record) { lines = append(lines, strings.TrimSpace(string(encode(r, "")))) }
	metadata := orEmpty(nb.Metadata)
	add(record{Notebook: &metadata})
	next := 0
	for i := range nb.Cells {
		c := &nb.Cells[i]
		r := record{Fields: c.fields()}
		delete(r.Fields, "source")
		switch {
		case strings.TrimSpace(c.Source) == "" || next >= len(f.Cells):
			r.Empty, r.Source = true, &c.Source
		default:
			r.Cell = mark(&f.Cells[next])
			if f.Cells[next].Source != c.Source {
				r.Source = &c.Source
			}
			next++
		}
		add(r)
	}
	return lines
}

// readRecords reads what a file keeps of a notebook. A line that is none is left out, and so is what follows.
func readRecords(lines []string) (list []record) {
	for _, line := range lines {
		var r record
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if d.Decode(&r) != nil {
			break
		}
		list = append(list, r)
	}
	return list
}
