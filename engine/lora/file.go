package lora

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// PEFT stores an adapter as adapter_model.safetensors beside adapter_config.json, mlx-lm as
// adapters.safetensors beside a file of the same name.
const (
	weightsFile = "adapter_model.safetensors"
	mlxFile     = "adapters.safetensors"
	configFile  = "adapter_config.json"
	configKey   = "adapter_config" // in the metadata of a single file
	maxConfig   = 1 << 20          // bytes
)

// Save writes the adapter. A path that ends in .safetensors becomes one file, which carries the configuration
// in its metadata; any other path becomes a folder that PEFT reads. New weights never stand beside an old
// configuration: when a save is interrupted, Load finds the adapter as it was before, and other programs find
// no configuration.
//
// An adapter that began with a piece of the weights (PiSSA, OLoRA) is written as one that did not, of twice
// the rank, so that it fits the model that it was made for.
func (a *Adapter) Save(path string) error {
	if a.Config.Full {
		return fmt.Errorf("lora: %s: all weights were trained, which is no adapter of PEFT: save the model, or use SaveMLX", path)
	}
	text, err := a.writePEFT()
	if err != nil {
		return fmt.Errorf("lora: %w", err)
	}
	return save(path, weightsFile, a.peftTensors(), text)
}

// save writes tensors and configuration as one file, or as two files of a folder.
func save(path, weights string, tensors map[string]tensor.Tensor, text []byte) error {
	metadata := map[string]string{"format": "pt", configKey: string(text)}
	if strings.HasSuffix(path, ".safetensors") {
		return safetensors.Save(path, tensors, metadata)
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return fmt.Errorf("lora: %w", err)
	}
	entries, err := safetensors.Entries(tensors)
	if err != nil {
		return err
	}
	err = durable.WriteSet(folder(path), []durable.Member{
		{Name: weights, Write: func(w io.Writer) error { return safetensors.Write(w, entries, metadata) }},
		{Name: configFile, Write: durable.Text(string(text))},
	})
	if err != nil {
		return fmt.Errorf("lora: %w", err)
	}
	return nil
}

// folder is an adapter's folder. The weights mean nothing without their configuration: with another alpha
// they are another adapter.
func folder(path string) durable.Set { return durable.Set{Dir: path, Key: configFile} }

// Load reads an adapter that Save, SaveMLX, PEFT or mlx-lm wrote and puts it into the model: a folder, or the
// file with the weights. Every tensor of the file must belong to a layer of the model and fit it; otherwise
// the model stays as it was. Beside other adapters it is as with [Inject]: the new one takes their turn.
func Load(path string, m nn.Module) (*Adapter, error) { return LoadAs(DefaultName, path, m) }

// LoadAs is [Load] for an adapter that gets a name, beside those that the model has.
func LoadAs(name, path string, m nn.Module) (*Adapter, error) {
	f, text, err := open(path)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 {
		return nil, fmt.Errorf("lora: %s: no %s beside it and no configuration in its metadata", f.path, configFile)
	}
	kind := struct {
		PEFT any `json:"peft_type"`
		MLX  any `json:"fine_tune_type"`
		Old  any `json:"lora_parameters"` // mlx-lm before it wrote fine_tune_type
	}{}
	json.Unmarshal(text, &kind) // the reader says what is wrong with it
	read := f.peft
	if kind.PEFT == nil && (kind.MLX != nil || kind.Old != nil) {
		read = f.mlx
	}
	if err := read(text, name, m); err != nil {
		return nil, fmt.Errorf("lora: %s: %w", f.path, err)
	}
	return f.place(m)
}

// A file is an adapter as it stands in a file, on its way into a model.
type file struct {
	path    string // of the weights
	tensors map[string]tensor.Tensor
	used    map[string]bool // tensors that have found their place
	turned  bool            // it has A and B turned

	config Config
	layers []targeted
	values []values      // of the layers
	rows   tensor.Tensor // of config.Tokens
	wholes []*whole
}

// values are what a file has of a layer, as a part has them.
type values struct {
	a, b, bias, magnitude tensor.Tensor
	swapped               bool // a is the file's lora_B, and b its lora_A
}

