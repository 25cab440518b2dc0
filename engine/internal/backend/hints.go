package backend

import (
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
)

// Hints tell the planner and the allocator what is fast on a device. The zero value of a field is right for a
// processor; a field that is negative means none, or never.
type Hints struct {
	// SmallFlops is the number of operations up to which products that share no operand share a launch,
	// because one of them does not fill the device: 2²⁵ if 0.
	SmallFlops int64
	// Few says whether a product of so many rows, which reads columns of so many elements, is one of few
	// rows: such products share a launch with those that they need. Codes are U8. Up to 8 rows if it is nil.
	Few func(rows, inner, columns int, left, right dtype.Type) bool
	// Absorbing lets products of few rows compute the norm of their left operand by themselves, and lets
	// those whose results are combined element by element, silu(gate)·up, share a launch with that work.
	// Otherwise the work is the epilogue of the second, which reads the first result from memory.
	Absorbing bool
	// Alike lets ropes of the same positions, and overwrites at the same places, share a launch.
	Alike bool
	// Stored is the number of places up to which an overwrite shares the launch of a rope whose result it
	// stores: none if 0.
	Stored int
	// Together is how many levels of products, each of which needs those before, may go by until small ones
	// that no other product needs are computed, in one launch: the operands of all of them are kept until
	// then. At once if 0.
	Together int
	// Cheap is the number of operations up to which an elementwise value is computed again by each launch
	// that reads it, rather than written and read: 4 if 0.
	Cheap int
	// AtOnce is how many bytes a launch that cannot be stopped half-way may move: some 100 ms of work. An
	// optimizer that moves more keeps the old values until it is done. 3 GiB if 0.
	AtOnce int64
	// Logits is how many bytes of logits a linear layer with a cross entropy makes at once, unless these are
	// few rows: 32 MiB if 0.
	Logits int64
	// Permuted says of an op whether its results may be stored with their axes in another order: see
	// Output.Stride. No op's if it is nil.
	Permuted func(op ir.Op) bool
	// Room says that frozen weights keep room for adapters, and what is multiplied with them for what comes
	// out of an adapter's first product: see ir.Room and Input.Room.
	Room bool
	// Later says that a run may return before its work is done, so that a caller gains time by asking for the
	// next one before it reads what this one computes.
	Later bool
	// Apart says that the device has memory of its own, which is no part of the machine's.
	Apart bool
	// Compilers is how many groups of a plan are compiled in parallel: 1 if 0.
	Compilers int

	// Memory that comes back is kept for reuse. Kept is how many bytes at most: a quarter of the device's if
	// 0, or 1 GiB if that is unknown.
	Kept int64
	// Idle is the time without use after which no memory is kept: 10 s if 0.
	Idle time.Duration
	// CollectAfter is the number of bytes that are handed out between two requests for a collection of Go's
	// memory, which frees buffers: 64 MiB if 0. CollectEarly is that number while collections take little of
	// the time: 4 MiB if 0.
	CollectAfter, CollectEarly int64
}

// filled is h with its defaults. Negative fields are 0 there.
func (h Hints) filled(memory int64) Hints {
	kept := int64(1 << 30)
	if memory > 0 {
		kept = memory / 4
	}
	fill(&h.SmallFlops, 1<<25)
	if h.Few == nil {
		h.Few = func(rows, _, _ int, _, _ dtype.Type) bool { return rows <= 8 }
	}
	fill(&h.Cheap, 4)
	fill(&h.AtOnce, 3<<30)
	fill(&h.Logits, 32<<20)
	fill(&h.Compilers, 1)
	fill(&h.Kept, kept)
	fill(&h.Idle, 10*time.Second)
	fill(&h.CollectAfter, 64<<20)
	fill(&h.CollectEarly, 4<<20)
	return h
}

func fill[T ~int | ~int64](field *T, usual T) {
	switch {
	case *field == 0:
		*field = usual
	case *field < 0:
		*field = 0
	}
}
