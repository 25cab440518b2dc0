package term

import (
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// Through a file of three cells, with one cell in the history. The last line of want is the text with the
// cursor, or the cells that ran.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name, keys, want string
	}{
		{"the first cell is there", "", "one|"},
		{"a run brings the next one", "\r", "one. f {⏎→g⏎}|"},
		{"Return runs it from anywhere", "\r" + up + "\r", "one. f {⏎→g⏎}. three|"},
		{"behind the last one the prompt is empty", "\r\r\r", "one. f {⏎→g⏎}. three. |"},
		{"… and page up goes back", "\r\r\r" + pageUp + pageUp, "one. f {⏎→g⏎}. three. f {⏎→g⏎}|"},
		{"page down turns without a run", pageDown + pageDown, "three|"},
		{"… and a run goes on from there", pageDown + "\r", "f {⏎→g⏎}. three|"},
		{"page up stops at the first", pageUp + pageUp, "one|"},
		{"page down stops behind the last", strings.Repeat(pageDown, 5), "|"},
		{"a step that was changed stays so", "x" + pageDown + pageUp, "onex|"},
		{"… and is a step when it runs", "x\r", "onex. f {⏎→g⏎}|"},
		{"up goes to the history", up, "past|"},
		{"… and down comes back to the step", up + down + "\r", "one. f {⏎→g⏎}|"},
		{"a cell of the history is no step", up + "\r", "past. |"},
		{"… and page down brings the step again", up + "\r" + pageDown, "past. one|"},
		{"from the history page down turns on", up + pageDown, "f {⏎→g⏎}|"},
		{"Ctrl-C leaves room for another cell", ctrlC + "mine\r", "^C mine. |"},
		{"… and the file goes on behind it", ctrlC + "mine\r" + pageDown + "\r", "^C mine. one. f {⏎→g⏎}|"},
		{"what was typed comes back behind the last step", ctrlC + "mi" + pageDown + strings.Repeat(pageDown, 3), "^C mi|"},
	} {
		ty := newTypist(40, 12, theme{}, "past")
		ty.Step(File{Name: "a.mcs", Steps: []Step{{Text: "one"}, {Text: "f {\n\tg\n}", Title: "second"}, {Text: "three"}}})
		ty.next()
		got := ""
		for keys := c.keys; keys != ""; {
			n := keyLen(keys)
			if r := ty.press(keys[:n]); r != nil {
				got += strings.TrimPrefix(strings.NewReplacer("\n", "⏎", "\t", "→").Replace(r.cell)+". ", ". ")
				if r.err != nil {
					got += "^C "
				}
				ty.Remember(r.cell)
				ty.next()
			}
			keys = keys[n:]
		}
		if got += ty.state(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// Keys that were typed while a cell ran are a cell of their own, not added to a step.
func TestStepsTypedAhead(t *testing.T) {
	ty := newTypist(40, 12, theme{})
	ty.Step(File{Name: "a.mcs", Steps: []Step{{Text: "one"}, {Text: "two"}}})
	ty.next()
	ty.source.unread([]byte("mine"))
	ty.press("\r")
	ahead, _ := ty.begin(2)
	ty.feed(ahead)
	ty.step(true)
	if got := ty.state(); got != "mine|" {
		t.Errorf("got %s, want mine|", got)
	}
	ty.press(pageDown)
	if got := ty.state(); got != "two|" {
		t.Errorf("after page down: got %s, want two|", got)
	}
}

// The prose above a step is printed once, when a run brings the step.
func TestStepsLook(t *testing.T) {
	ty := newTypist(40, 12, theme{})
	ty.Step(File{Name: "a.mcs", Steps: []Step{{Prose: "# Sums\nA line of prose that is wider than the screen is.", Text: "1 + 1", Title: "a sum"}, {Prose: "More.", Text: "2 + 2"}}})
	ty.screen = screen.New(40, 12)
	ty.console.Writer = ty.screen
	ty.view.restart()
	ty.next()
	if got, want := strings.TrimRight(strings.ReplaceAll(ty.screen.Dump(), "<>", ""), "\n "), `Sums
════

A line of prose that is wider than the
screen is.

In [2]: 1 + 1
  a.mcs 1/2 · a sum`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
