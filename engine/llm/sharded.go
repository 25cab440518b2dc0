package llm

import (
	"context"
	"fmt"

	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// LoadSharded is [Load] by the ranks of a group, which all call it. Those of a machine hold the matrices of
// the blocks together, each a part of every one, codes as well as numbers, so that a model may be larger than
// what one device has. In training a block's are copied to the device before the block computes, and once
// more before its gradients: as with Config.Checkpoint, which need not be set. The numbers are those of Load.
// The matrices cannot be trained or changed: adapters train beside them.
func LoadSharded(ctx context.Context, path string, g *ranks.Group) (*Model, error) {
	return sharded(ctx, g, func(parts backend.Parts) (*Model, error) { return load(ctx, path, false, parts) })
}

// NewSharded is [New] in the way of LoadSharded.
func NewSharded(ctx context.Context, c Config, g *ranks.Group) (*Model, error) {
	return sharded(ctx, g, func(parts backend.Parts) (m *Model, err error) {
		c = c.withDefaults()
		if err := c.check(); err != nil {
			return nil, err
		}
		err = access.Try(ctx, func() error {
			m = c.random(func(b *Block) { spread(b, parts) })
			return nil
		})
		return m, err
	})
}

// sharded makes a model of which each block's matrices are spread as soon as they are there.
func sharded(ctx context.Context, g *ranks.Group, make func(by backend.Parts) (*Model, error)) (*Model, error) {
	if g.Size() == 1 {
		return nil, fmt.Errorf("llm: sharded: got one process, want several that hold the model together: start mcs with -n 2")
	}
	var cannot error
	tensor.Within(ctx, func() { cannot = backend.Default().Spreads() })
	if cannot != nil {
		return nil, fmt.Errorf("llm: sharded: %w", cannot)
	}
	parts, err := g.Parts(ctx)
	if err != nil {
		return nil, err
	}
	defer parts.Close()
	defer context.AfterFunc(ctx, parts.Close)()
	m, err := make(parts)
	if err != nil {
		return nil, err
	}
	m.sharded = true
	_, err = g.Texts("loaded") // what the others have written can be read
	return m, err
}

// spread lets several processes hold a part's matrices together that they do not yet.
func spread(part nn.Module, by backend.Parts) {
	for _, p := range nn.Params(part) {
		if w := p.Value(); w.Rank() > 1 && !access.InParts(w) {
			access.Spread(w, by)
		}
	}
}
