package coded

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A layout says what the tensors of a matrix mean, to a reader and to a writer.
type layout struct {
	out, in  int
	experts  int  // of which each has as many of the outputs; 0: it is a matrix of its own
	straight bool // the tensor of all experts is [experts in out], not [experts out in]
	group    int  // inputs that share a scale
	config   quant.Config
	codes    part
	scale    part
	extra    part // zero points or minimums, as the scheme of config has them
}

// A part is a tensor of a matrix: codes, scales, zero points or minimums.
type part struct {
	name   string                      // what follows the path; "": there is none
	types  []string                    // in which it is read; a writer takes the first
	shape  []int                       // nil: the layout has checked it
	bits   int                         // of a code; 0: the part has numbers
	at     func(output, input int) int // the place of what belongs to an input: in bits for codes, else in elements
	follow bool                        // codes of an output follow each other
	flip   byte                        // codes are read with these bits turned, if they are signed
	plus   int                         // is added to codes that are read

	// numbers are the numbers of the part where they are not what its tensor holds.
	numbers func() []float32
}

// reader gives the number of the part that belongs to an input, after it has read the tensor.
func (m *matrix) reader(p part) func(o, i int) float32 {
	switch {
	case p.name == "":
		return func(int, int) float32 { return 0 }
	case p.bits > 0:
		data := m.bytes(p.name)
		return func(o, i int) float32 { return float32(int(code(data, p.at(o, i), p.bits)^p.flip) + p.plus) }
	}
	list := p.numbers
	if list == nil {
		list = func() []float32 { return m.numbers(p.name) }
	}
	numbers := list()
	return func(o, i int) float32 { return numbers[p.at(o, i)] }
}

// code is the one of some bits, at most 8, at a place in bits.
func code(data []byte, at, bits int) byte {
	c := uint(data[at>>3])
	if at&7+bits > 8 {
		c |= uint(data[at>>3+1]) << 8
	}
	return byte(c >> (at & 7) & (1<<bits - 1))
}

// Codes reads the matrix [in out].
func (m *matrix) Codes(string) (*quant.Weight, error) {
	data := m.bytes(m.codes.name)
	scale, extra := m.reader(m.scale), m.reader(m.extra)
	if m.err != nil {
		return nil, m.w.Wrong(m.err)
	}
	c := m.config
	if c.Bits = 4; m.codes.bits > 4 {
		c.Bits = 8
	}
	if c.Group = quantGroup(m.group); c.Group == 0 {
		return nil, m.w.Wrong(fmt.Errorf("%s.weight: got groups of %d, want multiples of 16", m.path, m.group))
	}
	p := m.codes
	pairs := p.follow && p.bits == 4 && p.flip == 0
	return quant.Pack(m.in, m.out, c, func(output, group int, codes []byte) (float32, float32) {
		first := group * c.Group
		switch at := p.at(output, first); {
		case pairs && at&7 == 0 && len(codes)&1 == 0:
			for i, b := range data[at>>3:][:len(codes)/2] {
				codes[2*i], codes[2*i+1] = b&15, b>>4
			}
		case p.follow:
			for i := range codes {
				codes[i] = code(data, at+i*p.bits, p.bits) ^ p.flip
			}
		default:
			for i := range codes {
				codes[i] = code(data, p.at(output, first+i), p.bits) ^ p.flip
			}
		}
		return scale(output, first), extra(output, first)
	})
}

// A filled is a part that is being written.
type filled struct {
	part
	packed  []byte
	numbers []float32
}

func (p part) fill() *filled {
	if p.bits > 0 {
		return &filled{p, make([]byte, 4*ir.Size(p.shape)), nil}
	}
	return &filled{p, nil, make([]float32, ir.Size(p.shape))}
}

func (f *filled) put(o, i int, v float32) {
	at := f.at(o, i)
	if f.bits == 0 {
		f.numbers[at] = v
		return
	}
	f.packed[at>>3] |= byte(int(v)-f.plus) << (at & 7)
}

func (f *filled) tensor() tensor.Tensor {
	dt, _ := dtype.Parse(strings.ToLower(f.types[0]))
	if f.bits > 0 {
		return tensor.FromBytes(dt, f.packed, f.shape...)
	}
	return tensor.From(f.numbers, f.shape...).Cast(dt)
}

// tensors are those of a folder for the codes of w, as they are.
func (l layout) tensors(w *quant.Weight) map[string]tensor.Tensor {
	codes, scales, extras := l.codes.fill(), l.scale.fill(), l.extra.fill()
	w.Unpack(func(o, g int, list []byte, scale, extra float32) {
		first := g * w.Group
		for i, c := range list {
			codes.put(o, first+i, float32(c))
		}
		if first%l.group == 0 {
			scales.put(o, first, scale)
			extras.put(o, first, extra)
		}
	})
	return map[string]tensor.Tensor{codes.name: codes.tensor(), scales.name: scales.tensor(), extras.name: extras.tensor()}
}

// check holds the parts of a matrix against the layout, and finds out in which type scales are held.
func (m *matrix) check() {
	for _, p := range []part{m.codes, m.scale, m.extra} {
		shape := p.shape
		if p.name == "" || shape == nil {
			continue
		}
		if m.experts > 0 && !m.straight {
			shape = append([]int{m.experts, m.out / m.experts}, shape[1:]...)
		}
		m.want(p.name, p.types, shape...)
	}
	if from := m.parts[m.scale.name]; from != nil && m.scale.numbers == nil {
		if typ, _, err := from.Describe(m.path + m.scale.name); err == nil && typ == "BF16" {
			m.config.Scale = dtype.BF16
		}
	}
}

// grid is a part of numbers [outputs groups], or [groups outputs] if it is turned.
func grid(name string, out, in, group int, turned bool) part {
	groups := (in + group - 1) / group
	if turned {
		return part{name: name, types: floats, shape: []int{groups, out}, at: func(o, i int) int { return i/group*out + o }}
	}
	return part{name: name, types: floats, shape: []int{out, groups}, at: func(o, i int) int { return o*groups + i/group }}
}

// rows is a part of words [outputs …], in which codes of an output follow each other.
func rows(name string, out, in, bits int) part {
	n := (in*bits + 31) / 32
	return part{name: name, types: words, shape: []int{out, n}, bits: bits, follow: true, at: func(o, i int) int { return o*n*32 + i*bits }}
}

// floats are the types of scales, words those of packed codes.
var (
	floats = []string{"F32", "F16", "BF16"}
	words  = []string{"I32", "U32"}
)

// quantGroup is the largest group of package quant that divides a group of a format, 0 if there is none.
func quantGroup(group int) int {
	i := slices.IndexFunc(quantGroups, func(g int) bool { return group%g == 0 })
	if i < 0 {
		return 0
	}
	return quantGroups[i]
}

var quantGroups = []int{128, 64, 32, 16}

// whole is a group that all inputs share.
func whole(in int) int { return (in + 127) / 128 * 128 }
