package train

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/engine/plot"
	"github.com/mcs-notebook/mcs/engine/progress"
	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A History is what happened in a run, step by step.
type History struct {
	Total       int // steps that were wanted
	Loss        []float64
	LR          []float64 // learning rate
	GradNorm    []float64 // global norm of the gradients, before clipping
	Eval        []Point
	Tokens      int // that were learnt from: targets that count; 0 for data that has none
	Places      int // of the batches: Tokens, prompts and padding, all of which take the device's time
	Examples    int // that were learnt from
	Elapsed     time.Duration
	Interrupted bool
	Stopped     string   // why the run ended before its last step, if it did: see Options.Patience
	Weights     int      // the step of the weights that Options.Best loaded back at the end; 0: none were
	Spikes      []Spike  // losses far above those before
	Notes       []string // what the reader should know: a checkpoint that was left out as damaged
}

// A Point is the loss on the data that is not trained on, after a step, and the values of Options.Metrics.
type Point struct {
	Step    int
	Loss    float64
	Metrics map[string]float64 // by name; nil if none were asked for
	Tokens  bool               // the loss is in nats per token
}

func (h *History) add(loss, rate, norm float64) {
	h.Loss, h.LR, h.GradNorm = append(h.Loss, loss), append(h.LR, rate), append(h.GradNorm, norm)
}

// Steps is the number of steps that were made.
func (h *History) Steps() int { return len(h.Loss) }

// First is the loss of the first step, before anything was learnt.
func (h *History) First() float64 {
	if len(h.Loss) == 0 {
		return 0
	}
	return h.Loss[0]
}

// Last is the mean loss of the last steps, at most ten and at most a tenth of all, as one batch says little.
func (h *History) Last() float64 {
	n := min(10, max(1, len(h.Loss)/10))
	if len(h.Loss) == 0 {
		return 0
	}
	sum := 0.0
	for _, l := range h.Loss[len(h.Loss)-n:] {
		sum += l
	}
	return sum / float64(n)
}

// Metric is a metric of the last evaluation, NaN if there is none of that name.
func (h *History) Metric(name string) float64 {
	if n := len(h.Eval); n > 0 {
		if x, ok := h.Eval[n-1].Metrics[name]; ok {
			return x
		}
	}
	return math.NaN()
}

// Text sums the run up in a line: "300 steps · loss 5.54 → 1.93 · 18,200 tokens/s · 21.0 s".
func (h *History) Text(width int) string {
	steps := units.Plural(int64(h.Steps()), "step")
	if h.Steps() < h.Total {
		steps = fmt.Sprintf("%s of %s", units.Int(int64(h.Steps())), units.Plural(int64(h.Total), "step"))
	}
	parts := []string{steps}
	if h.Steps() > 0 {
		parts = append(parts, "loss "+h.fall())
	}
	if n := len(h.Eval); n > 0 {
		parts = append(parts, "on other data "+h.Eval[n-1].text())
	}
	if best := h.Best(); h.Weights > 0 && h.Weights < h.Steps() {
		parts = append(parts, fmt.Sprintf("weights of step %d, %s", h.Weights, best.text()))
	}
	if s := h.Elapsed.Seconds(); s > 0 {
		parts = append(parts, rate(h.Tokens, h.Examples, s), units.Seconds(s))
	}
	text := []string{strings.Join(parts, " · ")}
	if h.Stopped != "" {
		text = append(text, "ended early: "+h.Stopped)
	}
	if len(h.Spikes) > 0 {
		text = append(text, h.spikeText())
	}
	return lines.Fit(strings.Join(append(text, h.Notes...), "\n"), width)
}

// fall is the loss at the start and at the end.
func (h *History) fall() string { return lossText(h.First()) + " → " + lossText(h.Last()) }

// lossText writes a loss; a squared error may be too small for three decimals.
func lossText(loss float64) string {
	if loss != 0 && math.Abs(loss) < 0.01 {
		return fmt.Sprintf("%.3g", loss)
	}
	return fmt.Sprintf("%.3f", loss)
}

// text is the loss with the perplexity, if it is one of tokens, and with the metrics: "0.123, accuracy
// 0.971".
func (p Point) text() string {
	parts := []string{lossText(p.Loss)}
	if p.Tokens {
		parts = append(parts, fmt.Sprintf("perplexity %.4g", p.Perplexity()))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Metrics)) {
		parts = append(parts, name+" "+lossText(p.Metrics[name]))
	}
	return strings.Join(parts, ", ")
}

