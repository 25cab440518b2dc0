package optim

import (
	"encoding/json"
	"math"
	"os"
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
		{Cosine(1, 0, 2).To(0.5), 1, 0.75},
		{Stable(1, 2, 4, 10), 1, 1},
		{Stable(1, 2, 4, 10), 6, 1},
		{Stable(1, 2, 4, 10), 7, 0.75},
		{Stable(1, 2, 4, 10), 10, 0},
		{Stable(1, 5, 5, 10), 5, 1},
		{Schedule{Shape: RootDecay, Peak: 1, Total: 4}, 1, 0.5},
		{Schedule{Peak: 1, Hold: 3}, 99, 1},
	}
	for _, test := range tests {
		if got := test.schedule.At(test.step); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%v, step %d: got %v, want %v", test.schedule, test.step, got, test.want)
		}
	}
}

// Schedules are those of transformers, which tests/peers/schedules.py has asked, up to the last step; but a
// warm-up does not begin with a step that learns nothing.
func TestSchedulesOfTransformers(t *testing.T) {
	text, err := os.ReadFile("testdata/schedules.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Steps int
		Peak  float64
		Cases []struct {
			Name      string
			Warmup    int
			Arguments struct {
				Min      float64 `json:"min_lr"`
				MinRate  float64 `json:"min_lr_rate"`
				MinRatio float64 `json:"min_lr_ratio"`
				Decay    int     `json:"num_decay_steps"`
				Type     string  `json:"decay_type"`
			}
			Rates []float64
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	shapes := map[string]Shape{"linear": LinearDecay, "cosine": CosineDecay, "1-sqrt": RootDecay}
	for _, c := range file.Cases {
		floor := c.Arguments.Min + file.Peak*(c.Arguments.MinRate+c.Arguments.MinRatio)
		s := Constant(file.Peak)
		switch c.Name {
		case "linear":
			s = Linear(file.Peak, 0, file.Steps)
		case "cosine", "cosine_with_min_lr":
			s = Cosine(file.Peak, 0, file.Steps).To(floor)
		case "warmup_stable_decay":
			s = Stable(file.Peak, c.Warmup, c.Arguments.Decay, file.Steps).To(floor)
			s.Shape = shapes[c.Arguments.Type]
		}
		s.Warmup = c.Warmup
		for step, want := range c.Rates {
			if step < s.Warmup {
				want = c.Rates[step+1]
			}
			if got := s.At(step); math.Abs(got-want) > 1e-12*file.Peak {
				t.Errorf("%s, %v, step %d: got %v, want %v", c.Name, s, step, got, want)
			}
		}
	}
}

// A rate of 0 is a rate: only the zero Schedule is none.
func TestConstantZero(t *testing.T) {
	if s := Constant(0); s == (Schedule{}) || s.At(0) != 0 || s.At(9) != 0 || s.String() != "constant 0" {
		t.Errorf("got %#v, %v; want a schedule of 0", s, s)
	}
}
