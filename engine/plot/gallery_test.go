package plot

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

var galleryDir = flag.String("gallery", "", "write each plot of the gallery to this folder, light and dark, as PNG, SVG and text")

// gallery has a plot of each kind, and of data that are hard to draw.
func gallery() map[string]*Plot {
	r := rand.New(rand.NewPCG(1, 2))
	series := func(n int, f func(i int) float64) []float64 {
		y := make([]float64, n)
		for i := range y {
			y[i] = f(i)
		}
		return y
	}
	noise := func(n int) []float64 { return series(n, func(int) float64 { return r.NormFloat64() }) }
	table := func(rows, columns int, f func(y, x int) float64) [][]float64 {
		t := make([][]float64, rows)
		for y := range t {
			t[y] = series(columns, func(x int) float64 { return f(y, x) })
		}
		return t
	}
	loss := series(300, func(i int) float64 { return 2.3*math.Exp(-float64(i)/60) + 0.1 + 0.05*r.NormFloat64() })
	many := Line(series(50, func(i int) float64 { return float64(i) })).Named("a series with quite a long name 0")
	for k := 1; k < 20; k++ {
		many.And(Line(series(50, func(i int) float64 { return float64(i) + 3*float64(k)*math.Sin(float64(i)/8) })).Named(fmt.Sprintf("a series with quite a long name %d", k)))
	}
	waves := table(64, 64, func(y, x int) float64 { return math.Sin(float64(x)/7) * math.Cos(float64(y)/9) })
	smile := make([]float64, 3*24*32)
	for i := range smile {
		c, y, x := i/(24*32), i/32%24, i%32
		smile[i] = []float64{float64(x) / 31, float64(y) / 23, 0.5}[c]
	}
	digits := table(20, 64, func(n, at int) float64 {
		return math.Exp(-math.Pow(math.Hypot(float64(at/8)-3.5, float64(at%8)-3.5)-float64(n%4), 2))
	})
	walk, sum := make([]float64, 50_000), 0.0
	for i := range walk {
		sum += r.NormFloat64()
		walk[i] = sum
	}
	steps := series(40, func(i int) float64 { return float64(i) / 4 })
	decay := series(40, func(i int) float64 { return math.Exp(-float64(i) / 15) })
	of := func(f func(y float64) float64) []float64 {
		return series(40, func(i int) float64 { return f(decay[i]) })
	}
	return map[string]*Plot{
		"band":   Line(steps, decay).Named("mean").Band(of(func(y float64) float64 { return 0.8 * y }), of(func(y float64) float64 { return 1.2*y + 0.05 })).And(Line(steps, of(math.Sqrt)).Named("other").Style("r--")).Titled("a band"),
		"errors": Scatter(steps[:12], decay[:12]).Errors(0.08).Titled("error bars").Labels("x", "y"),
		"errors-bars": Bars([]string{"ref", "cpu", "cuda"}, []float64{3, 9, 27}).Errors([]float64{1, 2, 3}, 4).Named("a").
			And(Bars([]float64{2, 12, 20}).Named("b")).Titled("bars with names"),
		"errors-log":  Line([]float64{1, 10, 100}, []float64{1, 0.1, 0.01}).Errors([]float64{0.5, 0.2, 0.005}).Style("o-").Log("xy"),
		"coloured":    Scatter(noise(200), noise(200)).Colours(noise(200)).Sizes(series(200, func(i int) float64 { return float64(i) })).Titled("colours and sizes").Labels("x", "y"),
		"box":         Box(noise(100), noise(500), series(80, func(i int) float64 { return math.Exp(r.NormFloat64()) })).Named("small", "large", "log-normal").Titled("boxes").Labels("", "value"),
		"box-plain":   Box(table(50, 4, func(_, x int) float64 { return float64(x) + r.NormFloat64() })),
		"twin":        Line(steps, decay).Named("loss").Labels("step", "loss").Twin(Line(steps, steps).Named("rate").Labels("", "learning rate").Style("g:")).Titled("two axes"),
		"twin-log":    Line(steps, steps).Twin(Line(steps, decay).Labels("", "loss").Log("y").YLim(1e-3, 10)).Labels("step", "up"),
		"bars-line":   Hist(noise(2000), 20).Named("count").And(Line(series(20, func(i int) float64 { return float64(i)/5 - 2 }), series(20, func(i int) float64 { return 300 * math.Exp(-math.Pow(float64(i)/5-2, 2)/2) })).Named("normal")).Titled("a line over bars"),
		"styles":      Line(steps, decay).Style("r--").Named("r--").And(Line(steps, of(math.Sqrt)).Style("go-").Named("go-")).And(Line(steps, of(func(y float64) float64 { return y * y })).Style("k:").Named("k:")).And(Line(steps, of(func(y float64) float64 { return y / 2 })).Style("mo").Named("mo")),
		"grid":        Grid(2, Line(loss).Titled("loss").Log("y"), Hist(noise(1000)).Titled("weights"), Heat(waves).Titled("waves"), Scatter(noise(50), noise(50)).Titled("points").Labels("a", "b")).Titled("four plots"),
		"grid-images": Grid(4, Image(batchOf(digits, 8)[0]).Titled("zero"), Image(batchOf(digits, 8)[1]).Titled("one"), Image(batchOf(digits, 8)[2]).Titled("two"), Image(batchOf(digits, 8)[3]).Titled("three"), Image(batchOf(digits, 8)[4]).Titled("four")),
		"line":        Line(loss).Named("train").And(Line(series(300, func(i int) float64 { return 2.3*math.Exp(-float64(i)/60) + 0.3 })).Named("eval")).Titled("training").Labels("step", "loss"),
		"log":         Line(series(100, func(i int) float64 { return math.Pow(0.9, float64(i)) * float64(i%10) })).Titled("log with zeros").Labels("step", "loss").Log("y"),
		"wide":        Line([]float64{1e-30, 1, 1e30}).Over([]float64{1e-30, 1, 1e30}).Log("xy").Titled("1e-30 to 1e30"),
		"wide-flat":   Line([]float64{1e-30, 1, 1e30}).Titled("1e-30 to 1e30, not logarithmic"),
		"scatter":     Scatter(noise(300), noise(300)).Named("a").And(Scatter(noise(300), noise(300)).Named("b")).Titled("two clouds"),
		"density":     Scatter(noise(50_000), noise(50_000)).Titled("50,000 points"),
		"walk":        Line(walk).Titled("50,000 steps").Labels("step", "place"),
		"hist":        Hist(noise(10_000), 0).Titled("10,000 normal numbers"),
		"bars":        Bars([]int{3, 1, 4, -2, 5}).Named("p").And(Bars([]int{2, 2, -1, 3, 1}).Named("q")).Titled("two kinds of bars"),
		"bars-many":   Bars(series(20_000, func(i int) float64 { return math.Sin(float64(i) / 1000) })),
		"twenty":      many.Titled("twenty series"),
		"marks":       Line([]float64{1, 2, 4}).Named("roof").And(Scatter([]int{1}, []int{1}).Named("a kernel")).And(Scatter([]int{2}, []int{3}).Named("at the right edge")).Labels("flop/B", "FLOP/s"),
		"heat":        Heat(waves).Titled("waves").Labels("column", "row"),
		"heat-grey":   Heat(waves).Map("grey").YLim(0, 1),
		"heat-tall":   Heat(table(200, 4, func(y, x int) float64 { return float64(y * x) })).Titled("200×4"),
		"heat-wide":   Heat(table(8, 768, func(y, x int) float64 { return float64(y) + r.Float64() })).Titled("8×768").Labels("channel", "row"),
		"heat-huge":   Heat(table(700, 1000, func(y, x int) float64 { return math.Hypot(float64(y-350), float64(x-500)) })),
		"heat-nan":    Heat([][]float64{{1, math.NaN()}, {math.Inf(1), 3}}),
		"heat-one":    Heat([][]float64{{7}}).Titled("one cell"),
		"image":       &Plot{Kind: KindImage, Title: "a picture", tile: imageOf(smile, 3, 24, 32)},
		"images":      Image(batchOf(digits, 8)).Titled("a batch").Labels("20 digits", ""),
		"limits":      Line(loss).XLim(50, 200).YLim(0.2, 1).Titled("limits"),
		"one":         Line([]float64{3}).Titled("one point"),
		"one-dot":     Scatter([]int{3}, []int{7}),
		"none":        Line([]float64{math.NaN(), math.Inf(1)}).Titled("nothing"),
		"empty":       {},
		"constant":    Line([]float64{5, 5, 5, 5}),
		"gaps":        Line([]float64{1, 2, math.NaN(), 2, 1, math.Inf(-1), 3, math.NaN(), 4, 5}).Labels("x", "y"),
		"long":        Line([]float64{123456.5, 123456.7}).Titled(strings.Repeat("a very long title ", 12)).Labels(strings.Repeat("a long label ", 20), strings.Repeat("a long label ", 20)),
	}
}

