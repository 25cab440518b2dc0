package tensor_test

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The cost of making a node: without a scope, within a scope that does not ask for origins, and within one
// that does. The first round of "scope" is that of a process that never asked; later rounds (-count) look up
// the scope.
func BenchmarkOrigin(b *testing.B) {
	x := tensor.Ones(4).Eval()
	run := func(b *testing.B) {
		for b.Loop() {
			x.Neg()
		}
	}
	b.Run("no scope", run)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.Run("scope", func(b *testing.B) { tensor.Within(ctx, func() { run(b) }) })
	b.Run("scope, another asks", func(b *testing.B) {
		profile.WithPlaces(ctx, func(string) string { return "" })
		tensor.Within(ctx, func() { run(b) })
	})
	asks := profile.WithPlaces(ctx, func(string) string { return "In[1]:2" })
	b.Run("asked", func(b *testing.B) { tensor.Within(asks, func() { run(b) }) })
}
