package plot

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	down := &Plot{Title: "training", XLabel: "step", YLabel: "loss", Height: 8,
		Series: []Series{{Name: "train", Y: []float64{4, 2, 1, 0}}, {Name: "eval", X: []float64{0, 3}, Y: []float64{4, 2}}}}
	for _, c := range []struct {
		name string
		plot *Plot
		want string
	}{
		{"two lines", down, `
   loss: training
4 ┤⠙⢖⠒⠤⢄⣀⡀
  │  ⠑⠢⡀ ⠈⠉⠒⠢⠤⢄⣀
2 ┤    ⠈⠒⠤⣀     ⠉⠉⠒ eval
  │        ⠉⠒⠤⣀
0 ┤            ⠉⠒⠤⣀ train
  └┬─────────┬─────
   0         2 step`},

		{"histogram", func() *Plot {
			p := Hist([]float64{1, 2, 2, 3, 3, 3, 4, 4, 5, math.NaN()}, 5).Titled("weights")
			p.Height = 7
			return p
		}(), `
   count: weights
  │        ⢸⣿⣿⣿⣿
2 ┤    ⢰⣶⣶⣶⣾⣿⣿⣿⣿⣶⣶⣶⣶
  │⣤⣤⣤⣤⣼⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣤⣤⣤⣤⡄
0 ┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
  └─────┬──────────┬─────
        2          4`},
		{"logarithmic", &Plot{LogX: true, LogY: true, Height: 7, Series: []Series{{X: []float64{0, 1, 10, 100}, Y: []float64{5, 1, 100, 10000}}}}, `
     │              ⣀⡠⠤⠒⠉
1000 ┤         ⣀⡠⠔⠒⠉
     │    ⢀⡠⠤⠒⠉
   1 ┤⣀⠤⠒⠉⠁
     └┬─────────────────┬
      1               100`},
		{"one point", &Plot{Kind: KindPoints, Height: 6, Series: []Series{{X: []float64{3}, Y: []float64{7}}}}, `
10 ┤
   │          ⠛
 5 ┤
   └───┬─────────────┬───
       2             4`},
		{"heat map", &Plot{Kind: KindHeat, Title: "causal", Cells: [][]float64{{1, math.NaN()}, {0.5, 0}}}, `
 causal
┌────┐
│██··│
│▒▒  │
└────┘
    0  ░░ 0.25  ▒▒ 0.50  ▓▓ 0.75  ██ 1.00`},
		{"bars of two series", Bars([]int{1, 4}).Named("p").And(Bars([]int{4, 1}).Named("q")), `
   p, q
4 ┤     ⢸⣿⣿⣿⡇  ⣿⣿⣿⣿
  │     ⢸⣿⣿⣿⡇  ⣿⣿⣿⣿
2 ┤     ⢸⣿⣿⣿⡇  ⣿⣿⣿⣿
  │ ⣤⣤⣤⣤⣼⣿⣿⣿⡇  ⣿⣿⣿⣿⣤⣤⣤⣤⡄
0 ┤ ⣿⣿⣿⣿⣿⣿⣿⣿⡇  ⣿⣿⣿⣿⣿⣿⣿⣿⡇
  └─────┬──────────┬─────
        0          1`},
		{"nothing", &Plot{Title: "loss", Series: []Series{{Y: []float64{math.NaN()}}}}, "\nloss (no finite points to draw)"},
	} {
		if got := "\n" + c.plot.Text(26); got != c.want {
			t.Errorf("%s: got%s\nwant%s", c.name, got, c.want)
		}
	}
}

