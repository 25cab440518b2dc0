package data

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	_ "image/jpeg" // the formats that Images reads
	_ "image/png"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// Images says how pictures become tensors. The zero Images makes f32 [C H W] from 0 to 1.
type Images struct {
	Channels      int  // 1 (grey), 3 (red, green, blue) or 4 (and opacity); 0: those of the picture, in a folder 3
	Height, Width int  // to which pictures are scaled; 0: as they are
	ChannelsLast  bool // [H W C] in place of [C H W]
	Bytes         bool // u8 from 0 to 255 in place of f32 from 0 to 1
}

// ReadImage reads a PNG or JPEG file as f32 [C H W] from 0 to 1: Images{}.Read(path).
func ReadImage(path string) (tensor.Tensor, error) { return Images{}.Read(path) }

// Read reads a PNG or JPEG file. A colour becomes grey by its luma (ITU-R BT.601); where there are fewer
// channels than the picture has, its opacity is left out. Scaling weighs the pixels around a place by their
// distance, and takes in more of them where the picture shrinks, as PyTorch's antialias does. The turn that a
// camera notes beside the picture (EXIF) is not made.
func (o Images) Read(path string) (t tensor.Tensor, err error) {
	defer wrap.Error(&err, "data: read image")
	p, err := o.picture(path)
	if err == nil {
		err = tensor.Try(func() { t = o.tensor([]*picture{p}).Squeeze(0) })
	}
	return t, err
}

func (o Images) check() error {
	switch {
	case o.Channels != 0 && o.Channels != 1 && o.Channels != 3 && o.Channels != 4:
		return fmt.Errorf("got %d channels, want 1, 3 or 4", o.Channels)
	case o.Height < 0 || o.Width < 0 || (o.Height == 0) != (o.Width == 0):
		return fmt.Errorf("got height %d and width %d, want both above 0, or none", o.Height, o.Width)
	case o.Height > 0 && o.Height > maxPixels/o.Width:
		return fmt.Errorf("got height %d and width %d, want at most %d pixels", o.Height, o.Width, maxPixels)
	}
	return nil
}

// maxPixels bounds a picture.
const maxPixels = 1 << 28

// pixelsOfByte is how many pixels a byte of a file can hold: in a PNG one bit each, deflated; in a JPEG
// blocks of 8×8 of a bit each, of which there is at least one.
var pixelsOfByte = map[string]int64{"png": 8 * mostDeflated, "jpeg": 8 * 64}

// picture reads a file.
func (o Images) picture(path string) (*picture, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	b, err := regular.Read(path, maxText)
	if err != nil {
		return nil, err
	}
	p, err := o.decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", visible.Line(filepath.Base(path)), err)
	}
	return p, nil
}

// decode reads a file's bytes.
func (o Images) decode(b []byte) (*picture, error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(b))
	if err == image.ErrFormat {
		return nil, fmt.Errorf("got a file that begins with %.8q, want PNG or JPEG", b)
	} else if err != nil {
		return nil, err
	}
	w, h := int64(config.Width), int64(config.Height)
	if w < 1 || h < 1 || h > min(maxPixels, pixelsOfByte[format]*int64(len(b)))/w {
		return nil, fmt.Errorf("got %d by %d pixels in %d bytes, which is more than a %s file can hold, or none", w, h, len(b), strings.ToUpper(format))
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	p := planes(img, o.Channels)
	if o.Height > 0 && (p.height != o.Height || p.width != o.Width) {
		p = p.scaled(o.Height, o.Width)
	}
	return p, nil
}

// tensor puts pictures of one size and as many channels into a tensor [N C H W] or [N H W C].
func (o Images) tensor(list []*picture) tensor.Tensor {
	var all []float32
	for _, p := range list {
		all = append(all, p.values...)
	}
	p := list[0]
	shape := []int{len(list), p.channels, p.height, p.width}
	var t tensor.Tensor
	if o.Bytes {
		b := make([]byte, len(all))
		for i, v := range all {
			b[i] = byte(v*255 + 0.5)
		}
		t = tensor.From(b, shape...)
	} else {
		t = tensor.From(all, shape...)
	}
	if o.ChannelsLast {
		t = t.Permute(0, 2, 3, 1)
	}
	return t.Eval()
}

// imageEndings are those of the files that a folder's pictures are read from.
var imageEndings = []string{".png", ".jpg", ".jpeg"}

// Folder makes examples of a folder that has a folder of pictures (.png, .jpg, .jpeg) for each class, batch
// at a time. Inputs are as Images says, all of one size: that of the first picture, if no size is chosen.
// Targets are i64, the numbers of the classes in the order of their names, Examples.Classes. Hidden files and
// folders are left out. Pictures are read when their batch is taken: put data.Ahead around it. The
// fingerprint reads all files once.
func (o Images) Folder(dir string, batch int) (e *Examples, err error) {
	defer wrap.Error(&err, "data: images")
	if err := o.check(); err != nil {
		return nil, err
	}
	if batch < 1 {
		return nil, fmt.Errorf("got batch %d, want at least 1", batch)
	}
	o.Channels = cmp.Or(o.Channels, 3)
	f := files{images: o, dir: dir}
	var classes []string
	err = walk(dir, func(path string, entry fs.DirEntry) error {
		inside, err := filepath.Rel(dir, path)
		switch top := !strings.ContainsRune(inside, filepath.Separator); {
		case err != nil || path == dir:
			return err
		case entry.IsDir() && top:
			classes = append(classes, entry.Name())
		case !entry.IsDir() && !top && slices.Contains(imageEndings, strings.ToLower(filepath.Ext(inside))):
			f.paths, f.classes = append(f.paths, inside), append(f.classes, len(classes)-1)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, class := range classes {
		if !slices.Contains(f.classes, i) {
			return nil, fmt.Errorf("%s has no picture that ends in %s", filepath.Join(dir, class), strings.Join(imageEndings, ", "))
		}
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("%s has no folders, want one for each class", dir)
	}
	first, err := o.picture(filepath.Join(dir, f.paths[0]))
	if err != nil {
		return nil, err
	}
	f.height, f.width = first.height, first.width
	return &Examples{Classes: classes, rows: f, batch: batch}, nil
}
