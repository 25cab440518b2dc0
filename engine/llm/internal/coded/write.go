package coded

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A writing is how codes of a format are made.
type writing struct {
	bits     []int
	groups   []int
	multiple int        // of which the number of outputs must be one
	scale    dtype.Type // of scales and minimums; Invalid: that of the matrix
	layout   func(out, in, bits, group int) layout
	// fit returns the scale of a group's values, and its zero point or minimum; a code is at most most.
	fit func(values []float32, most float32) (scale, extra float32)
	// key and settings stand in config.json; matrices with the paths left are numbers.
	key      string
	settings func(bits, group int, left []string) map[string]any
}

var mlxWriting = &writing{
	bits: []int{4, 8}, groups: []int{32, 64, 128}, multiple: 1, layout: mlxLayout, fit: fitMLX, key: "quantization",
	settings: func(bits, group int, _ []string) map[string]any {
		return map[string]any{"group_size": group, "bits": bits, "mode": "affine"}
	},
}

var awqWriting = &writing{
	bits: []int{4}, groups: []int{32, 64, 128}, multiple: 8, scale: dtype.F16, fit: fitAWQ, key: "quantization_config",
	layout: func(out, in, _, group int) layout { return awqLayout(out, in, group) },
	settings: func(bits, group int, left []string) map[string]any {
		return map[string]any{
			"quant_method": "awq", "bits": bits, "group_size": group, "zero_point": true, "version": "gemm", "modules_to_not_convert": left,
		}
	},
}

// A Writer makes the codes of a folder.
type Writer struct {
	*writing
	Bits, Group int
}

// NewWriter returns a writer of a format, "mlx" or "awq".
func NewWriter(name string, bits, group int) (*Writer, error) {
	f := formats[name]
	if f == nil || f.write == nil {
		return nil, fmt.Errorf("got format %q of codes, want one of awq, mlx", name)
	}
	w := f.write
	if !slices.Contains(w.bits, bits) || !slices.Contains(w.groups, group) {
		return nil, fmt.Errorf("got %d bits in groups of %d for %s, want one of %v, in groups of one of %v", bits, group, name, w.bits, w.groups)
	}
	return &Writer{w, bits, group}, nil
}

// Takes says whether a matrix [out in] can be codes.
func (w *Writer) Takes(out, in int) bool { return in%w.Group == 0 && out%w.multiple == 0 }

// Settings are the key of config.json and what it says, if the matrices with the paths left are numbers.
func (w *Writer) Settings(left []string) (string, map[string]any) {
	return w.key, w.settings(w.Bits, w.Group, left)
}

// Tensors are those of a folder for a matrix [out in], or for mlx those [experts out in], by what follows its
// path in their names. A number that is infinite or NaN is an error.
func (w *Writer) Tensors(t tensor.Tensor) (map[string]tensor.Tensor, error) {
	lead := t.Shape()[:t.Rank()-1]
	t = t.Reshape(-1, t.Len(-1))
	out, in, dt := t.Len(0), t.Len(1), w.scale
	if dt == dtype.Invalid {
		dt = t.DType()
	}
	data := t.Cast(dtype.F32).Bytes()
	number := func(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])) }
	for i := range out * in {
		if v := number(i); v-v != 0 {
			return nil, fmt.Errorf("element [%d %d] is %v, want a finite number", i/in, i%in, v)
		}
	}
	l := w.layout(out, in, w.Bits, w.Group)
	c := quant.Config{Bits: w.Bits, Group: w.Group, Scheme: l.config.Scheme}
	codes, err := quant.Pack(in, out, c, func(o, g int, codes []byte) (scale, extra float32) {
		var values [128]float32
		for i := range codes {
			values[i] = number(o*in + g*w.Group + i)
		}
		most := float32(int(1)<<w.Bits - 1)
		scale, extra = w.fit(values[:len(codes)], most)
		scale = rounded(scale, dt)
		zero, least := extra, float32(0)
		if c.Scheme == quant.Minimum {
			extra = rounded(extra, dt)
			zero, least = 0, extra
		}
		for i := range codes {
			code := float32(0)
			if scale != 0 {
				code = float32(math.RoundToEven(float64((values[i]-least)/scale))) + zero
			}
			codes[i] = byte(min(max(code, 0), most))
		}
		return scale, extra
	})
	if err != nil {
		return nil, err
	}
	l.scale.types, l.extra.types = []string{strings.ToUpper(dt.String())}, slices.Clone(l.extra.types)
	if c.Scheme == quant.Minimum {
		l.extra.types = l.scale.types
	}
	parts := l.tensors(codes)
	if len(lead) > 1 { // each part has rows of outputs
		for end, part := range parts {
			parts[end] = part.Reshape(append(slices.Clone(lead), -1)...)
		}
	}
	return parts, nil
}

// rounded is v as a number of dt.
func rounded(v float32, dt dtype.Type) float32 {
	switch dt {
	case dtype.F16:
		return dtype.F16ToFloat32(dtype.Float32ToF16(v))
	case dtype.BF16:
		return dtype.BF16ToFloat32(dtype.Float32ToBF16(v))
	}
	return v
}

// bounds are the least and the greatest value.
func bounds(values []float32) (least, most float32) { return slices.Min(values), slices.Max(values) }

// fitMLX is what mlx.core.quantize does: the end of the range that is farther from 0 is a code exactly, and
// so is 0.
func fitMLX(values []float32, most float32) (scale, least float32) {
	low, high := bounds(values)
	scale = max((high-low)/most, 1e-7)
	edge := low
	if math.Abs(float64(low)) <= math.Abs(float64(high)) {
		scale, edge = -scale, high
	}
	if steps := float32(math.RoundToEven(float64(edge / scale))); steps != 0 {
		return edge / steps, edge
	}
	return scale, 0
}

// fitAWQ is AutoAWQ's: codes from the least value to the greatest.
func fitAWQ(values []float32, most float32) (scale, zero float32) {
	low, high := bounds(values)
	scale = max(high-low, 1e-5) / most
	return scale, min(max(-float32(math.RoundToEven(float64(low/scale))), 0), most)
}
