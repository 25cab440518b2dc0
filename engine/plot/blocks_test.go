package plot

import (
	"fmt"
	"image/color"
	"strings"
	"testing"
	"unicode/utf8"
)

// Heat maps and pictures have two pixels in a character, and fit the width.
func TestBlocks(t *testing.T) {
	hex := func(upper, lower color.NRGBA) string { return fmt.Sprintf("[%02x%02x]", upper.R, lower.R) }
	none := func(_ int, text string) string { return text }
	got, ok := Image([][]uint8{{0x10, 0x20}, {0x30, 0x40}, {0x50, 0x60}}).Titled("t").Blocks(4, hex, none)
	if want := " t\n [1030][2040]\n [5000][6000]"; !ok || got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, p := range gallery() {
		for _, width := range []int{20, 40, 80, 200} {
			text, ok := p.Titled("").Blocks(width, func(_, _ color.NRGBA) string { return "▀" }, none)
			if ok != (p.Kind == KindHeat || p.Kind == KindImage || p.Kind == KindGrid) {
				t.Errorf("%s: ok is %v", name, ok)
			}
			for _, line := range strings.Split(text, "\n") {
				if n := utf8.RuneCountInString(line); n > max(width, 36) {
					t.Errorf("%s: %d columns in %d: %s", name, n, width, line)
				}
			}
		}
	}
	if text := Image([][]float64{{0, 1}}).Text(20); !strings.Contains(text, "│  ██│") {
		t.Errorf("without colours:\n%s", text)
	}
}
