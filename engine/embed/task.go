package embed

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// LoadTask is [Load] of a folder whose weights have an adapter for each of some tasks, as those of Jina's
// third embeddings: the adapter of that task is added to them, and its prompt is that of texts of which
// nothing is said. Load leaves all adapters out. Save writes what was read as a model of that task alone.
func LoadTask(ctx context.Context, dir, task string) (*Model, error) {
	return (&loader{ctx: ctx, dir: dir, tasks: tasks{wanted: task}}).model()
}

// tasks are the adapters that weights have, and which one is wanted.
type tasks struct {
	names   []string
	wanted  string
	rank    int
	scale   float64
	prompts map[string]string
}

// ofJina says whether a config.json is one of Jina's own folders, whose class is no XLM-R.
func ofJina(s *pretrained.Settings) bool {
	return s.Text("model_type", "") == "xlm-roberta" && s.Text("position_embedding_type", "") == "rotary"
}

// read finds the tasks of a folder.
func (t *tasks) read(s *pretrained.Settings) error {
	t.names, t.rank, t.scale = s.Texts("lora_adaptations"), s.Int("lora_rank", 4), s.Number("lora_alpha", 1)
	s.Read("task_instructions", &t.prompts, "a text for each task")
	if t.rank < 1 {
		s.Fail("lora_rank", "got %d, want a positive number", t.rank)
	} else if t.scale /= float64(t.rank); t.wanted != "" && !slices.Contains(t.names, t.wanted) {
		s.Fail("lora_adaptations", "got the task %q, want one of %q", t.wanted, t.names)
	}
	return s.Err()
}

// original is where a weight is that has adapters: torch keeps it as a parametrisation.
func original(name string) string {
	return strings.TrimSuffix(name, ".weight") + ".parametrizations.weight.original"
}

// add adds the adapter of the task to an encoder's weights: to those of layers [out in] B·A, and to tables of
// vectors A·B (jinaai/xlm-roberta-flash-implementation: modeling_lora.py), times alpha/rank.
func (t *tasks) add(w *pretrained.Weights, e *Encoder) error {
	at, n, found := slices.Index(t.names, t.wanted), len(t.names), 0
	for _, p := range nn.Params(e) {
		shape := p.InFile().Shape()
		name := strings.Replace(original(p.Name), ".original", ".0.lora_", 1)
		if stored := w.Stored(name + "A"); len(shape) != 2 || !w.Has(stored) {
			continue
		}
		out, in, table := shape[0], shape[1], strings.HasPrefix(p.Name, "embeddings.")
		a, b := []int{n, t.rank, in}, []int{n, out, t.rank}
		if table {
			a, b = []int{n, out, t.rank}, []int{n, t.rank, in}
		}
		x, y := w.Tensor(name+"A", a...), w.Tensor(name+"B", b...)
		if err := w.Err(); err != nil {
			return err
		}
		x, y = x.Select(0, at).Cast(dtype.F32), y.Select(0, at).Cast(dtype.F32)
		own, delta := p.Value(), tensor.Tensor{}
		if table {
			delta = x.MatMul(y)
		} else {
			delta = y.MatMul(x).Transpose() // weights of layers are [in out]
		}
		own.Set(own.Cast(dtype.F32).Add(delta.Mul(t.scale)).Cast(own.DType()).Eval())
		found++
	}
	if found == 0 {
		return fmt.Errorf("no tensor of an adapter, though the settings list the tasks %q", t.names)
	}
	return nil
}

// alone makes of the files what a folder without adapters has, which transformers and sentence-transformers
// read without code of their own.
func (t *tasks) alone(m *Model, c Config) (err error) {
	name := filepath.Join(m.bodyPath, configFile)
	m.files[name], err = pretrained.Changed(m.files[name], func(keys map[string]any) {
		maps.DeleteFunc(keys, func(key string, _ any) bool {
			return strings.HasPrefix(key, "lora_") || slices.Contains([]string{"auto_map", "task_instructions", "position_embedding_type", "rotary_emb_base"}, key)
		})
		keys["model_type"], keys["architectures"] = c.Family, []string{"JinaEmbeddingsV3Model"}
		keys["rope_parameters"] = map[string]any{"rope_type": "default", "rope_theta": c.Rope.Base}
	})
	if text := m.files[modulesFile]; text != nil {
		m.files[modulesFile] = []byte(strings.ReplaceAll(string(text), "custom_st.Transformer", "sentence_transformers.models.Transformer"))
	}
	if m.Prompts == nil {
		m.Prompts = map[string]string{}
	}
	for task, text := range t.prompts {
		m.Prompts[task] = cmp.Or(m.Prompts[task], text)
	}
	if _, ok := m.Prompts[t.wanted]; ok {
		m.Prompt = t.wanted
	}
	return err
}
