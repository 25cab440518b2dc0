package coded

import (
	"encoding/json"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/quant"
)

// fp8 has a float of 8 bits for each number, and scales for blocks of outputs and inputs, for outputs, or one
// for all. Scales of activations are not needed, as they are not rounded.
func fp8(m *matrix) layout {
	name := ".weight_scale_inv"
	if !m.has(name) {
		name = ".weight_scale"
	}
	rows, columns := 0, 0
	if m.q.Has("weight_block_size") {
		block := m.q.Numbers("weight_block_size")
		if len(block) != 2 || block[0] < 1 || block[1] < 16 || int(block[1])%16 != 0 {
			m.q.Fail("weight_block_size", "got %v, want outputs and inputs of a block, those a multiple of 16", block)
			return layout{}
		}
		rows, columns = int(block[0]), int(block[1])
	}
	return eights(m, part{name: ".weight", types: []string{"F8_E4M3"}}, quant.Config{Scheme: quant.Table, Table: "e4m3"}, name, rows, columns)
}

// eights are codes of 8 bits [out in], whose scales have the shape that fits: [] or [1]: one; [out] or
// [out 1]: one for each output; or for blocks of outputs and inputs.
func eights(m *matrix, codes part, c quant.Config, scale string, rows, columns int) layout {
	shape := m.shape(codes.name, 2, codes.types...)
	l := layout{out: shape[0], in: shape[1], group: whole(shape[1]), config: c, codes: codes}
	l.codes.bits, l.codes.follow, l.codes.at = 8, true, func(o, i int) int { return (o*l.in + i) * 8 }
	l.scale = m.scales(scale, &l, rows, columns)
	return l
}

// scales are those of a part whose shape says what they are of, which may be blocks of outputs and inputs.
func (m *matrix) scales(name string, l *layout, rows, columns int) part {
	p := part{name: name, types: floats}
	if !m.has(name) {
		m.fail("no tensor %q", m.path+name)
		return p
	}
	p.shape = m.dims(name)
	switch {
	case columns > 0:
		across := (l.in + columns - 1) / columns
		p.shape, l.group = []int{(l.out + rows - 1) / rows, across}, columns
		p.at = func(o, i int) int { return o/rows*across + i/columns }
	case ir.Size(p.shape) == 1:
		p.at = func(int, int) int { return 0 }
	default:
		if len(p.shape) != 1 {
			p.shape = []int{l.out, 1}
		} else {
			p.shape = []int{l.out}
		}
		p.at = func(o, _ int) int { return o }
	}
	return p
}

// nvfp4 has two codes of e2m1 in a byte, the first in the lower half, and scales in e4m3 of 16 inputs, which
// another number of the matrix multiplies, or divides.
func nvfp4(m *matrix, codes, global string, divides bool) layout {
	shape := m.shape(codes, 2, "U8")
	out, in := shape[0], shape[1]*2
	l := layout{out: out, in: in, group: 16, config: quant.Config{Scheme: quant.Table, Table: "e2m1"}}
	l.codes = part{name: codes, types: []string{"U8"}, shape: shape, bits: 4, follow: true, at: func(o, i int) int { return (o*in + i) * 4 }}
	l.scale = grid(".weight_scale", out, in, 16, false)
	l.scale.types = []string{"F8_E4M3"}
	l.scale.numbers = func() []float32 {
		list, table, by := make([]float32, 0, out*in/16), quant.Codes("e4m3"), m.numbers(global)
		if m.err == nil && len(by) != 1 {
			m.fail("tensor %q: got %d numbers, want one", m.path+global, len(by))
		}
		for _, code := range m.bytes(".weight_scale") {
			if m.err != nil {
				break
			}
			if divides {
				list = append(list, table[code]/by[0])
			} else {
				list = append(list, table[code]*by[0])
			}
		}
		return list
	}
	return l
}

// modelopt has the codes of fp8, or those of NVFP4.
func modelopt(m *matrix) layout {
	if m.has(".weight_scale_2") {
		return nvfp4(m, ".weight", ".weight_scale_2", false)
	}
	return fp8(m)
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
	l := layout{out: state.Shape[0], in: state.Shape[1], config: quant.Config{Scheme: quant.Table, Table: "nf4"}}
	l.group = divisor(l.in, state.Block) // a block may go on in the next row
	blocks := (l.out*l.in + state.Block - 1) / state.Block
	l.codes = part{name: ".weight", types: []string{"U8"}, shape: []int{(l.out*l.in + 1) / 2, 1}, bits: 4, at: func(o, i int) int { return (o*l.in+i)*4 ^ 4 }}
	l.scale = part{name: ".weight.absmax", types: floats, shape: []int{blocks}, at: func(o, i int) int { return (o*l.in + i) / state.Block }}
	if nested {
		l.scale.types = []string{"U8"}
		m.want(".weight.nested_quant_map", floats, 256)
		m.want(".weight.nested_absmax", floats, (blocks+state.Large-1)/state.Large)
	}
	m.want(".weight.quant_map", floats, 16)
	l.scale.numbers = func() []float32 {
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
		return scale
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
