package coded

import (
	"encoding/json"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// fp8 has a float of 8 bits for each number, and scales for blocks of outputs and inputs.
func fp8(m *matrix) layout {
	block := m.q.Numbers("weight_block_size")
	if len(block) != 2 || block[0] < 1 || block[1] < 16 || int(block[1])%16 != 0 {
		m.q.Fail("weight_block_size", "got %v, want outputs and inputs of a block, those a multiple of 16", block)
		return layout{}
	}
	rows, columns := int(block[0]), int(block[1])
	shape := m.shape(".weight", 2, "F8_E4M3")
	l := layout{out: shape[0], in: shape[1], bits: 8, group: columns, codes: ".weight"}
	across := (l.in + columns - 1) / columns
	m.want(".weight_scale_inv", floats, (l.out+rows-1)/rows, across)
	l.config = quant.Config{Scheme: quant.Table, Table: "e4m3", Scale: m.scaleType(".weight_scale_inv")}
	l.at = func(o, i int) int { return (o*l.in + i) * 8 }
	l.open = func() func(o, i int) (float32, float32) {
		scale := m.numbers(".weight_scale_inv")
		return func(o, i int) (float32, float32) { return scale[o/rows*across+i/columns], 0 }
	}
	return l
}

// stateOf is what stands behind the name of a matrix that has such a state.
const stateOf = ".quant_state.bitsandbytes__nf4"

// nf4 has two codes in a byte, the first in the upper half, and scales for blocks of the numbers of all rows,
// which may be codes themselves: places in a table, with a scale for each of larger blocks, and an offset.
func nf4(m *matrix) layout {
	var state struct {
		Type   string  `json:"quant_type"`
		Block  int     `json:"blocksize"`
		Shape  []int   `json:"shape"`
		Large  int     `json:"nested_blocksize"`
		Offset float32 `json:"nested_offset"`
	}
	if err := json.Unmarshal(m.bytes(".weight"+stateOf), &state); err != nil && m.err == nil {
		m.fail("tensor %q: %w", m.path+".weight"+stateOf, err)
	}
	nested := m.has(".weight.nested_absmax")
	if m.err == nil && (len(state.Shape) != 2 || state.Type != "nf4" || state.Block < 16 || nested && state.Large < 1 || min(state.Shape[0], state.Shape[1]) < 1 || max(state.Shape[0], state.Shape[1]) >= 1<<24) {
		m.fail("tensor %q: got %+v, want the state of a matrix in nf4", m.path+".weight"+stateOf, state)
	}
	if m.err != nil {
		return layout{}
	}
	l := layout{out: state.Shape[0], in: state.Shape[1], bits: 4, codes: ".weight"}
	l.group = divisor(l.in, state.Block) // a block may go on in the next row
	l.config = quant.Config{Scheme: quant.Table, Table: "nf4"}
	blocks := (l.out*l.in + state.Block - 1) / state.Block
	m.want(".weight", []string{"U8"}, (l.out*l.in+1)/2, 1)
	if nested {
		m.want(".weight.absmax", []string{"U8"}, blocks)
		m.want(".weight.nested_quant_map", floats, 256)
		m.want(".weight.nested_absmax", floats, (blocks+state.Large-1)/state.Large)
	} else {
		m.want(".weight.absmax", floats, blocks)
	}
	m.want(".weight.quant_map", floats, 16)
	l.at = func(o, i int) int { return (o*l.in+i)*4 ^ 4 }
	l.open = func() func(o, i int) (float32, float32) {
		if m.err == nil && !slices.Equal(m.numbers(".weight.quant_map"), quant.Codes("nf4")) {
			m.fail("tensor %q: is not the table of nf4", m.path+".weight.quant_map")
		}
		scale := m.numbers(".weight.absmax")
		if nested {
			table, large := m.numbers(".weight.nested_quant_map"), m.numbers(".weight.nested_absmax")
			for i, code := range scale {
				scale[i] = table[int(code)]*large[i/state.Large] + state.Offset
			}
		}
		return func(o, i int) (float32, float32) { return scale[(o*l.in+i)/state.Block], 0 }
	}
	return l
}

// divisor is the greatest of both.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// weightsOf are the settings of the one group of compressed-tensors.
func weightsOf(q *pretrained.Settings) *pretrained.Settings {
	groups := q.Object("config_groups")
	if groups == nil || groups.Object("group_0") == nil || groups.Has("group_1") {
		q.Fail("config_groups", "want one group, group_0")
		return q.None()
	}
	group := groups.Object("group_0")
	for _, key := range []string{"input_activations", "output_activations"} {
		if group.Has(key) {
			group.Fail(key, "activations in codes are not read")
		}
	}
	if w := group.Object("weights"); w != nil {
		return w
	}
	group.Fail("weights", "is not there")
	return q.None()
}

func checkCompressed(q *pretrained.Settings) {
	q.OneOf("format", "pack-quantized", "pack-quantized")
	w := weightsOf(q)
	w.OneOf("type", "int", "int")
	w.OneOf("strategy", "group", "group")
	oneOf(w, "num_bits", 4, 4, 8)
	if !w.Bool("symmetric", true) {
		w.Fail("symmetric", "got false, want true")
	}
	if w.Text("actorder", "") == "group" {
		w.Fail("actorder", "got \"group\": groups that are not in order are not read")
	}
}

// compressed has rows of words, in which codes of an output follow each other, and scales [out groups].
func compressed(m *matrix) layout {
	w := weightsOf(m.q)
	l := layout{bits: w.Int("num_bits", 4), group: w.Int("group_size", 128), codes: ".weight_packed"}
	pack := 32 / max(1, l.bits)
	m.want(".weight_shape", []string{"I64", "I32"}, 2)
	size := m.numbers(".weight_shape")
	if m.err != nil || !(min(size[0], size[1]) >= 1 && max(size[0], size[1]) < 1<<24) {
		m.fail("tensor %q: got %v, want a shape", m.path+".weight_shape", size)
		return layout{}
	}
	l.out, l.in = int(size[0]), int(size[1])
	groups, row := m.groups(&l), (l.in+pack-1)/pack
	m.want(".weight_packed", words, l.out, row)
	m.want(".weight_scale", floats, l.out, groups)
	l.config = quant.Config{Scheme: quant.Symmetric, Scale: m.scaleType(".weight_scale")}
	l.at = func(o, i int) int { return o*row*32 + i*l.bits }
	l.open = func() func(o, i int) (float32, float32) {
		scale := m.numbers(".weight_scale")
		return func(o, i int) (float32, float32) { return scale[o*groups+i/l.group], 0 }
	}
	return l
}
