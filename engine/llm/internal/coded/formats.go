package coded

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// A format is a way in which folders store codes.
type format struct {
	parts  []string // endings of a matrix' tensors; the first one is there if it is in codes
	check  func(q *pretrained.Settings)
	layout func(m *matrix) layout
	// whole is in place of layout where codes become numbers: the tensor with the name of the path.
	whole func(m *matrix) pretrained.Source
}

// formats are those that are read, by quant_method.
var formats = map[string]*format{
	"mxfp4": {parts: []string{mxBlocks, mxScales}, check: func(*pretrained.Settings) {}, whole: mxfp4},
	"mlx":   {[]string{".scales", ".weight", ".biases"}, func(*pretrained.Settings) {}, mlx, nil},
	"gptq": {[]string{".qweight", ".qzeros", ".scales", ".g_idx"}, func(q *pretrained.Settings) {
		q.OneOf("checkpoint_format", "gptq", "gptq", "gptq_v2")
	}, gptq, nil},
	"awq": {[]string{".qweight", ".qzeros", ".scales"}, func(q *pretrained.Settings) {
		oneOf(q, "bits", 4, 4)
		q.OneOf(firstOf(q, "version", "format"), "gemm", "gemm", "GEMM")
		if !q.Bool("zero_point", true) {
			q.Fail("zero_point", "got false, want true")
		}
	}, awq, nil},
	"fp8": {[]string{".weight_scale_inv", ".weight"}, func(q *pretrained.Settings) {
		q.OneOf("activation_scheme", "dynamic", "dynamic")
		q.OneOf("fmt", "e4m3", "e4m3")
	}, fp8, nil},
	"bitsandbytes": {[]string{".weight" + stateOf, ".weight", ".weight.absmax", ".weight.quant_map", ".weight.nested_absmax", ".weight.nested_quant_map"},
		func(q *pretrained.Settings) {
			q.Not("load_in_8bit")
			q.OneOf("bnb_4bit_quant_type", "nf4", "nf4")
			q.OneOf("bnb_4bit_quant_storage", "uint8", "uint8")
		}, nf4, nil},
	"compressed-tensors": {[]string{".weight_packed", ".weight_scale", ".weight_shape", ".weight_zero_point", ".weight_g_idx"}, checkCompressed, compressed, nil},
}

// firstOf is the first of two keys that is there, or the first.
func firstOf(q *pretrained.Settings, key, other string) string {
	if !q.Has(key) && q.Has(other) {
		return other
	}
	return key
}

