package lora

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// peftConfig is what mcs reads and writes of PEFT's adapter_config.json (PEFT 0.21: tuners/lora/config.py).
type peftConfig struct {
	PeftType      string          `json:"peft_type"`
	TaskType      string          `json:"task_type"`
	BaseModel     string          `json:"base_model_name_or_path"`
	InferenceMode bool            `json:"inference_mode"`
	R             int             `json:"r"`
	Alpha         float64         `json:"lora_alpha"`
	Dropout       float64         `json:"lora_dropout"`
	Targets       json.RawMessage `json:"target_modules"`
	RSLoRA        bool            `json:"use_rslora"`
	DoRA          bool            `json:"use_dora"`
	LoRABias      bool            `json:"lora_bias"`
	Init          any             `json:"init_lora_weights"` // true, false or a name
	FanInFanOut   bool            `json:"fan_in_fan_out"`
	Bias          string          `json:"bias"`
	RankPattern   ordered         `json:"rank_pattern"`
	AlphaPattern  ordered         `json:"alpha_pattern"`
	Whole         []string        `json:"modules_to_save"`
	Parameters    []string        `json:"target_parameters"` // weights of layers; PEFT needs it for such that no layer has
	Tokens        json.RawMessage `json:"trainable_token_indices"`
	TieWeights    bool            `json:"ensure_weight_tying"`
}

// harmless are the keys that do not change what an adapter computes: notes, settings of training that the
// weights show (which layers), and settings of methods that other keys choose.
var harmless = []string{
	"auto_mapping", "peft_version", "revision", "runtime_config", "megatron_core", "qalora_group_size",
	"exclude_modules", "layers_to_transform", "layers_pattern", "eva_config", "corda_config", "lora_ga_config", "loftq_config",
}

// An ordered is a JSON object of numbers in the order of its text, which decides among patterns.
type ordered []entry

type entry struct {
	key   string
	value float64
}

func (o *ordered) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	t, err := d.Token()
	if err != nil || t == nil { // null
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("got %s, want an object", text)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value float64
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("%v: %w", key, err)
		}
		*o = append(*o, entry{key.(string), value})
	}
	return nil
}

func (o ordered) MarshalJSON() ([]byte, error) {
	object := map[string]float64{}
	for _, e := range o {
		object[e.key] = e.value
	}
	return json.Marshal(object)
}

// find returns the value of the first pattern that matches a layer's name, as PEFT matches them: at the end
// of the name, behind a dot (utils/other.py: get_pattern_key).
func (o ordered) find(name string, otherwise float64) (float64, error) {
	for _, e := range o {
		re, err := regexp.Compile(`\A(?:(.*\.)?(` + e.key + `))\z`)
		if err != nil {
			return 0, err
		}
		if re.MatchString(name) {
			return e.value, nil
		}
	}
	return otherwise, nil
}

// readPEFT reads the text of an adapter_config.json.
func readPEFT(text []byte) (p peftConfig, c Config, err error) {
	p = peftConfig{Bias: "none", Init: true}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, c, fmt.Errorf("configuration: %w", err)
	}
	if p.PeftType != "LORA" { // whose keys are others
		return p, c, fmt.Errorf("got peft_type %q, want \"LORA\"", p.PeftType)
	}
	if err := checkKeys(text); err != nil {
		return p, c, err
	}
	switch {
	case p.R < 1 || !(p.Alpha > 0):
		return p, c, fmt.Errorf("got r %d and lora_alpha %g, want both positive", p.R, p.Alpha)
	case !(p.Dropout >= 0 && p.Dropout <= 1):
		return p, c, fmt.Errorf("got lora_dropout %g, want a probability from 0 to 1", p.Dropout)
	}
	c = Config{Rank: p.R, Alpha: p.Alpha, Dropout: p.Dropout, RankStabilized: p.RSLoRA, DoRA: p.DoRA, LoRABias: p.LoRABias,
		OnlyInput: !p.TieWeights, Bias: p.Bias, Train: strings.Join(p.Whole, " ")}
	if c.Tokens, err = readTokens(p.Tokens); err != nil {
		return p, c, err
	}
	c.Init, err = readInit(p.Init)
	return p, c, err
}

