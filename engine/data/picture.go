package data

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"io"
	"math"
	"path/filepath"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// A picture has values from 0 to 1, a plane for each channel.
type picture struct {
	channels, height, width int
	values                  []float32
}

// planes are those of an image; 0 channels stand for its own.
func planes(img image.Image, channels int) *picture {
	if channels == 0 {
		channels = channelsOf(img)
	}
	b := img.Bounds()
	p := &picture{channels: channels, height: b.Dy(), width: b.Dx()}
	size := p.height * p.width
	p.values = make([]float32, channels*size)
	pixel := reader(img)
	for y := range p.height {
		for x := range p.width {
			i := y*p.width + x
			switch c := pixel(b.Min.X+x, b.Min.Y+y); channels {
			case 1:
				p.values[i] = c.luma()
			case 3, 4:
				p.values[i], p.values[size+i], p.values[2*size+i] = c.value(c.r), c.value(c.g), c.value(c.b)
				if channels == 4 {
					p.values[3*size+i] = c.value(c.a)
				}
			}
		}
	}
	return p
}

// channelsOf is how many channels an image has.
func channelsOf(img image.Image) int {
	switch img := img.(type) {
	case *image.Gray, *image.Gray16:
		return 1
	case *image.NRGBA, *image.NRGBA64:
		return 4
	case *image.Paletted:
		for _, c := range img.Palette {
			if _, _, _, a := c.RGBA(); a != 0xffff {
				return 4
			}
		}
	}
	return 3
}

// A pixel is a colour that is not multiplied by its opacity, in whole numbers up to full.
type pixel struct{ r, g, b, a, full uint32 }

func (p pixel) value(v uint32) float32 { return float32(v) / float32(p.full) }

// luma is that of ITU-R BT.601, rounded to the steps of the picture.
func (p pixel) luma() float32 {
	return p.value(uint32((19595*uint64(p.r) + 38470*uint64(p.g) + 7471*uint64(p.b) + 1<<15) >> 16))
}

// reader returns a function that reads a pixel. Pictures of 16 bits keep them.
func reader(img image.Image) func(x, y int) pixel {
	switch img := img.(type) {
	case *image.Gray:
		return func(x, y int) pixel {
			v := uint32(img.Pix[img.PixOffset(x, y)])
			return pixel{v, v, v, 255, 255}
		}
	case *image.NRGBA:
		return func(x, y int) pixel {
			c := img.Pix[img.PixOffset(x, y):]
			return pixel{uint32(c[0]), uint32(c[1]), uint32(c[2]), uint32(c[3]), 255}
		}
	case *image.Paletted:
		colours := make([]pixel, len(img.Palette))
		for i, c := range img.Palette {
			n := color.NRGBAModel.Convert(c).(color.NRGBA)
			colours[i] = pixel{uint32(n.R), uint32(n.G), uint32(n.B), uint32(n.A), 255}
		}
		return func(x, y int) pixel {
			if i := int(img.Pix[img.PixOffset(x, y)]); i < len(colours) {
				return colours[i]
			}
			return pixel{a: 255, full: 255}
		}
	case *image.Gray16, *image.RGBA64, *image.NRGBA64:
		return func(x, y int) pixel {
			n := color.NRGBA64Model.Convert(img.At(x, y)).(color.NRGBA64)
			return pixel{uint32(n.R), uint32(n.G), uint32(n.B), uint32(n.A), 0xffff}
		}
	}
	b := img.Bounds() // the others are opaque, so it does not matter that draw multiplies by the opacity
	copied := image.NewRGBA(b)
	draw.Draw(copied, b, img, b.Min, draw.Src)
	return func(x, y int) pixel {
		c := copied.Pix[copied.PixOffset(x, y):]
		return pixel{uint32(c[0]), uint32(c[1]), uint32(c[2]), uint32(c[3]), 255}
	}
}