// formatOf finds the format that settings name. Those of mlx have no name.
func formatOf(q *pretrained.Settings) *format {
	name := q.Text("quant_method", "")
	if name == "" && q.Has("bits") {
		name = "mlx"
	}
	f := formats[name]
	if f == nil {
		q.Fail("quant_method", "weights in codes of %q are not read, want those of %s", name, strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	return f
}

// oneOf reads a number that must be one of a few.
func oneOf(q *pretrained.Settings, key string, other int, want ...int) int {
	n := q.Int(key, other)
	if !slices.Contains(want, n) {
		q.Fail(key, "got %d, want one of %s", n, strings.Join(strings.Fields(strings.Trim(fmt.Sprint(want), "[]")), ", "))
	}
	return n
}

// mlx has scales and minimums ("biases") [out groups], and a row of words for each output, in which codes
// follow each other. Settings of a matrix stand under its path.
func mlx(m *matrix) layout {
	q := m.q
	var on bool
	if !q.Try(m.path, &on) {
		if own := q.Object(m.path); own != nil {
			q = own
		}
	}
	q.OneOf("mode", "affine", "affine")
	l := layout{bits: oneOf(q, "bits", 4, 2, 3, 4, 5, 6, 8), group: oneOf(q, "group_size", 64, 32, 64, 128), codes: ".weight"}
	scales := m.shape(".scales", 2, floats...)
	l.out, l.in = scales[0], scales[1]*l.group
	m.want(".biases", floats, scales...)
	row := l.in * l.bits / 32
	m.want(".weight", words, l.out, row)
	l.config = quant.Config{Scheme: quant.Minimum, Scale: m.scaleType(".scales")}
	l.at = func(o, i int) int { return o*row*32 + i*l.bits }
	l.open = func() func(o, i int) (float32, float32) {
		scale, minimum := m.numbers(".scales"), m.numbers(".biases")
		return func(o, i int) (float32, float32) {
			g := o*scales[1] + i/l.group
			return scale[g], minimum[g]
		}
	}
	return l
}

// gptq has columns of words, in which codes of an output follow each other; scales [groups out]; and zero
// points, less 1 in the first version, of which words hold several outputs. g_idx has the group of each
// input.
func gptq(m *matrix) layout {
	l := layout{bits: oneOf(m.q, "bits", 4, 2, 4, 8), group: m.q.Int("group_size", 128), codes: ".qweight"}
	pack := 32 / max(1, l.bits)
	shape := m.shape(".qweight", 2, words...)
	l.in, l.out = shape[0]*pack, shape[1]
	if l.out%pack != 0 {
		m.fail("tensor %q: got %d outputs, want a multiple of %d", m.path+".qweight", l.out, pack)
	}
	if m.q.Bool("desc_act", false) && !m.has(".g_idx") {
		m.fail("quantization_config.desc_act: got true, and no tensor %q", m.path+".g_idx")
	}
	groups := m.groups(&l)
	m.want(".scales", floats, groups, l.out)
	m.want(".qzeros", words, groups, l.out/pack)
	l.config = quant.Config{Scheme: quant.Affine, Scale: m.scaleType(".scales")}
	l.at = func(o, i int) int { return (i/pack*l.out+o)*32 + i%pack*l.bits }
	one := 1
	if m.q.Text("checkpoint_format", "") == "gptq_v2" {
		one = 0
	}
	l.open = func() func(o, i int) (float32, float32) {
		scale, zeros := m.numbers(".scales"), m.bytes(".qzeros")
		if m.has(".g_idx") {
			m.want(".g_idx", words, l.in)
			for i, g := range m.numbers(".g_idx") {
				if int(g) != i/l.group {
					m.fail("quantization_config.desc_act: tensor %q: input %d is of group %g, want %d: groups that are not in order are not read", m.path+".g_idx", i, g, i/l.group)
					break
				}
			}
		}
		return func(o, i int) (float32, float32) {
			g := i / l.group
			at := (g*(l.out/pack)+o/pack)*32 + o%pack*l.bits
			return scale[g*l.out+o], float32(int(zeros[at>>3])>>(at&7)&(1<<l.bits-1) + one)
		}
	}
	return l
}

// nibbles are the places in a word that outputs have in AWQ.
var nibbles = [8]int{0, 4, 1, 5, 2, 6, 3, 7}

// awq has rows of words for each input, and for each group's zero points, with 8 outputs in a word.
func awq(m *matrix) layout {
	l := layout{bits: 4, group: m.q.Int(firstOf(m.q, "group_size", "q_group_size"), 128), codes: ".qweight"}
	shape := m.shape(".qweight", 2, words...)
	l.in, l.out = shape[0], shape[1]*8
	groups := m.groups(&l)
	m.want(".scales", floats, groups, l.out)
	m.want(".qzeros", words, groups, l.out/8)
	l.config = quant.Config{Scheme: quant.Affine, Scale: m.scaleType(".scales")}
	l.at = func(o, i int) int { return i*l.out*4 + o>>3<<5 + nibbles[o&7]*4 }
	l.open = func() func(o, i int) (float32, float32) {
		scale, zeros := m.numbers(".scales"), m.bytes(".qzeros")
		return func(o, i int) (float32, float32) {
			g := i / l.group
			at := l.at(o, g)
			return scale[g*l.out+o], float32(zeros[at>>3] >> (at & 7) & 15)
		}
	}
	return l
}

// groups is the number of groups of an output; a group of −1 is all inputs.
func (m *matrix) groups(l *layout) int {
	if l.group == -1 {
		l.group = (l.in + 127) / 128 * 128
	}
	if l.group < 16 || l.group%16 != 0 {
		m.q.Fail("group_size", "got %d, want a multiple of 16, or -1", l.group)
		l.group = 16
	}
	return (l.in + l.group - 1) / l.group
}
