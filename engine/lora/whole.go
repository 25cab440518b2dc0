package lora

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// The values of Config.Bias.
const (
	NoBias        = "none"
	AllBiases     = "all"
	AdaptedBiases = "lora_only" // PEFT's word: those of the adapted layers
)

// A whole is a weight of the model that an adapter trains itself, without A and B. The model has the trained
// values while the adapter is on.
type whole struct {
	param   nn.Param
	turned  bool          // files have it [out in]
	bias    bool          // chosen by Config.Bias
	tied    bool          // it is the embedding, which is the output matrix, too
	adapted bool          // the layer that the weight belongs to has A and B, too
	other   tensor.Tensor // the values that the model does not have now; none: those that it has, at first
}

// swap exchanges the values in the model for the others.
func (w *whole) swap() {
	was := w.param.Value().Snapshot()
	w.param.Value().Set(w.other)
	w.other = was
}

// trained returns the weight as the adapter has it.
func (a *Adapter) trained(w *whole) tensor.Tensor {
	if a.off {
		return w.other
	}
	return w.param.Value()
}

// wholes lists the weights that an adapter of these layers trains whole.
func (c Config) wholes(m nn.Module, layers []targeted) ([]*whole, error) {
	targets, err := c.trained(m)
	if err != nil {
		return nil, err
	}
	inBlocks, err := c.blocks(linears(m))
	if err != nil {
		return nil, err
	}
	var list []*whole
	for _, p := range nn.Params(m) {
		dot := strings.LastIndexByte(p.Name, '.')
		if dot < 0 || p.Fixed() || strings.Contains(p.Name, ".lora_") {
			continue
		}
		module, isBias := p.Name[:dot], p.Name[dot+1:] == "bias"
		adapted := slices.ContainsFunc(layers, func(l targeted) bool { return l.name == module })
		bias := isBias && (c.Bias == AllBiases || c.Bias == AdaptedBiases && adapted)
		if within(targets, module) || c.Full && inBlocks(p.Name) || bias {
			list = append(list, &whole{
				param: p, turned: p.Turned(), adapted: adapted, bias: bias, tied: !hasHead(m) && isEmbedding(m, module),
			})
		}
	}
	if c.Full && len(list) == 0 {
		return nil, fmt.Errorf("no weight of the model can be trained")
	}
	return list, nil
}

// within says whether targets choose a module or one that it is a part of.
func within(targets []nn.Target, module string) bool {
	for module != "" {
		if slices.ContainsFunc(targets, func(t nn.Target) bool { return t.Chooses(module) }) {
			return true
		}
		module = module[:max(0, strings.LastIndexByte(module, '.'))]
	}
	return false
}

// trained reads Config.Train, each target of which must choose a module.
func (c Config) trained(m nn.Module) ([]nn.Target, error) {
	targets, err := nn.Targets(c.Train)
	if err != nil {
		return nil, err
	}
	var modules []string
	nn.Walk(m, func(path string, member nn.Member) {
		if member.Weight == nil {
			modules = append(modules, path)
		}
	})
	for _, t := range targets {
		if t.String() == AllLinear {
			return nil, fmt.Errorf("got Train %q, want names of modules; Full trains all", t)
		}
		if !slices.ContainsFunc(modules, t.Chooses) {
			return nil, fmt.Errorf("train %q chooses no module of the model%s", t, meant(t, modules))
		}
	}
	return targets, nil
}

// turn lets the adapter take part or not. It is called between two steps of the model.
func (a *Adapter) turn(on bool) {
	if a.off != on {
		return
	}
	a.off = !on
	for _, w := range a.wholes {
		w.swap()
	}
}

// rival returns an adapter of the list that is on and trains a weight whole that a trains whole, too.
func (a *Adapter) rival(list []*Adapter) (other *Adapter, weight string) {
	return a.sharing(slices.DeleteFunc(slices.Clone(list), func(b *Adapter) bool { return b.off }))
}

// sharing returns another adapter of the list that trains a weight whole that a trains whole, too.
func (a *Adapter) sharing(list []*Adapter) (other *Adapter, weight string) {
	for _, b := range list {
		if b == a {
			continue
		}
		for _, w := range a.wholes {
			if slices.ContainsFunc(b.wholes, func(v *whole) bool { return v.param.Name == w.param.Name }) {
				return b, w.param.Name
			}
		}
	}
	return nil, ""
}

// mayChoose panics with a *tensor.Error if a context chooses otherwise than the adapter is on or off, and the
// adapter trains weights whole: the model has only one of each.
func (c *choice) mayChoose(a *Adapter) {
	if c == nil || a == nil || len(a.wholes) == 0 || c.rows == nil && slices.Contains(c.on, a) == !a.off {
		return
	}
	panic(&tensor.Error{Op: "lora.With", Msg: fmt.Sprintf(
		"adapter %q trains %s whole, which no context can choose: use Enable and Disable", a.Name(), a.wholes[0].param.Name)})
}

// release puts back the weights that the adapter trained whole, unless it is merged, and forgets the model.
func (a *Adapter) release() {
	for _, w := range a.wholes {
		if !a.off && !a.merged {
			w.swap() // other is now what was trained
		} else if !a.off {
			w.other = w.param.Value().Snapshot()
		}
		w.param.Freeze()
		w.param = nn.NewParam(w.param.Name, &w.other)
	}
	a.off, a.lock, a.model = false, nil, nil
}
