package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/tokenizer"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

const (
	configFile  = "config.json"
	weightsFile = pretrained.WeightsFile
	maxConfig   = 1 << 20   // bytes of a config.json
	maxText     = 256 << 20 // of a tokenizer's file
)

// carried are the files of a folder that Save writes as Load found them.
var carried = []string{
	"generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
	"vocab.json", "merges.txt", "tokenizer.model", "tekken.json", "chat_template.jinja", "chat_template.json",
}

// Load reads a model from a folder as Hugging Face's transformers write it: config.json, and
// model.safetensors or the shards that model.safetensors.index.json lists, in f32, f16 or bf16. Matrices keep
// their dtype, and all else is computed in f32. docs/models.md lists the families; a folder of another one,
// one whose settings change what the model computes in a way that is not known here, and tensors without a
// place are errors. Load stops when ctx is done.
//
// Of a model of pictures or sound around a model of text (Gemma 3, Mistral 3, Qwen 2 to 3 VL, LLaVA, …) the
// model of text is read, and Save writes a folder of that alone; String says so.
//
// The path may be that of a GGUF file of most of these families, too, or of a folder with one such file and
// no config.json. Matrices in codes, there or in a folder with a quantization_config, stay the codes that
// they are, as layers of package quant.
func Load(ctx context.Context, path string) (*Model, error) { return load(ctx, path, false, nil) }

// LoadBody is [Load] of a model of which only the Vectors are wanted: an output matrix is not read, and need
// not be there, and the head of a classifier is left.
func LoadBody(ctx context.Context, path string) (*Model, error) { return load(ctx, path, true, nil) }

