package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Products of few rows, y[m n] = Σ a[m k]·b[k n] with m ≤ 8: a step of decoding.
//
// Such a product reads each weight once, for 2·m operations: memory limits it, and a tile in threadgroup
// memory would be work for nothing. So a thread takes four columns and all rows, and goes along its part of
// the inner axis with loads of four elements. A strip of columns belongs to a threadgroup of 256 threads:
//
//   - Where b lies along its rows, 64 columns: 16 threads side by side read 128 bytes of f16 or 256 of f32,
//     and 16 of these lines share the inner axis. A strip of one row and 4096 deep moves 512 KB of f16 for
//     512 K operations, one a byte: an M-series GPU could do some twenty.
//   - Where b lies down its columns, as the weight of x·Wᵀ, 32 columns: a simdgroup goes down four of them,
//     128 elements each at a time.
//   - A quantised weight is read by words of 4 or 8 codes, four words a thread: the 16 outputs of a block lie
//     side by side.
//
// The parts of a sum meet in threadgroup memory, in the order of the inner axis, which the shape alone
// decides.
//
// Products that feed one another, x·W + s·(x·A)·B, are one launch: each threadgroup computes the few columns
// of s·(x·A) for itself. With rank 16 and 64 columns, that reads a fourth more, of what the caches hold.

// A few is how a product of few rows is shared.
type few struct {
	rows    int  // a power of two that holds them
	threads int  // of a threadgroup
	down    bool // simdgroups go down columns; else lines of 16 threads go along rows
	beside  bool // a thread's four columns lie side by side; else 16 apart
	inside  bool // this is a phase: the threadgroup computes all columns, for itself
}

// The limits of a product of few rows, and the threads of a line.
const (
	mostFewRows = 8
	mostInside  = 128 // columns of a product that every threadgroup computes for itself
	fewThreads  = 256
	fewLine     = 16
)

// inThreadgroup is the buffer of a result that stays in threadgroup memory.
const inThreadgroup = -3

// newFew chooses how the threads share a product. The pair with the longest inner axis decides.
func (p *product) newFew(limits Limits) *few {
	main := p.longest()
	f := &few{rows: ceilPower(p.space.lens[1]), threads: max(simdWidth, min(fewThreads, limits.Threads)/simdWidth*simdWidth)}
	codes := p.codes(main)
	f.down = !codes && p.strideB[main] == 1
	f.beside = codes || p.fours(2*main+1, 0)
	return f
}

// codes says whether the threads read the right operand of a pair as lines of codes.
func (p *product) codes(pair int) bool {
	q := weight(p.g, p.inst.Args[2*pair+1])
	return q != nil && q.Attr.Flags&ir.Transposed == 0 && p.words(2*pair+1)
}

// fours says whether four elements of operand n can be loaded at once: along the inner axis, or along axis 0,
// the columns.
func (p *product) fours(n, axis int) bool {
	v := p.inst.Args[n]
	if i, input := v.Input(); input && isNumber(p.g.Inputs[i]) || weight(p.g, v) != nil || p.isInside(n) {
		return false
	}
	place, inner, length := &p.space.places[len(p.g.Inputs)+n], p.strideA[n/2], p.inner[n/2]
	if n%2 == 1 {
		inner = p.strideB[n/2]
	}
	rest := place.strides
	if axis == 0 {
		rest = append([]int{inner}, rest[1:]...)
		inner, length = place.strides[0], p.space.lens[0]
	}
	return inner == 1 && length%4 == 0 && place.offset%4 == 0 && !slices.ContainsFunc(rest, func(s int) bool { return s%4 != 0 })
}

// innerAxis is the axis of fours that is none of the space.
const innerAxis = -1

// isInside says whether operand n stays in threadgroup memory.
func (p *product) isInside(n int) bool { return p.inside[p.inst.Args[n]] > 0 }

// strip is how many columns a threadgroup computes at once, and parts how many threads share each inner axis.
func (f *few) strip() int {
	if f.down {
		return 4 * f.threads / simdWidth
	}
	return 4 * fewLine
}

func (f *few) parts() int { return f.threads / fewLine }

// space is how many numbers the parts need in threadgroup memory to meet.
func (f *few) space() int {
	if f.down {
		return f.rows * f.strip()
	}
	return f.parts() * f.strip()
}

