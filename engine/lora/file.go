package lora

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// PEFT stores an adapter as adapter_model.safetensors, in which every name has a prefix and matrices lie as
// [out in], beside adapter_config.json.
const (
	prefix      = "base_model.model."
	weightsFile = "adapter_model.safetensors"
	configFile  = "adapter_config.json"
	configKey   = "adapter_config" // in the metadata of a single file
	maxConfig   = 1 << 20          // bytes
)

// config is the part of PEFT's adapter_config.json that mcs reads and writes.
type config struct {
	PeftType      string          `json:"peft_type"`
	TaskType      string          `json:"task_type"`
	BaseModel     string          `json:"base_model_name_or_path"`
	R             int             `json:"r"`
	Alpha         float64         `json:"lora_alpha"`
	Dropout       float64         `json:"lora_dropout"`
	Targets       json.RawMessage `json:"target_modules"`
	RSLoRA        bool            `json:"use_rslora"`
	FanInFanOut   bool            `json:"fan_in_fan_out"`
	Bias          string          `json:"bias"`
	DoRA          bool            `json:"use_dora,omitempty"`
	RankPattern   map[string]any  `json:"rank_pattern,omitempty"`
	AlphaPattern  map[string]any  `json:"alpha_pattern,omitempty"`
	InferenceMode bool            `json:"inference_mode"`
}

func (a *Adapter) config() ([]byte, error) {
	targets, err := json.Marshal(a.names)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(config{
		PeftType: "LORA", TaskType: "CAUSAL_LM", R: a.Config.Rank, Alpha: a.Config.Alpha, Dropout: a.Config.Dropout, Targets: targets,
		RSLoRA: a.Config.RankStabilized, Bias: "none", InferenceMode: true,
	}, "", "  ")
}

// Save writes the adapter. A path that ends in .safetensors becomes one file, which carries the configuration
// in its metadata; any other path becomes a folder that PEFT reads. New weights never stand beside an old
// configuration: when a save is interrupted, Load finds the adapter as it was before, and other programs find
// no configuration.
func (a *Adapter) Save(path string) error {
	tensors := map[string]tensor.Tensor{}
	for i, p := range a.parts {
		tensors[prefix+a.names[i]+".lora_A.weight"] = p.A.Detach().Transpose()
		tensors[prefix+a.names[i]+".lora_B.weight"] = p.B.Detach().Transpose()
	}
	text, err := a.config()
	if err != nil {
		return fmt.Errorf("lora: %w", err)
	}
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
		{Name: weightsFile, Write: func(w io.Writer) error { return safetensors.Write(w, entries, metadata) }},
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

// Load reads an adapter that Save or PEFT wrote and puts it into the model. Every tensor of the file must
// belong to a layer of the model and fit it; otherwise the model stays as it was. Beside other adapters it is
// as with [Inject]: the new one takes their turn.
func Load(path string, m nn.Module) (*Adapter, error) { return LoadAs(DefaultName, path, m) }

// LoadAs is [Load] for an adapter that gets a name, beside those that the model has.
func LoadAs(name, path string, m nn.Module) (*Adapter, error) {
	weights, beside := path, ""
	if stat, err := os.Stat(path); err == nil && stat.IsDir() {
		weights, beside = folder(path).Path(weightsFile), folder(path).Path(configFile)
	}
	tensors, metadata, err := safetensors.Load(weights)
	if err != nil {
		return nil, err
	}
	text := []byte(metadata[configKey])
	if beside != "" {
		config, err := regular.Read(beside, maxConfig)
		if err == nil {
			text = config
		} else if !os.IsNotExist(err) {
			return nil, fmt.Errorf("lora: %w", err)
		}
	}
	c, err := parseConfig(text, weights)
	if err != nil {
		return nil, err
	}
	c.Name = name
	names, err := fit(tensors, m, c, weights)
	if err != nil {
		return nil, err
	}
	c.Targets = strings.Join(names, " ")
	return inject(m, c, func(ad *Adapter) {
		set := func(p *tensor.Tensor, name string) {
			// Through the host, so that the matrix lies in memory as the one that was saved: the same bits
			// come out.
			t := tensors[prefix+name+".weight"].Transpose().Cast(p.DType())
			p.Set(tensor.FromBytes(t.DType(), t.Bytes(), t.Shape()...).To(p.Device()))
		}
		for i, p := range ad.parts {
			set(&p.A, names[i]+".lora_A")
			set(&p.B, names[i]+".lora_B")
		}
	})
}

func parseConfig(text []byte, file string) (Config, error) {
	var c config
	if len(text) == 0 {
		return Config{}, fmt.Errorf("lora: %s: no %s beside it and no configuration in its metadata", file, configFile)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return Config{}, fmt.Errorf("lora: %s: configuration: %w", file, err)
	}
	switch {
	case c.PeftType != "LORA":
		return Config{}, fmt.Errorf("lora: %s: got peft_type %q, want \"LORA\"", file, c.PeftType)
	case c.R < 1 || c.Alpha <= 0:
		return Config{}, fmt.Errorf("lora: %s: got r %d and lora_alpha %g, want both positive", file, c.R, c.Alpha)
	case !(c.Dropout >= 0 && c.Dropout <= 1):
		return Config{}, fmt.Errorf("lora: %s: got lora_dropout %g, want a probability from 0 to 1", file, c.Dropout)
	case c.DoRA || c.FanInFanOut || c.Bias != "" && c.Bias != "none" || len(c.RankPattern)+len(c.AlphaPattern) > 0:
		return Config{}, fmt.Errorf("lora: %s: got use_dora, fan_in_fan_out, bias, rank_pattern or alpha_pattern, want plain LoRA of one rank", file)
	}
	return Config{Rank: c.R, Alpha: c.Alpha, Dropout: c.Dropout, RankStabilized: c.RSLoRA}, nil
}

// fit checks the tensors against the model and returns the names of the layers that they adapt.
func fit(tensors map[string]tensor.Tensor, m nn.Module, c Config, file string) ([]string, error) {
	var names []string
	used := 0
	for _, s := range linears(m) {
		a, hasA := tensors[prefix+s.name+".lora_A.weight"]
		b, hasB := tensors[prefix+s.name+".lora_B.weight"]
		if !hasA && !hasB {
			continue
		}
		l := (*s.layer).(projection)
		rank := c.Rank
		switch {
		case has(*s.layer, c.Name):
			return nil, adaptedAlready(s.name, c.Name)
		case !hasA || !hasB:
			return nil, fmt.Errorf("lora: %s: %s has only one of lora_A and lora_B", file, s.name)
		case !slices.Equal(a.Shape(), []int{rank, l.In()}) || !slices.Equal(b.Shape(), []int{l.Out(), rank}):
			return nil, fmt.Errorf("lora: %s: %s has lora_A %v and lora_B %v, want [%d %d] and [%d %d]", file, s.name, a.Shape(), b.Shape(), rank, l.In(), l.Out(), rank)
		}
		names, used = append(names, s.name), used+2
	}
	if used == len(tensors) && used > 0 {
		return names, nil
	}
	for name := range tensors {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, prefix), ".lora_A.weight"), ".lora_B.weight")
		if !slices.Contains(names, base) {
			return nil, fmt.Errorf("lora: %s: tensor %q belongs to no layer of the model", file, name)
		}
	}
	return nil, fmt.Errorf("lora: %s: no adapter in it", file)
}
