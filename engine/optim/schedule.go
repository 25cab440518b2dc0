package optim

import (
	"fmt"
	"math"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/units"
)

// A Schedule is a learning rate that depends on the step. Make one with Constant, Cosine, Linear or Stable;
// or fill in the fields; Check says whether they mean something. The zero Schedule is a learning rate of 0.
type Schedule struct {
	Shape  Shape
	Peak   float64
	Floor  float64 // where it ends, unless it is flat
	Warmup int     // steps in which it rises linearly to Peak
	Hold   int     `json:",omitempty"` // steps for which it then stays there before it falls
	Total  int     // the step from which it stays at Floor
}

// A Shape says how a schedule goes down after the warm-up.
type Shape int

// The shapes.
const (
	Flat Shape = iota
	CosineDecay
	LinearDecay
	RootDecay // Floor + (Peak − Floor)·(1 − √x) for the share x of the fall (Hägele et al. 2024)
)

var shapeNames = [...]string{"constant", "cosine", "linear", "1-sqrt"}

// String returns the shape's name.
func (s Shape) String() string {
	if s < 0 || int(s) >= len(shapeNames) {
		return fmt.Sprintf("shape(%d)", int(s))
	}
	return shapeNames[s]
}

// Check returns an error that names the field whose number means nothing: NaN, an infinity, a negative one.
func (s Schedule) Check() error {
	const op = "optim.Schedule"
	if s.Shape < 0 || int(s.Shape) >= len(shapeNames) {
		return &tensor.Error{Op: op, Msg: fmt.Sprintf("got Shape %d, want Flat, CosineDecay, LinearDecay or RootDecay", int(s.Shape))}
	}
	return checked(op, unlimited, setting{"Peak", s.Peak}, setting{"Floor", s.Floor}, setting{"Warmup", float64(s.Warmup)},
		setting{"Hold", float64(s.Hold)}, setting{"Total", float64(s.Total)})
}

// made is a schedule of a constructor, which panics with a *tensor.Error for numbers that mean nothing.
func made(s Schedule) Schedule {
	must(s.Check())
	return s
}

// Constant is always rate. As Cosine, Linear and Stable it panics with a *tensor.Error for numbers that mean
// nothing. A run with a rate of 0 changes no weight.
func Constant(rate float64) Schedule {
	s := Schedule{Shape: Flat, Peak: rate}
	if rate == 0 {
		s.Hold = 1 // which Flat does not look at: the zero Schedule is none
	}
	return made(s)
}

// Cosine rises to peak in warmup steps and falls to 0 at step total along half a cosine (Loshchilov and
// Hutter, SGDR, https://arxiv.org/abs/1608.03983, without restarts).
func Cosine(peak float64, warmup, total int) Schedule {
	return made(Schedule{Shape: CosineDecay, Peak: peak, Warmup: warmup, Total: total})
}

// Linear rises to peak in warmup steps and falls to 0 at step total in a straight line.
func Linear(peak float64, warmup, total int) Schedule {
	return made(Schedule{Shape: LinearDecay, Peak: peak, Warmup: warmup, Total: total})
}

// Stable rises to peak in warmup steps, stays there, and falls to 0 in a straight line in the last decay
// steps before total (warmup, stable, decay: Hu et al., MiniCPM, https://arxiv.org/abs/2404.06395).
func Stable(peak float64, warmup, decay, total int) Schedule {
	if hold := total - warmup - decay; hold >= 0 {
		return made(Schedule{Shape: LinearDecay, Peak: peak, Warmup: warmup, Hold: hold, Total: total})
	}
	panic(&tensor.Error{Op: "optim.Stable", Msg: fmt.Sprintf("got %d steps of warm-up and %d of decay, want at most %d together", warmup, decay, total)})
}

// To returns the schedule with another end of its fall: Cosine(3e-4, 10, 300).To(3e-5).
func (s Schedule) To(floor float64) Schedule {
	s.Floor = floor
	return made(s)
}

// At returns the learning rate of a step, counted from 0. The first step of a warm-up already learns: where
// transformers begin with a rate of 0, and reach Peak in the step after the warm-up, Warmup steps lead to it.
func (s Schedule) At(step int) float64 {
	if step < s.Warmup {
		return s.Peak * float64(step+1) / float64(s.Warmup)
	}
	if s.Shape == Flat {
		return s.Peak
	}
	if step >= s.Total {
		return s.Floor
	}
	fall := s.Warmup + s.Hold // where it begins
	if step < fall {
		return s.Peak
	}
	done := float64(step-fall) / float64(s.Total-fall)
	switch s.Shape {
	case CosineDecay:
		done = (1 - math.Cos(math.Pi*done)) / 2
	case RootDecay:
		done = math.Sqrt(done)
	}
	return s.Peak + done*(s.Floor-s.Peak)
}

// String says what the schedule does.
func (s Schedule) String() string {
	text := fmt.Sprintf("%v %g", s.Shape, s.Peak)
	if s.Warmup > 0 {
		text += fmt.Sprintf(" after %s of warm-up", units.Plural(int64(s.Warmup), "step"))
	}
	if s.Hold > 0 && s.Shape != Flat {
		text += fmt.Sprintf(", held for %d steps,", s.Hold)
	}
	if s.Shape != Flat {
		text += fmt.Sprintf(" to %g at step %d", s.Floor, s.Total)
	}
	return text
}