// rate says how many tokens were learnt from in a second, prompts and padding left out, or how many samples
// if the data has no tokens.
func rate(tokens, examples int, seconds float64) string {
	if tokens > 0 {
		return units.Int(int64(float64(tokens)/seconds)) + " tokens/s"
	}
	return units.Int(int64(float64(examples)/seconds)) + " samples/s"
}

// String is Text.
func (h *History) String() string { return h.Text(0) }

// JSON returns all of it.
func (h *History) JSON() ([]byte, error) { return json.Marshal(h) }

// Plot returns the curve of the loss, with that on the other data if there is one.
func (h *History) Plot() Curves {
	c := Curves{Title: "loss", XLabel: "step"}
	if h.Tokens > 0 {
		c.YLabel = "nats per token"
	}
	c.add("training", len(h.Loss), func(i int) (float64, float64) { return float64(i + 1), h.Loss[i] })
	if len(h.Eval) > 0 {
		c.add("other data", len(h.Eval), func(i int) (float64, float64) { return float64(h.Eval[i].Step), h.Eval[i].Loss })
	}
	return c
}

// PlotRate returns the curve of the learning rate.
func (h *History) PlotRate() Curves {
	c := Curves{Title: "learning rate", XLabel: "step"}
	c.add("learning rate", len(h.LR), func(i int) (float64, float64) { return float64(i + 1), h.LR[i] })
	return c
}

// Curves are lines to be drawn; a front end shows their Drawing.
type Curves struct {
	Title, XLabel, YLabel string
	Names                 []string
	X, Y                  [][]float64 // a list for each name
}

func (c *Curves) add(name string, n int, point func(i int) (x, y float64)) {
	xs, ys := make([]float64, n), make([]float64, n)
	for i := range n {
		xs[i], ys[i] = point(i)
	}
	c.Names, c.X, c.Y = append(c.Names, name), append(c.X, xs), append(c.Y, ys)
}

// Drawing is the plot of the curves.
func (c Curves) Drawing() any { return plot.New(c.Title, c.XLabel, c.YLabel, c.Names, c.X, c.Y) }

// String says what the curves are, for a front end that cannot draw them.
func (c Curves) String() string {
	var parts []string
	for i, name := range c.Names {
		if n := len(c.Y[i]); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %.4g → %.4g in %s", name, c.Y[i][0], c.Y[i][n-1], units.Plural(int64(n), "point")))
		}
	}
	return c.Title + ": " + strings.Join(parts, ", ")
}

// line is the live line of a run.
type line struct {
	t                *trainer
	began            time.Time
	tokens, examples int // learnt from before this call of Run
	shown            time.Time
	plot             *plot.Plot // nil: none is wanted
	plotted          int        // steps
	evaluated        int        // evaluations
}

// showEvery keeps a terminal from being redrawn for every step of a tiny model. A context with everyStep, a
// test's, hears of each step.
const showEvery = 50 * time.Millisecond

type everyStep struct{}

func newLine(ctx context.Context, t *trainer, began time.Time) *line {
	l := &line{t: t, began: began, tokens: t.history.Tokens, examples: t.history.Examples}
	if t.o.Plot {
		l.plot = newPlot(ctx, t.history, t.o.Eval != nil)
	}
	return l
}

func (l *line) report(ctx context.Context, final bool) {
	if !final && time.Since(l.shown) < showEvery && ctx.Value(everyStep{}) == nil {
		return
	}
	l.shown = time.Now()
	if l.plot != nil {
		l.follow()
	}
	h, took := l.t.history, time.Since(l.began)
	note := ""
	switch {
	case h.Interrupted:
		how := ""
		if l.t.o.Checkpoint != "" && !l.t.o.Resume { // another process, as that of mcs train, wants it
			how = " with Resume"
		}
		note = fmt.Sprintf("interrupted: %s kept; run it again%s to go on", units.Plural(int64(h.Steps()), "step"), how)
	case h.Steps() > 0:
		note = "loss " + h.fall()
		if learnt := h.Examples - l.examples; learnt > 0 { // a run that goes on may have nothing left to do
			note += " · " + rate(h.Tokens-l.tokens, learnt, took.Seconds())
		}
		if used := l.t.on.Memory().InUse; used > 0 { // a backend may keep no account of small blocks
			note += " · " + units.Bytes(used)
		}
	default:
		note = strings.TrimSuffix("starting: "+l.t.leftOut(), ": ")
	}
	progress.Report(ctx, progress.Event{Task: "step", Done: int64(l.t.steps()), Total: int64(l.t.o.Steps), Note: note, Elapsed: took, Final: final})
}