// scaled is the picture in another size: first its rows, then its columns.
func (p *picture) scaled(height, width int) *picture {
	wide := &picture{p.channels, p.height, width, make([]float32, p.channels*p.height*width)}
	for x, w := range weights(p.width, width) {
		for row := range p.channels * p.height {
			wide.values[row*width+x] = w.sum(p.values[row*p.width:], 1)
		}
	}
	out := &picture{p.channels, height, width, make([]float32, p.channels*height*width)}
	for y, w := range weights(p.height, height) {
		for c := range p.channels {
			for x := range width {
				out.values[(c*height+y)*width+x] = w.sum(wide.values[c*p.height*width+x:], width)
			}
		}
	}
	return out
}

// A weighing is the part of each of some values, from the first one on.
type weighing struct {
	first int
	parts []float64
}

func (w weighing) sum(values []float32, stride int) float32 {
	sum := 0.0
	for i, part := range w.parts {
		sum += part * float64(values[(w.first+i)*stride])
	}
	return float32(sum)
}

// weights makes a row of n values from one of length: triangles around the places of the new values, as wide
// as two values of the longer row. Pixels are areas, whose centres are at half numbers.
func weights(length, n int) []weighing {
	list := make([]weighing, n)
	step := float64(length) / float64(n)
	reach := max(step, 1)
	for i := range list {
		centre := (float64(i) + 0.5) * step
		first, last := max(0, int(centre-reach+0.5)), min(length, int(centre+reach+0.5))
		w := weighing{first: first}
		total := 0.0
		for k := first; k < last; k++ {
			part := max(0, 1-math.Abs(float64(k)+0.5-centre)/reach)
			w.parts, total = append(w.parts, part), total+part
		}
		for k := range w.parts {
			w.parts[k] /= total
		}
		list[i] = w
	}
	return list
}

// files are pictures in a folder.
type files struct {
	images        Images
	dir           string
	height, width int
	paths         []string // below dir
	classes       []int
}

func (f files) len() int { return len(f.paths) }

func (f files) take(list []int) (b Batch, err error) {
	var pictures []*picture
	targets := make([]int, len(list))
	ctx := tensor.Context()
	for k, i := range list {
		if ctx.Err() != nil {
			return Batch{}, fmt.Errorf("data: images: %w", ctx.Err())
		}
		p, err := f.images.picture(filepath.Join(f.dir, f.paths[i]))
		if err != nil {
			return Batch{}, fmt.Errorf("data: images: %s: %w", filepath.Dir(f.paths[i]), err)
		}
		if p.height != f.height || p.width != f.width {
			return Batch{}, fmt.Errorf("data: images: %s has %d by %d pixels, want %d by %d as the first picture: set Height and Width",
				f.paths[i], p.width, p.height, f.width, f.height)
		}
		pictures, targets[k] = append(pictures, p), f.classes[i]
	}
	err = tensor.Try(func() { b = Batch{Inputs: f.images.tensor(pictures), Targets: tensor.From(targets, len(targets))} })
	return b, err
}

func (f files) part(list []int) rows {
	part := f
	part.paths, part.classes = nil, nil
	for _, i := range list {
		part.paths, part.classes = append(part.paths, f.paths[i]), append(part.classes, f.classes[i])
	}
	return part
}

// hash is made of the settings, and of the names and contents of the files. A file that cannot be read is
// told when its batch is taken.
func (f files) hash(w io.Writer) {
	fmt.Fprintf(w, "images %+v %d %d", f.images, f.height, f.width)
	for i, path := range f.paths {
		fmt.Fprintf(w, "\n%q %d ", filepath.ToSlash(path), f.classes[i])
		if err := copyFile(w, filepath.Join(f.dir, path)); err != nil {
			fmt.Fprint(w, err)
		}
	}
}

func copyFile(w io.Writer, path string) error {
	in, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}

func (f files) String() string {
	kind, shape := "f32", []int{f.images.Channels, f.height, f.width}
	if f.images.Bytes {
		kind = "u8"
	}
	if f.images.ChannelsLast {
		shape = []int{f.height, f.width, f.images.Channels}
	}
	return fmt.Sprintf("inputs %s%v, targets i64[]", kind, shape)
}
