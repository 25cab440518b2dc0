package bench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
)

// An Assertion is what times, or counts, are to be: "a <= 1.1*b", "a < 5ms", "a.launches <= 3".
type Assertion struct {
	Text string

	left, right term
	relation    string // one of relations
}

// A term is a factor of what a case took or did, or a number of that alone.
type term struct {
	factor float64
	name   string // of a case; "" for a number
	field  string // of countedFields; "" for the time
	time   bool   // the number is a duration
}

// relations are told apart from the left: the longer first.
var relations = []string{"<=", ">=", "<", ">"}

// countedFields are what can be asked of a case beside its time. They are exact.
var countedFields = map[string]func(Tally) float64{
	"launches": func(t Tally) float64 { return float64(t.Launches) },
	"flops":    func(t Tally) float64 { return float64(t.Flops) },
	"bytes":    func(t Tally) float64 { return float64(t.Bytes) },
	"allocs":   func(t Tally) float64 { return t.Allocs },
	"heap":     func(t Tally) float64 { return t.Heap },
}

// A Judgement says whether an assertion holds. Times are known to their intervals only, so that it can be
// neither.
type Judgement struct {
	Verdict string // "true", "false" or "not known"
	Text    string // the verdict with the figures
}

// Holds says whether the assertion is true, and surely so.
func (j Judgement) Holds() bool { return j.Verdict == "true" }

// String is the verdict with the figures.
func (j Judgement) String() string { return j.Text }

// ParseAssertion reads `a <= 1.1*b` about cases of those names: a case, a factor times a case (1.1*a, a*1.1,
// a/2) or a duration (5ms) on both sides of <, <=, > or >=. Instead of its time, a.launches, a.flops,
// a.bytes, a.allocs and a.heap (bytes) of a case can be asked, against a number or those of another one.
func ParseAssertion(text string, names []string) (Assertion, error) {
	a := Assertion{Text: strings.TrimSpace(text)}
	// A name may be a statement with such a sign in it: the split that makes sense counts.
	var failed error
	for i := range a.Text {
		for _, relation := range relations {
			if !strings.HasPrefix(a.Text[i:], relation) {
				continue
			}
			a.relation = relation
			var errLeft, errRight error
			a.left, errLeft = parseTerm(a.Text[:i], names)
			a.right, errRight = parseTerm(a.Text[i+len(relation):], names)
			switch {
			case errLeft != nil:
				failed = errLeft
			case errRight != nil:
				failed = errRight
			case a.left.name == "" && a.right.name == "":
				failed = fmt.Errorf("assert: got %q, want the name of a case in it: one of %s", text, strings.Join(names, ", "))
			case a.left.name != "" && a.right.name != "" && a.left.field != a.right.field:
				failed = fmt.Errorf("assert: got %q, want the same of both cases", text)
			case a.left.counts() && a.right.time || a.right.counts() && a.left.time:
				failed = fmt.Errorf("assert: got %q, want a count without a unit", text)
			case a.left.takes() && a.right.bare() || a.right.takes() && a.left.bare():
				failed = fmt.Errorf("assert: got %q, want a duration with its unit, as in 5ms", text)
			default:
				return a, nil
			}
			break
		}
	}
	if failed == nil {
		failed = fmt.Errorf("assert: got %q, want two sides of <, <=, > or >=, as in a <= 1.1*b", text)
	}
	return a, failed
}

func (t term) takes() bool  { return t.name != "" && t.field == "" }
func (t term) counts() bool { return t.field != "" }
func (t term) bare() bool   { return t.name == "" && !t.time }

// parseTerm reads a side. Times and factors are above 0, and counts are not below it: otherwise a ratio of
// both sides would not tell which is the larger one.
func parseTerm(text string, names []string) (term, error) {
	text = strings.TrimSpace(text)
	t, err := anyTerm(text, names)
	switch {
	case err != nil:
		return t, err
	case math.IsNaN(t.factor) || math.IsInf(t.factor, 0) || t.factor < 0 || t.factor == 0 && !t.bare():
		return t, fmt.Errorf("assert: got %q, want finite numbers above 0", text)
	}
	return t, nil
}

func anyTerm(text string, names []string) (term, error) {
	if t, ok := caseTerm(text, names); ok {
		return t, nil
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return term{factor: x}, nil
	}
	if d, err := time.ParseDuration(strings.ReplaceAll(text, " ", "")); err == nil {
		return term{factor: d.Seconds(), time: true}, nil
	}
	if before, after, ok := strings.Cut(text, "*"); ok {
		if x, err := strconv.ParseFloat(strings.TrimSpace(before), 64); err == nil {
			t, ok := caseTerm(strings.TrimSpace(after), names)
			if t.factor = x; ok {
				return t, nil
			}
		}
	}
	if i := strings.LastIndexAny(text, "*/"); i >= 0 {
		x, err := strconv.ParseFloat(strings.TrimSpace(text[i+1:]), 64)
		if t, ok := caseTerm(strings.TrimSpace(text[:i]), names); ok && err == nil && x != 0 {
			if text[i] == '/' {
				x = 1 / x
			}
			t.factor = x
			return t, nil
		}
	}
	return term{}, fmt.Errorf("assert: got %q, want a number, a duration, or a case (%s) with a factor", text, strings.Join(names, ", "))
}

