package display

import (
	"image"
	"image/color"

	"github.com/mcs-notebook/mcs/engine/plot"
)

// A Plotter has data to plot. The method uses built-in types only, so that the engine need not know this
// package.
type Plotter interface {
	PlotData() (title, xlabel, ylabel string, names []string, xs, ys [][]float64)
}

// Plot is the line plot of p's data.
func Plot(p Plotter) Value { return Plotted{plot.New(p.PlotData())} }

// Plotted is a plot as a Value: text, styled text, SVG and HTML.
type Plotted struct{ *plot.Plot }

// seriesRoles colour the series of a plot in a terminal.
var seriesRoles = []Role{Series1, Series2, Series3, Series4}

// StyledText is the plot's text with each series in its colour.
func (p Plotted) StyledText(width int, style Style) string { return p.Draw(width, p.painter(style)) }

func (p Plotted) painter(style Style) func(series int, text string) string {
	return func(series int, text string) string {
		if series < 0 {
			return style.Paint(Dim, text)
		}
		return style.Paint(seriesRoles[series%len(seriesRoles)], text)
	}
}

// A Painter is a Value that can be drawn in pixels, for a front end that shows pictures.
type Painter interface {
	Value
	// Render draws so many pixels, scale of them for a unit of which text is 12 high, on a "light" or "dark"
	// ground. Proportion is the best width divided by the height.
	Render(width, height int, scale float64, ground string) *image.NRGBA
	Proportion() float64
	// InBlocks draws with two pixels in each character, which half makes; ok is false if this shows less than
	// the text.
	InBlocks(width int, style Style, half func(upper, lower color.NRGBA) string) (text string, ok bool)
}

// InBlocks draws heat maps and pictures in colours.
func (p Plotted) InBlocks(width int, style Style, half func(upper, lower color.NRGBA) string) (string, bool) {
	return p.Blocks(width, half, p.painter(style))
}
