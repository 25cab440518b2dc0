package plot

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The text of what a series has besides its points.
func TestMarksInText(t *testing.T) {
	for _, c := range []struct {
		name string
		plot *Plot
		want string
	}{
		{"error bars", Line([]int{2, 4}).Errors(1, 2).Style("o"), `
6 ┤                     ⢸
  │                     ⢸
4 ┤⡇                    ⢻
2 ┤⣧
  │⡇
  └┬──────────┬─────────┬
   0         0.5      1.0`},
		{"a band", Line([]int{2, 2}).Band(1, []int{3, 4}), `
4 ┤            ⡀⢀ ⠄⠠ ⠂⠐ ⠂
  │⠄⠠ ⠄⠐ ⠂⠈ ⠁⠈
  │
2 ┤⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒
  │⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀⢀ ⡀
  └┬──────────┬─────────┬
   0         0.5      1.0`},
		{"names", Bars([]string{"a", "long"}, []int{1, 2}), `
2 ┤            ⣿⣿⣿⣿⣿⣿⣿⣿⡇
  │            ⣿⣿⣿⣿⣿⣿⣿⣿⡇
1 ┤ ⣶⣶⣶⣶⣶⣶⣶⣶⡆  ⣿⣿⣿⣿⣿⣿⣿⣿⡇
  │ ⣿⣿⣿⣿⣿⣿⣿⣿⡇  ⣿⣿⣿⣿⣿⣿⣿⣿⡇
0 ┤ ⣿⣿⣿⣿⣿⣿⣿⣿⡇  ⣿⣿⣿⣿⣿⣿⣿⣿⡇
  └─────┬──────────┬─────
        a        long`},
		{"long names", Bars([]string{"größer als b", "日本語の言葉"}, []int{1, 2}), `
2 ┤            ⣿⣿⣿⣿⣿⣿⣿⣿⡇
  │            ⣿⣿⣿⣿⣿⣿⣿⣿⡇
1 ┤ ⣶⣶⣶⣶⣶⣶⣶⣶⡆  ⣿⣿⣿⣿⣿⣿⣿⣿⡇
  │ ⣿⣿⣿⣿⣿⣿⣿⣿⡇  ⣿⣿⣿⣿⣿⣿⣿⣿⡇
0 ┤ ⣿⣿⣿⣿⣿⣿⣿⣿⡇  ⣿⣿⣿⣿⣿⣿⣿⣿⡇
  └─────┬──────────┬─────
    größer a…  日本語の…`},
		{"a line over bars", Bars([]int{1, 2}).And(Line([]int{2, 1})), `
2 ┤     ⠈⠑⠢⢄⣀ ⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
  │          ⠉⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
1 ┤⣶⣶⣶⣶⣶⣶⣶⣶⣶⣶⣶⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
  │⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
0 ┤⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⣿⡇
  └─────┬──────────┬─────
        0          1`},
		{"a box", Box([]int{1, 2, 3, 4, 9}).Named("g"), `
8 ┤           ⠁
6 ┤
  │
4 ┤    ⢸⠭⠭⠭⠭⠭⠭⠭⠭⠭⠭⠭⠭⡇
2 ┤    ⠘⠒⠒⢒⣒⣒⣒⣖⣒⣒⡒⠒⠒⠃
  └───────────┬──────────
              g`},
		{"two axes", Line([]int{1, 2}).Labels("", "up").Twin(Line([]int{20, 10}).Labels("", "down")), `
     up │ down
2.0 ┤⠑⠢⢄          ⡠⠔⠊├ 20
    │   ⠉⠢⢄⡀  ⢀⡠⠔⠉   │
1.5 ┤      ⢈⠶⠶⡁      ├ 15
    │   ⣀⠔⠊⠁  ⠈⠑⠢⣀   │
1.0 ┤⡠⠔⠊          ⠑⠢⢄├ 10
    └┬───────┬──────┬
     0      0.5   1.0`},
		{"a grid", Grid(2, Line([]int{1, 2}).Titled("p"), Image([][]int{{255, 0}, {0, 255}}).Titled("q")).Titled("g"), `
 g

     p                     q
2.0 ┤              ⢀⡠⠔⠊   ┌────┐
    │           ⣀⠔⠊⠁      │██  │
1.5 ┤       ⣀⠤⠒⠉          │  ██│
    │   ⢀⡠⠔⠉              └────┘
1.0 ┤⡠⠔⠊⠁
    └┬────────┬───────┬
     0       0.5    1.0`},
	} {
		width := 26
		if c.plot.Kind == KindGrid {
			width = 50
		}
		if got := "\n" + c.plot.Text(width); got != c.want {
			t.Errorf("%s: got%s\nwant%s", c.name, got, c.want)
		}
	}
}

