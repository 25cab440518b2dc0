package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// FromFile returns a .mcs file as a notebook. Expected output becomes output.
func FromFile(f *mcsfile.File) *Notebook {
	nb, records := new(Notebook), readRecords(f.Kept)
	if len(records) > 0 && records[0].Notebook != nil {
		nb.Metadata, records = *records[0].Notebook, records[1:]
	} else {
		nb.Metadata = metadata(f)
	}
	for i := range f.Cells {
		c := &f.Cells[i]
		name := mark(c)
		at := slices.IndexFunc(records, func(r record) bool { return r.Cell == name })
		if at < 0 {
			nb.Cells = append(nb.Cells, fresh(f, i))
			continue
		}
		nb.addEmpty(records[:at])
		nb.Cells = append(nb.Cells, recorded(&records[at], c))
		records = records[at+1:]
	}
	nb.addEmpty(records)
	nb.name()
	return nb
}

// metadata is that of a notebook for the kernel of this program.
func metadata(f *mcsfile.File) map[string]any {
	own := map[string]any{}
	if rest := f.Rest(); rest != "" {
		own["rest"] = rest
	}
	if f.Text() != f.Lines() {
		own["file"] = f.Text()
	}
	return map[string]any{
		"kernelspec":    map[string]any{"name": "mcs", "display_name": "Go (mcs)", "language": "go"},
		"language_info": map[string]any{"name": "go", "mimetype": "text/x-go", "file_extension": fileExtension},
		ours:            own,
	}
}

// addEmpty adds those of cells that a file does not have because they have no text.
func (nb *Notebook) addEmpty(records []record) {
	for i := range records {
		if records[i].Empty {
			nb.Cells = append(nb.Cells, recorded(&records[i], nil))
		}
	}
}

// recorded is a cell of which a file keeps the rest. Outputs that the file does not expect any more are
// replaced.
func recorded(r *record, c *mcsfile.Cell) Cell {
	fields := orEmpty(r.Fields)
	if r.Source != nil {
		fields["source"] = *r.Source
	} else if c != nil {
		fields["source"] = c.Source
	}
	made, err := parseCell(fields)
	if err != nil { // somebody has changed it
		made = Cell{Kind: "code"}
		if c != nil {
			made.Source = c.Source
		}
	}
	if c != nil && c.Checked && !slices.Equal(wanted(made.Outputs), c.Want) {
		made.Outputs = expected(c)
	}
	return made
}

// expected is what a file expects of a cell, as output.
func expected(c *mcsfile.Cell) []Output {
	if len(c.Want) == 0 {
		return nil
	}
	lines := make([]any, len(c.Want))
	for i, line := range c.Want {
		lines[i] = line + "\n"
	}
	return []Output{{"output_type": "stream", "name": "stdout", "text": lines}}
}

// fresh is a cell of a file that has kept nothing of it.
func fresh(f *mcsfile.File, i int) Cell {
	c := &f.Cells[i]
	made := Cell{Kind: "code", Source: c.Source, Metadata: map[string]any{}, Outputs: expected(c)}
	if c.Markdown {
		made.Kind = "markdown"
	}
	before, text := f.Parts(i)
	own := map[string]any{}
	wantBefore, wantText := canonical(mcsfile.Cell{Markdown: c.Markdown, Source: c.Source, Want: c.Want, Checked: len(c.Want) > 0}, i == 0)
	if before != wantBefore {
		own["before"] = before
	}
	if text != wantText {
		own["text"] = text
	}
	if len(own) > 0 {
		made.Metadata[ours] = own
	}
	return made
}

// name gives the cells names that are missing or come twice: those of their texts and places.
func (nb *Notebook) name() {
	seen := map[string]bool{}
	for i := range nb.Cells {
		c := &nb.Cells[i]
		if c.ID == "" || seen[c.ID] {
			sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s:%s", i, c.Kind, c.Source))
			c.ID = hex.EncodeToString(sum[:6])
		}
		seen[c.ID] = true
	}
}
