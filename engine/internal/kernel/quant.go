package kernel

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Quantised weights as right operands: w = scale·(code − zero), scale·code + minimum or
// scale·table[code], of codes in 8 or 4 bits;
// shaders/quant.metal says how they lie. A product never writes w to memory.
//
// Tiles get it as floats: a thread turns a word, 4 or 8 codes of an output, into as many elements of a
// column. A part of 16×64 is 1 KB of int8 and 4 KB of floats for 131,072 operations of a tile of 64 rows,
// so arithmetic is the limit. On NVIDIA's GPUs it is multiplied as two products of TF32, because a scale
// times a code has more bits than one takes, and the other operand, if it is f16 or bf16, has not. few.go
// says how products of few rows read codes.

// words says whether operand n is quantised, and lies so that words of codes and four scales can be read at
// once.
func (p *product) words(n int) bool {
	q := weight(p.g, p.inst.Args[n])
	return q != nil && p.inWords(q.Args)
}

// inWords says that of the parts of a quantised weight.
func (t *text) inWords(parts []backend.Ref) bool {
	return !slices.ContainsFunc(parts, func(a backend.Ref) bool {
		i, _ := a.Input()
		return t.g.Inputs[i].Layout.Offset%16 != 0
	})
}

// extra is the expression of the third part of operand n.
func (p *product) extra(n int) string {
	if len(weight(p.g, p.inst.Args[n]).Args) == 3 {
		return "a." + p.operand(n) + "_extra"
	}
	return noExtra
}

// noExtra is the third part of a weight that has none.
const noExtra = "(device const uchar*)0"

// codeLine loads w of a product of few rows from words of codes, up to the place `to` of the inner axis.
// Four words are those of four columns, to be scaled, or of a transposed weight those of four places of the
// inner axis.
func (p *product) codeLine(n int, to string) {
	q, name := ir.QuantOf(&weight(p.g, p.inst.Args[n]).Attr), p.operand(n)
	p.line("const %s beside = min(column + 4 * x, (a.n0 - 1) / 4 * 4);", p.index)
	if q.Transposed {
		p.line("transposed_line<%[1]d, %[5]d>(a.%[2]s_codes, a.%[2]s_scales, %[3]s, int(a.%[2]s_group), a.%[2]s_lines, a.%[2]s_groups, %[4]s, k, beside, w);",
			q.Bits, name, p.extra(n), to, q.Form)
		return
	}
	p.line("float scale[4];")
	p.line("coded_line<%[1]d, %[4]d>(a.%[2]s_codes, %[3]s, int(a.%[2]s_group), a.%[2]s_lines, a.%[2]s_groups, k, beside, w);", q.Bits, name, p.extra(n), q.Form)
	if q.Form == ir.Minimums {
		p.line("float minimum[4];")
		p.line("line_minimums(%[2]s, int(a.%[1]s_group), a.%[1]s_groups, k, beside, minimum);", name, p.extra(n))
	}
	p.line("line_scales(a.%[1]s_scales, int(a.%[1]s_group), a.%[1]s_groups, k, beside, scale);", name)
}

// fetchWords loads a part of a quantised operand, high×wide, into threadgroup memory, a word of codes a
// thread at a time. The words of 16 outputs lie side by side, so neighbouring threads have neighbouring
// outputs; the codes of a word go down a column of the part, or along a row if the weight is transposed.
func (p *product) fetchWords(o side, to string) {
	q := ir.QuantOf(&weight(p.g, p.inst.Args[o.n]).Attr)
	p.text.fetchWords(&p.tile, o, q, p.operand(o.n), p.extra(o.n), to, "a.n0", "")
}

// fetchWords is that of the weight of any product, up to the places `to` of the inner axis and all of the
// columns; what is added to an output is the place of a matrix in a stack.
func (p *text) fetchWords(t *tile, o side, q ir.Quant, name, extra, to, all, from string) {
	count := q.PerLine()
	high, wide := o.depth, t.columns()
	t.each(p, high*wide/count, func() {
		input, output, length, limit := "deep", "i0", to, all
		under, beside := "line + d", "output"
		if q.Transposed {
			input, output, length, limit = "i0", "deep", all, to
			under, beside = "output", "line + d"
			p.line("const int output = e %% %d, line = e / %d * %d;", high, high, count)
			p.line("const %s deep = next + output, i0 = column + line;", p.index)
		} else {
			p.line("const int output = e %% %d, line = e / %d * %d;", wide, wide, count)
			p.line("const %s deep = next + line, i0 = column + output;", p.index)
		}
		p.line("float w[%d] = {};", count)
		p.line("if (%[1]s < %[2]s && %[3]s < %[4]s) dequantized_word<%[5]d, %[8]d>(a.%[6]s_codes, a.%[6]s_scales, %[7]s, int(a.%[6]s_group), a.%[6]s_lines, a.%[6]s_groups, %[1]s, %[9]s%[3]s, w);",
			input, length, output, limit, q.Bits, name, extra, q.Form, from)
		p.line("UNROLL for (int d = 0; d < %d; d++) right_tile[%s] = %s(%s + d < %s ? w[d] : 0.0f);", count, t.place(o, wide, under, beside), o.cell, input, length)
	})
}
