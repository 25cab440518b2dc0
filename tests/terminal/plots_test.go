package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// A terminal that says that it shows sixels gets plots as sixels; keys that are typed meanwhile are kept.
func TestPlotAsSixels(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	ready(p)
	p.Send("plot.Line([]int{1, 2})\r")
	p.Wait("the question", func() bool { return p.Wrote("\x1b[c") })
	p.Send("1 + \x1b[?62;4;22c41")
	p.Wait("sixels", func() bool { return p.Wrote("\x1bP0;1q\"1;1;") })
	p.SeeLine("In [2]: 1 + 41")
	p.Send("\r")
	p.See("Out[2]: 42")
	run(p, "plot.Line([]int{3, 4})") // is not asked about again
	run(p, "%plot -images off plot.Line([]int{5, 6})", "6.0 ┤")
	leave(t, p)
}

// A terminal that says that it has no images gets text, and heat maps in its colours.
func TestPlotAsText(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	ready(p)
	p.Send("plot.Heat([][]int{{0, 1}, {2, 3}})\r")
	p.Wait("the question", func() bool { return p.Wrote("\x1b[c") })
	p.Send("\x1b[?1;2c")
	p.See("0 ████")
	if !p.Wrote("m▀\x1b[0m") && !p.Wrote("m█\x1b[0m") {
		t.Error("the heat map has no colours")
	}
	run(p, "plot.Line([]int{0, 4}).Named(\"a\").And(plot.Line([]int{3, 2}).Named(\"b\"))", "⠒⠒ b")
	if !p.Wrote("\x1b[38;5;27m") || !p.Wrote("\x1b[38;5;202mb\x1b[0m") {
		t.Error("the series have no colours of their own")
	}
	run(p, "%plot -images kitty plot.Line([]int{1, 2})")
	if !p.Wrote("\x1b_Ga=T,f=100,q=2,c=80,") {
		t.Error("the person's choice is not obeyed")
	}
	run(p, "%plot -images braille", "-images braille: want auto, kitty, sixel, off")
	leave(t, p)
}

// A live plot is drawn again in place, above the progress, and stands on the screen once at the end.
func TestLivePlot(t *testing.T) {
	t.Parallel()
	p := newHome(t).open([]string{"MCS_IMAGES=off"})
	run(p, `live := plot.Live(ctx, "a").Titled("it lives")
for i := range 12 {
	live.Add(float64(i), float64(i*i))
	time.Sleep(60 * time.Millisecond)
}
"end"`, "Out[1]: \"end\"")
	if n := strings.Count(p.Text(), "it lives"); n != 2 { // in the cell, and in the plot
		t.Errorf("the screen has %d titles, want 2:\n%s", n, p.Text())
	}
	if !strings.Contains(p.Text(), "100 ┤") {
		t.Errorf("the last state is not there:\n%s", p.Text())
	}
	if !wroteUpwards(p) {
		t.Error("it was not drawn in place while it ran")
	}
	leave(t, p)
}

// wroteUpwards says whether the program went back to the first line of a drawing.
func wroteUpwards(p *screen.Program) bool {
	for rows := 10; rows < 25; rows++ {
		if p.Wrote(fmt.Sprintf("\r\x1b[%dA", rows)) {
			return true
		}
	}
	return false
}