// of is what a layer has of c, with its rank and alpha.
func (p *peftConfig) of(c Config, layer string) (Config, error) {
	key := layer
	if p.targetsParameter(layer + ".weight") {
		key += ".weight"
	}
	rank, err := p.RankPattern.find(key, float64(c.Rank))
	if err != nil {
		return c, fmt.Errorf("rank_pattern: %w", err)
	}
	if c.Alpha, err = p.AlphaPattern.find(key, c.Alpha); err != nil {
		return c, fmt.Errorf("alpha_pattern: %w", err)
	}
	if c.Rank = int(rank); float64(c.Rank) != rank || c.Rank < 1 || !(c.Alpha > 0) {
		return c, fmt.Errorf("got rank %g and alpha %g of %s, want both positive", rank, c.Alpha, layer)
	}
	return c, nil
}

// targetsParameter says whether target_parameters has a weight: that of a layer, q_proj.weight, beside which
// [out in] an adapter is what it is beside the layer, or that of all experts, experts.down_proj.
func (p *peftConfig) targetsParameter(name string) bool {
	return slices.ContainsFunc(p.Parameters, func(target string) bool { return strings.HasSuffix("."+name, "."+target) })
}

// checkKeys refuses keys that mcs does not know, unless their values say that they are not in use.
func checkKeys(text []byte) error {
	var known map[string]json.RawMessage
	sample, err := json.Marshal(peftConfig{})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(sample, &known); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if _, ok := known[key]; ok || slices.Contains(harmless, key) {
			continue
		}
		var value bytes.Buffer
		if err := json.Compact(&value, all[key]); err != nil {
			return err
		}
		switch value.String() {
		case "null", "false", "0", `""`, "[]", "{}":
		default:
			return fmt.Errorf("got %s %.60s, which changes what the adapter computes in a way that mcs does not know", key, value.String())
		}
	}
	return nil
}

// readInit returns Config.Init for PEFT's init_lora_weights. Some methods change the weights of the base when
// an adapter is made, and again when it is loaded: mcs does the same for those that it knows. Of the others
// it needs only what they came to.
func readInit(value any) (string, error) {
	switch v := value.(type) {
	case nil, bool:
		return Uniform, nil
	case string:
		if v == PiSSA || v == OLoRA {
			return v, nil
		}
		if _, ok := iterations(v); ok {
			return v, nil
		}
		if slices.Contains([]string{"gaussian", "eva", "orthogonal", "mica", "lora_ga"}, v) {
			return Uniform, nil
		}
	}
	return "", fmt.Errorf("got init_lora_weights %v, by which PEFT makes another base when it loads the adapter: save that base, and the adapter with init_lora_weights true", value)
}

