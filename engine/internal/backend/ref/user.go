package ref

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/checked"
)

// A userKernel is a group of a kernel that a person wrote. Its meaning is its text.
type userKernel struct {
	kernel
	text *checked.Kernel
}

func (k *userKernel) Source() string { return k.text.Source() }

func newUserKernel(g *backend.Group) (backend.Kernel, error) {
	text, err := checked.Compile(g)
	if err != nil {
		return nil, fmt.Errorf("ref: %w", err)
	}
	return &userKernel{kernel{g}, text}, nil
}

// launch runs a launch: by interpreting the group, or by running the text of a person.
func (b *Backend) launch(ctx context.Context, l *backend.Launch, t *backend.Table) error {
	k, ok := l.Kernel.(*userKernel)
	if !ok {
		return run(ctx, l, t)
	}
	bufs := make([][]byte, len(l.Bufs))
	for i, p := range l.Bufs {
		bufs[i] = t.Bufs[p.Index].(*buffer).bytes[p.Offset:]
	}
	if err := b.checked.Run(ctx, k.text, bufs); err != nil {
		if ctx.Err() != nil || errors.Is(err, backend.ErrInterrupted) {
			return err
		}
		return fmt.Errorf("ref: %w", err)
	}
	return nil
}
