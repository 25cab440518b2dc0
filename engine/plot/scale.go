package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// An axis maps the interval low…high to 0…1.
type axis struct {
	low, high float64
	log       bool
	names     []string // of the places 0, 1, 2, …, in the place of numbers
}

func (a *axis) include(v float64) {
	if a.log && v <= 0 {
		return
	}
	a.low, a.high = math.Min(a.low, v), math.Max(a.high, v)
}

// widen gives an extent to an interval that has none, or one in which a float64 has no room for steps.
func (a *axis) widen() {
	if math.IsInf(a.low, 1) || a.high-a.low > max(1e-290, 1e-12*max(math.Abs(a.low), math.Abs(a.high))) {
		return
	}
	if a.log {
		a.low, a.high = max(a.low/2, 1e-300), min(max(a.high*2, 4e-300), math.MaxFloat64)
		return
	}
	d := math.Abs(a.low) / 2
	if d < 1e-290 {
		d = 1
	}
	a.low, a.high = max(a.low-d, -math.MaxFloat64), min(a.high+d, math.MaxFloat64)
}

// at gives v's place, 0 at low and 1 at high.
func (a axis) at(v float64) float64 {
	if a.log {
		return math.Log(v/a.low) / math.Log(a.high/a.low)
	}
	return (v/4 - a.low/4) / (a.high/4 - a.low/4) // no difference of fourths overflows
}

// A tick is a place of an axis with its label.
type tick struct {
	value float64
	label string
}

// ticks gives about n round values within the axis, at least two, in ascending order.
func (a axis) ticks(n int) []tick {
	if a.names != nil {
		return a.named(n)
	}
	if a.log {
		if t := a.decades(n); len(t) > 1 {
			return t
		}
	}
	var list []tick
	for n = max(n, 1); len(list) < 2 && n < 100; n *= 2 { // a fifth of the axis is there twice
		step := niceStep(min(a.high/float64(n)-a.low/float64(n), math.MaxFloat64/2))
		list = list[:0]
		for k := math.Ceil(a.low/step - 1e-9); k <= a.high/step+1e-9; k++ {
			list = append(list, tick{k * step, label(k*step, step)})
		}
	}
	if len(list) == 0 {
		list = append(list, tick{a.low, label(a.low, math.Abs(a.low))})
	}
	return list
}

// named are the names of about n places within the axis.
func (a axis) named(n int) (list []tick) {
	every := (len(a.names) + max(n, 1) - 1) / max(n, 1)
	if n >= 4 { // names are wanted as long as there is room for them
		every = 1
	}
	for i := 0; i < len(a.names); i += every {
		if v := float64(i); v >= a.low && v <= a.high {
			list = append(list, tick{v, a.names[i]})
		}
	}
	return list
}

// niceStep rounds a step up to 1, 2 or 5 times a power of ten.
func niceStep(raw float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*base >= raw*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// decades are the powers of ten of a logarithmic axis, thinned to about n; an axis that spans few of them
// gets 2 and 5 times them as well.
func (a axis) decades(n int) []tick {
	from, to := math.Ceil(math.Log10(a.low)-1e-9), math.Floor(math.Log10(a.high)+1e-9)
	every := math.Max(1, math.Ceil((to-from+1)/float64(max(n, 1))))
	var list []tick
	for e := from - 1; e <= to; e++ {
		multiples := []float64{1}
		if to-from < 2 {
			multiples = []float64{1, 2, 5}
		}
		for _, m := range multiples {
			v := m * math.Pow(10, e)
			if v >= a.low*(1-1e-9) && v/(1+1e-9) <= a.high && math.Mod(e-from, every) == 0 {
				text := label(v, v)
				if to-from > 9 { // all of many decades look alike
					text = fmt.Sprintf("1e%d", int(e))
				}
				list = append(list, tick{v, text})
			}
		}
	}
	return list
}

// label writes v with the digits that a step of the given size needs.
func label(v, step float64) string {
	a := math.Abs(v)
	switch {
	case a < step*1e-6:
		return "0"
	case a >= 1e15 || math.Max(a, step) < 1e-4:
		return strconv.FormatFloat(v, 'g', 6, 64) // k·step is not exact to the last digit
	}
	digits := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	for _, u := range []struct {
		size   float64
		suffix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if a >= 10*u.size || a >= u.size && step >= u.size/100 && u.size >= 1e6 {
			digits = max(0, int(math.Ceil(-math.Log10(step/u.size)-1e-9)))
			return strconv.FormatFloat(v/u.size, 'f', digits, 64) + u.suffix
		}
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}