// imageOf is the tile of a picture whose channels are first.
func imageOf(values []float64, channels, height, width int) *tile {
	b, _ := newBatch(values, []int{channels, height, width})
	b.top = 1
	return &tile{pixels: b.grid()}
}

// batchOf folds each row into a picture of this width.
func batchOf(rows [][]float64, width int) [][][]float64 {
	batch := make([][][]float64, len(rows))
	for n, row := range rows {
		for ; len(row) > 0; row = row[width:] {
			batch[n] = append(batch[n], row[:width])
		}
	}
	return batch
}

// The gallery can be looked at: go test -run Gallery -gallery DIR.
func TestGallery(t *testing.T) {
	for name, p := range gallery() {
		for _, c := range []struct {
			ending string
			data   func() []byte
		}{
			{".light.png", func() []byte { return p.Theme("light").Scale(1).PNG() }},
			{".dark.png", func() []byte { return p.Theme("dark").Scale(2).PNG() }},
			{".svg", func() []byte { p.look.theme = ""; return []byte(p.SVG()) }},
			{".txt", func() []byte { return []byte(p.Text(80)) }},
		} {
			if c.ending == ".dark.png" && *galleryDir == "" && !long.CI() {
				continue // four times the pixels of the light one
			}
			data := c.data()
			if len(data) == 0 {
				t.Errorf("%s%s is empty", name, c.ending)
			}
			if *galleryDir != "" {
				if err := os.WriteFile(filepath.Join(*galleryDir, name+c.ending), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
