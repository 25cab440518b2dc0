package display

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// A doc is text that can be laid out on one line, or over several if it does not fit: an atom, or items in
// brackets.
type doc struct {
	text        string // an atom's
	open, close string // brackets around items
	items       []doc
	label       string // before the atom or bracket: a field's name, a map's key
	comma       bool   // items are separated by commas (fields, entries), else by blanks (elements)
	typed       bool   // the text names its type
	fills       bool   // small items with commas stand side by side
}

// atom is text that never breaks.
func atom(text string) doc { return doc{text: text} }

// flat is everything on one line.
func (d doc) flat() string {
	if d.open == "" {
		return d.label + d.text
	}
	parts := make([]string, len(d.items))
	for i, item := range d.items {
		parts[i] = item.flat()
	}
	separator := " "
	if d.comma {
		separator = ", "
	}
	return d.label + d.open + strings.Join(parts, separator) + d.close
}

// layout writes d so that its lines fit width where they can; the first line starts in column indent.
func (d doc) layout(width, indent int) string {
	flat := d.flat()
	apart := d.comma || len(d.items) < 2 || runewidth.StringWidth(flat) <= 40 || !d.anyBlank() // one sees where an item ends
	if d.open == "" || len(d.items) == 0 || apart && indent+runewidth.StringWidth(flat) <= width {
		return flat
	}
	if !d.comma && apart && !slices.ContainsFunc(d.items, func(item doc) bool { return item.open != "" || item.label != "" }) {
		return d.fill(width, indent)
	}
	if d.fills && !slices.ContainsFunc(d.items, func(item doc) bool { return item.open != "" || runewidth.StringWidth(item.flat()) > width/3 }) {
		return d.fillEntries(width, indent)
	}
	pad := strings.Repeat(" ", indent)
	var b strings.Builder
	b.WriteString(d.label + d.open)
	for _, item := range d.items {
		b.WriteString("\n" + pad + "  " + item.layout(width-1, indent+2))
		if d.comma && !strings.HasPrefix(item.text, elision) {
			b.WriteByte(',')
		}
	}
	b.WriteString("\n" + pad + d.close)
	return b.String()
}

// anyBlank says whether an item is a text with a blank that is not quoted.
func (d doc) anyBlank() bool {
	return slices.ContainsFunc(d.items, func(item doc) bool {
		return item.open == "" && strings.Contains(item.text, " ") && !strings.HasPrefix(item.text, `"`) && !strings.HasPrefix(item.text, elision)
	})
}

// fillFrom is how many entries of a map stand below each other before they stand side by side.
const fillFrom = 12

// fillEntries writes entries side by side, as many as fit on a line.
func (d doc) fillEntries(width, indent int) string {
	pad := "\n" + strings.Repeat(" ", indent+2)
	var b strings.Builder
	b.WriteString(d.label + d.open)
	column := width
	for _, item := range d.items {
		text := item.flat()
		if !strings.HasPrefix(text, elision) {
			text += ","
		}
		if w := runewidth.StringWidth(text); column+1+w > width {
			b.WriteString(pad + text)
			column = indent + 2 + w
		} else {
			b.WriteString(" " + text)
			column += 1 + w
		}
	}
	b.WriteString("\n" + strings.Repeat(" ", indent) + d.close)
	return b.String()
}

// fill writes elements like words of a paragraph, hanging below the first one.
func (d doc) fill(width, indent int) string {
	first := indent + runewidth.StringWidth(d.label+d.open)
	column := first
	var b strings.Builder
	b.WriteString(d.label + d.open)
	for i, item := range d.items {
		w := runewidth.StringWidth(item.text)
		switch {
		case i == 0:
		case column+1+w+len(d.close) > width:
			b.WriteString("\n" + strings.Repeat(" ", first))
			column = first
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(item.text)
		column += w
	}
	return b.String() + d.close
}
