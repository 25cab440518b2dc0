package lora

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// mlxConfig is what mlx-lm needs to read an adapter (mlx_lm/tuner/utils.py: load_adapters). It writes all of
// its options there, which do not concern others.
type mlxConfig struct {
	Type       string         `json:"fine_tune_type"` // "lora", "dora" or "full"
	Layers     int            `json:"num_layers"`     // the last so many blocks
	Parameters *mlxParameters `json:"lora_parameters"`
}

type mlxParameters struct {
	Rank    int      `json:"rank"`
	Scale   float64  `json:"scale"` // the factor itself, not divided by the rank
	Dropout float64  `json:"dropout"`
	Keys    []string `json:"keys,omitempty"` // of the adapted layers, within a block or in full
}

// The names of a layer's tensors in files of mlx-lm stand behind its name; matrices lie as parts have them.
const (
	mlxA = ".lora_a"
	mlxB = ".lora_b"
	mlxM = ".m"
)

// mlx finds the places in a model of an adapter that mlx-lm wrote. Which layers it has, its tensors say.
func (f *file) mlx(text []byte, name string, m nn.Module) error {
	c := mlxConfig{Type: "lora"}
	if err := json.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	f.config = Config{Name: name}
	_, why := unadapted(m)
	switch {
	case why != "":
		return fmt.Errorf("the model is %s", why)
	case c.Type == "full":
		f.config.Full = true
		return f.mlxWholes(m)
	case c.Type != "lora" && c.Type != "dora":
		return fmt.Errorf("got fine_tune_type %q, want \"lora\", \"dora\" or \"full\"", c.Type)
	case c.Parameters == nil || c.Parameters.Rank < 1 || !(c.Parameters.Scale > 0) || math.IsInf(c.Parameters.Scale, 0):
		return fmt.Errorf("got lora_parameters %+v, want rank and scale, both positive", c.Parameters)
	case !(c.Parameters.Dropout >= 0 && c.Parameters.Dropout <= 1):
		return fmt.Errorf("got dropout %g, want a probability from 0 to 1", c.Parameters.Dropout)
	}
	p := c.Parameters
	f.config.Rank, f.config.Alpha, f.config.Dropout = p.Rank, p.Scale*float64(p.Rank), p.Dropout
	f.config.DoRA = c.Type == "dora"
	for _, s := range linears(m) {
		a, hasA := f.take(s.name + mlxA)
		b, hasB := f.take(s.name + mlxB)
		if !hasA && !hasB {
			continue
		}
		if f.config.DoRA && s.embeds() {
			return fmt.Errorf("%s is an embedding with DoRA, which in mlx-lm has a length for each token; mcs and PEFT have one for each column", s.name)
		}
		v := values{a: a, b: b}
		v.magnitude, _ = f.take(s.name + mlxM)
		if err := f.add(s, f.config, v); err != nil {
			return err
		}
	}
	return nil
}

// mlxWholes finds the places of the weights of a full fine-tuning.
func (f *file) mlxWholes(m nn.Module) error {
	for _, p := range nn.Params(m) {
		if t, ok := f.take(p.Name); ok {
			if err := f.addWhole(p, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// SaveMLX writes the adapter as a folder that mlx-lm reads. Layers of smaller rank, which mlx-lm does not
// have, get more columns, of 0; other scales become part of B. What mlx-lm cannot have at all is an error:
// weights that are trained whole beside an adapter, biases of B, and DoRA of an embedding.
func (a *Adapter) SaveMLX(path string) error {
	if strings.HasSuffix(path, ".safetensors") {
		return fmt.Errorf("lora: %s: want a folder, as mlx-lm has it", path)
	}
	c, tensors, err := a.mlx()
	if err != nil {
		return fmt.Errorf("lora: %s: %w", path, err)
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("lora: %w", err)
	}
	return save(path, mlxFile, tensors, text)
}

func (a *Adapter) mlx() (c mlxConfig, tensors map[string]tensor.Tensor, err error) {
	tensors = map[string]tensor.Tensor{}
	if _, why := unadapted(a.model); why != "" {
		return c, nil, fmt.Errorf("the model is %s", why)
	}
	if a.Config.Full {
		for _, w := range a.wholes {
			t := a.trained(w).Detach()
			if w.turned {
				t = t.Transpose()
			}
			tensors[w.param.Name] = t
		}
		return mlxConfig{Type: "full", Layers: -1}, tensors, nil
	}
	switch {
	case a.hasGrouped():
		return c, nil, fmt.Errorf("experts are adapted, which mlx-lm has in another form")
	case len(a.Config.Tokens) > 0:
		return c, nil, fmt.Errorf("vectors of %d tokens are trained, which mlx-lm does not have", len(a.Config.Tokens))
	case len(a.wholes) > 0:
		return c, nil, fmt.Errorf("%s is trained whole beside the adapter, which mlx-lm does not have", a.wholes[0].param.Name)
	}
	c = mlxConfig{Type: "lora", Parameters: &mlxParameters{Scale: a.parts[0].Scale, Dropout: a.Config.Dropout}}
	if a.Config.DoRA {
		c.Type = "dora"
	}
	for _, p := range a.parts {
		low, _ := p.lowRank()
		c.Parameters.Rank = max(c.Parameters.Rank, low.Len(1))
	}
	for i, p := range a.parts {
		low, high := p.lowRank()
		low, high = widened(low.Detach(), high.Detach(), c.Parameters.Rank)
		if p.Scale != c.Parameters.Scale {
			high = high.Mul(p.Scale / c.Parameters.Scale)
		}
		tensors[a.names[i]+mlxA], tensors[a.names[i]+mlxB] = low, high
		switch {
		case p.apart:
			return c, nil, fmt.Errorf("%s is adapted where it turns tokens into vectors only, which mlx-lm does not have", a.names[i])
		case !p.Bias.IsNone():
			return c, nil, fmt.Errorf("%s has a bias of B (LoRABias), which mlx-lm does not have", a.names[i])
		case p.Magnitude.IsNone():
		case p.embeds:
			return c, nil, fmt.Errorf("%s is an embedding with DoRA, which in mlx-lm has a length for each token", a.names[i])
		default:
			tensors[a.names[i]+mlxM] = p.Magnitude.Detach()
		}
	}
	c.Layers, c.Parameters.Keys = mlxKeys(a.names, a.blocks)
	return c, tensors, nil
}

// mlxKeys returns how many last blocks of a model's count have an adapter, and the names of the adapted
// layers: within a block if each of these blocks has the same, else in full.
func mlxKeys(names []string, count int) (blocks int, keys []string) {
	const list = "model.layers."
	inside := map[int][]string{}
	for _, name := range names {
		i, ok := Config{}.block(name)
		if !ok || !strings.HasPrefix(name, list) {
			continue
		}
		_, key, _ := strings.Cut(name[len(list):], ".")
		inside[i] = append(inside[i], key)
	}
	last := inside[count-1]
	for blocks < count && len(last) > 0 && slices.Equal(inside[count-1-blocks], last) {
		blocks++
	}
	all := 0
	for _, keys := range inside {
		all += len(keys)
	}
	if blocks*len(last) != all {
		return count, names
	}
	keys = slices.Clone(last)
	for _, name := range names {
		if !strings.HasPrefix(name, list) {
			keys = append(keys, name)
		}
	}
	return blocks, keys
}
