package tensor_test

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/profile"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// What it costs to make a node: without a scope, within one that does not ask where it comes from, and within
// one that does.
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
	asks := profile.WithPlaces(ctx, func(string) string { return "In[1]:2" })
	b.Run("asked", func(b *testing.B) { tensor.Within(asks, func() { run(b) }) })
}
