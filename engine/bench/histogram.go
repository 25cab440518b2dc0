package bench

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/units"
)

const (
	histogramRows = 2
	histogramCut  = 0.99 // of the samples are shown; the rest would make one bin of all others
)

var bars = []rune(" ▁▂▃▄▅▆▇█")

// Histogram draws how often which time was measured, in two rows of bars, the axis below them and a mark at
// the median, in so many columns. It ends at the 99th percentile; how many samples lie beyond, and how far,
// is said.
func (r *Result) Histogram(width int) string {
	if len(r.Times) == 0 || r.Refused != "" {
		return "no time: " + r.Refused
	}
	width = max(width, 20)
	x := sorted(r.Times)
	low, high := x[0], quantile(x, histogramCut)
	shown := x[:sort.Search(len(x), func(i int) bool { return x[i] > high })]
	counts := make([]int, width)
	for _, t := range shown {
		counts[bin(t, low, high, width)]++
	}
	lines := make([]string, 0, histogramRows+3)
	most := slices.Max(counts)
	for row := histogramRows - 1; row >= 0; row-- {
		var b strings.Builder
		for _, n := range counts {
			// Whatever happened at all is to be seen.
			eighths := int(math.Ceil(float64(n) / float64(most) * 8 * histogramRows))
			b.WriteRune(bars[min(8, max(0, eighths-8*row))])
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	lines = append(lines, strings.Repeat(" ", bin(r.Median, low, high, width))+"▲ median")
	left, right := units.Seconds(low), units.Seconds(high)
	lines = append(lines, left+strings.Repeat(" ", max(1, width-utf8.RuneCountInString(left+right)))+right)
	if beyond := len(x) - len(shown); beyond > 0 {
		lines = append(lines, fmt.Sprintf("%s beyond, the longest %s", units.Plural(int64(beyond), "sample"), units.Seconds(x[len(x)-1])))
	}
	return strings.Join(lines, "\n")
}

// bin is the column of a value.
func bin(x, low, high float64, width int) int {
	if high <= low {
		return 0
	}
	return min(width-1, max(0, int((x-low)/(high-low)*float64(width))))
}
