package plot

import (
	"image/color"
	"math"
	"testing"
)

func linear(c uint8) float64 {
	v := float64(c) / 255
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}

func luminance(c color.NRGBA) float64 {
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// contrast is that of WCAG 2: 1 for equal colours, 21 for black on white.
func contrast(a, b color.NRGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (math.Max(x, y) + 0.05) / (math.Min(x, y) + 0.05)
}

// seen is how people see a colour in OKLab who lack one kind of cones (Machado, Oliveira and Fernandes,
// "A physiologically-based model for simulation of color vision deficiency", 2009, at full severity).
func seen(c color.NRGBA, m [9]float64) (l, a, b float64) {
	in := [3]float64{linear(c.R), linear(c.G), linear(c.B)}
	var rgb [3]float64
	for i := range rgb {
		rgb[i] = math.Max(0, m[3*i]*in[0]+m[3*i+1]*in[1]+m[3*i+2]*in[2])
	}
	x := math.Cbrt(0.4122214708*rgb[0] + 0.5363325363*rgb[1] + 0.0514459929*rgb[2])
	y := math.Cbrt(0.2119034982*rgb[0] + 0.6806995451*rgb[1] + 0.1073969566*rgb[2])
	z := math.Cbrt(0.0883024619*rgb[0] + 0.2817188376*rgb[1] + 0.6299787005*rgb[2])
	return 0.2104542553*x + 0.7936177850*y - 0.0040720468*z, 1.9779984951*x - 2.4285922050*y + 0.4505937099*z, 0.0259040371*x + 0.7827717662*y - 0.8086757660*z
}

var eyes = map[string][9]float64{
	"usual":        {1, 0, 0, 0, 1, 0, 0, 0, 1},
	"protanopia":   {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
	"deuteranopia": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
	"tritanopia":   {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
}

// Each series can be told from the ground and from the others, also by people who are colour-blind.
func TestColoursRead(t *testing.T) {
	for name, th := range themes {
		if c := contrast(th.text, th.ground); c < 4.5 {
			t.Errorf("%s: text has a contrast of %.2f, want 4.5", name, c)
		}
		for i, a := range th.series {
			if c := contrast(a, th.ground); c < 3 {
				t.Errorf("%s: series %d has a contrast of %.2f, want 3", name, i, c)
			}
			for eye, m := range eyes {
				for j, b := range th.series[:i] {
					l, x, y := seen(a, m)
					l2, x2, y2 := seen(b, m)
					if d := math.Hypot(l-l2, math.Hypot(x-x2, y-y2)); d < 0.05 {
						t.Errorf("%s: with %s sight series %d and %d differ by %.3f, want 0.05", name, eye, j, i, d)
					}
				}
			}
		}
	}
}

// A greater number is lighter, in equal steps; of "diverging", darker away from the middle.
func TestRamps(t *testing.T) {
	light := func(r ramp, at float64) float64 { l, _, _ := seen(r(at), eyes["usual"]); return l }
	for name, r := range ramps {
		for i := range 100 {
			at := float64(i) / 100
			step := light(r, at+0.01) - light(r, at)
			if name == "diverging" && at < 0.5 {
				step = light(r, 0.5+at/2+0.005) - light(r, 0.5+at/2)
				step = -step
			} else if name == "diverging" {
				step = light(r, 1-at) - light(r, 1-at-0.01)
			}
			if step < -0.002 || step > 0.03 && at > 0.1 { // the darkest greys are few
				t.Errorf("%s: lightness changes by %.4f at %.2f", name, step, at)
			}
		}
	}
}
