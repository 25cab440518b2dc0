package cpu

import (
	"fmt"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/checked"
)

// RunsGo says that Go reads and writes the memory.
func (*Backend) RunsGo() {}

// compileUser makes a kernel of Go code, or of one that a person wrote in Metal's language, which runs in the
// checked path.
func (b *Backend) compileUser(g *backend.Group) (backend.Kernel, error) {
	if own := g.Insts[0].Attr.Kernel; own.Go != nil {
		code := backend.GoCode(g)
		return newKernel(g.Name, time.Second, func(ls *listing) (func(*launch), error) {
			ls.loops(own.Go)
			return func(l *launch) {
				if err := code(l.ctx, l.pool.Threads(), l.bufs); err != nil && l.ctx.Err() == nil {
					l.fail("%w", err)
				}
			}, nil
		})
	}
	text, err := checked.Compile(g)
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	run := func(l *launch) {
		if err := b.checked.Run(l.ctx, text, l.bufs); err != nil && l.ctx.Err() == nil {
			l.fail("%w", err)
		}
	}
	return newKernel(g.Name, time.Second, func(ls *listing) (func(*launch), error) {
		ls.text(text.Source())
		return run, nil
	})
}
