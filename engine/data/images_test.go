package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// encoded is the file of an image.
func encoded(t testing.TB, img image.Image, format string) string {
	t.Helper()
	var b bytes.Buffer
	err := png.Encode(&b, img)
	if format == "jpeg" {
		b.Reset()
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: 100})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// drawn sets the pixels of an image, row by row.
func drawn[I interface {
	image.Image
	Set(x, y int, c color.Color)
}](img I, pixels ...color.Color) I {
	for i, c := range pixels {
		img.Set(i%img.Bounds().Dx(), i/img.Bounds().Dx(), c)
	}
	return img
}

var (
	box       = image.Rect(0, 0, 2, 1)
	orange    = color.NRGBA{255, 153, 0, 255}
	halfGreen = color.NRGBA{0, 51, 0, 102}
)

// Every kind of picture has the numbers of its file.
func TestReadImage(t *testing.T) {
	palette := color.Palette{orange, halfGreen}
	for _, c := range []struct {
		name string
		img  image.Image
		o    Images
		want string
	}{
		{"grey", drawn(image.NewGray(box), color.Gray{51}, color.Gray{255}), Images{}, "f32[1 1 2] [0.2 1]"},
		{"grey of 16 bits", drawn(image.NewGray16(box), color.Gray16{13107}, color.Gray16{1}), Images{}, "f32[1 1 2] [0.2 1.5259022e-05]"},
		{"colour", drawn(image.NewNRGBA(box), orange, orange), Images{}, "f32[3 1 2] [1 1 0.6 0.6 0 0]"},
		{"colour of 16 bits", drawn(image.NewNRGBA64(box), color.NRGBA64{13107, 26214, 0, 52428}, orange), Images{}, "f32[4 1 2] [0.2 1 0.4 0.6 0 0 0.8 1]"},
		{"opacity", drawn(image.NewNRGBA(box), halfGreen, orange), Images{}, "f32[4 1 2] [0 1 0.2 0.6 0 0 0.4 1]"},
		{"opacity left out", drawn(image.NewNRGBA(box), halfGreen, orange), Images{Channels: 3}, "f32[3 1 2] [0 1 0.2 0.6 0 0]"},
		{"a palette", drawn(image.NewPaletted(box, palette), orange, halfGreen), Images{}, "f32[4 1 2] [1 0 0.6 0.2 0 0 1 0.4]"},
		{"as bytes", drawn(image.NewNRGBA(box), orange, orange), Images{Bytes: true}, "u8[3 1 2] [255 255 153 153 0 0]"},
		{"16 bits as bytes", drawn(image.NewGray16(box), color.Gray16{13107}, color.Gray16{0xfffe}), Images{Bytes: true}, "u8[1 1 2] [51 255]"},
		{"channels last", drawn(image.NewNRGBA(box), orange, orange), Images{Bytes: true, ChannelsLast: true}, "u8[1 2 3] [255 153 0 255 153 0]"},
		{"colour to grey", drawn(image.NewNRGBA(box), orange, color.White), Images{Bytes: true, Channels: 1}, "u8[1 1 2] [166 255]"},
		{"grey to colour", drawn(image.NewGray(box), color.Gray{51}, color.Gray{102}), Images{Channels: 4}, "f32[4 1 2] [0.2 0.4 0.2 0.4 0.2 0.4 1 1]"},
	} {
		dir := folder(t, map[string]string{"x.png": encoded(t, c.img, "png")})
		x, err := c.o.Read(filepath.Join(dir, "x.png"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := x.DType().String() + shapeAndValues(x); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// JPEG loses a little.
func TestReadJPEG(t *testing.T) {
	grey, colour := image.NewGray(image.Rect(0, 0, 20, 10)), image.NewRGBA(image.Rect(0, 0, 20, 10))
	for i := range 200 {
		grey.Set(i%20, i/20, color.Gray{uint8(i)})
		colour.Set(i%20, i/20, orange)
	}
	dir := folder(t, map[string]string{"grey.jpg": encoded(t, grey, "jpeg"), "colour.jpg": encoded(t, colour, "jpeg")})
	x, err := ReadImage(filepath.Join(dir, "grey.jpg"))
	if want := tensor.Range(200).Cast(dtype.F32).Div(255).Reshape(1, 10, 20); err != nil || !slices.Equal(x.Shape(), want.Shape()) || tensor.MaxAbsDiff(x, want) > 0.02 {
		t.Errorf("grey: got %v, error %v", x, err)
	}
	x, err = ReadImage(filepath.Join(dir, "colour.jpg"))
	if want := tensor.From([]float32{1, 0.6, 0}).Reshape(3, 1, 1).Expand(3, 10, 20); err != nil || tensor.MaxAbsDiff(x, want) > 0.02 {
		t.Errorf("colour: got %v, error %v", x, err)
	}
}

// What PyTorch's interpolate(x, mode="bilinear", antialias=True) makes of i²%17/16 in 5 rows of 7.
func TestScaled(t *testing.T) {
	p := &picture{1, 5, 7, make([]float32, 35)}
	for i := range p.values {
		p.values[i] = float32(i*i%17) / 16
	}
	for _, c := range []struct {
		height, width int
		want          []float32
	}{
		{3, 4, []float32{0.398384, 0.534643, 0.6275, 0.505952, 0.585317, 0.329167, 0.329167, 0.585317, 0.505952, 0.6275, 0.534643, 0.398384}},
		{5, 3, []float32{0.0803571, 0.558824, 0.473214, 0.857143, 0.683824, 0.598214, 0.321429, 0.0588235, 0.321429, 0.598214, 0.683824, 0.857143, 0.473214, 0.558824, 0.0803572}},
		{8, 9, []float32{0, 0.0416667, 0.145833, 0.319444, 0.5625, 0.902778, 0.722222, 0.375, 0.125, 0.410156, 0.397135, 0.4375, 0.547309, 0.726562, 0.641493, 0.552083, 0.502604, 0.507812}},
	} {
		got := p.scaled(c.height, c.width).values
		for i, w := range c.want {
			if math.Abs(float64(got[i]-w)) > 2e-6 {
				t.Errorf("%d by %d: value %d is %v, want %v", c.height, c.width, i, got[i], w)
			}
		}
	}
}

// pictures is a folder of classes, with what does not count beside them.
func pictures(t *testing.T) string {
	one := func(v uint8) string {
		return encoded(t, drawn(image.NewGray(box), color.Gray{v}, color.Gray{v}), "png")
	}
	return folder(t, map[string]string{
		"cats/1.png": one(1), "cats/2.PNG": one(2), "cats/young/3.png": one(3), "dogs/1.png": one(11), "dogs/2.jpeg": one(12),
		"cats/notes.txt": "n", "readme.txt": "r", ".hidden/x.png": "h", "cats/.x.png": "h", "cats/.old/x.png": "o",
	})
}

func TestFolder(t *testing.T) {
	dir := pictures(t)
	e, err := Images{Bytes: true}.Folder(dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := e.String(), "5 examples, inputs u8[3 1 2], targets i64[], 2 a batch, 2 classes"; got != want || !slices.Equal(e.Classes, []string{"cats", "dogs"}) {
		t.Errorf("got %s of %q, want %s", got, e.Classes, want)
	}
	fit, test := e.Split(0.6)
	seen := map[int]int{}
	for _, part := range []*Examples{fit, test} {
		all, err := part.rows.take([]int{0, 1, 2}[:part.Len()])
		if err != nil || !slices.Equal(part.Classes, e.Classes) {
			t.Fatal(part.Classes, err)
		}
		for i, class := range all.Targets.Ints() {
			seen[int(all.Inputs.Flatten().Ints()[i*6])] = class
		}
	}
	if want := map[int]int{1: 0, 2: 0, 3: 0, 11: 1, 12: 1}; fit.Len() != 3 || fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("got %d examples and the classes %v, want 3 and %v", fit.Len(), seen, want)
	}
	if b, err := Ahead(e, 2).Batch(1); err != nil || !slices.Equal(b.Inputs.Shape(), []int{2, 3, 1, 2}) {
		t.Errorf("batch 1: got %v, error %v", b.Inputs, err)
	}

	same, _ := Images{Bytes: true}.Folder(dir, 2)
	if same.Fingerprint() != e.Fingerprint() {
		t.Error("one folder has two fingerprints")
	}
	other, _ := Images{}.Folder(dir, 2)
	if err := os.WriteFile(filepath.Join(dir, "dogs", "2.jpeg"), []byte(encoded(t, image.NewGray(image.Rect(0, 0, 3, 1)), "png")), 0o666); err != nil {
		t.Fatal(err)
	}
	changed, _ := Images{Bytes: true}.Folder(dir, 2)
	if other.Fingerprint() == e.Fingerprint() || changed.Fingerprint() == e.Fingerprint() {
		t.Error("other settings, or another picture, have the same fingerprint")
	}
	_, err = changed.rows.take([]int{0, 1, 2, 3, 4})
	if want := "data: images: dogs/2.jpeg has 3 by 1 pixels, want 2 by 1 as the first picture: set Height and Width"; err == nil || filepath.ToSlash(err.Error()) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	scaled, err := Images{Height: 4, Width: 4, ChannelsLast: true}.Folder(dir, 5)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := scaled.Batch(0); err != nil || !slices.Equal(b.Inputs.Shape(), []int{5, 4, 4, 3}) || !strings.Contains(scaled.String(), "inputs f32[4 4 3]") {
		t.Errorf("scaled: got %v, error %v", b.Inputs, err)
	}
}

// claiming is a PNG of so many pixels, by its header.
func claiming(t testing.TB, width, height uint32) string {
	b := []byte(encoded(t, image.NewGray(box), "png"))
	binary.BigEndian.PutUint32(b[16:], width)
	binary.BigEndian.PutUint32(b[20:], height)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return string(b)
}

func TestImagesRefused(t *testing.T) {
	whole := encoded(t, image.NewGray(box), "png")
	dir := folder(t, map[string]string{
		"x/gif.png": "GIF89a..", "x/short.png": whole[:50], "x/huge.png": claiming(t, 1<<30, 1<<30), "x/large.png": claiming(t, 5000, 5000),
		"empty/a": "", "none/class/notes.txt": "n", "bad/class/a.png": "no picture",
	})
	for _, c := range []struct {
		path string
		o    Images
		want string
	}{
		{"x/gif.png", Images{}, `data: read image: gif.png: got a file that begins with "GIF89a..", want PNG or JPEG`},
		{"x/short.png", Images{}, "data: read image: short.png: png: invalid format: unexpected EOF"},
		{"x/huge.png", Images{}, "data: read image: huge.png: "},
		{"x/large.png", Images{}, "large.png: got 5000 by 5000 pixels in 72 bytes, which is more than a PNG file can hold"},
		{"x", Images{}, "want a regular file"},
		{"x/short.png", Images{Channels: 2}, "got 2 channels, want 1, 3 or 4"},
		{"x/short.png", Images{Width: 3}, "got height 0 and width 3, want both above 0, or none"},
		{"x/short.png", Images{Width: 1 << 20, Height: 1 << 20}, "want at most 268435456 pixels"},
	} {
		if _, err := c.o.Read(filepath.Join(dir, c.path)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.path, err, c.want)
		}
	}
	for _, c := range []struct {
		path  string
		batch int
		want  string
	}{
		{"empty", 1, "empty has no folders, want one for each class"},
		{"none", 1, "class has no picture that ends in .png, .jpg, .jpeg"},
		{"bad", 1, `a.png: got a file that begins with "no pictu", want PNG or JPEG`},
		{"missing", 1, "missing"},
		{"bad", 0, "data: images: got batch 0, want at least 1"},
	} {
		if _, err := (Images{}).Folder(filepath.Join(dir, c.path), c.batch); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.path, err, c.want)
		}
	}
}

// A damaged picture is refused, or is a picture.
func TestImageMutants(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 9, 7))
	for i := range img.Pix {
		img.Pix[i] = byte(i * i)
	}
	for _, format := range []string{"png", "jpeg"} {
		mutate.Each(1, 2000, []byte(encoded(t, img, format)), func(i int, mutant []byte) { useImage(t, mutant) })
	}
}

func useImage(t *testing.T, b []byte) {
	if p, err := (Images{Height: 3, Width: 3}).decode(b); err == nil && len(p.values) != p.channels*9 {
		t.Errorf("got %d values of %d channels", len(p.values), p.channels)
	}
}

func FuzzImage(f *testing.F) {
	f.Add([]byte(encoded(f, image.NewNRGBA(box), "png")))
	f.Add([]byte(encoded(f, image.NewNRGBA(box), "jpeg")))
	f.Fuzz(useImage)
}
