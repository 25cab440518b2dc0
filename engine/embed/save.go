package embed

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/safetensors"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

const promptsFile = "config_sentence_transformers.json"

// Save writes a loaded model as a folder like the one that it came from, which [Load] and
// sentence-transformers read, with its weights and prompts as they are now. Heads of other tasks are left
// out. A model with weights that such a folder has no place for, those of adapters for example, is an error:
// merge or remove an adapter first. So is a model of New, whose tokenizer has no file. Readers find the old
// folder or the whole new one.
func Save(dir string, m *Model) (err error) {
	defer wrap.Error(&err, "embed")
	if m.files == nil {
		return errors.New("the model did not come from a folder, whose files it needs")
	}
	if err := m.whole(); err != nil {
		return err
	}
	if len(m.Dense) != len(m.densePaths) {
		return fmt.Errorf("got %d dense layers, and the folder had %d", len(m.Dense), len(m.densePaths))
	}
	parts := map[string]nn.Module{m.bodyPath: m.Body}
	for i, d := range m.Dense {
		parts[m.densePaths[i]] = d
	}
	return m.write(dir, parts)
}

// write writes the folder of a model, with the weights of parts by their folders in it.
func (m *Model) write(dir string, parts map[string]nn.Module) error {
	content, err := m.content(nn.Params(m.Body)[0].Value().DType())
	if err != nil {
		return err
	}
	return pretrained.WriteFolder(dir, content, func(f *durable.Folder) error {
		for at, part := range parts {
			if err := writeWeights(f, at, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// content are the files beside the weights, whose matrices have that dtype.
func (m *Model) content(dt dtype.Type) (map[string][]byte, error) {
	content := maps.Clone(m.files)
	if _, table := m.Body.(*Table); !table {
		name := path.Join(m.bodyPath, configFile)
		text, err := pretrained.Changed(content[name], func(keys map[string]any) {
			pretrained.SetDType(keys, dt)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		content[name] = text
	}
	if len(m.Prompts) == 0 && content[promptsFile] == nil {
		return content, nil
	}
	text, err := pretrained.Changed(content[promptsFile], func(keys map[string]any) {
		keys["prompts"], keys["default_prompt_name"] = m.Prompts, nil
		if m.Prompt != "" {
			keys["default_prompt_name"] = m.Prompt
		}
		if m.Prompts == nil {
			keys["prompts"] = map[string]string{}
		}
	})
	content[promptsFile] = text
	return content, err
}

// whole says whether the weights are exactly those of such a model.
func (m *Model) whole() error {
	if _, table := m.Body.(*Table); table && m.files[path.Join(m.bodyPath, configFile)] != nil {
		return errors.New("tables of model2vec are not written")
	}
	for _, d := range m.Dense {
		if _, ok := d.Layer.(*nn.Linear); !ok {
			return fmt.Errorf("a dense layer is %T: lora.Remove(model) takes adapters out, and what is merged stays", d.Layer)
		}
	}
	return whole(m.Body, m.stored)
}

// whole says whether a module has the weights with which it was read, and no others.
func whole(m nn.Module, stored []string) error {
	list := nn.Params(m)
	for _, p := range list {
		if !slices.Contains(stored, p.Name) || p.Fixed() {
			return fmt.Errorf("weight %s has no place in a folder of this family: lora.Remove(model) takes adapters out, and what is merged stays", p.Name)
		}
	}
	if len(list) != len(stored) {
		return fmt.Errorf("got %d weights, want %d", len(list), len(stored))
	}
	return nil
}

// namesOf are the names of a module's weights.
func namesOf(m nn.Module) (list []string) {
	for _, p := range nn.Params(m) {
		list = append(list, p.Name)
	}
	return list
}

// writeWeights writes the weights of a module as a file of a folder within f.
func writeWeights(f *durable.Folder, at string, m nn.Module) error {
	tensors := map[string]tensor.Tensor{}
	for _, p := range nn.Params(m) {
		tensors[p.Name] = p.InFile()
	}
	name := path.Join(at, pretrained.WeightsFile)
	if err := os.MkdirAll(filepath.Dir(f.Path(name)), 0o777); err != nil {
		return err
	}
	return safetensors.Save(f.Path(name), tensors, map[string]string{"format": "pt"})
}

// remember keeps a file of the folder for Save.
func (m *Model) remember(name string, text []byte) {
	if m.files == nil {
		m.files = map[string][]byte{}
	}
	m.files[path.Clean(filepath.ToSlash(name))] = text
}
