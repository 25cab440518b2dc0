package display

import (
	"image"
	"image/color"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// A pencil is a drawing for tests.
type pencil struct{ Value }

func (pencil) Draw(int, func(int, string) string) string { return "drawn" }
func (pencil) Render(w, h int, _ float64, _ string) *image.NRGBA {
	return image.NewNRGBA(image.Rect(0, 0, w, h))
}
func (pencil) Proportion() float64 { return 2 }
func (pencil) Blocks(int, func(upper, lower color.NRGBA) string, func(int, string) string) (string, bool) {
	return "", false
}
func (pencil) SVG() string  { return "<svg></svg>" }
func (pencil) HTML() string { return "<svg></svg>" }

func TestBundled(t *testing.T) {
	type row struct{ A, B int }
	for _, c := range []struct {
		name  string
		v     Value
		kinds string
		plain string // its beginning
	}{
		{"a number", Format(42), "text/plain", "42"},
		{"text", Text("a\x1b[2J\n"), "text/plain", `a\x1b[2J`},
		{"a table of structs", Format([]row{{1, 2}, {3, 4}}), "text/html text/plain", "   A  B"},
		{"a table", NewTable("a", ">b"), "text/html text/plain", "a  b"},
		{"a noted table", Noted(Format([]row{{1, 2}, {3, 4}}), "a note"), "text/html text/plain", "   A  B"},
		{"two values", Tuple([]Value{Format(1), Format([]row{{1, 2}, {3, 4}})}), "text/html text/plain", "1\n   A  B"},
		{"two numbers", Tuple([]Value{Format(1), Format(2)}), "text/plain", "1, 2"},
		{"a drawing", pencil{Text("a curve")}, "image/png image/svg+xml text/plain", "a curve"},
		{"too much", Text(strings.Repeat("x", 2*maxRendering)), "text/plain", "xxx"},
	} {
		b := Bundled(c.v, 80)
		kinds := strings.Join(slices.Sorted(maps.Keys(b)), " ")
		if kinds != c.kinds || !strings.HasPrefix(b[PlainText], c.plain) || len(b[PlainText]) > maxRendering+100 {
			t.Errorf("%s: got %s, %.100q, want %s, %q", c.name, kinds, b[PlainText], c.kinds, c.plain)
		}
	}
	if b := Bundled(Noted(Format([]row{{1, 2}, {3, 4}}), "<i>"), 80); !strings.HasSuffix(b[HTMLText], "</p><p>&lt;i&gt;</p>") {
		t.Errorf("a note: got %s", b[HTMLText])
	}
	if b := Drawn(pencil{Text("a curve")}, 80); b[PNGImage] != "" || b[SVGImage] == "" {
		t.Errorf("a drawing that changes: got %v", b)
	}
}

func TestFrames(t *testing.T) {
	var frames []Frame
	states := 0
	p := NewFrames(80, func(f Frame) { frames = append(frames, f) })
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	for i := range int64(100) {
		p.Update("step", i, 100, "", 0)
		p.Draw(func() Value { states++; return Text("curve") }, 0)
		now = now.Add(10 * time.Millisecond)
	}
	p.Finish()
	if len(frames) < 8 || len(frames) > 22 {
		t.Fatalf("got %d frames in a second, want 10 to 20", len(frames))
	}
	last := frames[len(frames)-1]
	if !last.Last || !strings.HasPrefix(last.Line, "step 99/100") || frames[1].Last {
		t.Errorf("got %v, want the last state", last)
	}
	frames = slices.DeleteFunc(frames, func(f Frame) bool { return f.Drawing == nil })
	if states == 0 || len(frames) != states {
		t.Errorf("got %d frames with a drawing, want one for each of its %d states", len(frames), states)
	}
}
