package nn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Rope says how rotary positions turn the pairs of a head (Su and others 2021), and how the turns are
// scaled for texts that are longer than those of the training.
type Rope struct {
	Base        float64 // θ; 0 means 10,000
	Rotary      int     // how many numbers of a head turn, the first ones, or with proportional the first of each half; 0: all
	Interleaved bool    // the pairs are neighbours; else a number and the one half of them further
	Scaling     RopeScaling
}

// A RopeScaling stretches rotary positions. The zero value does not. Names and formulas are those of the
// rope_scaling of Hugging Face's configurations.
type RopeScaling struct {
	Kind   string  // "", "linear", "dynamic", "llama3", "yarn", "longrope" or "proportional" (Gemma 4)
	Factor float64 // by how much a text may be longer

	Context  int // tokens of the longest text of the model; for dynamic and longrope
	Original int // tokens of the longest text of the training; for llama3, yarn and longrope

	LowFreq, HighFreq float64 // llama3: turns in an original text below which a pair is stretched, above which it is not

	BetaFast, BetaSlow float64 // yarn: as HighFreq and LowFreq; 0 means 32 and 1
	Untruncated        bool    // yarn: the borders between pairs stay fractions

	Short, Long []float64 // longrope: divisors of each pair's rate, in texts up to Original and longer ones

	// Attention multiplies cosines and sines; 0: as yarn and longrope say, for the others 1.
	Attention float64

	// QueryBeta multiplies the queries at position p by 1 + QueryBeta·ln(1 + ⌊p/Original⌋), as Llama 4 does;
	// 0: they stay.
	QueryBeta float64
}

// Check says what no rope of heads of width d can have.
func (r Rope) Check(d int) error {
	s := r.Scaling
	rotary := r.width(d)
	if s.Kind == "proportional" && (r.Rotary < 0 || r.Rotary > d) {
		return fmt.Errorf("got %d turning numbers of heads of %d, want at most all", r.Rotary, d)
	}
	if rotary < 2 || rotary > d || rotary%2 != 0 {
		return fmt.Errorf("got %d turning numbers of heads of %d, want an even number of them", rotary, d)
	}
	positive := func(name string, x float64) error {
		if !(x > 0) || math.IsInf(x, 0) {
			return fmt.Errorf("got %s %v, want a positive finite number", name, x)
		}
		return nil
	}
	wants := map[string]float64{"rope base": r.base()}
	switch s.Kind {
	case "":
	case "linear", "proportional":
		wants["factor"] = s.Factor
	case "dynamic":
		wants["factor"], wants["context"] = s.Factor, float64(s.Context)
	case "llama3":
		wants["factor"], wants["original context"], wants["low frequency factor"] = s.Factor, float64(s.Original), s.LowFreq
		wants["difference of high and low frequency factor"] = s.HighFreq - s.LowFreq
	case "yarn":
		wants["factor"], wants["original context"] = s.Factor, float64(s.Original)
	case "longrope":
		wants["original context"] = float64(s.Original)
		if len(s.Short) != rotary/2 || len(s.Long) != rotary/2 {
			return fmt.Errorf("got %d short and %d long factors, want one for each of %d pairs", len(s.Short), len(s.Long), rotary/2)
		}
		wants["short factor"], wants["long factor"] = slices.Min(s.Short), slices.Min(s.Long)
	default:
		return fmt.Errorf("got rope scaling %q, want linear, dynamic, llama3, yarn, longrope or proportional", s.Kind)
	}
	if s.QueryBeta != 0 {
		wants["original context"], wants["query beta"] = float64(s.Original), s.QueryBeta
	}
	for name, x := range wants {
		if err := positive(name, x); err != nil {
			return err
		}
	}
	if s.Attention < 0 || math.IsInf(s.Attention, 0) || math.IsNaN(s.Attention) {
		return fmt.Errorf("got attention factor %v, want 0 or a positive number", s.Attention)
	}
	return nil
}

func (r Rope) base() float64 { return cmp.Or(r.Base, 10000) }

func (r Rope) width(d int) int {
	if r.Rotary == 0 || r.Scaling.Kind == "proportional" {
		return d
	}
	return r.Rotary
}

// Varies says whether the rates depend on the length of the text.
func (r Rope) Varies() bool { return r.Scaling.Kind == "dynamic" || r.Scaling.Kind == "longrope" }

