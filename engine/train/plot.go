package train

import (
	"context"
	"math"

	"github.com/mcs-notebook/mcs/engine/plot"
)

// newPlot makes the plot that shows the loss while a run goes on, with the steps that were made before.
func newPlot(ctx context.Context, h *History, evaluated bool) *plot.Plot {
	names := []string{"training"}
	if evaluated {
		names = append(names, "other data")
	}
	p := plot.Live(ctx, names...).Titled("loss").Labels("step", "")
	if h.Tokens > 0 {
		p.Labels("step", "nats per token")
	}
	return p
}

// follow adds the steps and evaluations that the plot does not have yet.
func (l *line) follow() {
	h := l.t.history
	point := func(x, loss, other float64) {
		if len(l.plot.Series) == 1 {
			l.plot.Add(x, loss)
		} else {
			l.plot.Add(x, loss, other)
		}
	}
	for ; l.plotted < len(h.Loss); l.plotted++ {
		point(float64(l.plotted+1), h.Loss[l.plotted], math.NaN())
	}
	for ; l.evaluated < len(h.Eval) && len(l.plot.Series) > 1; l.evaluated++ {
		e := h.Eval[l.evaluated]
		point(float64(e.Step), math.NaN(), e.Loss)
	}
}
