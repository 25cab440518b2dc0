package plot

import (
	"math"
	"testing"

	"golang.org/x/image/font"

	"github.com/mcs-notebook/mcs/engine/plot/internal/letters"
	_ "github.com/mcs-notebook/mcs/engine/plot/typeface"
)

// The layout's table has the widths of the font that draws.
func TestWidths(t *testing.T) {
	face := letters.Face(1024) // half of the font's own units
	for _, text := range []string{"loss", "ÄÖÜ µΩ→ 1e-3", "日本", "\x00"} {
		want := wider * fontSize * float64(font.MeasureString(face, text)) / 64 / 1024
		if got := textWidth(text); math.Abs(got-want) > 0.01*want {
			t.Errorf("%q: got %.3f, want %.3f", text, got, want)
		}
	}
}

// A program without letters is told what to import.
func TestWithoutTypeface(t *testing.T) {
	face := letters.Face
	letters.Face = nil
	defer func() { letters.Face = face }()
	const want = `plot: save: a.png: got no typeface, want import _ "github.com/mcs-notebook/mcs/engine/plot/typeface"`
	if err := Line([]int{1}).Save("a.png"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	defer func() {
		if e, ok := recover().(*Error); !ok || e.Op != "Render" {
			t.Errorf("PNG: got %v", e)
		}
	}()
	Line([]int{1}).PNG()
}
