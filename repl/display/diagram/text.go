package diagram

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/mcs-notebook/mcs/internal/lines"
)

// What a span of text is that is painted; from 0 up it is the frame of a box, by its tone.
const (
	title      = -2
	background = -1
)

// maxLanes is the number of values that are drawn as lines beside the boxes at a time, on a narrow screen
// fewer. For further values a box only names the box that they come from.
const maxLanes = 8

// minBox is the narrowest box, without its frame.
const minBox = 30

// Text draws the diagram: boxes below each other, and on their left side a line for each value from the
// box that makes it to the boxes that read it.
func (d *Diagram) Text(width int) string { return d.Draw(width, nil) }

// Draw is Text with frames and titles painted.
func (d *Diagram) Draw(width int, paint func(what int, text string) string) string {
	width = lines.Columns(width)
	if paint == nil {
		paint = func(_ int, text string) string { return text }
	}
	t := &drawing{d: d, readers: d.readers(), at: map[port]int{}, paint: paint}
	t.place(min(maxLanes, max(width-minBox-4, 0)/2))
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
	paint   func(what int, text string) string
	lines   []string
}

// place gives values lanes, most at a time: a free one of an earlier value, or a new one.
func (t *drawing) place(most int) {
	var until []int // of each lane: the last box that reads its value
	for i, box := range t.d.Boxes {
		for k := range box.Out {
			list := t.readers[port{i, k}]
			if len(list) == 0 {
				continue
			}
			lane := slices.IndexFunc(until, func(last int) bool { return last <= i })
			if lane < 0 && len(until) == most {
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
	row := func(margin, text string, what int) {
		for i, part := range wrapped(text, t.inner) {
			if i > 0 {
				margin = t.margin(-1, 0)
			}
			pad := strings.Repeat(" ", t.inner-runewidth.StringWidth(part))
			if what < 0 {
				part = t.paint(what, part)
			}
			t.lines = append(t.lines, margin+t.frame(box, "│")+" "+part+pad+" "+t.frame(box, "│"))
		}
	}
	t.top(box, numbered(i, box.Title), row)
	for _, line := range box.Lines {
		row(t.margin(-1, 0), line, 0)
	}
	for _, in := range box.In {
		t.read(i, in, row)
	}
	for k, out := range box.Out {
		t.write(i, k, out, row)
	}
	t.lines = append(t.lines, t.margin(-1, 0)+t.frame(box, "╰"+strings.Repeat("─", t.inner+2)+"╯"))
}

// top draws the upper frame of a box, with its name and, where there is room, its note.
func (t *drawing) top(box *Box, name string, row func(margin, text string, what int)) {
	head := runewidth.Truncate(name, t.inner-2, "")
	note, bar := "", t.inner-2-runewidth.StringWidth(head)
	if n := runewidth.StringWidth(box.Note); n > 0 && bar >= n+2 {
		note, bar = " "+box.Note+" ", bar-n-2
	}
	t.lines = append(t.lines, t.margin(-1, 0)+t.frame(box, "╭─ ")+t.paint(title, head)+" "+t.frame(box, strings.Repeat("─", bar)+note+"─╮"))
	if rest := name[len(head):]; rest != "" {
		row(t.margin(-1, 0), rest, title)
	}
	if box.Note != "" && note == "" {
		row(t.margin(-1, 0), box.Note, background)
	}
}

// frame paints what is a part of a box's frame.
func (t *drawing) frame(box *Box, text string) string { return t.paint(int(box.Tone), text) }

// read draws a value that a box reads.
func (t *drawing) read(i int, in In, row func(margin, text string, what int)) {
	p := port{in.Box, in.Out}
	lane, ok := t.at[p]
	switch {
	case in.Box < 0:
		row(t.margin(-1, 0), "reads "+in.Label, background)
	case !ok:
		row(t.margin(-1, 0), "reads "+in.Label+" of "+numbered(in.Box, t.d.Boxes[in.Box].Title), background)
	default:
		corner := '├'
		if list := t.readers[p]; list[len(list)-1] == i {
			corner = '╰'
		}
		margin := t.margin(lane, corner)
		t.open[lane] = corner == '├'
		row(margin, "reads "+in.Label, background)
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
		row(t.margin(-1, 0), text, background)
		return
	}
	margin := t.margin(lane, '╭')
	t.open[lane] = true
	row(margin, text, background)
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
	return t.paint(background, b.String())
}

// wrapped breaks a line at blanks, and words that are wider than the box anywhere, and indents the
// continuation.
func wrapped(text string, width int) (lines []string) {
	indent := ""
	for runewidth.StringWidth(text) > width {
		head := runewidth.Truncate(text, width, "")
		if cut := strings.LastIndexByte(runewidth.Truncate(text, width+1, ""), ' '); cut > len(indent) {
			head = text[:cut]
		}
		lines = append(lines, head)
		indent = "  "
		text = indent + strings.TrimLeft(text[len(head):], " ")
	}
	return append(lines, text)
}
