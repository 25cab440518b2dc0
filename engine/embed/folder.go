package embed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/access"
	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/engine/tokenizer"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

const (
	configFile    = "config.json"
	modulesFile   = "modules.json"
	tokenizerFile = "tokenizer.json"
	maxConfig     = 1 << 20   // bytes of a file of settings
	maxText       = 256 << 20 // of a tokenizer's file
)

// carried are further files that tokenizers of other libraries read, which Save writes as Load found them.
var carried = []string{"special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt", "sentencepiece.bpe.model"}

// Load reads a model from a folder, or a decoder from a GGUF file that says how it pools. With a modules.json
// it is one of sentence-transformers: an encoder or a table, pooling, dense layers, normalisation; its
// prompts and its longest text are taken over. Without, it is an encoder of transformers, which pools by the
// mean, a model of model2vec, or a folder of tokenizer.json and model.safetensors with one matrix. Weights
// are f32, f16 or bf16; matrices keep their dtype, or are codes as llm.Load has them, and all else is
// computed in f32. Families are BERT, RoBERTa, XLM-R, MPNet, DistilBERT, ModernBERT, Nomic BERT, and those of
// llm.Load; a folder of another one, modules and settings that change what the model computes in a way that
// is not known here, and tensors without a place are errors that name them. Load stops when ctx is done.
func Load(ctx context.Context, dir string) (*Model, error) {
	return (&loader{ctx: ctx, dir: dir}).model()
}

func (l *loader) model() (*Model, error) {
	if err := l.try(l.load); err != nil {
		return nil, err
	}
	return &l.m, nil
}

// try calls what reads the folder.
func (l *loader) try(read func() error) (err error) {
	defer wrap.Error(&err, "embed")
	return access.Try(l.ctx, read)
}

// A loader reads one folder.
type loader struct {
	ctx context.Context
	dir string
	m   Model

	tasks tasks
}