// Boxes are those of matplotlib.cbook.boxplot_stats.
func TestBoxOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   spread
	}{
		{[]float64{3}, spread{3, 3, 3, 3, 3, nil}},
		{[]float64{1, 2}, spread{1, 1.25, 1.5, 1.75, 2, nil}},
		{[]float64{9, 1, 3, 2, 4}, spread{1, 2, 3, 4, 4, []float64{9}}},
		{[]float64{-5, 0, 0.5, 1, 1, 1.5, 2, 2.25, 7, 8}, spread{0, 0.625, 1.25, 2.1875, 2.25, []float64{-5, 7, 8}}},
		{[]float64{2, 2, 2, 2, 5}, spread{2, 2, 2, 2, 2, []float64{5}}},
	} {
		got := boxOf(c.values)
		if got.low != c.want.low || got.first != c.want.first || got.median != c.want.median || got.third != c.want.third || got.high != c.want.high || !slices.Equal(got.out, c.want.out) {
			t.Errorf("%v: got %v, want %v", c.values, got, c.want)
		}
	}
}

// The shapes of a figure are where the numbers are.
func TestMarksInFigures(t *testing.T) {
	r := record(Line([]float64{0, 1, math.NaN(), 3, 4}).Band([]float64{-1, 0, 0, 2, 3}, 5).XLim(0, 4).YLim(-1, 5))
	if len(r.fills) != 1 || len(r.fills[0]) != 10 {
		t.Errorf("a band of 5 points: got %v", r.fills)
	}
	r = record(Line([]float64{1, 2}).Errors(1))
	if len(r.lines) != 1+2*3 {
		t.Errorf("a line and two error bars: got %d lines", len(r.lines))
	}
	p := Scatter([]int{1, 2, 3}, []int{1, 2, 3}).Colours([]float64{0, 1, math.NaN()}).Sizes([]float64{1, 4, -1})
	f := &figure{Plot: p, pen: new(recorder), area: box{0, 0, 100, 100}}
	f.axes, _ = p.bounds()
	way := f.trace(0)
	low, high := inkOf(ramps["viridis"](0)), inkOf(ramps["viridis"](1))
	if want := []float64{maxRadius / 2, maxRadius, 0}; !slices.Equal(way.radii, want) || !slices.Equal(way.inks, []ink{low, high, inkText}) {
		t.Errorf("got radii %v and inks %v, want %v and %v", way.radii, way.inks, want, []ink{low, high, inkText})
	}
	if r := record(p); len(r.pictures) != 1 { // the bar of colours
		t.Errorf("got %d pictures, want the bar of colours", len(r.pictures))
	}
	if svg := Line([]int{1, 2}).Style("g:").SVG(); !strings.Contains(svg, `class="mcs-s-2" stroke="#0f9475" stroke-width="1.8" stroke-dasharray="2 3"`) {
		t.Errorf("a green dotted line is not in\n%s", svg)
	}
	twin := Line([]float64{0, 1}).Twin(Line([]float64{0, 1000}).Labels("", "right"))
	r = record(twin)
	if len(r.lines) != 2 || !slices.Equal(r.lines[0], r.lines[1]) || !slices.Contains(r.texts, "1000") || !slices.Contains(r.texts, "right") {
		t.Errorf("two lines in the same place by two axes: got %v and %v", r.lines, r.texts)
	}
}

// A grid draws its plots beside each other, as they are alone.
func TestGrid(t *testing.T) {
	a, b := Line([]int{1, 2}).Titled("a"), Line([]int{2, 1}).Titled("b")
	one, whole := new(recorder), record(Grid(2, a, b, a).Size(400, 300))
	a.figure(one, 200, 150)
	for i, d := range []point{{0, 0}, {200, 0}, {0, 150}} {
		if got := whole.lines[i][0]; i != 1 && got != (point{one.lines[0][0].x + d.x, one.lines[0][0].y + d.y}) {
			t.Errorf("plot %d begins at %v, want %v beside %v", i, got, one.lines[0][0], d)
		}
	}
	if got := strings.Join(whole.texts, " "); !strings.Contains(got, "a") || !strings.Contains(got, "b") {
		t.Errorf("got the texts %s", got)
	}
}

// TestGridOfLongTitles: what is wider than its place in a grid of text moves its neighbour and is cut.
func TestGridOfLongTitles(t *testing.T) {
	none := Line([]float64{math.NaN()}).Titled("loss")
	for _, g := range []*Plot{Grid(2, Line([]int{1, 2}).Titled(strings.Repeat("long ", 12)), Line([]int{2, 1})), Grid(3, none, none, none)} {
		for _, width := range []int{20, 40, 80} {
			if text := g.Text(width); text == "" {
				t.Errorf("nothing at %d columns", width)
			}
		}
	}
	if text := Grid(2, Line([]int{1, 2}).Titled(strings.Repeat("long ", 12)), Line([]int{2, 1})).Text(80); !strings.Contains(text, "…") {
		t.Errorf("the title is not cut:\n%s", text)
	}
}

// TestAndOfTwin: the axis at the right comes along, and a third is refused.
func TestAndOfTwin(t *testing.T) {
	two := func() *Plot { return Line([]int{1, 2}).Twin(Line([]int{10, 20})) }
	if text := Line([]int{1, 2}).And(two()).Text(60); !strings.Contains(text, "├ 20") {
		t.Errorf("no axis at the right:\n%s", text)
	}
	defer func() {
		if e, ok := recover().(*Error); !ok || !strings.Contains(e.Error(), "third axis") {
			t.Errorf("got %v, want a refusal of a third axis", e)
		}
	}()
	two().And(two())
}
