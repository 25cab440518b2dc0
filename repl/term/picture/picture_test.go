package picture

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"
)

// What the environment says, what is asked, and what the answers mean.
func TestScreen(t *testing.T) {
	const device, noImages, sixels = "\x1b[?62;22c", "\x1b[?1;2c", "\x1b[?62;4;22c"
	for _, c := range []struct {
		name, env, set, answer string
		want                   Screen
		rest                   string
	}{
		{"kitty", "TERM=xterm-kitty", "", "\x1b_Gi=31;OK\x1b\\\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[6;20;10t" + device, Screen{Images: Kitty, Depth: True, CellWidth: 10, CellHeight: 20}, ""},
		{"kitty without images", "KITTY_WINDOW_ID=1 TERM=xterm-256color", "", device, Screen{Depth: Fixed, Dark: true, CellWidth: 8, CellHeight: 16}, ""},
		{"foot", "TERM=foot COLORTERM=truecolor", "", sixels, Screen{Images: Sixel, Depth: True, Dark: true, CellWidth: 8, CellHeight: 16}, ""},
		{"keys among the answers", "TERM=xterm", "", "ab\x1b]11;rgb:00/00/00\x07c" + sixels + "d\r", Screen{Images: Sixel, Dark: true, CellWidth: 8, CellHeight: 16}, "abcd\r"},
		{"no images", "TERM=xterm-256color COLORFGBG=0;15", "", noImages, Screen{Depth: Fixed, CellWidth: 8, CellHeight: 16}, ""},
		{"no answer", "TERM=xterm-256color", "", "x\x1b[?6", Screen{Depth: Fixed, Dark: true, CellWidth: 8, CellHeight: 16}, "x\x1b[?6"},
		{"tmux", "TERM=tmux-256color TMUX=1", "", "", Screen{Depth: Fixed, Dark: true, CellWidth: 8, CellHeight: 16, Wrapped: true}, ""},
		{"tmux, and the person knows", "TERM=tmux-256color TMUX=1", "kitty", noImages, Screen{Images: Kitty, Depth: Fixed, Dark: true, CellWidth: 8, CellHeight: 16, Wrapped: true}, ""},
		{"the environment's wish", "TERM=xterm MCS_IMAGES=sixel", "auto", noImages, Screen{Images: Sixel, Dark: true, CellWidth: 8, CellHeight: 16}, ""},
		{"off", "TERM=xterm-kitty MCS_IMAGES=kitty", "off", "", Screen{Depth: True, Dark: true, CellWidth: 8, CellHeight: 16}, ""},
		{"a size that cannot be", "TERM=xterm", "", "\x1b[6;0;0t" + noImages, Screen{Dark: true, CellWidth: 8, CellHeight: 16}, ""},
	} {
		env := func(name string) string {
			for _, f := range strings.Fields(c.env) {
				if key, value, _ := strings.Cut(f, "="); key == name {
					return value
				}
			}
			return ""
		}
		s, question := Guess(env, Setting(c.set))
		if (question == "") != (c.answer == "") {
			t.Errorf("%s: asked %q", c.name, question)
		}
		if strings.Contains(question, "\x1b_G") != strings.Contains(c.env, "KITTY_WINDOW_ID") && !strings.Contains(c.env, "xterm-kitty") {
			t.Errorf("%s: asked %q", c.name, question)
		}
		rest := string(s.Learn([]byte(c.answer), Setting(c.set)))
		if s != c.want || rest != c.rest {
			t.Errorf("%s:\n got %+v and %q\nwant %+v and %q", c.name, s, rest, c.want, c.rest)
		}
	}
}

// noise has more colours than sixel may have, and transparent pixels.
func noise(width, height int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetNRGBA(x, y, color.NRGBA{uint8(255 * x / width), uint8(255 * y / height), uint8(x ^ y), 255})
		}
	}
	img.SetNRGBA(3, 4, color.NRGBA{})
	return img
}

// Sixels decode to the image that was encoded, within the error of 255 colours.
func TestSixel(t *testing.T) {
	want := noise(97, 41) // neither is a multiple of six
	got := decodeSixel(t, Image(Sixel, want, 10, 3, false))
	worst, sum := 0.0, 0.0
	for y := range 41 {
		for x := range 97 {
			a, b := want.NRGBAAt(x, y), got.NRGBAAt(x, y)
			if a.A != b.A {
				t.Fatalf("%d,%d: opacity %d, want %d", x, y, b.A, a.A)
			}
			d := math.Abs(float64(a.R)-float64(b.R)) + math.Abs(float64(a.G)-float64(b.G)) + math.Abs(float64(a.B)-float64(b.B))
			worst, sum = math.Max(worst, d), sum+d
		}
	}
	if mean := sum / 97 / 41; mean > 30 || worst > 140 {
		t.Errorf("colours differ by %.1f on average and %.0f at most", mean, worst)
	}
	few := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	few.SetNRGBA(0, 0, color.NRGBA{255, 0, 0, 255})
	few.SetNRGBA(1, 0, color.NRGBA{0, 0, 255, 255})
	if got := Image(Sixel, few, 1, 1, false); got != "\x1bP0;1q\"1;1;2;1#0;2;0;0;100#1;2;100;0;0#0?@$#1@\x1b\\\n" {
		t.Errorf("two pixels are %q", got)
	}
}