func load(ctx context.Context, path string, body bool, parts backend.Parts) (m *Model, err error) {
	defer wrap.Error(&err, "llm")
	var s *source
	err = access.Try(ctx, func() error {
		if s, err = openSource(ctx, path); err != nil {
			return err
		}
		defer s.close()
		if err := s.textOnly(); err != nil {
			return err
		}
		c, err := parseConfig(filepath.Join(s.path, configFile), s.files[configFile])
		if err != nil {
			return err
		}
		if body {
			c.Untied, c.HeadBias = false, false
		}
		m, err = readWeights(c, s, body, parts)
		return err
	})
	if err == nil {
		m.files = s.files
		err = m.readFiles(s.path)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// readFiles understands what lies beside the weights.
func (m *Model) readFiles(dir string) error {
	for _, name := range []string{"tokenizer.json", "tekken.json", "tokenizer.model"} {
		if content, ok := m.files[name]; ok {
			t, err := tokenizer.Parse(name, content)
			if err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
			}
			m.Tokenizer = t
			break
		}
	}
	return m.readSettings(dir)
}

// readSettings reads how text is generated, and how chats are written.
func (m *Model) readSettings(dir string) error {
	for _, name := range []string{"generation_config.json", configFile} {
		if m.files[name] == nil {
			continue
		}
		s, err := pretrained.ParseSettings(filepath.Join(dir, name), m.files[name])
		if err != nil {
			return err
		}
		if name != configFile {
			m.Defaults = defaults(s)
		}
		if m.Stop == nil {
			m.Stop = tokens(s, "eos_token_id")
		}
		if s.Err() != nil {
			return s.Err()
		}
	}
	return m.readChat(dir)
}

// tokens reads a token, or a list of them.
func tokens(s *pretrained.Settings, key string) []int {
	var one int
	var list []int
	if s.Try(key, &list) {
		return list
	}
	if s.Read(key, &one, "a token or a list of tokens") {
		list = []int{one}
	}
	return list
}

// shardBytes is how much of a model Save puts into one file.
const shardBytes = 4 << 30

// Save writes a model as a folder that [Load] and Hugging Face's transformers read. Weights keep their dtype;
// of a loaded model everything else is what it was. A model with weights that such a folder has no place for,
// those of adapters and codes, is an error: merge or remove an adapter first; [SaveCodes] makes codes.
// Readers find the old folder or the whole new one.
func Save(dir string, m *Model) error { return save(dir, m, shardBytes) }

func save(dir string, m *Model, limit int) (err error) {
	defer wrap.Error(&err, "llm")
	params, config, err := m.numbers()
	if err != nil {
		return err
	}
	return m.writeFolder(dir, m.inFolder(params), config, limit)
}

// numbers are the weights of a model without codes, and its config.json.
func (m *Model) numbers() ([]nn.Param, []byte, error) {
	m.straighten() // layers that quant.Expand made
	params, codes, err := m.stored()
	if err != nil {
		return nil, nil, err
	}
	for name := range codes {
		return nil, nil, fmt.Errorf("weight %s is in codes, which such a folder does not hold: quant.Expand makes numbers of them, quant.Save and SaveGGUF keep them", name)
	}
	config, err := m.configText(params)
	return params, config, err
}

// writeFolder writes tensors in files of about limit bytes, and the other files.
func (m *Model) writeFolder(dir string, all []stored, config []byte, limit int) error {
	files := map[string][]byte{}
	maps.Copy(files, m.files)
	files[configFile] = config
	return pretrained.WriteFolder(dir, files, func(f *durable.Folder) error { return writeShards(f, all, limit) })
}

// A stored is a tensor of a folder.
type stored struct {
	name  string
	value tensor.Tensor
}

// inFolder are the tensors of a folder, by their names there. In most families each expert has tensors of its
// own.
func (m *Model) inFolder(params []nn.Param) (list []stored) {
	for _, p := range params {
		parts := m.partsOfExperts(p.Name, p.InFile())
		if parts != nil && m.family.joined {
			value := p.InFile()
			if m.family.straight {
				value = p.Value()
			}
			list = append(list, stored{m.family.inFolder(strings.TrimSuffix(p.Name, ".weight")), value})
			continue
		}
		if rows, ok := strings.CutSuffix(p.Name, m.family.rows[0]); ok && m.family.rows[0] != "" && p.Value().Rank() == 2 {
			for i := range p.Value().Len(0) {
				list = append(list, stored{rows + fmt.Sprintf(m.family.rows[1], i), p.Value().Select(0, i)})
			}
			continue
		}
		if parts == nil {
			list = append(list, stored{m.family.inFolder(p.Name), p.InFile()})
		}
		for _, part := range parts {
			for i := range part.value.Len(0) {
				name := strings.Replace(part.name, ".experts.", fmt.Sprintf(".experts.%d.", i), 1)
				list = append(list, stored{m.family.inFolder(name), part.value.Select(0, i)})
			}
		}
	}
	return list
}

// partsOfExperts are the layers of all experts that the weight of a [nn.Grouped] consists of, [experts out
// in] each; nil: it is another weight.
func (m *Model) partsOfExperts(name string, all tensor.Tensor) (list []stored) {
	path, ok := strings.CutSuffix(name, ".weight")
	dot := strings.LastIndexByte(path, '.')
	if !ok || dot < 0 || all.Rank() != 3 {
		return nil
	}
	parts := expertParts[path[dot+1:]]
	for i, part := range parts {
		t := all
		each := t.Len(1) / len(parts)
		if m.Config.Mixture.Limit != 0 && len(parts) > 1 { // whose columns alternate
			t = t.Reshape(t.Len(0), each, len(parts), t.Len(2)).Select(2, i)
		} else {
			t = t.Slice(1, i*each, (i+1)*each)
		}
		list = append(list, stored{path[:dot+1] + part + ".weight", t})
	}
	return list
}

// writeShards writes tensors as files of about limit bytes, with an index if there are several.
func writeShards(f *durable.Folder, all []stored, limit int) error {
	var shards [][]stored
	room, total := 0, 0
	for _, t := range all {
		size := t.value.Size() * t.value.DType().Size()
		if total += size; room < size || len(shards) == 0 {
			shards, room = append(shards, nil), limit
		}
		room -= size
		shards[len(shards)-1] = append(shards[len(shards)-1], t)
	}
	index := map[string]string{}
	for i, shard := range shards {
		name := weightsFile
		if len(shards) > 1 {
			name = fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
		}
		tensors := map[string]tensor.Tensor{}
		for _, t := range shard {
			tensors[t.name], index[t.name] = t.value, name
		}
		if err := safetensors.Save(f.Path(name), tensors, map[string]string{"format": "pt"}); err != nil {
			return err
		}
	}
	if len(shards) == 1 {
		return nil
	}
	text, err := json.MarshalIndent(map[string]any{"metadata": map[string]any{"total_size": total}, "weight_map": index}, "", "  ")
	if err != nil {
		return err
	}
	return f.WriteFile(weightsFile+".index.json", durable.Text(string(text)))
}

// configText is the text of the model's config.json: that of the folder it came from, with today's dtype.
func (m *Model) configText(params []nn.Param) (text []byte, err error) {
	dt := dtype.BF16 // where all are codes
	if i := slices.IndexFunc(params, func(p nn.Param) bool { return p.Value().Rank() == 2 }); i >= 0 {
		dt = params[i].Value().DType()
	}
	var own map[string]any
	if m.files[configFile] == nil {
		if own, err = m.Config.keys(); err != nil {
			return nil, err
		}
	}
	return pretrained.Changed(m.files[configFile], func(keys map[string]any) {
		maps.Copy(keys, own)
		if keys["architectures"] == nil { // a GGUF file does not name the class
			family, _ := familyOf(m.Config.Family)
			keys["architectures"] = []string{family.class}
		}
		pretrained.SetDType(keys, dt)
	})
}
