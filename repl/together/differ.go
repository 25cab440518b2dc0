package together

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// labelled says whose a text is.
func labelled(rank int, text string) string { return fmt.Sprintf("rank %d: %s", rank, text) }

// measured are a time, a rate, and bytes: other ones on each rank.
var measured = lazy.Regexp(`\d[\d.,]* ?(?:ns|µs|ms|s|min|h|[kMGT]?i?B|[\pL ]+/s)\b`)

// drawn says whether a rune is of a drawing, whose curves are of what was measured, too.
func drawn(r rune) bool { return r >= '─' && r <= '▟' || r >= 0x2800 && r <= 0x28FF }

// same says whether two texts differ in measured numbers only.
func same(a, b string) bool { return a == b || mask(a) == mask(b) }

func mask(line string) string {
	return strings.Join(strings.Fields(measured().ReplaceAllString(line, "[measured]")), " ")
}

// differing are the lines of another rank that this one has not put out, in their order. Lines in another
// order, as goroutines print them, are not told; nor are drawings, unless this one has put out nothing.
func differing(own, other string) (list []string) {
	if own == other {
		return nil
	}
	all := own == ""
	left := map[string]int{}
	for line := range strings.Lines(own) {
		left[mask(strings.TrimRight(line, "\n"))]++
	}
	for line := range strings.Lines(other) {
		line = strings.TrimRight(line, "\n")
		if key := mask(line); left[key] > 0 {
			left[key]--
		} else if strings.TrimSpace(line) != "" && (all || !strings.ContainsFunc(line, drawn)) {
			list = append(list, line)
		}
	}
	return list
}

// Labelled writes lines to w, and says before each of them whose it is, unless it does so itself.
func Labelled(rank int, w io.Writer) io.Writer { return &labeller{label: labelled(rank, ""), to: w} }

type labeller struct {
	label string
	to    io.Writer
	rest  []byte // of a line that has not ended
}

func (l *labeller) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte{'\n'})
		if !ok {
			return len(p), nil
		}
		if !bytes.Contains(line, []byte(l.label)) {
			line = append([]byte(l.label), line...)
		}
		if _, err := fmt.Fprintf(l.to, "%s\n", line); err != nil {
			return 0, err
		}
		l.rest = rest
	}
}