// writeFew writes the product down, after all is declared. Its threadgroup memory is declared by the caller:
// space, and the arrays of results that stay inside.
func (p *product) writeFew(first int) {
	f := p.few
	if f.inside {
		p.line("for (%[1]s column = 0; column < a.n0; column += %[2]d) {", p.index, f.strip())
	} else {
		p.line("%[1]s left = %[1]s(group.x);", p.index)
		p.line("const %s column = left %% a.across * %d;", p.index, f.strip())
		p.line("left /= a.across;")
		p.batch()
	}
	typ := register(p.inst.DType)
	p.line("const int me = int(at.x);")
	if f.down {
		p.line("const int x = int(simd), y = int(lane);")
	} else {
		p.line("const int x = me %% %d, y = me / %d;", fewLine, fewLine)
	}
	p.line("%s sum[%d];", typ, 4*f.rows)
	p.line("for (int e = 0; e < %d; e++) sum[e] = %s(0);", 4*f.rows, typ)
	for n := range p.inner {
		p.addFew(n)
	}
	if f.down {
		p.meetDown(first)
	} else {
		p.meetAcross(first)
	}
	if f.inside {
		p.line("}")
	}
}

// column is the expression of the thread's column j, within the tensor.
func (f *few) column(j string) string {
	if f.down || f.beside {
		return fmt.Sprintf("min(column + 4 * x + %s, a.n0 - 1)", j)
	}
	return fmt.Sprintf("min(column + x + %d * %s, a.n0 - 1)", fewLine, j)
}

// addFew adds pair n to the thread's sums: w holds the elements of depth places of the inner axis and the
// four columns.
func (p *product) addFew(n int) {
	f, typ, depth := p.few, register(p.inst.DType), 4
	if p.codes(n) {
		q := ir.QuantOf(&weight(p.g, p.inst.Args[2*n+1]).Attr)
		depth = q.PerLine()
	}
	step := depth * f.parts()
	if f.down {
		step = depth * simdWidth
	}
	p.line("for (%s k = y * %d; k < a.k%d; k += %d) {", p.index, depth, n, step)
	p.line("%s w[%d];", typ, 4*depth)
	p.right(n, depth)
	p.line("for (int r = 0; r < %d; r++) {", f.rows)
	p.line("const %s i1 = min(%s(r), a.n1 - 1);", p.index, p.index)
	p.line("%s l[%d];", typ, depth)
	if left := p.operand(2 * n); p.fours(2*n, innerAxis) && depth == 4 {
		p.line("load4(a.%s + (%s + k), l);", left, p.at(left, &p.space.places[len(p.g.Inputs)+2*n]))
	} else {
		p.line("for (int d = 0; d < %d; d++) {", depth)
		p.line("const %s deep = k + d;", p.index)
		p.line("l[d] = deep < a.k%d ? %s(%s) : %s(0);", n, typ, p.operandElement(2*n), typ)
		p.line("}")
	}
	p.line("for (int d = 0; d < %d; d++) {", depth)
	p.line("for (int j = 0; j < 4; j++) sum[4 * r + j] = op_fma(l[d], w[4 * d + j], sum[4 * r + j]);")
	p.line("}")
	p.line("}")
	p.line("}")
}

// right loads w, from the right operand of pair n: 0 beyond the inner axis.
func (p *product) right(n, depth int) {
	name, place, typ := p.operand(2*n+1), &p.space.places[len(p.g.Inputs)+2*n+1], register(p.inst.DType)
	switch {
	case p.codes(n):
		bits := 32 / depth
		if p.few.beside {
			p.line("dequantized_line<%[1]d>(a.%[2]s_codes, a.%[2]s_scales, %[3]s, int(a.%[2]s_group), a.%[2]s_lines, a.%[2]s_groups, a.k%[4]d, k, min(column + 4 * x, (a.n0 - 1) / 4 * 4), w);", bits, name, p.zeros(2*n+1), n)
			return
		}
	case p.few.beside && p.fours(2*n+1, 0):
		p.line("for (int d = 0; d < %d; d++) {", depth)
		p.line("const %s deep = k + d, i0 = min(column + 4 * x, a.n0 - 4);", p.index)
		p.line("%s v[4] = {};", typ)
		p.line("if (deep < a.k%d) load4(a.%s + (%s + deep * a.%s_k), v);", n, name, p.at(name, place), name)
		p.line("for (int j = 0; j < 4; j++) w[4 * d + j] = v[j];")
		p.line("}")
		return
	case p.few.down && p.fours(2*n+1, innerAxis):
		p.line("for (int j = 0; j < 4; j++) {")
		p.line("const %s i0 = %s;", p.index, p.few.column("j"))
		p.line("%s v[4];", typ)
		p.line("load4(a.%s + (%s + k), v);", name, p.at(name, place))
		p.line("for (int d = 0; d < 4; d++) w[4 * d + j] = v[d];")
		p.line("}")
		return
	}
	p.line("for (int e = 0; e < %d; e++) {", 4*depth)
	p.line("const %s deep = k + e / 4, i0 = %s;", p.index, p.few.column("(e % 4)"))
	p.line("w[e] = deep < a.k%d ? %s(%s) : %s(0);", n, typ, p.operandElement(2*n+1), typ)
	p.line("}")
}

