package events

import (
	"context"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// BenchmarkRan is what a launch costs: with nobody listening, with a record, and with one deep in contexts,
// as those of a session are. One that takes 5 µs may cost 50 ns more.
func BenchmarkRan(b *testing.B) {
	w := &Work{Launches: []Launch{{Kernel: "matmul", Bytes: 1, Flops: 1}}}
	nodes := []*ir.Node{{}, {}, {}}
	loop := func(b *testing.B, ctx context.Context) {
		for b.Loop() {
			rs := Of(ctx)
			rs.Timed()
			rs.Ran(w, nil, true)
			rs.Computed(nodes)
		}
	}
	b.Run("off", func(b *testing.B) { loop(b, b.Context()) })
	ctx, r := Open(b.Context(), 0)
	b.Run("record", func(b *testing.B) { loop(b, ctx) })
	type other struct{ int }
	deep := ctx
	for i := range 8 {
		deep = context.WithValue(deep, other{i}, i)
	}
	b.Run("deep", func(b *testing.B) { loop(b, deep) })
	r.Close()
	ctx, r = Open(b.Context(), Nodes)
	b.Run("nodes", func(b *testing.B) { loop(b, ctx) })
	r.Close()
}
