package plot

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"reflect"

	"github.com/mcs-notebook/mcs/engine/dtype"
)

// maxPictures is how many pictures of a batch are shown.
const maxPictures = 100

// A tile is the pictures of an [Image], composed.
type tile struct {
	pixels *image.NRGBA
	note   string // what is not as it was given
}

// Image draws a picture, or a batch of pictures as a grid. x is a tensor or a slice of slices of shape [H W],
// [H W C] or [C H W], where C is 1 (grey), 3 (red, green, blue) or 4 (and opacity), or of such pictures: [N H
// W], [N H W C] or [N C H W]. If a shape can be read in two ways, channels are last. Integers are 0…255 (u8),
// floats 0…1; what lies outside is cut off, and the picture says so. Any other x panics with an [*Error].
func Image(x any) *Plot {
	values, shape := numbers("Image", "x", x)
	b, ok := newBatch(values, shape)
	if !ok {
		fail("Image", "got shape %v, want [H W], [H W C] or [C H W] with 1, 3 or 4 channels, or a batch of them", shape)
	}
	b.top = 1
	if integers(x) {
		b.top = 255
	}
	t := &tile{pixels: b.grid()}
	if b.low < 0 || b.high > b.top {
		t.note = fmt.Sprintf("cut off: numbers from %.3g to %.3g, shown 0 to %g", b.low, b.high, b.top)
	}
	if b.n > maxPictures {
		t.note = fmt.Sprintf("the first %d of %d", maxPictures, b.n)
	}
	return &Plot{Kind: KindImage, tile: t}
}

// integers says whether the elements of a tensor, a slice, or a slice of slices are of an integer type.
func integers(x any) bool {
	if t, ok := x.(interface{ DType() dtype.Type }); ok {
		return !t.DType().Float() && t.DType() != dtype.Bool
	}
	t := reflect.TypeOf(x)
	for t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		t = t.Elem()
	}
	return t != nil && t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr
}

// A batch is pictures of the same size.
type batch struct {
	values           []float64
	n, height, width int
	channels         int
	row, column, of  int     // distances of neighbours: down, to the right, in the next channel
	top              float64 // the number of full brightness
	low, high        float64 // of the numbers
}

// newBatch finds out which axis is which.
func newBatch(values []float64, shape []int) (b batch, ok bool) {
	colours := func(n int) bool { return n == 1 || n == 3 || n == 4 }
	b = batch{values: values, n: 1, channels: 1, of: 1}
	last := len(shape) - 1
	switch {
	case len(shape) == 4, len(shape) == 3 && !colours(shape[0]) && !colours(shape[2]):
		b.n, shape = shape[0], shape[1:]
		last--
	}
	switch {
	case len(shape) == 2:
		b.height, b.width, b.row, b.column = shape[0], shape[1], shape[1], 1
	case len(shape) == 3 && colours(shape[last]) && !(shape[last] == 1 && colours(shape[0])):
		b.height, b.width, b.channels = shape[0], shape[1], shape[2]
		b.row, b.column = b.width*b.channels, b.channels
	case len(shape) == 3 && colours(shape[0]):
		b.channels, b.height, b.width = shape[0], shape[1], shape[2]
		b.row, b.column, b.of = b.width, 1, b.height*b.width
	default:
		return b, false
	}
	if b.n*b.height*b.width == 0 {
		return b, false
	}
	b.low, b.high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v) {
			b.low, b.high = math.Min(b.low, v), math.Max(b.high, v)
		}
	}
	return b, true
}

// picture is the i-th picture. A pixel whose numbers are not finite is transparent.
func (b *batch) picture(i int) *image.NRGBA {
	dst := image.NewNRGBA(image.Rect(0, 0, b.width, b.height))
	first := i * b.height * b.width * b.channels
	for y := range b.height {
		for x := range b.width {
			at := first + y*b.row + x*b.column
			dst.SetNRGBA(x, y, b.pixel(at))
		}
	}
	return dst
}

func (b *batch) pixel(at int) color.NRGBA {
	var c [4]uint8
	for k := range b.channels {
		v := b.values[at+k*b.of]
		if !finite(v) {
			return color.NRGBA{}
		}
		c[k] = uint8(math.Round(255 * math.Min(math.Max(v/b.top, 0), 1)))
	}
	switch b.channels {
	case 1:
		return color.NRGBA{c[0], c[0], c[0], 255}
	case 3:
		return color.NRGBA{c[0], c[1], c[2], 255}
	}
	return color.NRGBA{c[0], c[1], c[2], c[3]}
}

// grid puts the pictures beside each other, row by row, in about the shape of a screen.
func (b *batch) grid() *image.NRGBA {
	n := min(b.n, maxPictures)
	columns := min(n, max(1, int(math.Ceil(math.Sqrt(float64(n)*1.6*float64(b.height)/float64(b.width))))))
	rows := (n + columns - 1) / columns
	space := 0
	if n > 1 {
		space = 1 + min(b.width, b.height)/32
	}
	dst := image.NewNRGBA(image.Rect(0, 0, columns*(b.width+space)-space, rows*(b.height+space)-space))
	for i := range n {
		at := image.Pt(i%columns*(b.width+space), i/columns*(b.height+space))
		draw.Draw(dst, image.Rectangle{at, at.Add(image.Pt(b.width, b.height))}, b.picture(i), image.Point{}, draw.Src)
	}
	return dst
}

// image draws the pictures as large as they fit. Pixels are square, and a whole number of pixels of the
// drawing where that costs little.
func (f *figure) image() bool {
	if f.tile == nil || f.tile.pixels.Rect.Empty() {
		return false
	}
	note := f.tile.note
	if f.XLabel != "" || note != "" {
		f.area.y1 -= rowHeight + 2
	}
	size := f.tile.pixels.Rect.Size()
	scale := math.Min(f.area.width()/float64(size.X), f.area.height()/float64(size.Y))
	if scale > 4 {
		scale = math.Floor(scale)
	}
	w, h := scale*float64(size.X), scale*float64(size.Y)
	x, y := math.Round(f.area.x0+(f.area.width()-w)/2), math.Round(f.area.y0+(f.area.height()-h)/2)
	f.area = box{x, y, x + w, y + h}
	f.pen.picture(f.area, f.tile.pixels)
	f.pen.text(point{f.width / 2, f.height - edge}, cutText(noted(f.XLabel, note), f.width-2*edge), 0.5, inkText, false)
	return true
}