// meetDown adds up what the threads of a simdgroup have, and ends all elements of the strip.
func (p *product) meetDown(first int) {
	f := p.few
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	p.line("for (int e = 0; e < %d; e++) {", 4*f.rows)
	p.line("for (ushort mask = 16; mask > 0; mask /= 2) sum[e] = op_add(sum[e], from_lane(sum[e], mask));")
	p.line("if (y == e) space[e / 4 * %d + 4 * x + e %% 4] = sum[e];", f.strip())
	p.line("}")
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	p.line("for (int e = me; e < %d; e += %d) {", f.space(), f.threads)
	p.line("const %s i0 = column + e %% %d, i1 = e / %d;", p.index, f.strip(), f.strip())
	p.finishElement("space[e]", first)
	p.line("}")
}

// meetAcross adds up the parts of the inner axis, row after row, and ends the elements of the row.
func (p *product) meetAcross(first int) {
	f := p.few
	at := "4 * x + j"
	if !f.beside {
		at = fmt.Sprintf("x + %d * j", fewLine)
	}
	p.line("for (int r = 0; r < %d; r++) {", f.rows)
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	p.line("for (int j = 0; j < 4; j++) space[y * %d + %s] = sum[4 * r + j];", f.strip(), at)
	p.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
	p.line("for (int e = me; e < %d; e += %d) {", f.strip(), f.threads)
	p.line("%s all = space[e];", register(p.inst.DType))
	p.line("for (int part = 1; part < %d; part++) all = op_add(all, space[part * %d + e]);", f.parts(), f.strip())
	p.line("const %[1]s i0 = column + e, i1 = %[1]s(r);", p.index)
	p.finishElement("all", first)
	p.line("}")
	p.line("}")
}

// fused writes the products of a group as one dispatch, if they have few rows and each but the last one feeds
// later ones with few columns. Else it returns nil.
func fused(g *backend.Group, limits Limits) *Kernel {
	var products []int
	for i, in := range g.Insts {
		if in.Op != ir.MatMul {
			continue
		}
		if ir.Size(in.Shape) == 0 || !in.DType.Float() {
			return nil
		}
		products = append(products, i)
	}
	if len(products) < 2 {
		return nil
	}
	last := products[len(products)-1]
	scratch, inside := &Kernel{}, map[backend.Ref]int{} // how long a row of what stays inside is
	var phases []*product
	for _, i := range products {
		if i != last && !feeds(g, i) {
			return nil
		}
		p := newProduct(g, i, nil, inside, scratch, limits)
		if p.few == nil || len(p.space.lens) > 2 || i != last && p.space.lens[0] > mostInside {
			return nil
		}
		p.few.inside = i != last
		phases = append(phases, p)
	}
	return &Kernel{Dispatches: []Dispatch{joined(phases)}}
}

// feeds says whether a later product takes what product i computes, and takes it as its left operand.
func feeds(g *backend.Group, i int) bool {
	found := false
	for _, later := range g.Insts[i+1:] {
		if later.Op != ir.MatMul {
			continue
		}
		for n, a := range later.Args {
			if rootedIn(g, a, i) {
				found = true
				if n%2 == 1 {
					return false
				}
			}
		}
	}
	return found
}

// joined makes one dispatch of phases: each has a struct of its own within the struct of the arguments.
func joined(phases []*product) Dispatch {
	last := phases[len(phases)-1]
	t := newText(last.g, false)
	space, groups := 0, 0
	for _, p := range phases {
		space = max(space, p.few.space())
	}
	t.line("threadgroup float space[%d];", space)
	for n, p := range phases {
		for _, r := range p.results {
			if r.buf == inThreadgroup {
				t.line("threadgroup float inside%d[%d];", r.value.Index, p.few.rows*p.inside[r.value])
			}
		}
		first := p.declare()
		groups = p.groups()
		p.indent++
		p.writeFew(first)
		t.line("{")
		t.line("constant NAME_args::phase%[1]d& a = args->of%[1]d;", n)
		t.body.WriteString(p.body.String())
		if p.few.inside {
			t.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
		}
		t.line("}")
		fmt.Fprintf(&t.members, "\tstruct phase%d {\n%s\t};\n\tphase%d of%d;\n", n, p.members.String(), n, n)
		t.args.Size = (t.args.Size + 7) / 8 * 8
		for _, f := range p.args.Fields {
			f.Offset += t.args.Size
			t.args.Fields = append(t.args.Fields, f)
		}
		t.args.Size += (p.args.Size + 7) / 8 * 8
	}
	threads := [3]int{last.few.threads, 1, 1}
	function, source := t.finish("matmul", describe(last.g), parameters, threads)
	return Dispatch{Function: function, Text: source, Args: t.args, Groups: [3]int{groups, 1, 1}, Threads: threads}
}
