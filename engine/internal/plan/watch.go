package plan

import (
	"context"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
)

// A watch counts the steps that planning takes, and ends it when its context is done.
type watch struct {
	ctx   context.Context
	steps int
}

// lookEvery is how many steps lie between two looks at the context, some 0.1 ms.
const lookEvery = 1 << 10

// A stopped is the panic by which a watch ends planning.
type stopped struct{ err error }

// step counts so many steps.
func (w *watch) step(n int) {
	before := w.steps
	w.steps += n
	if before/lookEvery != w.steps/lookEvery && w.ctx.Err() != nil {
		panic(stopped{backend.Interrupted(w.ctx)})
	}
}
