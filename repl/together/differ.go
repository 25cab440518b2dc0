package together

import (
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// labelled says whose a text is.
func labelled(rank int, text string) string { return fmt.Sprintf("rank %d: %s", rank, text) }

var (
	// measured are a time, a rate, and bytes: other ones on each rank.
	measured = lazy.Regexp(`\d[\d.,]* ?(?:ns|µs|ms|s|min|h|[kMGT]?i?B|[\pL ]+/s)\b`)
	blanks   = lazy.Regexp(` +`)
	// drawn are lines of drawings, whose curves are of what was measured, too.
	drawn = lazy.Regexp(`[\x{2500}-\x{259F}\x{2800}-\x{28FF}]`)
)

// same says whether two texts differ in measured numbers only.
func same(a, b string) bool { return a == b || mask(a) == mask(b) }

func mask(line string) string {
	return blanks().ReplaceAllString(measured().ReplaceAllString(line, "[measured]"), " ")
}

// differing are the lines of another rank that this one has not put out, in their order. Lines in another
// order, as goroutines print them, are not told; nor are drawings.
func differing(own, other string) (list []string) {
	if own == other {
		return nil
	}
	left := map[string]int{}
	for line := range strings.Lines(own) {
		left[mask(strings.TrimRight(line, "\n"))]++
	}
	for line := range strings.Lines(other) {
		line = strings.TrimRight(line, "\n")
		if key := mask(line); left[key] > 0 {
			left[key]--
		} else if strings.TrimSpace(line) != "" && !drawn().MatchString(line) {
			list = append(list, line)
		}
	}
	return list
}
