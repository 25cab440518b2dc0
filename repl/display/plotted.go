package display

import "github.com/mcs-notebook/mcs/engine/plot"

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
func (p Plotted) StyledText(width int, style Style) string {
	return p.Draw(width, func(series int, text string) string {
		if series < 0 {
			return style.Paint(Dim, text)
		}
		return style.Paint(seriesRoles[series%len(seriesRoles)], text)
	})
}