// writePEFT is the text of the adapter's adapter_config.json. Adapters that began with a piece of the weight
// are written as ones that did not, of twice the rank, as PEFT converts them
// (path_initial_model_for_weight_conversion).
func (a *Adapter) writePEFT() ([]byte, error) {
	names, tokens := []string{}, json.RawMessage("null")
	var parameters []string
	for i, part := range a.parts {
		if part.A.Rank() == 3 {
			parameters = append(parameters, a.names[i])
			continue
		}
		if slices.Contains(a.routers, a.names[i]) {
			parameters = append(parameters, a.names[i]+".weight")
			continue
		}
		if part.tokens == nil {
			names = append(names, a.names[i])
			continue
		}
		var err error
		if tokens, err = json.Marshal(part.tokens); err != nil {
			return nil, err
		}
	}
	targets, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	whole, tied := []string{}, false
	for _, w := range a.wholes {
		tied = tied || w.tied
		if dot := strings.LastIndexByte(w.param.Name, '.'); !w.bias {
			whole = append(whole, w.param.Name[:dot])
		}
	}
	for _, part := range a.parts {
		tied = tied || part.tied && !part.apart && part.tokens == nil
	}
	p := peftConfig{
		PeftType: "LORA", TaskType: "CAUSAL_LM", InferenceMode: true, Targets: targets, Init: true, Bias: cmp.Or(a.Config.Bias, NoBias),
		Dropout: a.Config.Dropout, RSLoRA: a.Config.RankStabilized, DoRA: a.Config.DoRA, LoRABias: a.Config.LoRABias,
		R: a.Config.Rank, Alpha: a.Config.Alpha, TieWeights: tied, Tokens: tokens, Whole: slices.Compact(whole), Parameters: parameters,
	}
	if len(a.parts) > 0 {
		p.R, p.Alpha = a.stored(a.parts[0])
	}
	for i, part := range a.parts {
		if part.tokens != nil {
			continue
		}
		rank, alpha := a.stored(part)
		if rank != p.R {
			p.RankPattern = append(p.RankPattern, entry{regexp.QuoteMeta(a.names[i]), float64(rank)})
		}
		if alpha != p.Alpha {
			p.AlphaPattern = append(p.AlphaPattern, entry{regexp.QuoteMeta(a.names[i]), alpha})
		}
	}
	return json.MarshalIndent(p, "", "  ")
}

// stored are rank and alpha of a part as files have it.
func (a *Adapter) stored(p *Part) (rank int, alpha float64) {
	c := a.Config
	at, _ := p.lowRank()
	c.Rank = at.Len(-1)
	c.Alpha = a.Config.Alpha
	if p.startA.IsNone() && c.Scale() == p.Scale {
		return c.Rank, c.Alpha
	}
	c.Alpha = 1
	return c.Rank, p.Scale / c.Scale()
}

// The names of tensors in PEFT's files: behind prefix and the layer's name stands what it is, without
// ".weight" in some.
const (
	prefix      = "base_model.model."
	lowA        = ".lora_A.weight"
	lowB        = ".lora_B.weight"
	biasB       = ".lora_B.bias"
	embeddingA  = ".lora_embedding_A"
	embeddingB  = ".lora_embedding_B"
	magnitude   = ".lora_magnitude_vector"
	tokenRows   = ".token_adapter.trainable_tokens_delta" // the vectors themselves, in spite of its name
	ofBaseLayer = ".base_layer"                           // stands between the name of an adapted layer and that of its own weight
)

// peftNames are those of a layer's tensors in a file of PEFT.
func peftNames(name string, embeds bool) (a, b, m string) {
	layer := prefix + name
	if embeds {
		return layer + embeddingA, layer + embeddingB, layer + magnitude
	}
	return layer + lowA, layer + lowB, layer + magnitude
}

// peftTensors lists the adapter's tensors under PEFT's names.
func (a *Adapter) peftTensors() map[string]tensor.Tensor {
	tensors := map[string]tensor.Tensor{}
	for i, p := range a.parts {
		if p.tokens != nil {
			tensors[prefix+a.names[i]+tokenRows] = p.rows.Add(p.B).Detach()
			continue
		}
		pa, pb := p.lowRank()
		if pa.Rank() == 3 {
			nameA, nameB, _ := peftNames(nested(a.names[i], a.names), false)
			tensors[nameA], tensors[nameB] = toGrouped(pa.Detach(), pb.Detach())
			continue
		}
		nameA, nameB, nameM := peftNames(a.names[i], p.embeds)
		tensors[nameA], tensors[nameB] = pa.Detach().Transpose(), pb.Detach().Transpose()
		if !p.Bias.IsNone() {
			tensors[prefix+a.names[i]+biasB] = p.Bias.Detach()
		}
		if !p.Magnitude.IsNone() {
			tensors[nameM] = p.Magnitude.Detach()
		}
		if p.tied && !p.apart { // lm_head is the same layer, turned
			tensors[prefix+head+lowA], tensors[prefix+head+lowB] = pb.Detach(), pa.Detach()
		}
	}
	for _, w := range a.wholes {
		t := a.trained(w).Detach()
		if w.turned {
			t = t.Transpose()
		}
		tensors[prefix+w.fileName()] = t
		if w.tied {
			tensors[prefix+head+".weight"] = t
		}
	}
	return tensors
}

