package llm

import (
	"context"
	"reflect"
	"slices"

	"github.com/mcs-notebook/mcs/engine/internal/rows"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// An again is the step of one more token as a compiled function, for as long as steps differ in numbers
// alone: to build the graph of a step takes longer than to compute a small model.
type again struct {
	kind   kind
	asked  int                                    // steps of this kind, one after the other
	caches []tensor.Tensor                        // that step sets
	step   func(...tensor.Tensor) []tensor.Tensor // tokens, places, temperatures if any; gives what is wanted
}

// stepsBefore is how many steps of a batch are of one kind before there is a function for them, which costs a
// plan: texts come and go, and steps for fewer of them have plans beforehand, but no functions.
const stepsBefore = 16

// A kind is what steps have in common that are computed by one function.
type kind struct {
	ctx     context.Context // which may choose adapters
	changes int             // of the model
	rows    []int           // the numbers of the texts, see rows.Within
	wanted  wanted
	listed  []int // pages of a row, by pool
}

func (k kind) equal(o kind) bool {
	return same(k.ctx, o.ctx) && k.changes == o.changes && k.wanted == o.wanted &&
		slices.Equal(k.rows, o.rows) && slices.Equal(k.listed, o.listed)
}

// same says whether two contexts are known to be one.
func same(a, b context.Context) bool { return a != nil && reflect.ValueOf(a).Comparable() && a == b }

// replay computes the next token of each text, and the caches, if there is a function for such a step.
func (s *memory) replay(tokens tensor.Tensor, w wanted) (results []tensor.Tensor, ok bool) {
	now := kind{s.ctx, s.m.steps.Changes(), rows.Of(), w, nil}
	for _, p := range s.pools {
		now.listed = append(now.listed, p.listed)
	}
	caches := s.tensors()
	if !now.equal(s.again.kind) || s.again.step != nil && !slices.Equal(caches, s.again.caches) { // or a prompt was read
		s.again = again{kind: now}
	}
	if s.again.asked++; !s.alone && s.again.asked <= stepsBefore {
		return nil, false
	}
	args := []tensor.Tensor{tokens, s.places}
	if w == drawn {
		args = append(args, s.temperatures)
	}
	if s.again.step == nil {
		s.again.caches, s.again.step = caches, tensor.Compile(func(args ...tensor.Tensor) []tensor.Tensor {
			return s.set(func() []tensor.Tensor { return s.pass(args[0], args[1], args[len(args)-1], w, 0) })
		})
	}
	return s.again.step(args...), true
}

// set calls f, which replaces tensors of the caches, and sets those that it has found to them.
func (s *memory) set(f func() []tensor.Tensor) (results []tensor.Tensor) {
	before := s.tensors()
	s.keeping(func() {
		results = f()
		for i, t := range s.tensors() {
			before[i].Set(t)
		}
	})
	return results
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

// replays says whether such steps are computed by one function, where they are many. A rope that turns as
// long as a text is makes each step another one, and so do the guesses of a draft.
func (s *memory) replays(width int, w wanted) bool {
	return !s.guesses && width == 1 && w != nothing &&
		!slices.ContainsFunc(s.m.Blocks, func(b *Block) bool { return b.Attn != nil && b.Attn.Rope.Varies() })
}
