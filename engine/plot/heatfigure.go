package plot

import (
	"fmt"
	"image"
	"math"
)

// barWide is the width of a heat map's bar of colours, in units.
const barWide = 12.0

// heat draws the cells with axes of their numbers and a bar of the colours. Cells are square, unless one side
// of the picture would then be less than a fifth of the room.
func (f *figure) heat() bool {
	colours, low, high, ok := f.palette()
	if !ok {
		return false
	}
	rows, columns := f.cellCount()
	scale := axis{low: low, high: high}
	bar, values := f.barAt(scale)
	f.area.x1 = bar.x0 - 2*gap
	f.x, f.y[0], f.down = axis{low: -0.5, high: float64(columns) - 0.5}, axis{low: -0.5, high: float64(rows) - 0.5}, true
	cells := math.Max(float64(columns)/f.area.width(), float64(rows)/f.area.height()) // in a unit, each way
	block := max(1, int(cells/2))                                                     // in a pixel: two of these for a unit are sharp at scale 2
	f.XLabel = noted(f.XLabel, meanOf(block))
	f.reserve(f.area)
	f.square(float64(columns), float64(rows))
	bar.y0, bar.y1 = f.area.y0, f.area.y1
	if f.area.x1 < bar.x0-2*gap { // beside the cells, wherever they are
		bar.x0, bar.x1 = f.area.x1+2*gap, f.area.x1+2*gap+barWide
	}
	f.pen.picture(f.area, f.pixels(colours, low, high, block))
	f.frame(f.area)
	f.cellTicks()
	f.colourBar(bar, colours, scale, values)
	return true
}

// meanOf says what pixels are that are not single cells.
func meanOf(block int) string {
	if block == 1 {
		return ""
	}
	return fmt.Sprintf("mean of %d×%d", block, block)
}

// noted adds a note, if there is one, to a label.
func noted(label, note string) string {
	if label == "" || note == "" {
		return label + note
	}
	return label + " (" + note + ")"
}

// square makes cells square.
func (f *figure) square(columns, rows float64) {
	size := math.Min(f.area.width()/columns, f.area.height()/rows)
	if w, h := size*columns, size*rows; w >= f.area.width()/5 && h >= f.area.height()/5 {
		left := (f.area.width() - w) / 2
		f.area = box{f.area.x0 + left, f.area.y0, f.area.x0 + left + w, f.area.y0 + h}
	}
}

// frame draws the edges of a box.
func (f *figure) frame(b box) {
	for _, side := range [][]point{{{b.x0, b.y0}, {b.x1, b.y0}}, {{b.x1, b.y0}, {b.x1, b.y1}}, {{b.x0, b.y1}, {b.x1, b.y1}}, {{b.x0, b.y0}, {b.x0, b.y1}}} {
		f.pen.line(side, inkText, 1, nil)
	}
}

// cellTicks numbers rows and columns, at the middles of cells, and names the axes.
func (f *figure) cellTicks() {
	rows := whole(f.yTicks())
	for _, t := range rows {
		f.pen.text(point{f.area.x0 - gap, f.place(0, t.value).y + 4}, t.label, 1, inkText, false)
	}
	for _, t := range whole(f.xTicks()) {
		f.pen.text(point{f.place(t.value, f.y[0].low).x, f.area.y1 + rowHeight}, t.label, 0.5, inkText, false)
	}
	middle := point{(f.area.x0 + f.area.x1) / 2, (f.area.y0 + f.area.y1) / 2}
	if f.XLabel != "" {
		name := cutText(f.XLabel, 2*math.Min(middle.x, f.width-middle.x)-edge)
		f.pen.text(point{middle.x, math.Min(f.area.y1+2*rowHeight+4, f.height-edge)}, name, 0.5, inkText, false)
	}
	if f.YLabel != "" {
		f.pen.text(point{f.area.x0 - gap - widest(rows) - 6, middle.y}, cutText(f.YLabel, f.area.height()), 0.5, inkText, true)
	}
}

// whole leaves ticks at whole numbers: there are no other rows and columns.
func whole(ticks []tick) (list []tick) {
	for _, t := range ticks {
		if r := math.Round(t.value); math.Abs(t.value-r) < 1e-6 {
			list = append(list, tick{r, label(r, 1)})
		}
	}
	return list
}

// barAt is the place for a bar of colours at the right of the area, beside the ticks of their numbers.
func (f *figure) barAt(a axis) (bar box, values []tick) {
	values = a.ticks(f.rowTicks(a))
	x1 := f.area.x1 - widest(values) - 6
	return box{x1 - barWide, f.area.y0, x1, f.area.y1}, values
}

// colourBar draws the colours from bottom to top, with their numbers.
func (f *figure) colourBar(b box, colours ramp, scale axis, values []tick) {
	strip := image.NewNRGBA(image.Rect(0, 0, 1, 256))
	for i := range 256 {
		strip.SetNRGBA(0, i, colours(1-float64(i)/255))
	}
	f.pen.picture(b, strip)
	f.frame(b)
	for _, t := range values {
		y := b.y1 - scale.at(t.value)*b.height()
		f.pen.line([]point{{b.x1, y}, {b.x1 + 3, y}}, inkText, 1, nil)
		f.pen.text(point{b.x1 + 6, y + 4}, t.label, 0, inkText, false)
	}
}
