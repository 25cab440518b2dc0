// Package picture writes pictures for terminals: as images by the protocols of kitty and of DEC's sixel, and
// as half blocks in colours. It also finds out what a terminal can show.
package picture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"
)

// A Protocol is a way to show an image.
type Protocol int

const (
	None Protocol = iota
	Kitty
	Sixel
)

// A Depth is how many colours text has.
type Depth int

const (
	Few   Depth = iota // 16, which the person's theme defines
	Fixed              // 256, of which 240 are the same everywhere
	True               // all of 24 bits
)

// Image shows an image where the cursor is, over so many columns and rows, and leaves the cursor below it. In
// tmux (wrapped) the sequences of kitty go through to the terminal outside.
func Image(p Protocol, img image.Image, columns, rows int, wrapped bool) string {
	switch p {
	case Kitty:
		return kitty(img, columns, rows, wrapped) + "\n"
	case Sixel:
		return sixel(img) + "\n"
	}
	return ""
}

// kittyChunk is how many bytes of base64 a sequence may have.
const kittyChunk = 4096

// kitty transmits a PNG in pieces and shows it at once (the terminal graphics protocol, a=T). q=2 asks the
// terminal not to answer: an answer would be read as keys.
func kitty(img image.Image, columns, rows int, wrapped bool) string {
	var data bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	_ = enc.Encode(&data, img) // a buffer has no errors
	text := base64.StdEncoding.EncodeToString(data.Bytes())
	var b strings.Builder
	for first := true; first || text != ""; first = false {
		n := min(len(text), kittyChunk)
		control := "m=1"
		if n == len(text) {
			control = "m=0"
		}
		if first {
			control = fmt.Sprintf("a=T,f=100,q=2,c=%d,r=%d,%s", columns, rows, control)
		}
		sequence := "\x1b_G" + control + ";" + text[:n] + "\x1b\\"
		if wrapped {
			sequence = "\x1bPtmux;" + strings.ReplaceAll(sequence, "\x1b", "\x1b\x1b") + "\x1b\\"
		}
		b.WriteString(sequence)
		text = text[n:]
	}
	return b.String()
}

// Half is a character cell whose upper and lower half have colours; a transparent half has none.
func Half(d Depth, upper, lower color.NRGBA) string {
	switch {
	case upper.A == 0 && lower.A == 0:
		return " "
	case lower.A == 0:
		return "\x1b[" + foreground(d, upper) + "m▀\x1b[0m"
	case upper.A == 0:
		return "\x1b[" + foreground(d, lower) + "m▄\x1b[0m"
	case upper == lower:
		return "\x1b[" + foreground(d, upper) + "m█\x1b[0m"
	}
	return "\x1b[" + foreground(d, upper) + ";4" + foreground(d, lower)[1:] + "m▀\x1b[0m"
}

// foreground are the parameters of a colour of text. Those of a background begin with 4 instead of 3.
func foreground(d Depth, c color.NRGBA) string {
	if d == True {
		return fmt.Sprintf("38;2;%d;%d;%d", c.R, c.G, c.B)
	}
	return fmt.Sprintf("38;5;%d", nearest(c))
}

// levels are the steps of a part of the 6×6×6 colours from 16 on; 24 greys follow them.
var levels = [6]int{0, 95, 135, 175, 215, 255}

// nearest is the colour of the 240 fixed ones that is nearest to c.
func nearest(c color.NRGBA) int {
	index, best := 16, 0
	at := [3]int{int(c.R), int(c.G), int(c.B)}
	distance := 0
	for _, v := range at {
		step := 0
		for i, l := range levels {
			if abs(v-l) < abs(v-levels[step]) {
				step = i
			}
		}
		best = 6*best + step
		distance += (v - levels[step]) * (v - levels[step])
	}
	index += best
	grey := min(max((at[0]+at[1]+at[2]-3*8+15)/30, 0), 23)
	apart := 0
	for _, v := range at {
		apart += (v - 8 - 10*grey) * (v - 8 - 10*grey)
	}
	if apart < distance {
		return 232 + grey
	}
	return index
}

func abs(x int) int { return max(x, -x) }
