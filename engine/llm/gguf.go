package llm

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/quant"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// GGUF says how [SaveGGUF] writes.
type GGUF struct {
	Type    string                   // of the matrices: "f32", "f16", "bf16", "q8_0", "q4_0", "q6_k" or "q4_k_m"; "": that which each has
	Says    map[string]any           // metadata that the file has, too, by their keys after the architecture: "pooling_type"
	Tensors map[string]tensor.Tensor // tensors that it has, too, [out in] of a matrix
}

// SaveGGUF writes a model as a GGUF file, as llama.cpp's converter writes it, with its tokenizer and chat
// template. Matrices that are codes in groups of 32 stay what they are; other codes become f16 where no type
// is given. A model with adapters is an error, and so is one whose Config no reader of the file would find:
// the error names the setting. Windows of Llama's and Qwen's families are written, and llama.cpp does not
// heed them. Readers find the old file or the whole new one.
func SaveGGUF(path string, m *Model, o GGUF) (err error) {
	defer wrap.Error(&err, "llm")
	return access.Try(tensor.Context(), func() error { return m.saveGGUF(path, o) })
}

func (m *Model) saveGGUF(path string, o GGUF) error {
	params, codes, err := m.stored()
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	maps.Copy(files, m.files)
	if files[configFile], err = m.settingsInFile(params); err != nil {
		return err
	}
	var weights []ggufhub.Weight
	for _, p := range params {
		w := p.InFile()
		if f := m.family; f.conv1D && strings.Contains(p.Name, "."+f.names.Of("layers")+".") && p.Value().Rank() == 2 {
			w = p.Value().Detach().Transpose() // its folders have matrices as [in out]
		}
		for _, t := range m.partsInFile(p.Name, w) {
			weights = append(weights, ggufhub.Weight{Name: t.name, Tensor: t.value})
		}
	}
	for name, w := range codes {
		if w.Matrices > 0 { // in files the experts of a part are matrices in numbers
			dt := dtype.F16
			if w.Config.Scale == dtype.BF16 {
				dt = dtype.BF16
			}
			for _, t := range m.partsInFile(name, w.Dequantize(dt).Transpose()) {
				weights = append(weights, ggufhub.Weight{Name: t.name, Tensor: t.value})
			}
			continue
		}
		weights = append(weights, ggufhub.Weight{Name: name, Codes: w})
	}
	slices.SortFunc(weights, func(a, b ggufhub.Weight) int { return strings.Compare(a.Name, b.Name) })
	draft, err := ggufhub.NewDraft(inFiles(), files, weights, strings.ToLower(o.Type))
	if err != nil {
		return err
	}
	draft.Add(o.Says, o.Tensors)
	text, err := draft.Config()
	if err != nil {
		return err
	}
	found, err := parseConfig(configFile, text)
	if err == nil {
		err = m.Config.foundAs(found)
	}
	if err != nil {
		return fmt.Errorf("a GGUF file cannot hold this model: %w", err)
	}
	return draft.WriteFile(path)
}

// settingsInFile is the text of a config.json whose settings have the names that most families have for them.
func (m *Model) settingsInFile(params []nn.Param) ([]byte, error) {
	text, err := m.configText(params)
	if err != nil {
		return nil, err
	}
	own, _, err := m.Config.keysOf(m.family)
	if err != nil {
		return nil, err
	}
	return pretrained.Changed(text, func(keys map[string]any) {
		for _, p := range m.family.keys {
			if own[p[0]] == nil && p[1] == "" {
				delete(keys, p[0])
			}
		}
		maps.Copy(keys, own)
	})
}

// partsInFile are the tensors of a weight: of experts gate and up are two in most families.
func (m *Model) partsInFile(name string, all tensor.Tensor) []stored {
	parts := m.partsOfExperts(name, all)
	if parts != nil && m.family.Fused {
		return []stored{{strings.TrimSuffix(name, ".weight"), all}}
	}
	if parts == nil {
		return []stored{{name, all}}
	}
	return parts
}

// foundAs says what a reader of a file that was written of c would compute otherwise.
func (c Config) foundAs(found Config) error {
	a, _ := familyOf(found.Family)
	if b, ok := familyOf(c.Family); ok && a.Architecture == b.Architecture { // files do not tell them apart
		found.Family = c.Family
	}
	c.Family, found.Family = c.family(), found.family()
	if c.Family == falconH1.Type { // of whose factors files have the products with weights
		if c.said().EmbedScale*c.said().HeadScale != 1 && !c.Untied {
			return fmt.Errorf("EmbedScale and HeadScale of an embedding that is the output matrix, too, would be one factor")
		}
		c = c.unscaled()
	}
	for _, x := range []*Config{&c, &found} {
		if x.Rope.Scaling.Kind == "llama3" { // whose divisors the file holds, not how they were found
			x.LocalRope = x.localRope()
			x.Rope.Scaling, x.LocalRope.Scaling = nn.RopeScaling{Kind: "llama3"}, nn.RopeScaling{}
		}
	}
	for _, d := range c.differences(found) {
		return fmt.Errorf("%s %+v would be read as %+v", d.name, d.is, d.read)
	}
	return nil
}

