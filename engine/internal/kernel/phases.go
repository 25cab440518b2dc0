package kernel

import (
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Products of few rows that feed or gate one another are one dispatch of phases.
//
// A product that feeds another one comes before it. Those that gate the last one, and it, are computed
// abreast: each has simdgroups of its own, so that the loads of all are under way together.

// fused writes the products of a group as one dispatch, if they have few rows and each but the last one
// feeds later ones with few columns. Else it returns nil.
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
	last, own := products[len(products)-1], limits
	if !slices.ContainsFunc(products[:len(products)-1], func(i int) bool { _, atLast := gates(g, i, last); return !atLast }) { // see abreast
		own.Threads = min(fewThreads, limits.Threads) / len(products)
		own.Processors *= len(products)
	}
	scratch, inside := &Kernel{}, map[backend.Ref]int{} // how long a row of what stays inside is
	var phases []*product
	for _, i := range products {
		gate, atLast := gates(g, i, last)
		if gate && !atLast || i != last && !gate && !feeds(g, i) {
			return nil
		}
		p := newProduct(g, i, nil, inside, scratch, own)
		if p.few == nil || len(p.space.lens) > 2 || i != last && !gate && p.space.lens[0] > mostInside {
			return nil
		}
		p.few.inside = i != last && !gate
		phases = append(phases, p)
	}
	alikeStrips(phases)
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
			if lastRoot(g, a) == i {
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
	space, threads, abreast := 0, last.few.threads, abreast(phases)
	early := abreast
	for _, p := range phases {
		space = max(space, p.few.space())
		early = early && p.early()
	}
	if abreast {
		threads *= len(phases)
		t.line("threadgroup float spaces[%d];", space*len(phases))
		t.line("const uint all_simd = simd;")
	} else {
		t.line("threadgroup float space[%d];", space)
	}
	phase := func(n int, write func(p *product)) {
		p := phases[n]
		p.body.Reset()
		write(p)
		t.line("{")
		t.line("constant NAME_args::phase%[1]d& a = args->of%[1]d;", n)
		if abreast {
			t.line("threadgroup float* const space = spaces + %d;", space*n)
		}
		t.body.WriteString(p.body.String())
		t.line("}")
	}
	firsts := make([]int, len(phases))
	for n, p := range phases {
		for _, r := range p.results {
			if r.buf != inThreadgroup {
				continue
			}
			if p.gate {
				p.inside[r.value] = p.few.strip()
			}
			t.line("threadgroup float inside%d[%d];", r.value.Index, p.few.rows*p.inside[r.value])
		}
		firsts[n] = p.declare()
		p.indent++
		if p.waits = early; abreast {
			phase(n, func(p *product) { p.writeAbreast(n) })
		}
	}
	for n := range phases {
		if n > 0 || abreast {
			t.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
		}
		phase(n, func(p *product) {
			if !abreast {
				p.writeFew(firsts[n])
				return
			}
			p.line("const int me = int(at.x);")
			p.ownStrip()
			p.endFew(firsts[n], threads)
		})
	}
	for n, p := range phases {
		fmt.Fprintf(&t.members, "\tstruct phase%d {\n%s\t};\n\tphase%d of%d;\n", n, p.members.String(), n, n)
		t.args.nest(&p.args)
	}
	return t.finish("matmul", describe(last.g), parameters, along(last.groups()), along(threads))
}

// abreast says whether products that gate the last one, and it, are computed at the same time, by as many
// threads each: none of them waits for another one's sums.
func abreast(phases []*product) bool {
	last := phases[len(phases)-1].few
	for _, p := range phases {
		if p.few.inside || p.few.threads != last.threads || len(p.inner) > 1 {
			return false
		}
	}
	return true
}

// writeAbreast writes down how product n of several that share the threadgroup is added up by its own
// threads.
func (p *product) writeAbreast(n int) {
	f := p.few
	p.line("if (int(all_simd) / %d == %d) {", f.simds(), n)
	p.line("const uint simd = all_simd %% %d;", f.simds())
	p.line("const int me = int(simd) * %d + int(lane);", simdWidth)
	p.ownStrip()
	p.addAll()
	p.together()
	p.meet()
	p.line("}")
}
