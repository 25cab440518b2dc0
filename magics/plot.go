package magics

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/plot"
	"github.com/mcs-notebook/mcs/repl/display"
)

func plotMagics() []*Magic {
	return []*Magic{{
		Name: "plot", Family: "Variables", Args: "EXPRESSION", Takes: TakesGo,
		Flags: []Flag{{Name: "o", Kind: Text, Arg: "FILE", Outside: true, Help: "write the plot to FILE.svg or FILE.png"},
			{Name: "images", Kind: Text, Arg: "HOW", Help: "how the terminal shows plots from now on: kitty, sixel, off, or auto"}},
		Summary: "draw a plot, a tensor, a slice of numbers or the curves of a training run",
		Help: "A tensor or slice of one axis is a line, one of two axes a heat map. The functions of package plot draw more: plot.Scatter,\n" +
			"plot.Hist, plot.Bars, plot.Box, plot.Image, several lines with their names, logarithmic axes, plot.Grid of several.\n" +
			"A terminal that shows images (the protocols of kitty and of sixel) shows plots as images, others as text. -images, or the variable\n" +
			"MCS_IMAGES in the environment, decides that where mcs cannot find it out: in tmux it is off.",
		Example: "%plot x\n%plot -images sixel\n%plot -o loss.png plot.Line(loss).Log(\"y\")",
		run:     runPlot,
	}}
}

func runPlot(ctx context.Context, c *call) (display.Value, error) {
	images := c.text("images")
	if images != "" {
		if !slices.Contains(imageSettings, images) {
			return nil, c.errorf("-images %s: want %s", images, strings.Join(imageSettings, ", "))
		}
		if strings.TrimSpace(c.rest) == "" {
			return imagesSet(images), nil
		}
	}
	source, err := c.need("expression")
	if err != nil {
		return nil, err
	}
	file := c.text("o")
	if err := c.plotFile(file); err != nil {
		return nil, err
	}
	w, err := c.compile(parsed(source))
	if err != nil {
		return nil, err
	}
	var p *plot.Plot
	err = w.stmt.Within(ctx, func() error {
		v, err := w.stmt.Loop(1)
		if err != nil {
			return err
		}
		p, err = c.plotOf(v)
		return err
	})
	if err != nil {
		return nil, err
	}
	if file != "" {
		return c.wrotePlot(file, p)
	}
	if images != "" {
		return plottedWith{p, images}, nil
	}
	return p, nil
}

var imageSettings = []string{"auto", "kitty", "sixel", "off"}

// imagesSet and plottedWith tell a terminal how it shows images from now on.
type imagesSet string

func (s imagesSet) Text(int) string { return "images: " + string(s) }
func (s imagesSet) Images() string  { return string(s) }

type plottedWith struct {
	*plot.Plot
	how string
}

func (p plottedWith) Images() string { return p.how }

// plotFile checks the name of a file for a plot, before anything is computed. Empty is none.
func (c *call) plotFile(name string) error {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".svg", ".png":
		return nil
	}
	if name == "" {
		return nil
	}
	return c.errorf("-o %s: want a name that ends in .svg or .png", name)
}

func (c *call) wrotePlot(file string, p *plot.Plot) (display.Value, error) {
	data, err := p.File(file)
	if err != nil {
		return nil, c.errorf("-o %w", err)
	}
	return c.wrote(file, data)
}

// plotOf is the plot that a value is, or that shows its numbers.
func (c *call) plotOf(v any) (p *plot.Plot, err error) {
	switch v := v.(type) {
	case nil:
		return nil, c.errorf("got no value, want a plot, a tensor or a slice of numbers")
	case *plot.Plot:
		return v, nil
	case display.Drawable:
		return c.plotOf(v.Drawing())
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *plot.Error: // names a function that the person did not call
			err = c.errorf("%s", e.Msg)
		default:
			panic(e)
		}
	}()
	return plot.Of(v), nil
}