// unscaled is c without the factors of Falcon-H1.
func (c Config) unscaled() Config {
	for _, x := range []*float64{&c.EmbedScale, &c.HeadScale, &c.AttnIn, &c.AttnScale, &c.MLPScale, &c.GateScale, &c.Scale, &c.Recurrent.In, &c.Recurrent.Scale} {
		*x = 0
	}
	c.Recurrent.Factors = [5]float64{}
	return c
}

// A difference is a field of two Configs that is not the same.
type difference struct {
	name     string
	is, read reflect.Value
}

// inner is the first field of a struct that is not the same.
func (d difference) inner() difference {
	for i := 0; d.is.Kind() == reflect.Struct && i < d.is.NumField(); i++ {
		if a, b := d.is.Field(i), d.read.Field(i); !near(a, b) {
			return difference{d.name + "." + d.is.Type().Field(i).Name, a, b}.inner()
		}
	}
	return d
}

// differences are the fields in which a Config that was read of a folder or file computes something else.
func (c Config) differences(read Config) (list []difference) {
	c.Context = cmp.Or(c.Context, read.Context)
	a, b := reflect.ValueOf(c.said()), reflect.ValueOf(read.said())
	for i := range a.NumField() {
		if !near(a.Field(i), b.Field(i)) {
			list = append(list, difference{a.Type().Field(i).Name, a.Field(i), b.Field(i)}.inner())
		}
	}
	return list
}

// said is c in the one form of several that say the same, without what folders and files do not say.
func (c Config) said() Config {
	c = c.withDefaults()
	c.Seed, c.Checkpoint, c.DType, c.Compute = 0, false, 0, 0
	c.Act = cmp.Or(c.Act, "silu")
	c.Scale = cmp.Or(c.Scale, 1/math.Sqrt(float64(c.HeadDim)))
	for _, x := range []*float64{&c.EmbedScale, &c.ResidualScale, &c.HeadScale, &c.AttnIn, &c.AttnScale, &c.MLPScale, &c.GateScale} {
		*x = cmp.Or(*x, 1)
	}
	plain := false
	for i := range c.Layers {
		plain = plain || c.feeds(i) && (!c.mixes(i) || c.Mixture.Beside)
	}
	if !plain {
		c.Hidden = 1 // which no layer has
	}
	local, noRope, windows := make([]bool, c.Layers), make([]bool, c.Layers), false
	for i := range local {
		local[i], noRope[i] = c.local(i), c.NoRope != nil && c.NoRope[i]
		windows = windows || local[i]
	}
	c.LocalRope = c.localRope()
	c.Global.KVHeads, c.Global.HeadDim = cmp.Or(c.Global.KVHeads, c.KVHeads), cmp.Or(c.Global.HeadDim, c.HeadDim)
	c.LentWide = c.LentWide && c.LentKV > 0
	if !windows {
		c.Window, c.LocalRope = 0, c.Rope
	}
	c.Local, c.NoRope = local, noRope
	c.Mixture, c.Recurrent = c.Mixture.said(c.Layers), c.Recurrent.said(c.Layers)
	return c
}

// said is m in the one form of several that say the same. How much training heeds the balance is no part of
// what it computes.
func (m Mixture) said(layers int) Mixture {
	if m.Experts == 0 {
		return Mixture{}
	}
	dense := make([]bool, layers)
	copy(dense, m.Dense)
	m.Dense, m.Scale, m.Balance = dense, cmp.Or(m.Scale, 1), 0
	if m.Groups < 2 {
		m.Groups, m.TopGroups = 0, 0
	}
	return m
}

// near says whether values are equal, and fractions within the rounding of f32.
func near(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Float64:
		return math.Abs(a.Float()-b.Float()) <= 1e-6*math.Abs(a.Float())
	case reflect.Struct:
		for i := range a.NumField() {
			if !near(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !near(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

// stored are the weights of the model, which must be exactly those of its Config: parameters, and, by the
// names of the matrices for which they stand, codes.
func (m *Model) stored() ([]nn.Param, map[string]*quant.Weight, error) {
	want := map[string]bool{}
	for _, p := range nn.Params(build(m.Config)) {
		want[p.Name] = true
	}
	codes, parts := map[string]*quant.Weight{}, map[string]bool{}
	nn.Walk(m, func(path string, member nn.Member) {
		w := quant.WeightOf(member.Module())
		if name := path + ".weight"; w != nil && want[name] {
			codes[name] = w
			delete(want, name)
			for _, part := range quant.Parts() {
				parts[path+"."+part] = true
			}
		}
	})
	var params []nn.Param
	for _, p := range nn.Params(m) {
		if parts[p.Name] {
			continue
		}
		if !want[p.Name] {
			return nil, nil, fmt.Errorf("weight %s has no place in a folder of this family: lora.Remove(model) takes adapters out, and what is merged stays", p.Name)
		}
		delete(want, p.Name)
		params = append(params, p)
	}
	for name := range want {
		return nil, nil, fmt.Errorf("the model has no weight %s", name)
	}
	return params, codes, nil
}
