package diagram

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
)

// A step of a small layer: two products of one input, whose results a third launch joins.
var layer = &Diagram{
	Boxes: []Box{
		{Title: "matmul_silu", Note: "1.2 KiB · 600 flops", Lines: []string{"matmul f32[4 6] → silu", "In[1]:2 matmul, silu"},
			In: []In{{-1, 0, "f32[4 5] 80 B"}, {-1, 0, "f32[5 6] 120 B"}}, Out: []Out{{"f32[4 6] 96 B", false}}},
		{Title: "matmul", Note: "300 B", Lines: []string{"matmul f32[4 6]"},
			In: []In{{-1, 0, "f32[4 5] 80 B"}}, Out: []Out{{"f32[4 6] 96 B", false}}},
		{Title: "mul", Tone: Back, In: []In{{0, 0, "f32[4 6] 96 B"}, {1, 0, "f32[4 6] 96 B"}}, Out: []Out{{"f32[4 6] 96 B", true}}},
		{Title: "sum", Tone: Change, In: []In{{0, 0, "f32[4 6] 96 B"}}, Out: []Out{{"f32[] 4 B", true}}},
	},
	Foot: "4 launches",
}

func TestText(t *testing.T) {
	const want = `    ╭─ 1 matmul_silu ───── 1.2 KiB · 600 flops ─╮
    │ matmul f32[4 6] → silu                    │
    │ In[1]:2 matmul, silu                      │
    │ reads f32[4 5] 80 B                       │
    │ reads f32[5 6] 120 B                      │
╭───│ makes f32[4 6] 96 B                       │
│   ╰───────────────────────────────────────────╯
│   ╭─ 2 matmul ──────────────────────── 300 B ─╮
│   │ matmul f32[4 6]                           │
│   │ reads f32[4 5] 80 B                       │
│ ╭─│ makes f32[4 6] 96 B                       │
│ │ ╰───────────────────────────────────────────╯
│ │ ╭─ 3 mul ───────────────────────────────────╮
├─┼─│ reads f32[4 6] 96 B                       │
│ ╰─│ reads f32[4 6] 96 B                       │
│   │ makes f32[4 6] 96 B · result              │
│   ╰───────────────────────────────────────────╯
│   ╭─ 4 sum ───────────────────────────────────╮
╰───│ reads f32[4 6] 96 B                       │
    │ makes f32[] 4 B · result                  │
    ╰───────────────────────────────────────────╯
4 launches`
	if got := layer.Text(49); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// No line is wider than the screen, as long as that is wide enough for a box, and all have one width.
func TestWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120} {
		for line := range strings.SplitSeq(layer.Text(width), "\n") {
			if w := runewidth.StringWidth(line); w > width || strings.ContainsAny(line, "│╮╯") && w != width {
				t.Errorf("%d columns: got %d in %q", width, w, line)
			}
		}
	}
}

// More values than there is room for are named by the number of their box.
func TestManyLanes(t *testing.T) {
	d := &Diagram{}
	last := Box{Title: "concat"}
	for i := range 12 {
		d.Boxes = append(d.Boxes, Box{Title: "exp", Out: []Out{{Label: "f32[2]"}}})
		last.In = append(last.In, In{i, 0, "f32[2]"})
	}
	d.Boxes = append(d.Boxes, last)
	if text := d.Text(80); !strings.Contains(text, "reads f32[2] of 12 exp") || strings.Contains(text, "of 8 exp") {
		t.Errorf("got\n%s", text)
	}
}

func TestDOT(t *testing.T) {
	d := &Diagram{Boxes: []Box{
		{Title: `a "b" \`, Note: "8 B", Out: []Out{{Label: "f32[2]"}}},
		{Title: "sum", In: []In{{0, 0, "f32[2]"}}, Out: []Out{{"f32[]", true}}},
	}}
	for _, want := range []string{`b0 [label="1 a \"b\" \\\n8 B"`, `b0 -> b1 [label="f32[2]"]`, `b1 -> r1_0 [label="f32[]"]`} {
		if got := d.DOT(); !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwithout %s", got, want)
		}
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	d := &Diagram{Boxes: append([]Box{{Title: "<&>"}}, layer.Boxes...)}
	for decoder := xml.NewDecoder(strings.NewReader(d.SVG())); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// On a narrow screen a kernel's name and its values are broken, not cut, and fewer values have lines.
func TestNarrow(t *testing.T) {
	d := &Diagram{Boxes: []Box{
		{Title: "exp", Out: []Out{{Label: "f32[2]"}}}, {Title: "log", Out: []Out{{Label: "f32[3]"}}},
		{Title: "map_neg_exp_add_mul_silu_tanh_sub_div", Note: "8 B", In: []In{{0, 0, "f32[2]"}, {1, 0, "f32[3] 100000000000000.0 KiB"}}},
	}}
	const want = `  ╭─ 1 exp ────────────────────────╮
╭─│ makes f32[2]                   │
│ ╰────────────────────────────────╯
│ ╭─ 2 log ────────────────────────╮
│ │ makes f32[3]                   │
│ ╰────────────────────────────────╯
│ ╭─ 3 map_neg_exp_add_mul_silu_t ─╮
│ │ anh_sub_div                    │
│ │ 8 B                            │
╰─│ reads f32[2]                   │
  │ reads f32[3] 100000000000000.0 │
  │   KiB of 2 log                 │
  ╰────────────────────────────────╯`
	if got := d.Text(36); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
