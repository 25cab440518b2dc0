package term

import (
	"image/color"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/display"
)

// The colours of series have a contrast of 3:1 on the grounds that terminals have.
func TestSeriesColoursRead(t *testing.T) {
	linear := func(v int) float64 {
		if s := float64(v) / 255; s > 0.04045 {
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	luminance := func(r, g, b int) float64 { return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b) }
	levels := []int{0, 95, 135, 175, 215, 255}
	for _, role := range []display.Role{display.Series1, display.Series2, display.Series3, display.Series4} {
		n, err := strconv.Atoi(strings.TrimPrefix(string(seriesColours[role]), "38;5;"))
		if err != nil || n < 16 || n > 231 {
			t.Fatalf("role %d has the colour %q, want one of the 6×6×6", role, seriesColours[role])
		}
		n -= 16
		c := luminance(levels[n/36], levels[n/6%6], levels[n%6])
		for _, ground := range []color.NRGBA{{255, 255, 255, 255}, {0, 0, 0, 255}, {30, 30, 30, 255}} {
			g := luminance(int(ground.R), int(ground.G), int(ground.B))
			if ratio := (math.Max(c, g) + 0.05) / (math.Min(c, g) + 0.05); ratio < 3 {
				t.Errorf("role %d on %v has a contrast of %.2f, want 3", role, ground, ratio)
			}
		}
	}
}
