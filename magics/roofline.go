package magics

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/plot"
	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
)

func rooflineMagics() []*Magic {
	return []*Magic{{
		Name: "roofline", Family: "Timing", Varies: true, Args: "STATEMENT", needs: "statement", Takes: TakesGo, Cell: true,
		Flags:   []Flag{{Name: "o", Kind: Text, Arg: "FILE", Outside: true, Help: "write the plot to FILE.svg or FILE.png"}},
		Summary: "plot the kernels of a statement against what the device can do",
		Help: "Across: operations for each byte that a kernel reads or writes. Up: the arithmetic that it did in a second. The lines are the\n" +
			"ceilings that were measured: memory behind the caches on the left, arithmetic in each type on the right. A kernel above the slope\n" +
			"found its data in a cache; one above the level did not do all its work, and is left out. Times are those of %kernels -t.",
		Example: "%roofline m.Logits(ids)\n%roofline -o roof.svg layer.Forward(x)",
		run:     runRoofline,
	}}
}

func runRoofline(ctx context.Context, c *call) (display.Value, error) {
	w, err := c.prepare()
	if err != nil {
		return nil, err
	}
	file := c.text("o")
	if err := c.plotFile(file); err != nil {
		return nil, err
	}
	r, _, m, err := c.traced(ctx, w)
	if err != nil {
		return nil, err
	}
	if len(r.Trace.Launches) == 0 {
		return display.Text("nothing was launched"), nil
	}
	k := &kernelTimes{}
	if err := k.hold(ctx, r); err != nil {
		return nil, c.errorf("%w", err)
	}
	p, notes := roofline(k)
	if file != "" {
		return c.wrotePlot(file, p)
	}
	return values{p, display.Lines(strings.Join(slices.Concat(k.ceilings(), notes, []string{m.Brief()}), "\n"))}, nil
}

// roofline draws the kernels, and says what is not drawn.
func roofline(k *kernelTimes) (p *plot.Plot, notes []string) {
	p = &plot.Plot{Title: "roofline", XLabel: "flop/B", YLabel: "FLOP/s", LogX: true, LogY: true}
	var marks []plot.Series
	low, high := math.Inf(1), 0.0
	type peak struct {
		name         string // of the type, and of the device where there are several
		rate, memory float64
	}
	var peaks []peak
	for i := range k.Kernels {
		x := &k.Kernels[i]
		rate := float64(x.Flops) / x.Total.Seconds()
		switch {
		case x.Flops == 0 || x.Bytes == 0:
			notes = append(notes, fmt.Sprintf("%s: no arithmetic, %s", k.name(x), units.Rate(float64(x.Bytes)/x.Total.Seconds(), "B/s")))
			continue
		case k.impossible(x):
			notes = append(notes, fmt.Sprintf("%s: %s times as fast as this device can be: not all of it was done", k.name(x), units.Digits(x.Roof)))
			continue
		case x.Bound == profile.Start:
			notes = append(notes, fmt.Sprintf("%s: as short as a launch, so neither line bounds it", k.name(x)))
		}
		at := x.Intensity()
		low, high = min(low, at), max(high, at)
		if x.DType.Float() {
			c, name := k.limit(x).Ceilings, x.DType.String()
			if len(k.Limits) > 1 {
				name += " on " + x.Device
			}
			if p := (peak{name, c.Flops(x.DType), c.Behind()}); !slices.Contains(peaks, p) {
				peaks = append(peaks, p)
			}
		}
		marks = append(marks, plot.Series{Name: k.name(x), X: []float64{at}, Y: []float64{rate}, Marks: true})
	}
	if len(marks) == 0 {
		return p, notes
	}
	slices.SortFunc(peaks, func(a, b peak) int { return strings.Compare(a.name, b.name) })
	for _, x := range peaks {
		ridge := x.rate / x.memory
		from, to := min(low, ridge)/4, max(high, ridge)*4
		p.Series = append(p.Series, plot.Series{Name: x.name, X: []float64{from, ridge, to}, Y: []float64{from * x.memory, x.rate, x.rate}})
	}
	p.Series = append(p.Series, marks...)
	return p, notes
}
