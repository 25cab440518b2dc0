package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lines"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Range is a parameter and its values: "r=4..64*2".
type Range struct {
	Name   string
	Values []float64
}

// maxPoints is how many values a range has at most: each is measured for seconds.
const maxPoints = 1000

// ParseRange reads a range: r=4..64*2 (each twice the one before), n=0..100+25 (each 25 more), n=1..8 (each 1
// more), or n=1,3,10 (these).
func ParseRange(text string) (Range, error) {
	wrong := func(want string) (Range, error) {
		return Range{}, fmt.Errorf("sweep: got %q, want %s", text, want)
	}
	name, values, ok := strings.Cut(text, "=")
	r := Range{Name: strings.TrimSpace(name)}
	if !ok || r.Name == "" {
		return wrong("a name and values, as in r=4..64*2")
	}
	first, rest, ok := strings.Cut(values, "..")
	if !ok {
		for each := range strings.SplitSeq(values, ",") {
			x, err := finite(each)
			if err != nil {
				return wrong("numbers between commas")
			}
			r.Values = append(r.Values, x)
		}
		return r, nil
	}
	last, step, times := rest, "1", false
	if i := strings.LastIndexAny(rest, "*+"); i > 0 && rest[i-1] != 'e' {
		last, step, times = rest[:i], rest[i+1:], rest[i] == '*'
	}
	from, err1 := finite(first)
	to, err2 := finite(last)
	by, err3 := finite(step)
	switch {
	case err1 != nil || err2 != nil || err3 != nil:
		return wrong("numbers, as in r=4..64*2 or n=0..100+25")
	case to < from || times && (by <= 1 || from <= 0) || !times && by <= 0:
		return wrong("values that grow")
	}
	for i := 0; ; i++ {
		x := from + float64(i)*by
		if times {
			x = from * math.Pow(by, float64(i))
		}
		if x > to*(1+1e-12) {
			return r, nil
		}
		if r.Values = append(r.Values, x); len(r.Values) > maxPoints {
			return wrong(fmt.Sprintf("at most %d values", maxPoints))
		}
	}
}

func finite(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		err = strconv.ErrRange
	}
	return x, err
}

// A Sweep is a comparison for each value of a parameter.
type Sweep struct {
	Parameter string
	Points    []Point
	Notes     []string
}

// A Point is what was measured with one value.
type Point struct {
	Value      float64
	Comparison *Comparison
}

// MeasureSweep compares the works that make returns for each value of the range. If ctx ends it returns the
// points that it has, with a note; without any that is ctx's error.
func MeasureSweep(ctx context.Context, r Range, make func(value float64) ([]Work, error), o Options) (*Sweep, error) {
	s := &Sweep{Parameter: r.Name}
	for _, v := range r.Values {
		works, err := make(v)
		var c *Comparison
		if err == nil {
			c, err = CompareWorks(ctx, works, o)
		}
		switch {
		case err != nil && ctx.Err() != nil && len(s.Points) > 0:
			s.Notes = append(s.Notes, fmt.Sprintf("interrupted at %s = %s", r.Name, units.Float(v)))
			return s, nil
		case err != nil:
			return nil, fmt.Errorf("%s = %s: %w", r.Name, units.Float(v), err)
		}
		s.Points = append(s.Points, Point{v, c})
	}
	return s, nil
}

// Comparison is the sweep as one comparison, for what saves and exports those: a line for each value and
// case, with the value behind the name, "a n=64". Ratios are those of each value.
func (s *Sweep) Comparison() *Comparison {
	c := &Comparison{Notes: slices.Concat(s.Notes, s.noise())}
	for _, p := range s.Points {
		for _, l := range p.Comparison.Lines {
			l.Name += " " + s.Parameter + "=" + units.Float(p.Value)
			c.Lines = append(c.Lines, l)
		}
		for _, note := range p.Comparison.Notes {
			if !strings.HasPrefix(note, notQuiet) && !slices.Contains(c.Notes, note) {
				c.Notes = append(c.Notes, note)
			}
		}
	}
	return c
}

// noise is one note for all values: their figures of the same noise differ a little from each other.
func (s *Sweep) noise() []string {
	var first string
	points := 0
	for _, p := range s.Points {
		i := slices.IndexFunc(p.Comparison.Notes, func(note string) bool { return strings.HasPrefix(note, notQuiet) })
		if i < 0 {
			continue
		}
		if points++; points == 1 {
			first = strings.TrimPrefix(p.Comparison.Notes[i], notQuiet)
		}
	}
	switch {
	case points == 0:
		return nil
	case len(s.Points) == 1:
		return []string{notQuiet + first}
	}
	return []string{fmt.Sprintf("the machine was not quiet at %d of %d values: %s", points, len(s.Points), first)}
}

// Names are the names of the cases.
func (s *Sweep) Names() (names []string) {
	if len(s.Points) == 0 {
		return nil
	}
	for _, l := range s.Points[0].Comparison.Lines {
		names = append(names, l.Name)
	}
	return names
}

// Series returns the values of the parameter and the times of a case, in seconds, with their intervals;
// values for which the case has no time are left out.
func (s *Sweep) Series(name string) (values, median, low, high []float64) {
	for _, p := range s.Points {
		if l := p.Comparison.line(name); l != nil && l.Result.Refused == "" {
			values, median = append(values, p.Value), append(median, l.Result.Median)
			low, high = append(low, l.Result.Low), append(high, l.Result.High)
		}
	}
	return values, median, low, high
}

// Slope is the power of the parameter with which the time of a case grows from the first value to the last: 2
// if four times the time is needed for twice the value. It reports false where it cannot be told.
func (s *Sweep) Slope(name string) (power float64, ok bool) {
	values, median, _, _ := s.Series(name)
	n := len(values)
	if n < 2 || values[0] <= 0 || values[n-1] <= values[0] || median[0] <= 0 || median[n-1] <= 0 {
		return 0, false
	}
	return math.Log(median[n-1]/median[0]) / math.Log(values[n-1]/values[0]), true
}

// Text is a table: a line for each value, with the median of each case and how it compares with the first.
func (s *Sweep) Text(width int) string {
	names := s.Names()
	head := []string{s.Parameter}
	for i, name := range names {
		if head = append(head, name); i > 0 {
			head = append(head, "vs "+names[0])
		}
	}
	rows := [][]string{head}
	notes := []string{}
	for _, p := range s.Points {
		row := []string{units.Float(p.Value)}
		for i := range p.Comparison.Lines {
			l := &p.Comparison.Lines[i]
			if row = append(row, l.median()); i > 0 {
				row = append(row, l.Versus())
			}
			if l.Result.Refused != "" {
				notes = append(notes, fmt.Sprintf("%s = %s: %s: no time: %s", s.Parameter, row[0], l.Name, l.Result.Refused))
			}
		}
		rows = append(rows, row)
	}
	return lines.Fit(strings.Join(slices.Concat([]string{units.Table(rows, width)}, notes, s.Notes, s.noise()), "\n"), width)
}

// String is Text.
func (s *Sweep) String() string { return s.Text(0) }

// JSON is the sweep with all its fields, times in seconds.
func (s *Sweep) JSON() ([]byte, error) { return json.Marshal(s) }