// open reads the files of an adapter.
func open(path string) (*file, []byte, error) {
	weights, beside := path, filepath.Join(filepath.Dir(path), configFile)
	if stat, err := os.Stat(path); err == nil && stat.IsDir() {
		weights, beside = folder(path).Path(weightsFile), folder(path).Path(configFile)
		if mlx := folder(path).Path(mlxFile); !exists(weights) && exists(mlx) {
			weights = mlx
		}
	}
	tensors, metadata, err := safetensors.Load(weights)
	if err != nil {
		if pickle := filepath.Join(path, "adapter_model.bin"); exists(pickle) {
			return nil, nil, fmt.Errorf("lora: %s is a Python pickle, which is not read: load it with PEFT and save it as safetensors", pickle)
		}
		return nil, nil, err
	}
	text := []byte(metadata[configKey])
	if weights != path || len(text) == 0 {
		config, err := regular.Read(beside, maxConfig)
		if err == nil {
			text = config
		} else if !os.IsNotExist(err) {
			return nil, nil, fmt.Errorf("lora: %w", err)
		}
	}
	return &file{path: weights, tensors: tensors, used: map[string]bool{}}, text, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// take returns a tensor of the file, which has then found its place.
func (f *file) take(name string) (tensor.Tensor, bool) {
	t, ok := f.tensors[name]
	if ok {
		f.used[name] = true
	}
	return t, ok
}

// add takes down what the file has of a layer: matrices as a part has them, which must fit the layer.
func (f *file) add(s slot, c Config, v values) error {
	l, _ := adapt(s.Layer())
	in, out := l.In(), l.Out()
	groups := slices.Clone(l.bare(dtype.F32).Shape())
	groups = groups[:len(groups)-2] // of experts
	wantA, wantB := slices.Concat(groups, []int{in, c.Rank}), slices.Concat(groups, []int{c.Rank, out})
	switch {
	case has(s.Layer(), f.config.Name):
		return adaptedAlready(s.name, f.config.Name)
	case v.a.IsNone() || v.b.IsNone():
		return fmt.Errorf("%s has only one of lora_A and lora_B", s.name)
	case !slices.Equal(v.a.Shape(), wantA) || !slices.Equal(v.b.Shape(), wantB):
		got, want := [][]int{v.a.Shape(), v.b.Shape()}, [][]int{wantA, wantB}
		if v.swapped {
			slices.Reverse(got)
			slices.Reverse(want)
		} else if f.turned {
			for _, shape := range append(got, want...) {
				slices.Reverse(shape)
			}
		}
		return fmt.Errorf("%s has lora_A %v and lora_B %v, want %v and %v", s.name, got[0], got[1], want[0], want[1])
	case c.LoRABias && (v.bias.IsNone() || !slices.Equal(v.bias.Shape(), []int{out})):
		return fmt.Errorf("%s has no lora_B.bias [%d], which lora_bias needs", s.name, out)
	case !c.LoRABias && !v.bias.IsNone():
		return fmt.Errorf("%s has lora_B.bias, but the configuration does not say lora_bias", s.name)
	case c.DoRA && (v.magnitude.IsNone() || !slices.Equal(v.magnitude.Shape(), []int{out})):
		return fmt.Errorf("%s has no magnitude vector [%d], which DoRA needs", s.name, out)
	case !c.DoRA && !v.magnitude.IsNone():
		return fmt.Errorf("%s has a magnitude vector, but the configuration does not say DoRA", s.name)
	}
	err := c.check()
	if err == nil && s.grouped() {
		err = c.checkGrouped()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	f.layers, f.values = append(f.layers, targeted{s, c}), append(f.values, v)
	return nil
}

// addWhole takes down a weight of the model that the file has as a whole.
func (f *file) addWhole(p nn.Param, v tensor.Tensor) error {
	if p.Turned() && v.Rank() == 2 {
		v = v.Transpose()
	}
	old := p.Value()
	if p.Fixed() || !slices.Equal(v.Shape(), old.Shape()) {
		return fmt.Errorf("%s is %v%v, want %v%v", p.Name, v.DType(), v.Shape(), old.DType(), old.Shape())
	}
	bias := strings.HasSuffix(p.Name, ".bias") && f.config.Bias != "" && f.config.Bias != NoBias
	w := &whole{param: p, turned: p.Turned(), bias: bias, other: copied(v, old)}
	for _, l := range f.layers {
		w.adapted = w.adapted || strings.HasPrefix(p.Name, l.name+".")
	}
	f.wholes = append(f.wholes, w)
	return nil
}

// copied returns the numbers of t in the dtype and on the device of another tensor. They go through the host,
// so that they lie in memory as those that were saved: the same bits come out.
func copied(t, like tensor.Tensor) tensor.Tensor {
	t = t.Cast(like.DType())
	return tensor.FromBytes(t.DType(), t.Bytes(), t.Shape()...).To(like.Device())
}

// place puts the adapter into the model.
func (f *file) place(m nn.Module) (*Adapter, error) {
	for _, name := range slices.Sorted(maps.Keys(f.tensors)) {
		if !f.used[name] {
			return nil, fmt.Errorf("lora: %s: tensor %q belongs to no layer of the model", f.path, name)
		}
	}
	if len(f.layers)+len(f.wholes)+len(f.config.Tokens) == 0 {
		return nil, fmt.Errorf("lora: %s: no adapter in it", f.path)
	}
	c := f.config.withDefaults()
	var names []string
	for _, l := range f.layers {
		names = append(names, l.name)
		if l.config.Rank != c.Rank || l.config.Alpha != c.Alpha {
			c.Patterns = append(c.Patterns, Pattern{l.name, l.config.Rank, l.config.Alpha})
		}
	}
	c.Targets = strings.Join(names, " ")
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("lora: %s: %w", f.path, err)
	}
	return inject(m, c, f.layers, f.wholes, func(ad *Adapter) {
		for i, p := range ad.parts {
			if p.tokens != nil {
				p.B.Set(copied(f.rows.To(p.rows.Device()).Cast(p.rows.DType()).Sub(p.rows), p.B))
				continue
			}
			v := f.values[i]
			p.A.Set(copied(v.a, p.A))
			p.B.Set(copied(v.b, p.B))
			if !p.Bias.IsNone() {
				p.Bias.Set(copied(v.bias, p.Bias))
			}
			if !p.Magnitude.IsNone() {
				p.Magnitude.Set(copied(v.magnitude, p.Magnitude))
			}
		}
	})
}
