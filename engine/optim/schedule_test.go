package optim

import (
	"math"
	"testing"
)

func TestSchedules(t *testing.T) {
	tests := []struct {
		schedule Schedule
		step     int
		want     float64
	}{
		{Constant(0.1), 0, 0.1},
		{Constant(0.1), 1e6, 0.1},
		{Cosine(1, 4, 12), 0, 0.25},
		{Cosine(1, 4, 12), 3, 1},
		{Cosine(1, 4, 12), 4, 1},
		{Cosine(1, 4, 12), 8, 0.5},
		{Cosine(1, 4, 12), 10, (1 + math.Cos(0.75*math.Pi)) / 2},
		{Cosine(1, 4, 12), 12, 0},
		{Cosine(1, 4, 12), 99, 0},
		{Cosine(1, 0, 2), 0, 1},
		{Schedule{Shape: CosineDecay, Peak: 1, Floor: 0.5, Total: 2}, 1, 0.75},
		{Linear(2, 2, 6), 0, 1},
		{Linear(2, 2, 6), 2, 2},
		{Linear(2, 2, 6), 4, 1},
		{Linear(2, 2, 6), 6, 0},
		{Schedule{}, 5, 0},
		{Cosine(1, 5, 5), 5, 0},
	}
	for _, test := range tests {
		if got := test.schedule.At(test.step); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%v, step %d: got %v, want %v", test.schedule, test.step, got, test.want)
		}
	}
}
