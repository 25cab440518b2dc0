package gemm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
)

// List writes down how the product is computed: which micro-kernels run, on blocks of which size.
func (p *Product) List(b *strings.Builder) {
	l := &p.layout
	switch {
	case l.blas:
		b.WriteString("\n  by the system's library")
	case l.transposed != nil:
		b.WriteString("\n  transposed:")
		l.transposed.List(b)
	case l.few:
		fmt.Fprintf(b, "\n  few rows: the right operand is read once and not packed, with %v", isa.Level())
	default:
		what, shared := "columns", "rows"
		if l.byRows {
			what, shared = shared, what
		}
		fmt.Fprintf(b, "\n  tasks of %d %s for %d threads, %d %s packed at a time", l.task, what, l.threads, l.shared, shared)
		var kernels []string
		for _, s := range l.stages {
			for _, c := range s.chunks {
				if text := c.kernel.String(); !slices.Contains(kernels, text) {
					kernels = append(kernels, text)
				}
			}
		}
		for _, k := range kernels {
			b.WriteString("\n  micro-kernel " + k)
		}
	}
}
