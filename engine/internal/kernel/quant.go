package kernel

import (
	"fmt"
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
	return !slices.ContainsFunc(parts, func(a backend.Ref) bool { return inputOf(t.g, a).Layout.Offset%16 != 0 })
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

// A coded is a quantised right operand of a tiled product. A thread takes pieces of it, 8 inputs of 4 outputs
// each: one load of 16 bytes of codes in 4 bits, two of those in 8. What it has loaded it keeps in registers
// while the tile before is multiplied, and then stores each output's 8 elements at once, in the type that is
// multiplied. So the lines of a part go along the inputs. Of a 128×256 tile, 64 deep, a thread has two pieces
// in 4 bits, 24 registers; the 64 elements take it some 400 instructions, where the matrix units take 1,024
// cycles and a processor could issue 2,000 for a thread.
type coded struct {
	*text
	t     *tile
	q     ir.Quant
	name  string // of the operand
	extra string // the expression of the third part
	all   string // how many columns there are
	first string // the first block of outputs, of a stack's matrix
}

// inCodes says that an operand is one.
func (o *side) inCodes(c *coded) { o.turned, o.coded = !c.q.Transposed, c }

// begin loads the first part, which begins at an expression.
func (c *coded) begin(o side, next, to string) {
	if c.looksUp() {
		c.line("sixteen numbers;")
		c.line("numbers.take(%s);", c.extra)
	}
	c.line("uint words[%d][%d];", c.each(o), c.q.Bits)
	c.line("float scales[%d][4], others[%[1]d][4];", c.each(o))
	c.load(o, next, to)
}

// looksUp says whether a thread keeps the table in registers (prelude/mma.h).
func (c *coded) looksUp() bool { return c.t.by == byFragments && c.q.Form == ir.Table && c.q.Bits == 4 }

// pieces is how many pieces a part has, and each how many of them a thread has.
func (c *coded) pieces(o side) int { return o.depth * c.t.columns() / 32 }
func (c *coded) each(o side) int   { return (c.pieces(o) + c.t.threads() - 1) / c.t.threads() }

// along is how many inputs a part has.
func (c *coded) along(o side) int {
	if c.q.Transposed {
		return c.t.columns()
	}
	return o.depth
}

// loop goes over the thread's pieces: q is a piece's number, and it begins at input `inner` and output
// `outer` of the part. Threads that are left over take the last one.
func (c *coded) loop(o side, body func()) {
	c.line("UNROLL for (int q = 0; q < %d; q++) {", c.each(o))
	c.line("const int e = min(me + q * %d, %d), inner = e %% %d * 8, outer = e / %[3]d * 4;", c.t.threads(), c.pieces(o)-1, c.along(o)/8)
	body()
	c.line("}")
}

// load loads the codes of a part into registers. Beyond an edge it loads the last ones.
func (c *coded) load(o side, next, to string) {
	input, output, all := next, "column", c.all
	if c.q.Transposed {
		input, output, all = output, input, to
	}
	c.loop(o, func() {
		c.line("const %[1]s k = min(%[2]s + inner, a.%[3]s_lines * %[4]d - 8), n = min(%[5]s + outer, (%[6]s - 1) / 4 * 4);", c.index, input, c.name, c.q.PerLine(), output, all)
		c.line("load_piece<%d, %d, %d>(a.%[4]s_codes, a.%[4]s_scales, %s, a.%[4]s_lines, a.%[4]s_groups, %[6]s, k, n, words[q], scales[q], others[q]);",
			c.q.Bits, c.q.Form, c.q.Group, c.name, c.extra, c.first)
		beyond := "inner"
		if c.q.Transposed {
			beyond = "outer + j"
		}
		c.line("UNROLL for (int j = 0; j < 4; j++) {")
		c.line("if (%s + %s >= %s) scales[q][j] = 0.0f%s;", next, beyond, to, map[bool]string{true: ", others[q][j] = 0.0f"}[c.q.Form == ir.Minimums])
		c.line("}")
	})
}

// fetch stores the part from `next` of the inner axis on, which is in registers, and loads the one after.
// Beyond the inner axis it stores 0; beyond the columns no sum is read.
func (c *coded) fetch(o side, to string) {
	c.loop(o, func() {
		if c.pieces(o)%c.t.threads() != 0 {
			c.line("if (me + q * %d >= %d) break;", c.t.threads(), c.pieces(o))
		}
		c.line("UNROLL for (int j = 0; j < 4; j++) {")
		c.line("float w[8];")
		if c.looksUp() {
			c.line("numbers.line(%s, words[q][j], scales[q][j], w);", c.extra)
		} else {
			c.line("piece_line<%d, %d>(%s, words[q], j, scales[q][j], others[q][j], w);", c.q.Bits, c.q.Form, c.extra)
		}
		if c.q.K%8 != 0 && !c.q.Transposed {
			c.line("UNROLL for (int d = 0; d < 8; d++) w[d] = next + inner + d < %s ? w[d] : 0.0f;", to)
		}
		c.line("UNROLL for (int d = 0; d < 8; d += %d) store_cells(right_tile + (%s), w + d);", 16/o.size, c.t.place(o, c.along(o), "outer + j", "inner + d"))
		c.line("}")
	})
	c.load(o, fmt.Sprintf("next + %d", o.depth), to)
}