// fileName is the whole's name in files of PEFT.
func (w *whole) fileName() string {
	name := w.param.Name
	if dot := strings.LastIndexByte(name, '.'); w.adapted {
		return name[:dot] + ofBaseLayer + name[dot:]
	}
	return name
}

// peft finds the places in a model of an adapter that PEFT wrote.
func (f *file) peft(text []byte, name string, m nn.Module) error {
	p, c, err := readPEFT(text)
	if err != nil {
		return err
	}
	f.config, f.turned = c, true
	f.config.Name = name
	f.textNames()
	tied := !hasHead(m)
	slots := linears(m)
	var grouped []string // layers of experts that the adapter has, in the model's order
	for _, s := range slots {
		if s.grouped() && p.targetsParameter(s.name) {
			grouped = append(grouped, s.name)
		}
	}
	for _, s := range slots {
		if s.grouped() && !slices.Contains(grouped, s.name) {
			continue
		}
		if s.grouped() {
			if err := f.peftGrouped(s, &p, nested(s.name, grouped)); err != nil {
				return err
			}
			continue
		}
		v, ok := f.peftValues(s, s.embeds() && p.targetsParameter(s.name+".weight"))
		if !ok {
			continue
		}
		c, err := p.of(c, s.name)
		if err != nil {
			return err
		}
		c.Name = name
		if err := f.add(s, c, v); err != nil {
			return err
		}
		switch {
		case !s.embeds() || !tied:
		case v.swapped && !c.OnlyInput:
			return fmt.Errorf("%s is one of target_parameters, which ensure_weight_tying does not tie to the output matrix", s.name)
		case !v.swapped:
			if err := f.sameHead(lowA, turned(v.b)); err != nil {
				return err
			}
			if err := f.sameHead(lowB, turned(v.a)); err != nil {
				return err
			}
		}
	}
	if len(c.Tokens) > 0 {
		s, err := c.tokenSlot(m)
		if err != nil {
			return err
		}
		l, _ := adapt(s.Layer())
		want := []int{len(c.Tokens), l.Out()}
		rows, ok := f.take(prefix + s.name + tokenRows)
		if !ok || !slices.Equal(rows.Shape(), want) {
			return fmt.Errorf("%s has no %s %v", s.name, tokenRows[1:], want)
		}
		f.rows = rows
	}
	return f.peftWholes(m, tied)
}

// textNames gives what an adapter has for a model of text within one of pictures or sound the names of the
// model of text alone, which is what package llm reads of such a model.
func (f *file) textNames() {
	alone := strings.NewReplacer(
		prefix+"model.language_model.", prefix+"model.", prefix+"language_model.model.", prefix+"model.",
		prefix+"model.text_model.", prefix+"model.", prefix+"language_model.lm_head.", prefix+"lm_head.")
	tensors := map[string]tensor.Tensor{}
	for name, t := range f.tensors {
		tensors[alone.Replace(name)] = t
	}
	f.tensors = tensors
}

// peftValues takes what the file has of a layer. Of an embedding whose weight [vocabulary width] is one of
// target_parameters lora_B has a row for each token: it is the part's A.
func (f *file) peftValues(s slot, swapped bool) (v values, ok bool) {
	nameA, nameB, nameM := peftNames(s.name, s.embeds() && !swapped)
	a, hasA := f.take(nameA)
	b, hasB := f.take(nameB)
	v = values{a: turned(a), b: turned(b), swapped: swapped}
	if swapped {
		v.a, v.b = b, a
	}
	v.bias, _ = f.take(prefix + s.name + biasB)
	v.magnitude, _ = f.take(nameM)
	return v, hasA || hasB
}

