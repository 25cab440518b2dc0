package llm

import (
	"context"
	"reflect"
	"slices"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// An again is the step of one more token as a compiled function, for as long as steps differ in numbers
// alone: to build the graph of a step takes longer than to compute a small model.
type again struct {
	kind kind
	step func(...tensor.Tensor) []tensor.Tensor // tokens and places; gives what is wanted
}

// A kind is what steps have in common that are computed by one function.
type kind struct {
	ctx     context.Context // which may choose adapters
	changes int             // of the model
	wanted  wanted
	listed  []int // pages of a row, by pool
	caches  []tensor.Tensor
}

func (k kind) equal(o kind) bool {
	return reflect.ValueOf(k.ctx).Comparable() && k.ctx == o.ctx && k.changes == o.changes && k.wanted == o.wanted &&
		slices.Equal(k.listed, o.listed) && slices.Equal(k.caches, o.caches)
}

// replay computes the next token of a text, and the caches.
func (s *memory) replay(tokens tensor.Tensor, w wanted) tensor.Tensor {
	now := kind{s.ctx, s.m.steps.Changes(), w, nil, s.tensors()}
	for _, p := range s.pools {
		now.listed = append(now.listed, p.listed)
	}
	if s.again.step == nil || !now.equal(s.again.kind) {
		s.again = again{now, tensor.Compile(func(args ...tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{s.set(func() tensor.Tensor { return s.pass(args[0], args[1], w, 0) })}
		})}
	}
	return s.again.step(tokens, s.places)[0]
}

// set calls f, which replaces tensors of the caches, and sets those that it has found to them.
func (s *memory) set(f func() tensor.Tensor) (result tensor.Tensor) {
	before := s.tensors()
	s.keeping(func() {
		result = f()
		for i, t := range s.tensors() {
			before[i].Set(t)
		}
	})
	return result
}

// keeping calls f, after which the caches have the tensors that they had before.
func (s *memory) keeping(f func()) {
	before := make([]nn.Cache, len(s.caches))
	for i, c := range s.caches {
		before[i] = *c
		c.States = slices.Clone(c.States)
	}
	defer func() {
		for i, c := range s.caches {
			*c = before[i]
		}
	}()
	f()
}

// replays says whether such steps are computed by one function: those of a text that grows alone. A rope
// that turns as long as a text is makes each step another one.
func (s *memory) replays(rows, width int, w wanted) bool {
	return s.alone && rows == 1 && width == 1 && w != nothing &&
		!slices.ContainsFunc(s.m.Blocks, func(b *Block) bool { return b.Attn != nil && b.Attn.Rope.Varies() })
}
