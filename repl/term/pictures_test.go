package term

import (
	"image/color"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/plot"
	"github.com/mcs-notebook/mcs/repl/display"
)

// The colours of series have a contrast of 3:1 on the grounds that terminals have.
func TestSeriesColoursRead(t *testing.T) {
	linear := func(v int) float64 {
		if s := float64(v) / 255; s > 0.04045 {
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	luminance := func(r, g, b int) float64 { return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b) }
	levels := []int{0, 95, 135, 175, 215, 255}
	for _, role := range []display.Role{display.Series1, display.Series2, display.Series3, display.Series4} {
		n, err := strconv.Atoi(strings.TrimPrefix(string(seriesColours[role]), "38;5;"))
		if err != nil || n < 16 || n > 231 {
			t.Fatalf("role %d has the colour %q, want one of the 6×6×6", role, seriesColours[role])
		}
		n -= 16
		c := luminance(levels[n/36], levels[n/6%6], levels[n%6])
		for _, ground := range []color.NRGBA{{255, 255, 255, 255}, {0, 0, 0, 255}, {30, 30, 30, 255}} {
			g := luminance(int(ground.R), int(ground.G), int(ground.B))
			if ratio := (math.Max(c, g) + 0.05) / (math.Min(c, g) + 0.05); ratio < 3 {
				t.Errorf("role %d on %v has a contrast of %.2f, want 3", role, ground, ratio)
			}
		}
	}
}

// parts is a value of several, as commands return them.
type parts []display.Value

func (p parts) Text(int) string         { return "all as text" }
func (p parts) Values() []display.Value { return p }

// A plot is an image where the terminal shows them, also beside other values; other values are text.
func TestPictured(t *testing.T) {
	drawn := plot.Line([]int{1, 2})
	for _, c := range []struct {
		name, set   string
		value       display.Value
		begin, text string // of what is shown; empty: text shows it
	}{
		{"a plot", "sixel", drawn, "\x1bP0;1q", ""},
		{"a plot and a note", "sixel", parts{drawn, display.Text("note")}, "\x1bP0;1q", "\nnote"},
		{"text alone", "sixel", parts{display.Text("note")}, "", ""},
		{"no images, a line", "off", drawn, "", ""},
		{"no images, a heat map", "off", plot.Heat([][]int{{1}}), " \x1b[38;5;", ""},
	} {
		env := func(name string) string { return map[string]string{"TERM": "xterm-256color"}[name] }
		nb := &notebook{theme: theme{enabled: true, fixed: true}}
		nb.pictures = &pictures{env: env, set: "auto", columns: func() int { return 40 }, rows: func() int { return 20 }, theme: nb.theme}
		nb.pictures.choose(c.set)
		p := nb.pictured(c.value, 1)
		if (p == nil) != (c.begin == "") {
			t.Errorf("%s: got %v", c.name, p)
			continue
		}
		if p != nil && (!strings.HasPrefix(p.drawn, c.begin) || !strings.HasSuffix(p.drawn, c.text) || p.image != (c.set == "sixel")) {
			t.Errorf("%s: got %.60q … %.20q", c.name, p.drawn, p.drawn[max(len(p.drawn)-20, 0):])
		}
	}
}