// Where names stand together, the colour of each says which series it names.
func TestNamesArePainted(t *testing.T) {
	p := Scatter([]int{1}, []int{2}).Named("a").And(Scatter([]int{2}, []int{1}).Named("b"))
	got, _, _ := strings.Cut(p.Draw(30, func(series int, text string) string { return fmt.Sprintf("%d(%s)", series, text) }), "\n")
	if want := "0(a), 1(b)"; strings.TrimSpace(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An axis has two labels at least, whatever its ends are. What a program prints is the text.
func TestTwoLabels(t *testing.T) {
	p := Line([]float64{0.13, 0.97, 0.4})
	var got []string
	for line := range strings.Lines(fmt.Sprintln(p)) {
		if label, _, ok := strings.Cut(line, "┤"); ok {
			got = append(got, strings.TrimSpace(label))
		}
	}
	if want := "0.8 0.6 0.4 0.2"; strings.Join(got, " ") != want { // matplotlib's
		t.Errorf("got the labels %q, want %s", got, want)
	}
	for _, ends := range [][2]float64{{0.13, 0.97}, {1, 9}, {-4.9, 4.9}, {99.1, 100.9}, {1e-300, 9e-300}, {-1e308, 1e308}} {
		for n := range 9 {
			if got := (axis{low: ends[0], high: ends[1]}).ticks(n); len(got) < 2 || len(got) > max(n, 4)+1 {
				t.Errorf("%v: got %d labels, want about %d", ends, len(got), n)
			}
		}
	}
}

// A number that rounds to zero has no sign.
func TestZeroLabel(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{-0.0003, "0.00"}, {-0.01, "-0.01"}, {0, "0"}, {100, "100.00"}} {
		if got := label(c.v, 0.01); got != c.want {
			t.Errorf("%v: got %s, want %s", c.v, got, c.want)
		}
	}
}

// Whatever the width and the data, no line is wider than the screen and nothing panics.
func TestTextFits(t *testing.T) {
	noise := make([]float64, 500)
	for i := range noise {
		noise[i] = math.Sin(float64(i*i)) * math.Pow(10, float64(i%7-3))
	}
	noise[7], noise[9] = math.Inf(1), math.NaN()
	for _, p := range []*Plot{
		New("a title", "x", "y", []string{"a long name of a series", "b"}, nil, [][]float64{noise, noise[:20]}),
		{Kind: KindPoints, LogY: true, Series: []Series{{Y: noise}}},
		Hist(noise, 0),
		Hist([]float64{5, 5, 5}, 0),
		{Series: []Series{{Y: []float64{1e300, -1e300}}}},
		{Series: []Series{{Y: []float64{0}}}},
		{Kind: KindHeat, Cells: [][]float64{noise, noise[:3], nil}},
	} {
		for _, width := range []int{30, 47, 80, 200} {
			for _, line := range strings.Split(p.Text(width), "\n") {
				if n := utf8.RuneCountInString(line); n > width && !strings.Contains(line, "░░ ") && !strings.Contains(line, "a title") {
					t.Errorf("width %d: line of %d columns: %s", width, n, line)
				}
			}
		}
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	for _, p := range []*Plot{
		New("<loss> & more", "step", "loss", []string{"a", "b"}, nil, [][]float64{{3, 2, math.NaN(), 1}, {1, 2}}),
		{Kind: KindPoints, Series: []Series{{Y: []float64{1, 2}}}},
		Hist([]float64{1, 2, 2}, 2).Titled("h"),
		{Kind: KindHeat, Cells: [][]float64{{1, 2}, {3, math.NaN()}}},
		{},
	} {
		d := xml.NewDecoder(strings.NewReader(p.SVG()))
		for {
			_, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, p.SVG())
			}
		}
		if strings.Contains(p.SVG(), "NaN") || strings.Contains(p.SVG(), "Inf") {
			t.Errorf("not a number among the coordinates:\n%s", p.SVG())
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis axis
		n    int
		want string
	}{
		{axis{low: 0, high: 300}, 5, "0 100 200 300"},
		{axis{low: 0.97, high: 1.03}, 4, "0.98 1.00 1.02"},
		{axis{low: -1, high: 1}, 4, "-1.0 -0.5 0 0.5 1.0"},
		{axis{low: 0, high: 2e6}, 4, "0 500k 1.0M 1.5M 2.0M"},
		{axis{low: 1e-9, high: 3e-9}, 2, "1e-09 2e-09 3e-09"},
		{axis{low: 0, high: 1e300}, 2, "0 5e+299 1e+300"},
		{axis{low: 1, high: 1e6, log: true}, 3, "1 1000 1M"},
		{axis{low: 1.2, high: 6, log: true}, 4, "2 5"},
		{axis{low: 2.1, high: 2.2, log: true}, 2, "2.10 2.15 2.20"},
	} {
		var got []string
		for _, tick := range c.axis.ticks(c.n) {
			got = append(got, tick.label)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%+v: got %s, want %s", c.axis, s, c.want)
		}
	}
}

// An axis of any two numbers has few ticks.
func TestTicksOfExtremes(t *testing.T) {
	tiny := math.SmallestNonzeroFloat64
	for _, span := range [][2]float64{{1e17, 1e17}, {1e17, 1e17 + 16}, {-1e308, 1e308}, {-math.MaxFloat64, math.MaxFloat64}, {0, tiny}, {tiny, tiny}, {math.MaxFloat64, math.MaxFloat64}, {1, math.Nextafter(1, 2)}} {
		for _, log := range []bool{false, true} {
			if log && span[0] <= 0 {
				continue
			}
			a := axis{low: span[0], high: span[1], log: log}
			a.widen()
			for n := 1; n < 10; n++ {
				if ticks := a.ticks(n); len(ticks) == 0 || len(ticks) > 40 {
					t.Errorf("%g, log %v: got %d ticks, want about %d", span, log, len(ticks), n)
				}
			}
			if at := a.at(span[1]); span[1] > 1e-290 && !(at >= 0 && at <= 1) {
				t.Errorf("%g, log %v: got the place %g", span, log, at)
			}
		}
	}
}
