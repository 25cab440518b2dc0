package cpu

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/tile"
)

// A listing collects what a compiled group runs, in order, to be written down when somebody asks.
type listing struct {
	parts []func(b *strings.Builder)
	quick *quick // what it runs instead where nobody asks for times, or nil
}

func (l *listing) add(part func(b *strings.Builder)) { l.parts = append(l.parts, part) }

// program adds a tile program. One that only hands its inputs on has no steps and is left out.
func (l *listing) program(what string, p *tile.Program) {
	if p == nil || p.Steps() == 0 {
		return
	}
	l.add(func(b *strings.Builder) {
		fmt.Fprintf(b, "\n%s, %d elements at a time:", what, tile.Len)
		p.List(b)
	})
}

// text adds the text of a kernel that a person wrote.
func (l *listing) text(s string) { l.add(func(b *strings.Builder) { b.WriteString("\n" + s) }) }

// loops adds loops in plain Go, by the function that makes them.
func (l *listing) loops(f any) {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	l.add(func(b *strings.Builder) { b.WriteString("\nloops of " + name[strings.LastIndexByte(name, '/')+1:]) })
}

// product adds a phase's product. Which micro-kernels it takes is decided in the first launch.
func (l *listing) product(p *phase) {
	l.add(func(b *strings.Builder) {
		fmt.Fprintf(b, "\nproduct of %d × %d", p.m, p.n)
		if p.batch > 1 {
			fmt.Fprintf(b, ", %d of them", p.batch)
		}
		for _, t := range p.terms {
			fmt.Fprintf(b, ", over %d", t.K)
		}
		switch x := p.product.(type) {
		case *floatProduct:
			if x.product != nil {
				x.product.List(b)
			}
		case *doubleProduct:
			b.WriteString(" in float64")
		default:
			b.WriteString(" in plain Go")
		}
	})
}

var _ backend.SourceKernel = (*kernel)(nil)

// Source lists the functions that run for the kernel: micro-kernels and vector functions by the names that
// the assembly has, and the registers of tile programs, each of which is a tile in the first-level cache.
// Below that is the assembly of those functions.
func (k *kernel) Source() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on cpu, %v", k.name, isa.Level())
	for _, part := range k.listing.parts {
		part(&b)
	}
	return b.String() + assemblyOf(b.String())
}
