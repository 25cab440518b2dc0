package diagram

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// A Stack is a list of running calls, the outermost first, with their time.
type Stack struct {
	Names  []string
	Weight float64
}

// Measures of a flame graph.
const (
	flameWidth  = 1000
	flameRow    = 18
	flameLeast  = 0.5 // narrower boxes are left out
	flameMargin = 10
)

// A flame is a node of the tree that stacks make.
type flame struct {
	name   string
	weight float64
	inside []*flame
}

func (f *flame) add(names []string, weight float64) {
	f.weight += weight
	if len(names) == 0 {
		return
	}
	i := slices.IndexFunc(f.inside, func(g *flame) bool { return g.name == names[0] })
	if i < 0 {
		i = len(f.inside)
		f.inside = append(f.inside, &flame{name: names[0]})
	}
	f.inside[i].add(names[1:], weight)
}

func (f *flame) depth() (deepest int) {
	for _, g := range f.inside {
		deepest = max(deepest, 1+g.depth())
	}
	return deepest
}

// Flame draws stacks as an SVG document: what is called stands below what calls it, as wide as its share of
// the weight. The name and the weight of each are shown where the mouse is; text writes a weight. What is a
// line of a cell for tone has another colour.
func Flame(title string, stacks []Stack, text func(weight float64) string, tone func(name string) Tone) string {
	root := &flame{name: title}
	for _, s := range stacks {
		root.add(s.Names, s.Weight)
	}
	height := flameRow*(root.depth()+1) + 2*flameMargin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="11">`+"\n",
		flameWidth+2*flameMargin, height, flameWidth+2*flameMargin, height)
	var draw func(f *flame, x, y float64)
	draw = func(f *flame, x, y float64) {
		width := flameWidth * f.weight / max(root.weight, 1e-300)
		if width < flameLeast {
			return
		}
		fill := tone(f.name)
		fmt.Fprintf(&b, `<g><title>%s %s (%.1f %%)</title><rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2" fill="%s" stroke="%s" stroke-width="0.5"/>`,
			html.EscapeString(f.name), text(f.weight), 100*f.weight/root.weight, x, y, width, flameRow-2, fills[fill], strokes[fill])
		if room := int((width - 6) / charWidth); room >= 3 {
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`, x+3, y+12, colourInk, html.EscapeString(runewidth.Truncate(f.name, room, "…")))
		}
		b.WriteString("</g>\n")
		for _, g := range f.inside {
			draw(g, x, y+flameRow)
			x += flameWidth * g.weight / root.weight
		}
	}
	draw(root, flameMargin, flameMargin)
	return b.String() + "</svg>\n"
}