// peftGrouped adds what the file has of the layers of experts, under the name of a wrapper.
func (f *file) peftGrouped(s slot, p *peftConfig, wrapper string) error {
	nameA, nameB, _ := peftNames(wrapper, false)
	a, hasA := f.take(nameA)
	b, hasB := f.take(nameB)
	if !hasA && !hasB {
		return nil
	}
	l, _ := adapt(s.Layer())
	var err error
	if hasA && hasB {
		if a, b, err = fromGrouped(a, b, l.bare(dtype.F32).Len(0)); err != nil {
			return fmt.Errorf("%s has %w", s.name, err)
		}
	}
	c, err := p.of(f.config, s.name)
	if err != nil {
		return err
	}
	return f.add(s, c, values{a: a, b: b})
}

// turned is a matrix [a b] as [b a]; what is none stays so.
func turned(t tensor.Tensor) tensor.Tensor {
	if t.IsNone() || t.Rank() != 2 {
		return t
	}
	return t.Transpose()
}

// sameHead checks a tensor that the file has of the output matrix, if any. In a model whose embedding is the
// output matrix it must be the embedding's, turned.
func (f *file) sameHead(name string, want tensor.Tensor) error {
	t, ok := f.take(prefix + head + name)
	if !ok {
		return nil
	}
	if t = turned(t); name == ".weight" {
		t = turned(t)
	}
	if !slices.Equal(t.Shape(), want.Shape()) || tensor.MaxAbsDiff(t, want) != 0 {
		return fmt.Errorf("%s%s is not that of the embedding, which is the output matrix of this model: load the model with tie_word_embeddings false", head, name)
	}
	return nil
}

// peftWholes finds the places of weights that were trained whole.
func (f *file) peftWholes(m nn.Module, tied bool) error {
	for _, p := range nn.Params(m) {
		dot := strings.LastIndexByte(p.Name, '.')
		if dot < 0 || strings.Contains(p.Name, ".lora_") {
			continue
		}
		t, ok := f.take(prefix + p.Name)
		if below, again := f.take(prefix + p.Name[:dot] + ofBaseLayer + p.Name[dot:]); again {
			t, ok = below, true
		}
		if !ok {
			continue
		}
		if sameAs(p, t) && !f.config.trains(p.Name) { // PEFT writes adapted embeddings, too, as they were
			f.take(prefix + head + ofBaseLayer + ".weight")
			continue
		}
		if err := f.addWhole(p, t); err != nil {
			return err
		}
		if embedding := tied && isEmbedding(m, p.Name[:dot]); embedding {
			if f.config.OnlyInput {
				return fmt.Errorf("%s is trained apart from the output matrix (ensure_weight_tying is false), which in this model is the same: load the model with tie_word_embeddings false", p.Name)
			}
			f.wholes[len(f.wholes)-1].tied = true
			if err := f.sameHead(".weight", t); err != nil {
				return err
			}
		}
	}
	return nil
}

// trains says whether an adapter of PEFT trains a weight whole that has still the values of the base: as one
// of modules_to_save, which are the ends of names, or as a bias.
func (c Config) trains(weight string) bool {
	if strings.HasSuffix(weight, ".bias") && cmp.Or(c.Bias, NoBias) != NoBias {
		return true
	}
	saved := strings.Fields(c.Train)
	for dot := strings.LastIndexByte(weight, '.'); dot > 0; dot = strings.LastIndexByte(weight, '.') {
		weight = weight[:dot]
		if slices.ContainsFunc(saved, func(end string) bool { return strings.HasSuffix(weight, end) }) {
			return true
		}
	}
	return false
}

// sameAs says whether a weight has the values of a file's tensor, bit for bit.
func sameAs(p nn.Param, t tensor.Tensor) bool {
	if p.Turned() {
		t = turned(t)
	}
	old := p.Value()
	return t.DType() == old.DType() && slices.Equal(t.Shape(), old.Shape()) && bytes.Equal(t.Bytes(), old.Bytes())
}

func isEmbedding(m nn.Module, name string) bool {
	return slices.ContainsFunc(linears(m), func(s slot) bool { return s.name == name && s.embeds() })
}