// caseTerm reads the name of a case, with a field or without. One case alone, which may be a whole statement,
// is also called a.
func caseTerm(text string, names []string) (term, bool) {
	if rest, ok := strings.CutPrefix(text, "a"); ok && len(names) == 1 && (rest == "" || rest[0] == '.') {
		text = names[0] + rest
	}
	if slices.Contains(names, text) {
		return term{factor: 1, name: text}, true
	}
	if i := strings.LastIndex(text, "."); i >= 0 && countedFields[text[i+1:]] != nil && slices.Contains(names, text[:i]) {
		return term{factor: 1, name: text[:i], field: text[i+1:]}, true
	}
	return term{}, false
}

// String is the assertion as it was written.
func (a Assertion) String() string { return a.Text }

// Judge says whether the assertion holds for what was measured: "true" or "false" where the interval leaves
// no doubt.
func (a Assertion) Judge(c *Comparison) Judgement {
	for _, t := range []term{a.left, a.right} {
		if t.name == "" {
			continue
		}
		l := c.line(t.name)
		if l == nil {
			return Judgement{"not known", fmt.Sprintf("%s: not known: there is no case %s", a.Text, t.name)}
		}
		if t.counts() && l.Result.Uneven {
			return Judgement{"not known", fmt.Sprintf("%s: not known: the runs of %s did not all do the same", a.Text, t.name)}
		}
		if t.field == "flops" && l.Result.Tally.Uncounted {
			return Judgement{"not known", fmt.Sprintf("%s: not known: %s has a kernel whose operations nobody counted", a.Text, t.name)}
		}
		if l.Result.Refused != "" {
			return Judgement{"not known", fmt.Sprintf("%s: not known: %s has no time: %s", a.Text, t.name, l.Result.Refused)}
		}
	}
	// The left side over the right side: it holds where that is at most, or at least, 1.
	ratio := c.over(a.left, a.right)
	holds, fails := ratio.High <= 1, ratio.Low > 1
	switch a.relation {
	case "<":
		holds, fails = ratio.High < 1, ratio.Low >= 1
	case ">":
		holds, fails = ratio.Low > 1, ratio.High <= 1
	case ">=":
		holds, fails = ratio.Low >= 1, ratio.High < 1
	}
	j := Judgement{Verdict: "not known"}
	if holds {
		j.Verdict = "true"
	} else if fails {
		j.Verdict = "false"
	}
	j.Text = fmt.Sprintf("%s: %s (%s, %s)", a.Text, j.Verdict, c.show(a.left, ""), c.show(a.right, a.left.field))
	if a.left.field+a.right.field == "" && !math.IsInf(ratio.High, 0) {
		j.Text = strings.TrimSuffix(j.Text, ")") + fmt.Sprintf("; left over right %.3g [%.3g, %.3g])", ratio.Ratio, ratio.Low, ratio.High)
	}
	return j
}

func (c *Comparison) line(name string) *Line {
	for i := range c.Lines {
		if c.Lines[i].Name == name {
			return &c.Lines[i]
		}
	}
	return nil
}

// over is one side of an assertion over the other, with the interval.
func (c *Comparison) over(left, right term) (ratio Ratio) {
	switch {
	case left.field != "" || right.field != "":
		x := exactOver(c.count(left), c.count(right))
		return Ratio{x, x, x}
	case left.name != "" && right.name != "":
		ratio = c.ratioOf(left.name, right.name)
	case left.name != "":
		ratio = c.line(left.name).Result.over1s()
	default:
		ratio = c.line(right.name).Result.over1s()
		ratio = Ratio{1 / ratio.Ratio, 1 / ratio.High, 1 / ratio.Low}
	}
	by := exactOver(left.factor, right.factor)
	return Ratio{ratio.Ratio * by, ratio.Low * by, ratio.High * by}
}

// exactOver is a over b, where nothing over nothing is as much.
func exactOver(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}

// over1s is the time of a run in seconds, with its interval: nothing is known of too few samples.
func (r *Result) over1s() Ratio {
	if r.Samples < minKnown {
		return Ratio{r.Median, 0, math.Inf(1)}
	}
	return Ratio{r.Median, r.Low, r.High}
}

// ratioOf is the ratio of the times of two cases. The interval of each is against the first: two of them, of
// others, count both.
func (c *Comparison) ratioOf(x, y string) Ratio {
	against := func(name string) Ratio {
		l := c.line(name)
		switch {
		case l.Name == c.Lines[0].Name:
			return Ratio{1, 1, 1}
		case l.Low <= 0:
			return Ratio{l.Ratio, 0, math.Inf(1)}
		}
		return Ratio{l.Ratio, l.Low, l.High}
	}
	if c.Baseline != "" { // the lines' ratios are not to the first
		a, b := c.line(x).Result.over1s(), c.line(y).Result.over1s()
		return Ratio{a.Ratio / b.Ratio, a.Low / b.High, a.High / b.Low}
	}
	a, b := against(x), against(y)
	return Ratio{a.Ratio / b.Ratio, a.Low / b.High, a.High / b.Low}
}

func (c *Comparison) count(t term) float64 {
	if t.name == "" {
		return t.factor
	}
	return t.factor * countedFields[t.field](c.line(t.name).Result.Tally)
}

// show writes a side with its figure; field is that of the other side, whose number it may be.
func (c *Comparison) show(t term, field string) string {
	switch {
	case t.name == "" && field != "":
		return units.Float(t.factor)
	case t.name == "":
		return units.Seconds(t.factor)
	case t.field != "":
		return fmt.Sprintf("%s.%s is %s", t.name, t.field, units.Float(c.count(term{factor: 1, name: t.name, field: t.field})))
	}
	return fmt.Sprintf("%s takes %s", t.name, units.Seconds(c.line(t.name).Result.Median))
}
