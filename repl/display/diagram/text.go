package diagram

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/mcs-notebook/mcs/internal/lines"
)

// A Painter paints a span of text: 0 is a title, 1 is background, 2 and above are the frames of tones.
type Painter func(what int, text string) string

// The kinds of text for a Painter.
const (
	PaintTitle = iota
	PaintDim
	PaintTone // and the tones behind it
)

// maxLanes is the number of values that are drawn as lines beside the boxes at a time. For further values
// a box only names the box that they come from.
const maxLanes = 8

// minBox is the narrowest box, without its frame.
const minBox = 30

// Text draws the diagram: boxes below each other, and on their left side a line for each value from the
// box that makes it to the boxes that read it.
func (d *Diagram) Text(width int) string { return d.Draw(width, nil) }

// Draw is Text, painted.
func (d *Diagram) Draw(width int, paint Painter) string {
	if width <= 0 {
		width = 80
	}
	if paint == nil {
		paint = func(_ int, text string) string { return text }
	}
	t := &drawing{d: d, readers: d.readers(), at: map[port]int{}, paint: paint}
	t.place()
	t.inner = max(width-2*t.lanes-4, minBox)
	t.open = make([]bool, t.lanes)
	for i := range d.Boxes {
		t.box(i)
	}
	if d.Foot != "" {
		t.lines = append(t.lines, lines.Wrap(d.Foot, width, 2)...)
	}
	return strings.Join(t.lines, "\n")
}

type drawing struct {
	d       *Diagram
	readers map[port][]int
	lanes   int
	at      map[port]int // the lane of each value that has one
	open    []bool       // the lanes that a value is in at the line to come
	inner   int          // columns inside of a box
	paint   Painter
	lines   []string
}

// place gives values lanes: a free one of an earlier value, or a new one.
func (t *drawing) place() {
	var until []int // of each lane: the last box that reads its value
	for i, box := range t.d.Boxes {
		for k := range box.Out {
			list := t.readers[port{i, k}]
			if len(list) == 0 {
				continue
			}
			lane := slices.IndexFunc(until, func(last int) bool { return last <= i })
			if lane < 0 && len(until) == maxLanes {
				continue
			}
			if lane < 0 {
				lane = len(until)
				until = append(until, 0)
			}
			until[lane] = list[len(list)-1]
			t.at[port{i, k}] = lane
		}
	}
	t.lanes = len(until)
}

// box draws one box.
func (t *drawing) box(i int) {
	box := &t.d.Boxes[i]
	frame := func(s string) string { return t.paint(PaintTone+int(box.Tone), s) }
	row := func(margin, text string, what int) {
		text = runewidth.Truncate(text, t.inner, "…")
		pad := strings.Repeat(" ", t.inner-runewidth.StringWidth(text))
		if what >= 0 {
			text = t.paint(what, text)
		}
		t.lines = append(t.lines, margin+frame("│")+" "+text+pad+" "+frame("│"))
	}
	title := runewidth.Truncate(numbered(i, box.Title), t.inner-1, "…")
	note := box.Note
	rule := t.inner - runewidth.StringWidth(title) - 2
	if rule < runewidth.StringWidth(note)+2 {
		note = ""
	}
	bar := strings.Repeat("─", max(rule-runewidth.StringWidth(note), 0))
	if note != "" {
		bar = bar[:len(bar)-2*len("─")] + " " + note + " "
	}
	t.lines = append(t.lines, t.margin(-1, 0)+frame("╭─ ")+t.paint(PaintTitle, title)+" "+frame(bar+"─╮"))
	if box.Note != "" && note == "" {
		row(t.margin(-1, 0), box.Note, PaintDim)
	}
	for _, line := range box.Lines {
		for _, part := range wrapped(line, t.inner) {
			row(t.margin(-1, 0), part, -1)
		}
	}
	for _, in := range box.In {
		t.read(i, in, row)
	}
	for k, out := range box.Out {
		t.write(i, k, out, row)
	}
	t.lines = append(t.lines, t.margin(-1, 0)+frame("╰"+strings.Repeat("─", t.inner+2)+"╯"))
}

// read draws a value that a box reads.
func (t *drawing) read(i int, in In, row func(margin, text string, what int)) {
	p := port{in.Box, in.Out}
	lane, ok := t.at[p]
	switch {
	case in.Box < 0:
		row(t.margin(-1, 0), "reads "+in.Label, PaintDim)
	case !ok:
		row(t.margin(-1, 0), "reads "+in.Label+" of "+numbered(in.Box, t.d.Boxes[in.Box].Title), PaintDim)
	default:
		corner := '├'
		if list := t.readers[p]; list[len(list)-1] == i {
			corner = '╰'
		}
		margin := t.margin(lane, corner)
		t.open[lane] = corner == '├'
		row(margin, "reads "+in.Label, PaintDim)
	}
}

// write draws a value that a box makes.
func (t *drawing) write(i, k int, out Out, row func(margin, text string, what int)) {
	text := "makes " + out.Label
	if out.Kept {
		text += " · result"
	}
	lane, ok := t.at[port{i, k}]
	if !ok {
		row(t.margin(-1, 0), text, PaintDim)
		return
	}
	margin := t.margin(lane, '╭')
	t.open[lane] = true
	row(margin, text, PaintDim)
}

// margin returns the text to the left of a box's line: the lanes, and a line from one of them to the box.
func (t *drawing) margin(lane int, corner rune) string {
	var b strings.Builder
	for l := range t.lanes {
		switch reaching := lane >= 0 && l > lane; {
		case l == lane:
			b.WriteString(string(corner) + "─")
		case reaching && t.open[l]:
			b.WriteString("┼─")
		case reaching:
			b.WriteString("──")
		case t.open[l]:
			b.WriteString("│ ")
		default:
			b.WriteString("  ")
		}
	}
	return t.paint(PaintDim, b.String())
}

// wrapped breaks a line at blanks and indents the continuation.
func wrapped(text string, width int) (lines []string) {
	indent := ""
	for runewidth.StringWidth(text) > width {
		cut := strings.LastIndexByte(runewidth.Truncate(text, width+1, ""), ' ')
		if cut <= len(indent) {
			break
		}
		lines = append(lines, text[:cut])
		indent = "  "
		text = indent + strings.TrimLeft(text[cut:], " ")
	}
	return append(lines, text)
}
