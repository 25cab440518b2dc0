package lora

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Grouped is the layers of all experts with adapters, one for each: A is [groups in rank] and B [groups
// rank out].
type Grouped struct {
	Linear // whose Base is an *nn.Grouped, or a *quant.Grouped
}

// Of maps x [… in] to [… out], each row by the matrix that an index [… ] names, and what the adapters that
// are on add to that. An adapter costs three launches more, which read the factors of these groups alone.
func (g *Grouped) Of(x, index tensor.Tensor) tensor.Tensor {
	w, _, beside := g.split(x, x.DType())
	times := func(x, w tensor.Tensor) tensor.Tensor { return tensor.GroupedMatMul(x, w, index) }
	y := times(x, w)
	for _, s := range beside {
		y = y.Add(s.masked(times(times(x, s.A).Mul(s.factor), s.B)))
	}
	return y
}

// Forward maps x [groups rows in] to [groups rows out], the rows of each group by its matrix.
func (g *Grouped) Forward(x tensor.Tensor) tensor.Tensor { return nn.EachGroup(g, x) }

// grouped says whether the layer is one of experts.
func (s slot) grouped() bool {
	switch s.Layer().(type) {
	case *nn.Grouped, *quant.Grouped, *Grouped:
		return true
	}
	return false
}

// checkGrouped says what of a configuration layers of experts do not have, as in PEFT.
func (c Config) checkGrouped() error {
	switch {
	case c.DoRA:
		return fmt.Errorf("got DoRA for experts, which do not have it")
	case c.LoRABias:
		return fmt.Errorf("got LoRABias for experts, which do not have it")
	case c.Dropout != 0:
		return fmt.Errorf("got dropout %g for experts, which do not have it", c.Dropout)
	case c.Init != Uniform && c.Init != Gaussian && c.Init != Random:
		return fmt.Errorf("got Init %q for experts, want %q, %q or none", c.Init, Gaussian, Random)
	}
	return nil
}

// hasGrouped says whether the adapter has parts of experts, which other files than PEFT's do not know.
func (a *Adapter) hasGrouped() bool {
	return slices.ContainsFunc(a.parts, func(p *Part) bool { return p.A.Rank() == 3 })
}

// nested is where files of PEFT have what belongs to a weight of a module: the wrappers of several weights
// stand in each other, the last one outermost.
func nested(name string, targets []string) string {
	dot := strings.LastIndexByte(name, '.')
	module := name[:max(dot, 0)]
	depth, found := 0, false
	for _, other := range targets {
		if found && strings.HasPrefix(other, module+".") && strings.LastIndexByte(other, '.') == dot {
			depth++
		}
		found = found || other == name
	}
	return module + strings.Repeat(ofBaseLayer, depth)
}

// routers are the layers that choose experts, which transformers has as weights: PEFT has them in
// target_parameters.
func routers(slots []slot) (names []string) {
	for _, s := range slots {
		module, ok := strings.CutSuffix(s.name, ".gate")
		if !ok {
			module, ok = strings.CutSuffix(s.name, ".router")
		}
		if ok && slices.ContainsFunc(slots, func(e slot) bool { return e.grouped() && strings.HasPrefix(e.name, module+".experts.") }) {
			names = append(names, s.name)
		}
	}
	return names
}

// fromGrouped makes the factors of files, A [groups·rank in] and B [out rank·groups], those of a part.
func fromGrouped(a, b tensor.Tensor, groups int) (tensor.Tensor, tensor.Tensor, error) {
	if a.Rank() != 2 || b.Rank() != 2 || a.Len(0)%groups != 0 || b.Len(1) != a.Len(0) {
		return a, b, fmt.Errorf("lora_A %v and lora_B %v, want rows of A and columns of B for each of %d experts", a.Shape(), b.Shape(), groups)
	}
	rank := a.Len(0) / groups
	return a.Reshape(groups, rank, a.Len(1)).Transpose(), b.Reshape(b.Len(0), rank, groups).Permute(2, 1, 0), nil
}

// toGrouped is the reverse of fromGrouped.
func toGrouped(a, b tensor.Tensor) (tensor.Tensor, tensor.Tensor) {
	groups, in, rank := a.Len(0), a.Len(1), a.Len(2)
	return a.Transpose().Reshape(groups*rank, in), b.Permute(2, 1, 0).Reshape(b.Len(2), rank*groups)
}
