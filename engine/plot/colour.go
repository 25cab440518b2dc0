package plot

import (
	"fmt"
	"image/color"
	"math"
)

// A theme is the colours of a drawing.
type theme struct {
	ground, text, grid color.NRGBA
	series             [8]color.NRGBA
}

// The colours of series are near those of Okabe and Ito, moved until each has a contrast of 3:1 with its
// ground and people who are colour-blind, in any of the three ways, can tell each from all others. After the
// last colour the first follows again, dashed.
var themes = map[string]*theme{
	"light": {
		ground: rgb(0xffffff), text: rgb(0x444444), grid: rgb(0xe4e4e4),
		series: [8]color.NRGBA{rgb(0x0064bb), rgb(0xd2612e), rgb(0x0f9475), rgb(0xa72e71), rgb(0x6c5e00), rgb(0x249dd4), rgb(0x793232), rgb(0x071a14)},
	},
	"dark": {
		ground: rgb(0x181818), text: rgb(0xc8c8c8), grid: rgb(0x3a3a3a),
		series: [8]color.NRGBA{rgb(0x56b4e9), rgb(0xf0803c), rgb(0x28e786), rgb(0xca90ac), rgb(0xd1ca1c), rgb(0x3388cf), rgb(0xb9605a), rgb(0xf2f2f2)},
	},
}

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

// An ink is a colour by its role, which each theme has; a role from 0 up is a series.
type ink int

const (
	inkText ink = -1 - iota
	inkGrid
	inkGround
)

// inkFixed and above are colours that all themes have alike: their red, green and blue stand below it.
const inkFixed ink = 1 << 24

// inkOf is the ink of a colour.
func inkOf(c color.NRGBA) ink { return inkFixed | ink(c.R)<<16 | ink(c.G)<<8 | ink(c.B) }

func (t *theme) colour(i ink) color.NRGBA {
	if i >= inkFixed {
		return rgb(uint32(i &^ inkFixed))
	}
	switch i {
	case inkText:
		return t.text
	case inkGrid:
		return t.grid
	case inkGround:
		return t.ground
	}
	return t.series[int(i)%len(t.series)]
}

func hexColour(c color.NRGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// A ramp gives the colour of a place 0…1 between the smallest and the greatest number.
type ramp func(at float64) color.NRGBA

// ramps are the maps of [Plot.Map]. All of them are straight lines in the space OKLCh, where steps of the
// same length look alike: lightness grows evenly from end to end, or away from the middle.
var ramps = map[string]ramp{
	"viridis": func(at float64) color.NRGBA {
		return oklch(0.28+0.64*at, 0.095+0.075*at*at*at, 300-195*at)
	},
	"diverging": func(at float64) color.NRGBA {
		d := math.Abs(2*at - 1)
		if at < 0.5 {
			return oklch(0.96-0.52*d, 0.15*d, 255)
		}
		return oklch(0.96-0.46*d, 0.17*d, 38)
	},
	"grey": func(at float64) color.NRGBA { return oklch(at, 0, 0) },
}

// oklch is a colour by lightness 0…1, chroma and hue in degrees (Ottosson, "A perceptual color space for
// image processing", 2020). A chroma that a screen cannot show is lowered until it can.
func oklch(l, c, hue float64) color.NRGBA {
	for {
		sin, cos := math.Sincos(hue * math.Pi / 180)
		r, g, b := oklab(l, c*cos, c*sin)
		lowest, highest := math.Min(r, math.Min(g, b)), math.Max(r, math.Max(g, b))
		if c <= 0 || lowest >= -1e-4 && highest <= 1+1e-4 {
			return color.NRGBA{gamma(r), gamma(g), gamma(b), 255}
		}
		c -= 0.005
	}
}

// oklab turns a colour of OKLab into linear sRGB.
func oklab(lightness, a, b float64) (red, green, blue float64) {
	l := lightness + 0.3963377774*a + 0.2158037573*b
	m := lightness - 0.1055613458*a - 0.0638541728*b
	s := lightness - 0.0894841775*a - 1.2914855480*b
	l, m, s = l*l*l, m*m*m, s*s*s
	return 4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.7076147010*s
}

// gamma is a linear part of sRGB as a byte.
func gamma(v float64) uint8 {
	v = math.Min(math.Max(v, 0), 1)
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return uint8(math.Round(255 * v))
}
