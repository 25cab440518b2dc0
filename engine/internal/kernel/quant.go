package kernel

import "github.com/mcs-notebook/mcs/engine/internal/ir"

// words says whether right operand n is quantised, and its codes lie so that they can be read by words.
func (p *product) words(n int) bool {
	q := weight(p.g, p.inst.Args[n])
	if q == nil {
		return false
	}
	i, _ := q.Args[0].Input()
	return p.g.Inputs[i].Layout.Offset%16 == 0
}

// zeros is the expression of the zero points of operand n.
func (p *product) zeros(n int) string {
	if len(weight(p.g, p.inst.Args[n]).Args) == 3 {
		return "a." + p.operand(n) + "_zeros"
	}
	return "(device const uchar*)0"
}

// fetchWords loads a part of a quantised operand, high×wide, into threadgroup memory, a word of codes a
// thread at a time. The words of 16 outputs lie side by side, so neighbouring threads have neighbouring
// outputs; the codes of a word go down a column of the part, or along a row if the weight is transposed.
func (p *product) fetchWords(to string, n, high, wide int) {
	inst := weight(p.g, p.inst.Args[n])
	q := ir.QuantOf(&inst.Attr)
	count, name := q.PerLine(), p.operand(n)
	p.line("for (int e = me; e < %d; e += %d) {", high*wide/count, p.tile.threads)
	input, output, length, limit := "deep", "i0", "k"+name[1:], "n0"
	under, beside := "line + d", "output"
	if q.Transposed {
		input, output, length, limit = "i0", "deep", "n0", "k"+name[1:]
		under, beside = "output", "line + d"
		p.line("const int output = e %% %d, line = e / %d * %d;", high, high, count)
		p.line("const %s deep = k + output, i0 = column + line;", p.index)
	} else {
		p.line("const int output = e %% %d, line = e / %d * %d;", wide, wide, count)
		p.line("const %s deep = k + line, i0 = column + output;", p.index)
	}
	p.line("float w[%d] = {};", count)
	p.line("if (%[1]s < a.%[2]s && %[3]s < a.%[4]s) dequantized_word<%[5]d>(a.%[6]s_codes, a.%[6]s_scales, %[7]s, int(a.%[6]s_group), a.%[6]s_lines, a.%[6]s_groups, %[1]s, %[3]s, w);",
		input, length, output, limit, q.Bits, name, p.zeros(n))
	p.line("for (int d = 0; d < %d; d++) %s[(%s) * %d + %s] = %s(%s + d < a.%s ? w[d] : 0.0f);", count, to, under, wide, beside, p.cell, input, length)
	p.line("}")
}
