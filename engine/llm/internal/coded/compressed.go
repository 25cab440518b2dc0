package coded

import (
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// weightsOf are the settings of the one group of compressed-tensors.
func weightsOf(q *pretrained.Settings) *pretrained.Settings {
	groups := q.Object("config_groups")
	if groups == nil || groups.Object("group_0") == nil || groups.Has("group_1") {
		q.Fail("config_groups", "want one group, group_0")
		return q.None()
	}
	group := groups.Object("group_0")
	if group.Has("output_activations") {
		group.Fail("output_activations", "activations in codes are not read")
	}
	if w := group.Object("weights"); w != nil {
		return w
	}
	group.Fail("weights", "is not there")
	return q.None()
}

// Formats of compressed-tensors. Activations are not rounded, whatever is said of them.
const (
	packedInts  = "pack-quantized"
	ints        = "int-quantized"
	floats8     = "float-quantized"
	nvfp4Packed = "nvfp4-pack-quantized"
)

func checkCompressed(q *pretrained.Settings) {
	w := weightsOf(q)
	typ, bits := "int", []int{4, 8}
	switch q.OneOf("format", packedInts, packedInts, ints, floats8, nvfp4Packed) {
	case ints:
		bits = []int{8}
	case floats8:
		typ, bits = "float", []int{8}
	case nvfp4Packed:
		typ, bits = "float", []int{4}
	}
	w.OneOf("type", typ, typ)
	oneOf(w, "num_bits", bits[0], bits...)
	w.OneOf("strategy", "group", "group", "channel", "tensor", "tensor_group", "block")
	if typ == "float" && !w.Bool("symmetric", true) {
		w.Fail("symmetric", "got false, want true")
	}
	if w.Text("actorder", "") == "group" {
		w.Fail("actorder", "got \"group\": groups that are not in order are not read")
	}
}

// compressed has codes in rows of words or one by one, with scales [out groups], [out 1] or [1], and with
// zero points where the settings are not symmetric.
func compressed(m *matrix) layout {
	w := weightsOf(m.q)
	switch m.q.Text("format", packedInts) {
	case packedInts:
		return packed(m, w)
	case nvfp4Packed:
		return nvfp4(m, ".weight_packed", ".weight_global_scale", true)
	}
	codes, c := part{name: ".weight", types: []string{"F8_E4M3"}}, quant.Config{Scheme: quant.Table, Table: "e4m3"}
	if m.q.Text("format", "") == ints {
		codes.types, codes.flip, c = []string{"I8"}, 0x80, quant.Config{Scheme: quant.Symmetric}
	}
	rows, columns := 0, 0
	switch w.Text("strategy", "") {
	case "group":
		rows, columns = 1, w.Int("group_size", 128)
	case "block":
		if block := w.Numbers("block_structure"); len(block) == 2 && block[0] >= 1 {
			rows, columns = int(block[0]), int(block[1])
		} else {
			w.Fail("block_structure", "got %v, want outputs and inputs of a block", block)
		}
	}
	l := eights(m, codes, c, ".weight_scale", rows, columns)
	if m.has(".weight_zero_point") && !w.Bool("symmetric", true) {
		l.config.Scheme = quant.Affine
		at := l.scale.at
		l.extra = part{name: ".weight_zero_point", types: []string{"I8"}, shape: l.scale.shape, bits: 8, flip: 0x80, at: func(o, i int) int { return at(o, i) * 8 }}
	}
	return l
}

// packed has words [out …] of codes, and zero points in words of several outputs.
func packed(m *matrix, w *pretrained.Settings) layout {
	m.want(".weight_shape", []string{"I64", "I32"}, 2)
	size := m.numbers(".weight_shape")
	if m.err != nil || !(min(size[0], size[1]) >= 1 && max(size[0], size[1]) < 1<<24) {
		m.fail("tensor %q: got %v, want a shape", m.path+".weight_shape", size)
		return layout{}
	}
	bits, out, in := w.Int("num_bits", 4), int(size[0]), int(size[1])
	l := layout{out: out, in: in, config: quant.Config{Scheme: quant.Symmetric}, codes: rows(".weight_packed", out, in, bits)}
	if l.group = whole(in); w.Text("strategy", "group") == "group" {
		if l.group = w.Int("group_size", 128); l.group < 16 || l.group%16 != 0 {
			w.Fail("group_size", "got %d, want a multiple of 16", l.group)
			return layout{}
		}
	}
	l.scale = grid(".weight_scale", out, in, l.group, false)
	if !w.Bool("symmetric", true) {
		l.config.Scheme = quant.Affine
		pack, groups := 32/bits, l.scale.shape[1]
		l.extra = part{name: ".weight_zero_point", types: words, shape: []int{(out + pack - 1) / pack, groups}, bits: bits,
			at: func(o, i int) int { return (o/pack*groups+i/l.group)*32 + o%pack*bits }}
	}
	return l
}
