package kernel

import (
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Decoders of one text multiply a row by weight after weight, and between two products there is little to do:
// as launches of their own, a norm or a gate take as long as a product of a million weights. So products of
// few rows do both.
//
// A norm before products, x/√(mean(x²) + eps)·weight: each threadgroup multiplies x·weight by its columns,
// adds the squares of x up beside, and scales the sums. So nothing waits for the scale, and a norm's result
// of 16 bits is not rounded between.
//
// A gate, silu(x·G)·(x·U): a threadgroup computes its strip of x·G and keeps it in threadgroup memory, then
// the same strip of x·U, after which the work on both is an epilogue as any other.

// readNorm takes the operand of a norm in place of its result.
func (p *product) readNorm(g *backend.Group) {
	p.normed = make([]bool, len(p.inst.Args)/2)
	for n := range p.normed {
		a := p.inst.Args[2*n]
		if _, input := a.Input(); input || g.Insts[a.Index].Op != ir.RMSNorm {
			continue
		}
		if p.norm == nil {
			own := *p.inst
			own.Args = slices.Clone(own.Args)
			p.inst, p.norm = &own, &g.Insts[a.Index]
		}
		p.inst.Args[2*n], p.normed[n] = p.norm.Args[0], true
	}
}

// declareNorm declares the norm's weight, and eps.
func (p *product) declareNorm() {
	if p.norm == nil {
		return
	}
	p.constant("norm_k", p.input("norm", p.norm.Args[1]).Layout.Stride[0])
	p.float("eps", p.norm.Attr.Float)
}

// normWeights loads the norm's weights of the thread's places.
func (p *product) normWeights(n, depth int) {
	if !p.normed[n] {
		return
	}
	p.line("float weights[%d];", depth)
	if l := inputLayout(p.g, p.norm.Args[1]); l.Stride[0] == 1 && l.Offset%4 == 0 && p.fours(2*n, innerAxis) {
		p.line("UNROLL for (int q = 0; q < %d; q += 4) {", depth)
		p.line("float v[4];")
		p.line("load4(a.norm + min(%s, a.k%d - 4), v);", p.deep(n, "q"), n)
		p.line("UNROLL for (int d = 0; d < 4; d++) weights[q + d] = v[d];")
		p.line("}")
		return
	}
	p.line("UNROLL for (int d = 0; d < %d; d++) weights[d] = float(loaded(a.norm[min(%s, a.k%d - 1) * a.norm_k]));", depth, p.deep(n, "d"), n)
}

// scaled multiplies elements of the left operand of pair n by the norm's weights: lefts, depth of each of
// batch rows from first on. The first such pair adds their squares up.
func (p *product) scaled(n, depth, batch int) {
	if !p.normed[n] {
		return
	}
	p.line("UNROLL for (int e = 0; e < %d; e++) {", batch*depth)
	if n == slices.Index(p.normed, true) {
		p.line("squares[first + e / %d] = fma(lefts[e], lefts[e], squares[first + e / %[1]d]);", depth)
	}
	p.line("lefts[e] *= weights[e %% %d];", depth)
	p.line("}")
}

// lastRoot is the last product that a value is computed from, or -1.
func lastRoot(g *backend.Group, v backend.Ref) int {
	last := -1
	for i, in := range g.Insts {
		if in.Op == ir.MatMul && rootedIn(g, v, i) {
			last = i
		}
	}
	return last
}

// ends lists the values that a group is for: its outputs, and the operands of its products.
func ends(g *backend.Group) (list []backend.Ref) {
	for _, o := range g.Outputs {
		list = append(list, o.Value)
	}
	for _, in := range g.Insts {
		if in.Op == ir.MatMul {
			list = append(list, in.Args...)
		}
	}
	return list
}

// gatedBy lists the earlier products that the epilogue of product i reads beside its own.
func gatedBy(g *backend.Group, i int) (list []int) {
	for _, v := range ends(g) {
		if lastRoot(g, v) != i {
			continue
		}
		for n, in := range g.Insts[:i] {
			if in.Op == ir.MatMul && rootedIn(g, v, n) && !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list
}

// gates says whether the epilogues of later products read product i, and whether only that of the last one
// does.
func gates(g *backend.Group, i, last int) (found, atLast bool) {
	atLast = true
	for n := i + 1; n < len(g.Insts); n++ {
		if g.Insts[n].Op == ir.MatMul && slices.Contains(gatedBy(g, n), i) {
			found, atLast = true, atLast && n == last
		}
	}
	return found, found && atLast
}

// keepGate keeps what the product adds up for the epilogues of later ones: in threadgroup memory, or in the
// workspace.
func (p *product) keepGate(g *backend.Group, k *Kernel) {
	if found, _ := gates(g, p.number, -1); !found {
		return
	}
	r := result{value: backend.Ref{Index: p.number}, dtype: dtype.F32, buf: inThreadgroup}
	if p.inside == nil {
		r.buf, r.at, r.lies = workspace, k.Scratch, ir.Contiguous(p.inst.Shape)
		k.Scratch += (4*ir.Size(p.inst.Shape) + 63) &^ 63
	}
	p.results, p.gate = append(p.results, r), true
}

// declareGates declares what earlier products have left in the workspace.
func (p *product) declareGates() {
	for _, n := range gatedBy(p.g, p.number) {
		if r, ok := p.stored[n]; ok && r.buf == workspace {
			p.member("device const float*", "gate_"+p.valueName(n), Field{Kind: Scratch, Size: 8, At: r.at})
		}
	}
}

// loadGates loads what earlier products have added up here.
func (p *product) loadGates() {
	for _, n := range gatedBy(p.g, p.number) {
		if p.inside != nil {
			p.line("const float %s = inside%d[%s * %d + (i0 - column)];", p.valueName(n), n, p.few.own(), p.few.strip())
		} else {
			p.line("const float %[1]s = a.gate_%[1]s[i1 * a.n0 + i0];", p.valueName(n))
		}
	}
}

// alikeStrips lets products that gate the last one share their work as that does.
func alikeStrips(phases []*product) {
	last := phases[len(phases)-1]
	for _, p := range phases {
		if p.gate && (p.few.strip() != last.few.strip() || p.few.threads != last.few.threads) {
			plain := few{rows: last.few.rows, blocks: last.few.blocks, threads: last.few.threads, line: mostLine, share: 1}
			for _, other := range phases {
				if other.gate || other == last {
					own := plain
					own.normed, own.sets = other.few.normed, other.few.sets
					other.few = &own
				}
			}
			return
		}
	}
}
