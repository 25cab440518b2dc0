package lora

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/rows"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// choiceKey is where a context has its choice.
var choiceKey = &scope.Key{Name: "adapters"}

// A choice says which adapters take part within a context. It is never changed.
type choice struct {
	on   []*Adapter
	rows []*Adapter // of each row of a batch, nil for none; nil: on serves all rows
	// alike says that all rows have the same.
	alike bool

	mu    sync.Mutex
	masks []mask // of the texts that were computed last
	texts []int  // which these were: see package rows
}

// A mask says which tokens have which adapters.
type mask struct {
	columns []column
	values  tensor.Tensor // [tokens, the columns' widths]
}

// A column is a part of a mask: 1 where a token has the adapter, else 0.
type column struct {
	adapter *Adapter
	width   int
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
// Where a batch of texts is generated, a row is a prompt:
//
//	texts := m.GenerateBatch(lora.Rows(ctx, french, nil, dutch), prompts, llm.Sampling{})
//
// A batch of several adapters costs the launches of one, and the products of all adapters that are in it for
// every row. Their ranks and layers may differ. An adapter with numbers that are not finite spoils its own
// rows and no others. A batch of another length is a *tensor.Error.
func Rows(ctx context.Context, adapters ...*Adapter) context.Context {
	c := &choice{rows: append([]*Adapter{}, adapters...)}
	for _, a := range adapters {
		if a != nil && !slices.Contains(c.on, a) {
			c.on = append(c.on, a)
		}
	}
	c.alike = len(c.on) == 0 || len(c.on) == 1 && !slices.Contains(adapters, nil)
	return context.WithValue(ctx, choiceKey, c)
}

// check panics if x [B …] is no batch of the rows that the choice names.
func (c *choice) check(x tensor.Tensor) {
	if c == nil || c.rows == nil {
		return
	}
	texts := rows.Of()
	if most := slices.Max(append(texts, 0)); texts != nil && most >= len(c.rows) {
		panic(&tensor.Error{Op: "lora.Rows", Msg: fmt.Sprintf("got text %d of a batch, counted from 0, for the adapters of %d rows", most, len(c.rows))})
	}
	if x.Rank() < 2 || x.Len(0) != len(c.rows) && texts == nil {
		panic(&tensor.Error{Op: "lora.Rows", Msg: fmt.Sprintf("got %v%v for the adapters of %d rows, want as many rows", x.DType(), x.Shape(), len(c.rows))})
	}
}

// mask says which elements of x·A of adapters that stand side by side count, bools [tokens, the columns'
// widths], for y [B … n]. The others are chosen away, not multiplied by 0: they may be infinite or NaN.
func (c *choice) mask(y tensor.Tensor, columns ...column) tensor.Tensor {
	tokens := ir.Size(y.Shape()[:y.Rank()-1])
	texts := rows.Of()
	if texts == nil {
		texts = ir.Indices(len(c.rows))
	}
	values := func() tensor.Tensor {
		var list []bool
		for i := range tokens {
			for _, col := range columns {
				has := c.rows[texts[i*len(texts)/tokens]] == col.adapter
				list = append(list, slices.Repeat([]bool{has}, col.width)...)
			}
		}
		return tensor.From(list, tokens, len(list)/max(1, tokens)).To(y.Device())
	}
	if access.Tracing() { // what a compiled function makes is its own
		return values()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(texts, c.texts) {
		c.masks, c.texts = nil, texts
	}
	c.masks = slices.DeleteFunc(c.masks, func(m mask) bool { return m.values.Len(0) != tokens || m.values.Device() != y.Device() })
	i := slices.IndexFunc(c.masks, func(m mask) bool { return slices.Equal(m.columns, columns) })
	if i < 0 {
		i = len(c.masks)
		c.masks = append(c.masks, mask{columns, values()})
	}
	return c.masks[i].values
}
