package notebook

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Notes says whether the cell is for the speaker of a talk only: prose with the title "notes", or what
// Jupyter's slides call notes. They belong to the cell before them.
func (c *Cell) Notes() bool {
	return c.Kind != "code" && (c.Title() == "notes" || c.slide() == "notes")
}

// Skipped says whether Jupyter's slides leave the cell out.
func (c *Cell) Skipped() bool { return c.slide() == "skip" }

// slide is the type of slide that the cell has in Jupyter, or "".
func (c *Cell) slide() string {
	show, _ := c.Metadata["slideshow"].(map[string]any)
	kind, _ := show["slide_type"].(string)
	return kind
}

// recordedKey is the key, in the notebook's metadata of this program, of when and where its outputs were
// made.
const recordedKey = "recorded"

// SetRecorded notes when, on which device and by which version the outputs were made.
func (nb *Notebook) SetRecorded(date time.Time, device, version string) {
	own := nb.own()
	if own == nil {
		own = map[string]any{}
		nb.Metadata = orEmpty(nb.Metadata)
		nb.Metadata[ours] = own
	}
	own[recordedKey] = map[string]any{"date": date.UTC().Format(time.RFC3339), "device": device, "version": version}
}

// ForgetRecorded drops what SetRecorded has noted: outputs of another run have come to the notebook.
func (nb *Notebook) ForgetRecorded() { delete(nb.own(), recordedKey) }

// Recorded says in words when and where the outputs were made, as far as the notebook knows.
func (nb *Notebook) Recorded() string {
	made, _ := nb.own()[recordedKey].(map[string]any)
	word := func(name string) string { s, _ := made[name].(string); return s }
	if made == nil {
		return "recorded at an unknown time on an unknown device"
	}
	date := word("date")
	if at, err := time.Parse(time.RFC3339, date); err == nil {
		date = at.Local().Format("2006-01-02 15:04")
	}
	return fmt.Sprintf("recorded %s on %s, mcs %s", cmp.Or(date, "at an unknown time"), cmp.Or(word("device"), "an unknown device"), cmp.Or(word("version"), "of an unknown version"))
}

// Same returns for each cell of Go the one of another notebook with the same text, in order; nil where there
// is none.
func (nb *Notebook) Same(other *Notebook) []*Cell {
	list, at := make([]*Cell, len(nb.Cells)), 0
	for i := range nb.Cells {
		for j := at; j < len(other.Cells) && nb.Cells[i].Kind == "code"; j++ {
			if c := &other.Cells[j]; c.Kind == "code" && c.Source == nb.Cells[i].Source {
				list[i], at = c, j+1
				break
			}
		}
	}
	return list
}

// ScreenText is an output as text for a screen, with the colours of an error.
func (o Output) ScreenText() string {
	if o["output_type"] == "stream" {
		s, _ := joined(o["text"])
		return s
	}
	if lines, err := texts(o["traceback"]); o["output_type"] == "error" && err == nil {
		return strings.Join(lines, "\n")
	}
	return outputText(o)
}
