package plot

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/progress"
)

// A live plot is being shown while it grows. Its lock guards the series.
type live struct {
	ctx  context.Context
	mu   sync.Mutex
	plot *Plot
}

// Live makes a plot of lines, one for each name, that is shown in place while [Plot.Add] adds points to it:
// ctx is that of the cell. A terminal shows the newest of the cell's live plots; where there is none, and at
// the end, the last state of each is shown once. Without names it has one line.
//
//	p := plot.Live(ctx, "train", "eval").Labels("step", "loss")
//	for step := range 300 {
//		…
//		p.Add(float64(step), loss, math.NaN())
//	}
func Live(ctx context.Context, names ...string) *Plot {
	p := &Plot{Series: make([]Series, max(len(names), 1))}
	for i, name := range names {
		p.Series[i].Name = name
	}
	for i := range p.Series {
		p.Series[i].X = []float64{}
	}
	p.live = &live{ctx: ctx, plot: p}
	return p
}

// Add adds the point (x, y[k]) to the k-th line. A y that is NaN adds none there. Another number of y than
// lines, and a plot that Live has not made, panic with an [*Error].
func (p *Plot) Add(x float64, y ...float64) *Plot {
	if p.live == nil {
		fail("Add", "got a plot of fixed data, want one of plot.Live")
	}
	if len(y) != len(p.Series) {
		fail("Add", "got %d y for %d lines", len(y), len(p.Series))
	}
	p.live.mu.Lock()
	for k, v := range y {
		if s := &p.Series[k]; !math.IsNaN(v) {
			s.X, s.Y = append(s.X, x), append(s.Y, v)
		}
	}
	p.live.mu.Unlock()
	progress.Draw(p.live.ctx, p.live)
	return p
}

// Snapshot is the plot as it is now. The points are shared: later ones are added behind them.
func (l *live) Snapshot() any {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := *l.plot
	p.live, p.Series = nil, slices.Clone(p.Series)
	return &p
}
