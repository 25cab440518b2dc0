package picture

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// A Screen is what a terminal can show.
type Screen struct {
	Images     Protocol
	Depth      Depth
	Dark       bool // the ground of text
	CellWidth  int  // of a character in pixels
	CellHeight int
	Wrapped    bool // in tmux
}

// A Setting is what the person wants: "kitty", "sixel", "off", or "auto" and "" to find out.
type Setting string

// Guess says what the environment tells about a terminal, and what has to be asked: a question, which is
// empty if the answer would change nothing.
func Guess(env func(string) string, set Setting) (s Screen, question string) {
	term := env("TERM")
	s = Screen{Dark: dark(env("COLORFGBG")), CellWidth: 8, CellHeight: 16, Wrapped: env("TMUX") != ""}
	s.Depth = DepthOf(env)
	if set == "" || set == "auto" {
		set = Setting(env("MCS_IMAGES"))
	}
	const ground, cell, attributes = "\x1b]11;?\x1b\\", "\x1b[16t", "\x1b[c"
	switch {
	case set == "off" || term == "" || term == "dumb" || term == "linux":
		return s, ""
	case set == "kitty":
		s.Images = Kitty
		return s, ground + cell + attributes
	case set == "sixel":
		s.Images = Sixel
		return s, ground + cell + attributes
	case s.Wrapped || env("STY") != "" || strings.HasPrefix(term, "screen") || strings.HasPrefix(term, "tmux"):
		return s, "" // what stands between shows no images, or signs in their place
	case env("KITTY_WINDOW_ID") != "" || term == "xterm-kitty" || term == "xterm-ghostty" || env("TERM_PROGRAM") == "ghostty" || env("TERM_PROGRAM") == "WezTerm":
		// Others might print the question for kitty's images.
		return s, "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\" + ground + cell + attributes
	}
	return s, ground + cell + attributes
}

// DepthOf is how many colours the environment promises.
func DepthOf(env func(string) string) Depth {
	term := env("TERM")
	switch {
	case env("COLORTERM") == "truecolor" || env("COLORTERM") == "24bit" || strings.HasSuffix(term, "-direct"):
		return True
	case term == "xterm-kitty" || term == "xterm-ghostty" || env("WT_SESSION") != "":
		return True
	case strings.Contains(term, "256color"):
		return Fixed
	}
	return Few
}

// dark says whether COLORFGBG ("15;0") has a dark ground; without it, most have.
func dark(colours string) bool {
	parts := strings.Split(colours, ";")
	n, err := strconv.Atoi(parts[len(parts)-1])
	return err != nil || n < 7 || n == 8
}

var (
	attributes = lazy.Regexp(`\x1b\[\?([\d;]*)c`)
	cellSize   = lazy.Regexp(`\x1b\[6;(\d+);(\d+)t`)
	groundIs   = lazy.Regexp(`\x1b\]11;rgb:([[:xdigit:]]+)/([[:xdigit:]]+)/([[:xdigit:]]+)(\x07|\x1b\\)`)
	kittySays  = lazy.Regexp(`\x1b_Gi=31;([^\x1b]*)\x1b\\`)
)

// Answered says whether the last answer to a question has come. All terminals give it.
func Answered(typed []byte) bool { return attributes().Match(typed) }

// Learn takes the answers out of what was typed, and returns the rest: keys.
func (s *Screen) Learn(typed []byte, set Setting) (rest []byte) {
	rest = typed
	take := func(e *regexp.Regexp) (parts []string) {
		m := e.FindSubmatchIndex(rest)
		if m == nil {
			return nil
		}
		for i := 2; i < len(m); i += 2 {
			parts = append(parts, string(rest[m[i]:m[i+1]]))
		}
		rest = append(rest[:m[0]:m[0]], rest[m[1]:]...)
		return parts
	}
	if m := take(groundIs()); m != nil {
		s.Dark = luminance(m) < 0.4
	}
	if m := take(cellSize()); m != nil {
		height, _ := strconv.Atoi(m[0])
		width, _ := strconv.Atoi(m[1])
		s.setCell(width, height)
	}
	speaks := take(kittySays())
	features := take(attributes())
	if s.Images != None {
		return rest // chosen by the person
	}
	switch {
	case speaks != nil && speaks[0] == "OK":
		s.Images = Kitty
	case features != nil && strings.Contains(";"+features[0]+";", ";4;"):
		s.Images = Sixel
	}
	return rest
}

// setCell believes a size that a character can have.
func (s *Screen) setCell(width, height int) {
	if width >= 3 && height >= 6 && width <= 100 && height <= 200 {
		s.CellWidth, s.CellHeight = width, height
	}
}

// SetPixels tells the size of the whole window, which some systems know.
func (s *Screen) SetPixels(columns, rows, width, height int) {
	if columns > 0 && rows > 0 {
		s.setCell(width/columns, height/rows)
	}
}

// luminance is roughly how bright a colour of hexadecimal parts is, 0…1.
func luminance(parts []string) float64 {
	sum := 0.0
	for i, weight := range []float64{0.3, 0.59, 0.11} {
		v, _ := strconv.ParseUint(parts[i], 16, 64)
		sum += weight * float64(v) / float64(uint64(1)<<(4*len(parts[i]))-1)
	}
	return sum
}

// Fit is how many columns and rows a picture takes that is as wide as the window, or as high as it may be.
func (s Screen) Fit(width, height float64, columns, rows int) (c, r int) {
	c = columns
	r = int(float64(c*s.CellWidth)*height/width/float64(s.CellHeight) + 0.5)
	if r > rows {
		r = max(rows, 1)
		c = min(columns, max(1, int(float64(r*s.CellHeight)*width/height/float64(s.CellWidth)+0.5)))
	}
	return c, max(r, 1)
}
