package magics

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/repl/display"
)

// histogramBins is how many bins the histogram of a tensor has.
const histogramBins = 40

// statsChunk is how many elements are read at once: statistics of a large tensor need no second copy of it.
const statsChunk = 1 << 18

// stats are figures about the values of a tensor. Those of the finite values leave out NaN and infinities.
type stats struct {
	count, zeros, nans, infs int
	min, max, mean, std      float64
	bins                     [histogramBins]int
	finite                   int
	of                       string // begins the figures
}

// statistics reads the values twice: the histogram needs their range. Of complex numbers it is about their
// magnitudes.
func statistics(t tensor.Tensor) *stats {
	s := &stats{min: math.Inf(1), max: math.Inf(-1)}
	if t.DType().Complex() {
		t, s.of = t.Abs().Eval(), "of |z|: "
	}
	var squares float64
	eachValue(t, func(x float64) {
		s.count++
		switch {
		case math.IsNaN(x):
			s.nans++
			return
		case math.IsInf(x, 0):
			s.infs++
			return
		case x == 0:
			s.zeros++
		}
		s.finite++
		s.min, s.max = min(s.min, x), max(s.max, x)
		d := x - s.mean // Welford's update keeps its digits where a sum of squares would not
		s.mean += d / float64(s.finite)
		squares += d * (x - s.mean)
	})
	if s.finite == 0 {
		return s
	}
	s.std = math.Sqrt(squares / float64(s.finite))
	eachValue(t, func(x float64) {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			bin := histogramBins / 2
			if s.max > s.min {
				bin = min(int((x-s.min)/(s.max-s.min)*histogramBins), histogramBins-1)
			}
			s.bins[bin]++
		}
	})
	return s
}

// eachValue calls f for each element.
func eachValue(t tensor.Tensor, f func(float64)) {
	n := t.Size()
	flat := t.Detach().Flatten()
	for at := 0; at < n; at += statsChunk {
		for _, x := range flat.Slice(0, at, min(at+statsChunk, n)).Float64s() {
			f(x)
		}
	}
}

// tensorLine says what a tensor is without computing it.
func tensorLine(t tensor.Tensor) string {
	line := fmt.Sprintf("%s, %s", t.Brief(), units.Bytes(int64(t.Size()*t.DType().Size())))
	switch {
	case t.IsParam():
		line += ", parameter"
	case t.Evaluated():
		line += ", evaluated"
	default:
		line += ", not evaluated: ?? shows its plan"
	}
	return line
}

var blocks = []rune(" ▁▂▃▄▅▆▇█")

// text writes the figures on lines of at most the given width, and the histogram below them.
func (s *stats) text(width int) string {
	if s.count == 0 {
		return "no elements"
	}
	var facts []string
	if s.finite > 0 {
		facts = append(facts, s.of+"min "+figure(s.min), "max "+figure(s.max), "mean "+figure(s.mean), "std "+figure(s.std))
	}
	for _, c := range []struct {
		n    int
		name string
	}{{s.zeros, "zero"}, {s.nans, "NaN"}, {s.infs, "Inf"}} {
		facts = append(facts, units.Int(int64(c.n))+" "+c.name)
	}
	lines := display.Wrap(strings.Join(facts, " · "), width, 0)
	if s.finite > 0 && s.max > s.min {
		lines = append(lines, s.bars(width))
	}
	return strings.Join(lines, "\n")
}

func figure(x float64) string { return fmt.Sprintf("%.4g", x) }

// bars draws the histogram on one line, between the smallest and the largest value. A bin that is not empty
// shows.
func (s *stats) bars(width int) string {
	low, high := figure(s.min), figure(s.max)
	n := histogramBins
	for n > 10 && len(low)+len(high)+2+n > width {
		n /= 2
	}
	bins := make([]int, n)
	for i, c := range s.bins {
		bins[i*n/histogramBins] += c
	}
	most := slices.Max(bins)
	var b strings.Builder
	for _, c := range bins {
		level := 0
		if c > 0 {
			level = 1 + (c*(len(blocks)-2))/most
		}
		b.WriteRune(blocks[min(level, len(blocks)-1)])
	}
	return low + " " + b.String() + " " + high
}