// Rates are the angles, in radians, by which the pairs of a head of width d go on from one position to the
// next, in a text of so many tokens.
func (r Rope) Rates(d, tokens int) []float64 {
	s, n := r.Scaling, r.width(d)
	base := r.base()
	if s.Kind == "dynamic" {
		context := float64(s.Context)
		stretch := s.Factor*math.Max(float64(tokens), context)/context - (s.Factor - 1)
		base *= math.Pow(stretch, float64(n)/float64(n-2))
	}
	rates := make([]float64, n/2)
	for i := range rates {
		rates[i] = math.Pow(base, -2*float64(i)/float64(n))
	}
	switch s.Kind {
	case "linear", "proportional":
		for i := range rates {
			if rates[i] /= s.Factor; s.Kind == "proportional" && r.Rotary > 0 && i >= r.Rotary/2 {
				rates[i] = 0
			}
		}
	case "llama3":
		s.llama3(rates)
	case "yarn":
		s.yarn(rates, base)
	case "longrope":
		factors := s.Short
		if tokens > s.Original {
			factors = s.Long
		}
		for i := range rates {
			rates[i] /= factors[i]
		}
	}
	return rates
}

// llama3 divides the rates of slow pairs by Factor, and leaves those of fast ones.
func (s RopeScaling) llama3(rates []float64) {
	for i, rate := range rates {
		turns := float64(s.Original) * rate / (2 * math.Pi)
		fast := min(1, max(0, (turns-s.LowFreq)/(s.HighFreq-s.LowFreq)))
		rates[i] = rate * (fast + (1-fast)/s.Factor)
	}
}

// yarn does so, too, with a border that is a line over the places of the pairs (Peng and others 2023).
func (s RopeScaling) yarn(rates []float64, base float64) {
	n := 2 * len(rates)
	place := func(turns float64) float64 { // of a pair with so many turns in an original text
		return float64(n) * math.Log(float64(s.Original)/(turns*2*math.Pi)) / (2 * math.Log(base))
	}
	low, high := place(cmp.Or(s.BetaFast, 32)), place(cmp.Or(s.BetaSlow, 1))
	if !s.Untruncated {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(n-1))
	if low == high {
		high += 0.001
	}
	for i, rate := range rates {
		stretched := min(1, max(0, (float64(i)-low)/(high-low)))
		rates[i] = rate * (1 - stretched + stretched/s.Factor)
	}
}

// Strength multiplies cosines and sines.
func (r Rope) Strength() float64 {
	s := r.Scaling
	switch {
	case s.Attention != 0:
		return s.Attention
	case s.Kind == "yarn" && s.Factor > 1:
		return 0.1*math.Log(s.Factor) + 1
	case s.Kind == "longrope":
		if factor := cmp.Or(s.Factor, float64(s.Context)/float64(s.Original)); factor > 1 {
			return math.Sqrt(1 + math.Log(factor)/math.Log(float64(s.Original)))
		}
	}
	return 1
}

// Turn turns the pairs of x [B heads T D] at positions i64 [T], in a text of so many tokens.
func (r Rope) Turn(x, positions tensor.Tensor, tokens int) tensor.Tensor {
	o := tensor.RopeOptions{Base: r.base()}
	if r.Scaling.Kind != "" {
		o.Rates = r.Rates(x.Len(-1), tokens)
	}
	return r.turned(x, positions, o)
}

// Turns are the rates of a text of so many tokens as data, f32 [pairs 2], so that a text of another length
// needs no other plan: parts of a turn, each as the nearest number and what is left. Pass them in a [Step].
func (r Rope) Turns(d, tokens int) tensor.Tensor {
	rates := r.Rates(d, tokens)
	turns := make([]float32, 0, 2*len(rates))
	for _, radians := range rates {
		rate := radians / (2 * math.Pi)
		turns = append(turns, float32(rate), float32(rate-float64(float32(rate))))
	}
	return tensor.From(turns, len(rates), 2)
}

// turn is Turn in a step, whose turns are those of its text's length if the rope varies.
func (r Rope) turn(x, positions, turns tensor.Tensor) tensor.Tensor {
	if !r.Varies() {
		return r.Turn(x, positions, 0)
	}
	return r.turned(x, positions, tensor.RopeOptions{Turns: turns})
}

func (r Rope) turned(x, positions tensor.Tensor, o tensor.RopeOptions) tensor.Tensor {
	d := x.Len(-1)
	n := r.width(d)
	turning := x
	if n < d {
		turning = x.Slice(-1, 0, n)
	}
	o.Interleaved = r.Interleaved
	turning = turning.Rope(positions, o)
	if s := r.Strength(); s != 1 {
		turning = turning.Mul(s)
	}
	if n < d {
		turning = tensor.Concat([]tensor.Tensor{turning, x.Slice(-1, n, d)}, -1)
	}
	return turning
}

// stronger multiplies queries x [B heads T D] at positions i64 [T] or [B 1 T] by what QueryBeta says.
func (s RopeScaling) stronger(x, positions tensor.Tensor) tensor.Tensor {
	if s.QueryBeta == 0 {
		return x
	}
	texts := positions.Cast(dtype.F32).Div(s.Original).Floor()
	return x.Mul(texts.Add(1).Log().Mul(s.QueryBeta).Add(1).Unsqueeze(-1).Cast(x.DType()))
}
