package lora

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/internal/near"
)

// A Pattern gives some layers another rank or alpha than Config has.
type Pattern struct {
	Layers string  // which, as nn.Targets reads them
	Rank   int     // 0: not another one
	Alpha  float64 // 0: not another one
}

// A targeted layer is one that gets an adapter, with the numbers that are its own.
type targeted struct {
	slot
	config Config
}

// choose lists the layers of a model that get an adapter. Every name that the configuration mentions must
// mean something in this model.
func (c Config) choose(m nn.Module) ([]targeted, error) {
	if c.Full {
		return nil, nil
	}
	slots := linears(m)
	targets, err := c.targets("target", c.Targets, m, slots)
	if err != nil {
		return nil, err
	}
	exclude, err := c.targets("exclude", c.Exclude, m, slots)
	if err != nil {
		return nil, err
	}
	patterns := make([][]nn.Target, len(c.Patterns))
	for i, p := range c.Patterns {
		if patterns[i], err = c.targets("pattern", p.Layers, m, slots); err != nil {
			return nil, err
		}
	}
	inBlocks, err := c.blocks(slots)
	if err != nil {
		return nil, err
	}
	var list []targeted
	trained, err := c.trained(m)
	if err != nil {
		return nil, err
	}
	for _, s := range slots {
		if choosesAny(targets, s) && !choosesAny(exclude, s) && inBlocks(s.name) && !within(trained, s.name) {
			list = append(list, targeted{s, c.of(s, patterns)})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("targets %q choose no linear layer of the model that the rest of the configuration leaves", c.Targets)
	}
	for _, l := range list {
		if err := l.config.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		if l.grouped() {
			if err := l.config.checkGrouped(); err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
		}
		if c.LoRABias && l.embeds() {
			return nil, fmt.Errorf("%s: got LoRABias for an embedding, which has none", l.name)
		}
	}
	return list, nil
}

// of is the configuration of one layer: for rank and for alpha the first pattern counts that chooses the
// layer and has one. A pattern's rank does not change alpha, so the scale becomes another.
func (c Config) of(s slot, patterns [][]nn.Target) Config {
	rank, alpha := 0, 0.0
	for i, p := range c.Patterns {
		if !choosesAny(patterns[i], s) {
			continue
		}
		rank = cmp.Or(rank, p.Rank)
		alpha = cmp.Or(alpha, p.Alpha)
	}
	if rank != 0 {
		c.Rank = rank
	}
	if alpha != 0 {
		c.Alpha = alpha
	}
	return c
}

// choosesAny says whether one of the targets chooses a layer.
func choosesAny(targets []nn.Target, s slot) bool {
	return slices.ContainsFunc(targets, func(t nn.Target) bool {
		return t.Chooses(s.name) && !(t.String() == AllLinear && (s.embeds() || s.apart))
	})
}

// targets reads targets, each of which must choose a layer.
func (c Config) targets(what, text string, m nn.Module, slots []slot) ([]nn.Target, error) {
	list, err := nn.Targets(text)
	if err != nil {
		return nil, err
	}
	for _, t := range list {
		if !slices.ContainsFunc(slots, func(s slot) bool { return choosesAny([]nn.Target{t}, s) }) {
			return nil, fmt.Errorf("%s %q chooses no linear layer of the model%s", what, t, c.instead(t, m, slots))
		}
	}
	return list, nil
}

// instead says what may have been meant by a target that chooses no layer.
func (c Config) instead(t nn.Target, m nn.Module, slots []slot) string {
	kind := ""
	nn.Walk(m, func(path string, member nn.Member) {
		if kind != "" || !t.Chooses(path) {
			return
		}
		if kind = fmt.Sprintf(": %s is a %T", path, member.Module()); member.Weight != nil {
			kind = fmt.Sprintf(": %s is a weight, and adapters stand beside layers, such as an *nn.Linear", path)
		}
	})
	if kind != "" {
		return kind
	}
	var names []string
	for _, s := range slots {
		names = append(names, s.name)
	}
	return meant(t, names)
}

// meant says which of the names may have been meant by a target that chooses none.
func meant(t nn.Target, names []string) string {
	depth := 1 + strings.Count(t.String(), ".")
	var ends []string
	for _, name := range names {
		parts := strings.Split(name, ".")
		if end := strings.Join(parts[max(0, len(parts)-depth):], "."); !slices.Contains(ends, end) {
			ends = append(ends, end)
		}
	}
	if meant := near.Name(t.String(), ends); meant != "" {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	if depth == 1 && len(ends) > 0 {
		return "; there are " + strings.Join(ends, ", ")
	}
	return ""
}

// blocks returns whether a layer lies in a block that Blocks and LastBlocks choose.
func (c Config) blocks(slots []slot) (func(name string) bool, error) {
	if len(c.Blocks) == 0 && c.LastBlocks == 0 {
		return func(string) bool { return true }, nil
	}
	count := c.count(slots)
	for _, i := range c.Blocks {
		if i < 0 || i >= count {
			return nil, fmt.Errorf("got block %d, want one of the model's, 0 to %d", i, count-1)
		}
	}
	if c.LastBlocks < 0 || c.LastBlocks > count {
		return nil, fmt.Errorf("got the last %d blocks, want at most the model's %d", c.LastBlocks, count)
	}
	return func(name string) bool {
		i, ok := c.block(name)
		return ok && (len(c.Blocks) == 0 || slices.Contains(c.Blocks, i)) && (c.LastBlocks == 0 || i >= count-c.LastBlocks)
	}, nil
}

// count is the number of blocks that the layers are of.
func (c Config) count(slots []slot) int {
	count := 0
	for _, s := range slots {
		if i, ok := c.block(s.name); ok {
			count = max(count, i+1)
		}
	}
	return count
}

// block is the index of the block that a layer lies in: the first number in its name, behind BlockList if
// that is set.
func (c Config) block(name string) (index int, ok bool) {
	parts := strings.Split(name, ".")
	for i := 1; i < len(parts)-1; i++ {
		if c.BlockList != "" && parts[i-1] != c.BlockList {
			continue
		}
		if n, err := strconv.Atoi(parts[i]); err == nil && n >= 0 {
			return n, true
		}
	}
	return 0, false
}
