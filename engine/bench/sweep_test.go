package bench_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/bench"
	"github.com/mcs-notebook/mcs/internal/testing/benchtest"
)

// Work that is a square of its parameter is seen to be one, and beside it one that is not.
func TestSweep(t *testing.T) {
	m := benchtest.New(1)
	r, err := bench.ParseRange("n=1..8*2")
	if err != nil {
		t.Fatal(err)
	}
	s, err := bench.MeasureSweep(t.Context(), r, func(n float64) ([]bench.Work, error) {
		return []bench.Work{
			{Name: "flat", Run: m.Work(3*time.Millisecond, 0.01)},
			{Name: "square", Run: m.Work(time.Duration(n*n*float64(time.Millisecond)), 0.01)},
		}, nil
	}, bench.Options{Clock: m})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"flat": 0, "square": 2} {
		if got, ok := s.Slope(name); !ok || math.Abs(got-want) > 0.02 {
			t.Errorf("%s: grows with the power %v, %v, want %v", name, got, ok, want)
		}
	}
	values, median, low, high := s.Series("square")
	if len(values) != 4 || values[3] != 8 || math.Abs(median[3]/64e-3-1) > 0.02 || low[3] > median[3] || high[3] < median[3] {
		t.Errorf("got %v, %v, [%v, %v]", values, median, low, high)
	}
	text := s.String()
	for _, want := range []string{"n    flat  square", "vs flat", "× faster [", "× slower ["} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("got\n%s\nwant %q in it", text, want)
		}
	}
	if _, err := s.JSON(); err != nil {
		t.Error(err)
	}
}

func TestSweepEndsEarly(t *testing.T) {
	m := benchtest.New(1)
	r := bench.Range{Name: "n", Values: []float64{1, 2, 3}}
	broken := errors.New("broken")
	if _, err := bench.MeasureSweep(t.Context(), r, func(n float64) ([]bench.Work, error) { return nil, broken }, bench.Options{Clock: m}); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "n = 1: ") {
		t.Errorf("got %v, want n = 1: broken", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := bench.MeasureSweep(ctx, r, func(n float64) ([]bench.Work, error) {
		if n == 3 {
			cancel()
		}
		return []bench.Work{{Name: "a", Run: m.Work(time.Millisecond, 0.01)}}, nil
	}, bench.Options{Clock: m})
	if err != nil || len(s.Points) != 2 || !strings.Contains(s.String(), "interrupted at n = 3") {
		t.Errorf("got %v, %v, want two points and a note", s, err)
	}
}

// Each value's noise differs a little from the last one's: the sweep says it once.
func TestSweepSaysNoiseOnce(t *testing.T) {
	point := func(n float64, notes ...string) bench.Point {
		return bench.Point{Value: n, Comparison: &bench.Comparison{Lines: []bench.Line{{Name: "a", Result: &bench.Result{Median: 1}}}, Notes: notes}}
	}
	s := &bench.Sweep{Parameter: "n", Points: []bench.Point{
		point(1), point(2, "the machine was not quiet: other processes keep 1.1 of 2 processors busy"),
		point(3, "the machine was not quiet: other processes keep 1.2 of 2 processors busy", "left out"),
	}}
	want := "the machine was not quiet at 2 of 3 values: other processes keep 1.1 of 2 processors busy"
	if notes := s.Comparison().Notes; len(notes) != 2 || notes[0] != want || notes[1] != "left out" {
		t.Errorf("got %q, want one note on the machine, and the other one", notes)
	}
	if text := s.Text(0); strings.Count(text, "not quiet") != 1 || !strings.Contains(text, want) {
		t.Errorf("got\n%s\nwant %q in it, once", text, want)
	}
}
