package ref

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/checked"
)

// RunsGo says that Go reads and writes the memory.
func (*Backend) RunsGo() {}

// A goKernel is a group of Go code.
type goKernel struct {
	kernel
	code func(ctx context.Context, threads int, bufs [][]byte) error
}

// A userKernel is a group of a kernel that a person wrote. Its meaning is its text.
type userKernel struct {
	kernel
	text *checked.Kernel
}

func (k *userKernel) Source() string { return k.text.Source() }

func newUserKernel(g *backend.Group) (backend.Kernel, error) {
	if g.Insts[0].Attr.Kernel.Go != nil {
		return &goKernel{kernel{g}, backend.GoCode(g)}, nil
	}
	text, err := checked.Compile(g)
	if err != nil {
		return nil, fmt.Errorf("ref: %w", err)
	}
	return &userKernel{kernel{g}, text}, nil
}

// launch runs a launch: by interpreting the group, or by running the text or the Go code of a person.
func (b *Backend) launch(ctx context.Context, l *backend.Launch, t *backend.Table) error {
	var own func(ctx context.Context, bufs [][]byte) error
	switch k := l.Kernel.(type) {
	case *goKernel:
		own = func(ctx context.Context, bufs [][]byte) error { return k.code(ctx, 1, bufs) }
	case *userKernel:
		own = func(ctx context.Context, bufs [][]byte) error { return b.checked.Run(ctx, k.text, bufs) }
	default:
		return run(ctx, l, t)
	}
	bufs := make([][]byte, len(l.Bufs))
	for i, p := range l.Bufs {
		bufs[i] = t.Bufs[p.Index].(*buffer).bytes[p.Offset:]
	}
	if err := own(ctx, bufs); err != nil {
		if ctx.Err() != nil || errors.Is(err, backend.ErrInterrupted) {
			return err
		}
		return fmt.Errorf("ref: %w", err)
	}
	return nil
}
