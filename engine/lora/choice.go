package lora

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// choiceKey is where a context has its choice.
var choiceKey = &scope.Key{Name: "adapters"}

// A choice says which adapters take part within a context. It is never changed.
type choice struct {
	on   []*Adapter
	rows []*Adapter // of each row of a batch, nil for none; nil: on serves all rows

	mu    sync.Mutex
	masks map[*Adapter]tensor.Tensor // of the tokens that were computed last
}

// With returns a context within which these adapters take part and no others, whatever is on:
//
//	m.Generate(lora.With(ctx, french), prompt, llm.Sampling{})
//	tensor.Within(lora.With(ctx), func() { reference = m.Logits(ids).Detach() })
//
// Without adapters the model is the one that it was before them, also where they are merged: that is what
// preference losses compare with. Nothing of the model changes, so other goroutines may use it meanwhile. How
// strong an adapter is, is what [Adapter.Weigh] says.
func With(ctx context.Context, adapters ...*Adapter) context.Context {
	return context.WithValue(ctx, choiceKey, &choice{on: slices.Clone(adapters)})
}

// Rows returns a context within which each row of a batch has an adapter of its own, or nil for the model as
// it was before them:
//
//	tensor.Within(lora.Rows(ctx, french, nil, dutch), func() { y = m.Logits(ids) }) // ids [3 T]
//
// A batch of several adapters costs the launches of one, and the products of all adapters that are in it for
// every row. Their ranks and layers may differ. A batch of another length is a *tensor.Error.
func Rows(ctx context.Context, adapters ...*Adapter) context.Context {
	c := &choice{rows: append([]*Adapter{}, adapters...), masks: map[*Adapter]tensor.Tensor{}}
	for _, a := range adapters {
		if a != nil && !slices.Contains(c.on, a) {
			c.on = append(c.on, a)
		}
	}
	return context.WithValue(ctx, choiceKey, c)
}

// choiceNow is the choice of the calling goroutine's context, or nil.
func choiceNow() *choice {
	c, _ := scope.Context().Value(choiceKey).(*choice)
	return c
}

// mask is 1 in the rows of x [B … in] that have the adapter, else 0: [B … 1] in x's dtype; or none if all
// have it. It has a number for each token, because a product takes the tokens of all rows as one axis.
func (c *choice) mask(a *Adapter, x tensor.Tensor) tensor.Tensor {
	if c == nil {
		return tensor.Tensor{}
	}
	if x.Rank() < 2 || x.Len(0) != len(c.rows) {
		panic(&tensor.Error{Op: "lora.Rows", Msg: fmt.Sprintf("got %v%v for the adapters of %d rows, want as many rows", x.DType(), x.Shape(), len(c.rows))})
	}
	if !slices.ContainsFunc(c.rows, func(b *Adapter) bool { return b != a }) {
		return tensor.Tensor{}
	}
	shape := x.Shape()
	shape[len(shape)-1] = 1
	c.mu.Lock()
	defer c.mu.Unlock()
	mask, ok := c.masks[a]
	if !ok || mask.Device() != x.Device() || !slices.Equal(mask.Shape(), shape) {
		each := 1 // tokens of a row
		for _, n := range shape[1:] {
			each *= n
		}
		list := make([]float32, each*len(c.rows))
		for i := range list {
			if c.rows[i/each] == a {
				list[i] = 1
			}
		}
		mask = tensor.From(list, shape...).To(x.Device())
		c.masks[a] = mask
	}
	return mask.Cast(x.DType())
}
