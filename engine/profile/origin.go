package profile

import (
	"context"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// WithPlaces returns a context within which (tensor.Within) tensors remember where they were made. place is
// called with the name of each operation, "layer_norm", by the goroutine that calls it, and says where the
// program is: "In[3]:2". It must be quick, and empty where nothing is known. What was made so says in plans
// and profiles where it comes from; a gradient names the place of the operation whose gradient it is.
// Without an operation it is all places under way, the outermost first, a line each: those of an evaluation.
func WithPlaces(ctx context.Context, place func(op string) string) context.Context {
	return ir.WithPlaces(ctx, place)
}