// settings reads a file of the folder; nil: there is none.
func (l *loader) settings(path ...string) (*pretrained.Settings, error) {
	own := filepath.Join(path...)
	name := filepath.Join(l.dir, own)
	text, err := regular.Read(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l.m.remember(own, text)
	return pretrained.ParseSettings(name, text)
}

// config reads the config.json of a module, which must be there.
func (l *loader) config(path string) (*pretrained.Settings, error) {
	s, err := l.settings(path, configFile)
	if err == nil && s == nil {
		err = fmt.Errorf("%s: no such file", filepath.Join(l.dir, path, configFile))
	}
	return s, err
}

// A module is a step of a model of sentence-transformers.
type module struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

func (l *loader) load() error {
	if err := pretrained.Missing(l.dir); err != nil {
		return err
	}
	if strings.HasSuffix(l.dir, ".gguf") {
		return l.gguf()
	}
	list, err := l.modules()
	if err != nil {
		return err
	}
	for _, m := range list {
		kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		read := map[string]func(string) error{
			"Transformer": l.encoder, "StaticEmbedding": l.table, "Pooling": l.pooling, "Dense": l.dense, "Normalize": l.normalize,
			"Dropout": func(string) error { return nil },
		}[kind]
		if read == nil {
			return fmt.Errorf("%s: modules of type %q are not read", filepath.Join(l.dir, modulesFile), m.Type)
		}
		first := kind == "Transformer" || kind == "StaticEmbedding"
		if first != (l.m.Body == nil) {
			return fmt.Errorf("%s: got a module of type %q in a wrong place", filepath.Join(l.dir, modulesFile), m.Type)
		}
		if err := read(m.Path); err != nil {
			return err
		}
	}
	if len(l.m.Pooling) == 0 {
		l.m.Pooling = []Pooling{Mean}
	}
	if err := l.prompts(); err != nil {
		return err
	}
	if l.tasks.names == nil && l.tasks.wanted != "" {
		return fmt.Errorf("%s: got the task %q, want none: the model's weights have no adapters", l.dir, l.tasks.wanted)
	}
	if e, ok := l.m.Body.(*Encoder); ok && l.tasks.names != nil {
		if err := l.tasks.alone(&l.m, e.Config); err != nil {
			return err
		}
	}
	nn.SetNames(&l.m)
	l.m.stored = namesOf(l.m.Body)
	return nil
}

// modules reads modules.json, or says what a folder without one has.
func (l *loader) modules() ([]module, error) {
	path := filepath.Join(l.dir, modulesFile)
	text, err := regular.Read(path, maxConfig)
	if err == nil {
		l.m.remember(modulesFile, text)
		var list []module
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, m := range list {
			if m.Path != "" && !filepath.IsLocal(m.Path) {
				return nil, fmt.Errorf("%s: got the path %q, want one inside of the folder", path, m.Path)
			}
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("%s: got no modules", path)
		}
		return list, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s, err := l.settings(configFile)
	if err != nil {
		return nil, err
	}
	if s == nil || ofModel2vec(s) {
		return []module{{Type: "StaticEmbedding"}}, nil
	}
	return []module{{Type: "Transformer"}}, nil
}

// ofModel2vec says whether a config.json is one of model2vec, which does not always say so.
func ofModel2vec(s *pretrained.Settings) bool {
	kind := s.Text("model_type", "")
	return kind == "model2vec" || kind == "" && !s.Has("hidden_size")
}

// tokenizer reads the tokenizer of a folder.
func (l *loader) tokenizer(path string) ([]byte, error) {
	name := filepath.Join(l.dir, path, tokenizerFile)
	text, err := regular.Read(name, maxText)
	if err != nil {
		return nil, err
	}
	l.m.remember(filepath.Join(path, tokenizerFile), text)
	if l.m.Tokenizer, err = tokenizer.Parse(tokenizerFile, text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// encoder reads an encoder, and how long its texts are.
func (l *loader) encoder(path string) error {
	s, err := l.config(path)
	if err != nil {
		return err
	}
	if l.m.Body, err = l.body(s, filepath.Join(l.dir, path)); err != nil {
		return err
	}
	l.m.bodyPath = path
	return l.texts(path)
}

// texts reads the tokenizer, and how long texts are.
func (l *loader) texts(path string) error {
	for _, name := range carried {
		if text, err := regular.Read(filepath.Join(l.dir, path, name), maxText); err == nil {
			l.m.remember(filepath.Join(path, name), text)
		}
	}
	if _, err := l.tokenizer(path); err != nil {
		return err
	}
	s, err := l.settings(path, "tokenizer_config.json")
	if err != nil {
		return err
	}
	if s != nil {
		if n := s.Number("model_max_length", 0); n > 0 && n < 1<<30 { // 1e30 means any
			l.m.MaxTokens = int(n)
		}
		if err := s.Err(); err != nil {
			return err
		}
	}
	if s, err = l.settings(path, "sentence_bert_config.json"); err != nil || s == nil {
		return err
	}
	if n := s.Int("max_seq_length", 0); n > 0 {
		l.m.MaxTokens = n
	}
	l.m.Lower = s.Bool("do_lower_case", false)
	return s.Err()
}

// body reads an encoder, or the decoder of a language model.
func (l *loader) body(s *pretrained.Settings, dir string) (Body, error) {
	if _, ok := families()[s.Text("model_type", "")]; !ok {
		return readDecoder(l.ctx, dir)
	}
	c, err := parseConfig(s)
	if err != nil {
		return nil, err
	}
	if ofJina(s) {
		if err := l.tasks.read(s); err != nil {
			return nil, err
		}
	}
	return l.readEncoder(dir, c)
}

// readEncoder builds the encoder of c with the weights of a folder.
func (l *loader) readEncoder(dir string, c Config) (*Encoder, error) {
	w, err := pretrained.OpenWeights(l.ctx, dir)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if w.Len() < 5*c.Layers { // so that a hostile number of layers costs nothing
		return nil, fmt.Errorf("%s: got %d tensors, want those of %d layers", dir, w.Len(), c.Layers)
	}
	prefix := families()[c.Family].prefix
	if words := prefix + families()[c.Family].words + ".weight"; !w.Has(words) && !w.Has(original(words)) {
		prefix = ""
	}
	w.Stored = func(name string) string {
		name = prefix + name
		if before, ok := strings.CutSuffix(name, "LayerNorm.weight"); ok && !w.Has(name) && w.Has(before+"LayerNorm.gamma") {
			return before + "LayerNorm.gamma" // in files of 2018
		}
		if before, ok := strings.CutSuffix(name, "LayerNorm.bias"); ok && !w.Has(name) && w.Has(before+"LayerNorm.beta") {
			return before + "LayerNorm.beta"
		}
		if !w.Has(name) && w.Has(original(name)) {
			return original(name)
		}
		return name
	}
	var e *Encoder
	if err := tensor.Try(func() { e = build(c) }); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, configFile), err)
	}
	nn.Walk(e, func(path string, member nn.Member) {
		switch l := member.Module().(type) {
		case *nn.Linear:
			*l = *w.Linear(path, l.In(), l.Out(), !l.Bias.IsNone())
		case *nn.Embedding:
			*l = *w.Embedding(path, l.Weight.Len(0), l.Weight.Len(1))
		case *nn.LayerNorm:
			if l.Weight = w.Vector(path+".weight", c.Width); !l.Bias.IsNone() {
				l.Bias = w.Vector(path+".bias", c.Width)
			}
		}
	})
	if err := w.Err(); err != nil {
		return nil, err
	}
	if l.tasks.names != nil && l.tasks.wanted != "" {
		if err := l.tasks.add(w, e); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	heads := []string{"cls.", "lm_head.", "vocab_transform.", "vocab_layer_norm.", "vocab_projector.", "classifier.", "pre_classifier.", "head.", "decoder."}
	err = w.Rest(c.Family, func(stored string) bool { // the heads of other tasks
		if strings.HasPrefix(stored, prefix+"pooler.") || strings.HasSuffix(stored, "embeddings.position_ids") || l.tasks.names != nil && strings.Contains(stored, ".parametrizations.weight.0.lora_") {
			return true
		}
		return prefix != "" && slices.ContainsFunc(heads, func(head string) bool { return strings.HasPrefix(stored, head) })
	})
	return e, err
}

// table reads a vector for each token: "embedding.weight", model2vec's "embeddings", which may have a place
// and a weight for each token, or the only matrix there is.
func (l *loader) table(path string) error {
	dir := filepath.Join(l.dir, path)
	s, err := l.settings(path, configFile)
	if err != nil {
		return err
	}
	text, err := l.tokenizer(path)
	if err != nil {
		return err
	}
	w, err := pretrained.OpenWeights(l.ctx, dir)
	if err != nil {
		return err
	}
	defer w.Close()
	name, shape := w.Matrix("embedding.weight", "embeddings")
	if name == "" || shape[0] < 1 || shape[1] < 1 {
		return fmt.Errorf("%s: no tensor embedding.weight or embeddings, [tokens width]", dir)
	}
	t, err := readTable(w, name, shape, l.m.Tokenizer.Vocab())
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if err := w.Rest("static", func(string) bool { return false }); err != nil {
		return err
	}
	l.m.Body, l.m.Plain, l.m.bodyPath = t, true, path
	if s == nil || !ofModel2vec(s) {
		return nil
	}
	l.m.Normalize, l.m.MaxTokens = s.Bool("normalize", false), s.Int("max_length", 512)
	if l.m.MaxTokens < 0 {
		s.Fail("max_length", "got %d, want at least 0", l.m.MaxTokens)
	}
	if s.Err() != nil {
		return s.Err()
	}
	var content struct {
		Model struct {
			Unknown string `json:"unk_token"`
		} `json:"model"`
	}
	if json.Unmarshal(text, &content) == nil && content.Model.Unknown != "" {
		l.m.Without = []int{l.m.Tokenizer.ID(content.Model.Unknown)}
	}
	return nil
}

func readTable(w *pretrained.Weights, name string, shape []int, vocab int) (*Table, error) {
	t := w.Tensor(name, shape...)
	if w.Has("mapping") { // several tokens share a row
		rows := w.Values("mapping", vocab)
		if w.Err() == nil {
			if low, high := rows.Min().Float64s()[0], rows.Max().Float64s()[0]; rows.DType().Float() || low < 0 || high >= float64(shape[0]) {
				return nil, fmt.Errorf("tensor mapping: got %v from %g to %g, want rows of 0…%d", rows.DType(), low, high, shape[0]-1)
			}
		}
		if w.Err() == nil {
			t = t.Take(rows, 0)
			shape = []int{vocab, shape[1]}
		}
	}
	if w.Has("weights") {
		factors := w.Values("weights", shape[0])
		if w.Err() == nil {
			t = t.Cast(dtype.F32).Mul(factors.Cast(dtype.F32).Unsqueeze(-1))
		}
	}
	if w.Err() != nil {
		return nil, w.Err()
	}
	return &Table{&nn.Embedding{Weight: t.Eval().Param()}}, nil
}

// pooling reads how one vector is made of many.
func (l *loader) pooling(path string) error {
	s, err := l.config(path)
	if err != nil {
		return err
	}
	var one string
	var list []string
	if s.Try("pooling_mode", &one) {
		list = []string{one}
	} else {
		list = s.Texts("pooling_mode")
	}
	if list == nil {
		for _, p := range append(slices.Clone(poolings), "weightedmean") {
			key := cmp.Or(map[Pooling]string{First: "cls_token", Max: "max_tokens", Mean: "mean_tokens", "weightedmean": "weightedmean_tokens"}[p], string(p))
			if s.Bool("pooling_mode_"+key, false) {
				list = append(list, string(p))
			}
		}
	}
	for _, name := range list {
		if !slices.Contains(poolings, Pooling(name)) {
			s.Fail("pooling_mode", "got %q, want one of %q", name, poolings)
		}
		l.m.Pooling = append(l.m.Pooling, Pooling(name))
	}
	if !s.Bool("include_prompt", true) {
		s.Fail("include_prompt", "got false, which is not supported")
	}
	if len(l.m.Pooling) > len(poolings) {
		s.Fail("pooling_mode", "got %d kinds", len(l.m.Pooling))
	}
	return s.Err()
}

// dense reads a layer after the pooling.
func (l *loader) dense(path string) error {
	s, err := l.config(path)
	if err != nil {
		return err
	}
	in, out, bias := s.Need("in_features"), s.Need("out_features"), s.Bool("bias", true)
	act := s.Text("activation_function", "torch.nn.modules.activation.Tanh")
	f, ok := map[string]nn.Func{"Tanh": nn.Tanh(), "ReLU": nn.ReLU(), "GELU": nn.GELU(), "SiLU": nn.SiLU(), "Sigmoid": nn.Sigmoid(), "Identity": {}}[act[strings.LastIndexByte(act, '.')+1:]]
	if !ok {
		s.Fail("activation_function", "got %q, want Tanh, ReLU, GELU, SiLU, Sigmoid or Identity", act)
	}
	s.Not("use_residual")
	for _, key := range []string{"module_input_name", "module_output_name"} {
		s.OneOf(key, "sentence_embedding", "sentence_embedding")
	}
	if want := l.m.Width(); s.Err() == nil && in != want {
		s.Fail("in_features", "got %d, want %d, the width before it", in, want)
	}
	if err := s.Err(); err != nil {
		return err
	}
	w, err := pretrained.OpenWeights(l.ctx, filepath.Join(l.dir, path))
	if err != nil {
		return err
	}
	defer w.Close()
	layer := w.Linear("linear", in, out, bias)
	if err := w.Err(); err != nil {
		return err
	}
	l.m.Dense = append(l.m.Dense, &Dense{Layer: layer, Act: f, out: out})
	l.m.densePaths = append(l.m.densePaths, path)
	return w.Rest("dense", func(string) bool { return false })
}

// normalize reads which vectors become 1 long.
func (l *loader) normalize(path string) error {
	l.m.Normalize = true
	s, err := l.settings(path, configFile)
	if err != nil || s == nil || path == "" || path == "." {
		return err
	}
	s.OneOf("module_input_name", "sentence_embedding", "sentence_embedding")
	return s.Err()
}

// prompts reads what texts begin with, and how vectors are compared.
func (l *loader) prompts() error {
	s, err := l.settings(promptsFile)
	if err != nil || s == nil {
		return err
	}
	var all map[string]*string
	s.Read("prompts", &all, "an object of strings")
	for name, text := range all {
		if text != nil && *text != "" {
			if l.m.Prompts == nil {
				l.m.Prompts = map[string]string{}
			}
			l.m.Prompts[name] = *text
		}
	}
	l.m.Prompt = s.Text("default_prompt_name", "")
	if _, ok := all[l.m.Prompt]; !ok && l.m.Prompt != "" {
		s.Fail("default_prompt_name", "got %q, want one of the prompts", l.m.Prompt)
	}
	if l.m.Prompts[l.m.Prompt] == "" {
		l.m.Prompt = ""
	}
	l.m.Dot = s.OneOf("similarity_fn_name", "cosine", "cosine", "dot") == "dot"
	return s.Err()
}