// decodeSixel is a terminal's half of the protocol.
func decodeSixel(t *testing.T, s string) *image.NRGBA {
	t.Helper()
	s, ok := strings.CutPrefix(s, "\x1bP0;1q\"1;1;97;41")
	s, end := strings.CutSuffix(s, "\x1b\\\n")
	if !ok || !end {
		t.Fatalf("not sixels: %.40q", s)
	}
	img := image.NewNRGBA(image.Rect(0, 0, 97, 41))
	palette := map[int]color.NRGBA{}
	at := 0
	number := func() (n int) {
		for ; at < len(s) && s[at] >= '0' && s[at] <= '9'; at++ {
			n = 10*n + int(s[at]-'0')
		}
		return n
	}
	x, y, colour := 0, 0, 0
	for at < len(s) {
		c, n := s[at], 1
		at++
		switch c {
		case '$':
			x = 0
			continue
		case '-':
			x, y = 0, y+6
			continue
		case '#':
			if colour = number(); at < len(s) && s[at] == ';' {
				var parts [4]int
				for i := range parts {
					at++
					parts[i] = number()
				}
				palette[colour] = color.NRGBA{uint8(parts[1] * 255 / 100), uint8(parts[2] * 255 / 100), uint8(parts[3] * 255 / 100), 255}
			}
			continue
		case '!':
			n = number()
			c = s[at]
			at++
		}
		for ; n > 0; n, x = n-1, x+1 {
			for row := range 6 {
				if (c-'?')>>row&1 == 1 {
					img.SetNRGBA(x, y+row, palette[colour])
				}
			}
		}
	}
	return img
}

// A PNG goes to kitty in pieces of a size that it takes, and asks for no answer.
func TestKitty(t *testing.T) {
	want := noise(200, 100)
	for _, wrapped := range []bool{false, true} {
		text := strings.TrimSuffix(Image(Kitty, want, 25, 6, wrapped), "\n")
		if wrapped {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "\x1bPtmux;", ""), "\x1b\x1b\\\x1b\\", "\x1b\x1b\\")
			text = strings.ReplaceAll(text, "\x1b\x1b", "\x1b")
		}
		var data string
		parts := strings.SplitAfter(text, "\x1b\\")
		for i, part := range parts[:len(parts)-1] {
			control, payload, _ := strings.Cut(strings.TrimSuffix(part, "\x1b\\"), ";")
			more := map[bool]string{true: "m=1", false: "m=0"}[i < len(parts)-2]
			if first := "\x1b_Ga=T,f=100,q=2,c=25,r=6," + more; i == 0 && control != first || i > 0 && control != "\x1b_G"+more || len(payload) > 4096 {
				t.Fatalf("part %d is %q with %d bytes", i, control, len(payload))
			}
			data += payload
		}
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(bytes.NewReader(raw))
		if err != nil || got.At(50, 50) != color.Color(want.At(50, 50)) {
			t.Errorf("wrapped %v: %v, pixel %v, want %v", wrapped, err, got.At(50, 50), want.At(50, 50))
		}
	}
}

func TestHalf(t *testing.T) {
	red, black, none := color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 0, 0, 255}, color.NRGBA{}
	for _, c := range []struct {
		depth        Depth
		upper, lower color.NRGBA
		want         string
	}{
		{True, red, black, "\x1b[38;2;255;0;0;48;2;0;0;0m▀\x1b[0m"},
		{Fixed, red, black, "\x1b[38;5;196;48;5;16m▀\x1b[0m"},
		{Fixed, red, red, "\x1b[38;5;196m█\x1b[0m"},
		{Fixed, none, red, "\x1b[38;5;196m▄\x1b[0m"},
		{Fixed, red, none, "\x1b[38;5;196m▀\x1b[0m"},
		{Fixed, none, none, " "},
		{Fixed, color.NRGBA{120, 121, 119, 255}, none, "\x1b[38;5;243m▀\x1b[0m"},
	} {
		if got := Half(c.depth, c.upper, c.lower); got != c.want {
			t.Errorf("%v over %v: got %q, want %q", c.upper, c.lower, got, c.want)
		}
	}
}

// A picture is as wide as the window, unless it would be too high; its proportion stays.
func TestFit(t *testing.T) {
	s := Screen{CellWidth: 10, CellHeight: 20}
	for _, c := range []struct {
		width, height float64
		columns, rows int
		c, r          int
	}{{16, 9, 80, 40, 80, 23}, {16, 9, 80, 10, 36, 10}, {1, 1, 40, 100, 40, 20}, {1, 9, 80, 9, 2, 9}} {
		if cc, r := s.Fit(c.width, c.height, c.columns, c.rows); cc != c.c || r != c.r {
			t.Errorf("%v×%v in %d×%d: got %d×%d, want %d×%d", c.width, c.height, c.columns, c.rows, cc, r, c.c, c.r)
		}
	}
}
