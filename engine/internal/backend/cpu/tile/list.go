package tile

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// List writes down the steps of a program, a line for each: the function that runs, with the registers that
// it writes and reads. Functions that take fewer have 0 for the others.
func (p *Program) List(b *strings.Builder) {
	for i := range p.code {
		s := &p.code[i]
		name := runtime.FuncForPC(reflect.ValueOf(s.fn).Pointer()).Name() // as Go's linker knows it: …/vec.expAVX512
		fmt.Fprintf(b, "\n  %s r%d ← r%d r%d r%d", name[strings.LastIndexByte(name, '/')+1:], s.d, s.a, s.b, s.c)
	}
	for _, in := range p.inputs {
		fmt.Fprintf(b, "\n  r%d: input %d", in.slot, in.buf)
	}
	for i, o := range p.given {
		fmt.Fprintf(b, "\n  r%d: result %d of what ran before", o.slot, i)
	}
	for i, o := range p.outs {
		fmt.Fprintf(b, "\n  r%d: output %d", o.slot, i)
	}
}

// Steps returns how many steps a program has.
func (p *Program) Steps() int { return len(p.code) }
