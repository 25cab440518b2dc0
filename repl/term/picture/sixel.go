package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"maps"
	"slices"
	"strings"
)

// sixel writes an image in bands of six rows (DEC's STD 070, chapter 9). Pixels that are transparent are not
// painted.
func sixel(img image.Image) string {
	bounds := img.Bounds()
	palette, indices := reduce(img, 255)
	var b strings.Builder
	fmt.Fprintf(&b, "\x1bP0;1q\"1;1;%d;%d", bounds.Dx(), bounds.Dy())
	for i, c := range palette {
		fmt.Fprintf(&b, "#%d;2;%d;%d;%d", i, percent(c.R), percent(c.G), percent(c.B))
	}
	width := bounds.Dx()
	for top := 0; top < bounds.Dy(); top += 6 {
		if top > 0 {
			b.WriteByte('-')
		}
		band := indices[top*width : min(top+6, bounds.Dy())*width]
		bits := make(map[int16][]byte)
		for i, index := range band {
			if index < 0 {
				continue
			}
			if bits[index] == nil {
				bits[index] = make([]byte, width)
			}
			bits[index][i%width] |= 1 << (i / width)
		}
		for k, index := range slices.Sorted(maps.Keys(bits)) {
			if k > 0 {
				b.WriteByte('$') // back to the left edge
			}
			fmt.Fprintf(&b, "#%d", index)
			repeats(&b, bits[index])
		}
	}
	b.WriteString("\x1b\\")
	return b.String()
}

func percent(v uint8) int { return (int(v)*100 + 127) / 255 }

// repeats writes columns of six pixels, equal ones with their number.
func repeats(b *strings.Builder, columns []byte) {
	columns = bytes.TrimRight(columns, "\x00")
	for i := 0; i < len(columns); {
		n := 1
		for i+n < len(columns) && columns[i+n] == columns[i] {
			n++
		}
		c := '?' + columns[i]
		if n > 3 {
			fmt.Fprintf(b, "!%d%c", n, c)
		} else {
			b.WriteString(strings.Repeat(string(rune(c)), n))
		}
		i += n
	}
}

// A shade is a group of pixels whose colours are the same in five bits of each part.
type shade struct {
	key        uint16
	n, r, g, b int
}

func (s shade) part(k int) int { return [3]int{s.r, s.g, s.b}[k] / s.n }

// reduce chooses at most so many colours (Heckbert's median cut) and gives each pixel one, or -1 if it is
// transparent.
func reduce(img image.Image, limit int) (palette []color.NRGBA, indices []int16) {
	bounds := img.Bounds()
	shades := make(map[uint16]*shade)
	keys := make([]int32, 0, bounds.Dx()*bounds.Dy())
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			if c.A < 128 {
				keys = append(keys, -1)
				continue
			}
			key := uint16(c.R>>3)<<10 | uint16(c.G>>3)<<5 | uint16(c.B>>3)
			s := shades[key]
			if s == nil {
				s = &shade{key: key}
				shades[key] = s
			}
			s.n, s.r, s.g, s.b = s.n+1, s.r+int(c.R), s.g+int(c.G), s.b+int(c.B)
			keys = append(keys, int32(key))
		}
	}
	all := slices.SortedFunc(maps.Values(shades), func(a, b *shade) int { return int(a.key) - int(b.key) })
	index := make(map[uint16]int16, len(all))
	for i, group := range cuts(all, limit) {
		var sum shade
		for _, s := range group {
			sum.n, sum.r, sum.g, sum.b = sum.n+s.n, sum.r+s.r, sum.g+s.g, sum.b+s.b
			index[s.key] = int16(i)
		}
		palette = append(palette, color.NRGBA{uint8(sum.part(0)), uint8(sum.part(1)), uint8(sum.part(2)), 255})
	}
	indices = make([]int16, len(keys))
	for i, key := range keys {
		if indices[i] = -1; key >= 0 {
			indices[i] = index[uint16(key)]
		}
	}
	return palette, indices
}

// cuts divides shades into groups: the group that spreads most is cut in two until there are enough.
func cuts(all []*shade, limit int) [][]*shade {
	if len(all) == 0 {
		return nil
	}
	groups := [][]*shade{all}
	for len(groups) < min(limit, len(all)) {
		widest, part, spread := -1, 0, 0
		for i, g := range groups {
			for k := range 3 {
				low, high := 255, 0
				for _, s := range g {
					low, high = min(low, s.part(k)), max(high, s.part(k))
				}
				if len(g) > 1 && (widest < 0 || high-low > spread) {
					widest, part, spread = i, k, high-low
				}
			}
		}
		g := groups[widest]
		slices.SortStableFunc(g, func(a, b *shade) int { return a.part(part) - b.part(part) })
		total, half, at := 0, 0, 0
		for _, s := range g {
			total += s.n
		}
		for at = 0; at < len(g)-1; at++ {
			if half += g[at].n; 2*half >= total {
				break
			}
		}
		at = min(at+1, len(g)-1)
		groups[widest] = g[:at]
		groups = append(groups, g[at:])
	}
	return groups
}
