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
	marks []string // endings of tensors of which a matrix in codes has one
	parts []string // endings of its others
	check func(q *pretrained.Settings)
	// layout says what the tensors of a matrix mean.
	layout func(m *matrix) layout
	write  *writing // nil: it is read only
}

// formats are those that are read, some of which are written, by quant_method.
var formats = map[string]*format{
	"mxfp4": {marks: []string{mxBlocks}, parts: []string{mxScales}, check: func(*pretrained.Settings) {}, layout: mxfp4},
	"mlx":   {marks: []string{".scales"}, parts: []string{".weight", ".biases"}, check: func(*pretrained.Settings) {}, layout: mlx, write: mlxWriting},
	"gptq": {marks: []string{".qweight"}, parts: []string{".qzeros", ".scales", ".g_idx"}, check: func(q *pretrained.Settings) {
		q.OneOf("checkpoint_format", "gptq", "gptq", "gptq_v2")
	}, layout: gptq},
	"awq": {marks: []string{".qweight"}, parts: []string{".qzeros", ".scales"}, check: func(q *pretrained.Settings) {
		oneOf(q, "bits", 4, 4)
		q.OneOf(firstOf(q, "version", "format"), "gemm", "gemm", "GEMM")
		if !q.Bool("zero_point", true) {
			q.Fail("zero_point", "got false, want true")
		}
	}, layout: awq, write: awqWriting},
	"fp8": {marks: []string{".weight_scale_inv", ".weight_scale"}, parts: []string{".weight", ".activation_scale", ".input_scale"}, check: func(q *pretrained.Settings) {
		q.OneOf("activation_scheme", "dynamic", "dynamic", "static")
		q.OneOf("fmt", "e4m3", "e4m3")
	}, layout: fp8},
	"fbgemm_fp8": {marks: []string{".weight_scale"}, parts: []string{".weight", ".input_scale_ub"}, check: func(*pretrained.Settings) {}, layout: fp8},
	"modelopt": {marks: []string{".weight_scale"}, parts: []string{".weight", ".weight_scale_2", ".input_scale"}, check: func(q *pretrained.Settings) {
		q.OneOf("quant_algo", "", "FP8", "NVFP4")
	}, layout: modelopt},
	"bitsandbytes": {marks: []string{".weight" + stateOf}, parts: []string{".weight", ".weight.absmax", ".weight.quant_map", ".weight.nested_absmax", ".weight.nested_quant_map"},
		check: func(q *pretrained.Settings) {
			q.Not("load_in_8bit")
			q.OneOf("bnb_4bit_quant_type", "nf4", "nf4")
			q.OneOf("bnb_4bit_quant_storage", "uint8", "uint8")
		}, layout: nf4},
	"compressed-tensors": {marks: []string{".weight_scale"}, parts: []string{".weight_packed", ".weight", ".weight_shape", ".weight_zero_point", ".weight_g_idx",
		".weight_global_scale", ".input_scale", ".input_zero_point", ".input_global_scale"}, check: checkCompressed, layout: compressed},
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
// follow each other; of experts [experts out …], as switch_mlp. Settings of a matrix stand under its path.
func mlx(m *matrix) layout {
	q := m.q
	var on bool
	if !q.Try(m.path, &on) {
		if own := q.Object(m.path); own != nil {
			q = own
		}
	}
	q.OneOf("mode", "affine", "affine")
	bits, group := oneOf(q, "bits", 4, 2, 3, 4, 5, 6, 8), oneOf(q, "group_size", 64, 32, 64, 128)
	if shape := m.dims(".scales"); len(shape) == 3 { // of all experts
		l := mlxLayout(shape[0]*shape[1], shape[2]*group, bits, group)
		l.experts = shape[0]
		return l
	}
	scales := m.shape(".scales", 2, floats...)
	return mlxLayout(scales[0], scales[1]*group, bits, group)
}

func mlxLayout(out, in, bits, group int) layout {
	l := layout{out: out, in: in, group: group, config: quant.Config{Scheme: quant.Minimum}}
	l.codes, l.scale, l.extra = rows(".weight", out, in, bits), grid(".scales", out, in, group, false), grid(".biases", out, in, group, false)
	l.codes.types = []string{"U32", "I32"}
	return l
}

// gptq has columns of words, in which codes of an output follow each other; scales [groups out]; and zero
// points, less 1 in the first version, of which words hold several outputs. g_idx has the group of each
// input.
func gptq(m *matrix) layout {
	bits := oneOf(m.q, "bits", 4, 2, 4, 8)
	pack := 32 / max(1, bits)
	shape := m.shape(".qweight", 2, words...)
	in, out := shape[0]*pack, shape[1]
	if out%pack != 0 {
		m.fail("tensor %q: got %d outputs, want a multiple of %d", m.path+".qweight", out, pack)
	}
	if m.q.Bool("desc_act", false) && !m.has(".g_idx") {
		m.fail("quantization_config.desc_act: got true, and no tensor %q", m.path+".g_idx")
	}
	l := layout{out: out, in: in, group: m.groupSize("group_size", in), config: quant.Config{Scheme: quant.Affine}}
	groups := (in + l.group - 1) / l.group
	l.codes = part{name: ".qweight", types: words, shape: shape, bits: bits, at: func(o, i int) int { return (i/pack*out+o)*32 + i%pack*bits }}
	l.scale = grid(".scales", out, in, l.group, true)
	l.extra = part{name: ".qzeros", types: words, shape: []int{groups, out / pack}, bits: bits, plus: 1,
		at: func(o, i int) int { return (i/l.group*(out/pack)+o/pack)*32 + o%pack*bits }}
	if m.q.Text("checkpoint_format", "") == "gptq_v2" {
		l.extra.plus = 0
	}
	l.scale.numbers = func() []float32 {
		if m.has(".g_idx") {
			m.inOrder(l.in, l.group)
		}
		return m.numbers(".scales")
	}
	return l
}

// inOrder checks that groups are of inputs that follow each other.
func (m *matrix) inOrder(in, group int) {
	m.want(".g_idx", words, in)
	for i, g := range m.numbers(".g_idx") {
		if int(g) != i/group {
			m.fail("quantization_config.desc_act: tensor %q: input %d is of group %g, want %d: groups that are not in order are not read", m.path+".g_idx", i, g, i/group)
			return
		}
	}
}

// nibbles are the places in a word that outputs have in AWQ.
var nibbles = [8]int{0, 4, 1, 5, 2, 6, 3, 7}

// awq has rows of words for each input, and for each group's zero points, with 8 outputs in a word.
func awq(m *matrix) layout {
	shape := m.shape(".qweight", 2, words...)
	return awqLayout(shape[1]*8, shape[0], m.groupSize(firstOf(m.q, "group_size", "q_group_size"), shape[0]))
}

func awqLayout(out, in, group int) layout {
	l := layout{out: out, in: in, group: group, config: quant.Config{Scheme: quant.Affine}}
	at := func(o, row int) int { return row*out*4 + o>>3<<5 + nibbles[o&7]*4 }
	l.codes = part{name: ".qweight", types: words, shape: []int{in, out / 8}, bits: 4, at: at}
	l.extra = part{name: ".qzeros", types: words, shape: []int{(in + group - 1) / group, out / 8}, bits: 4, at: func(o, i int) int { return at(o, i/group) }}
	l.scale = grid(".scales", out, in, group, true)
	return l
}

// groupSize is how many inputs share a scale; −1 is all of them.
func (m *matrix) groupSize(key string, in int) int {
	group := m.q.Int(key, 128)
	if group == -1 {
		return whole(in)
	}
	if group < 16 || group%16 != 0 {
		m.q.Fail(key, "got %d, want a multiple of 16, or -1", group)
		return 16
	}
	return group
}
