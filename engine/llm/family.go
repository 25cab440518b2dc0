package llm

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
	"github.com/mcs-notebook/mcs/engine/nn"
)

// settings are those of a config.json.
type settings struct {
	*pretrained.Settings
	family family // that they are of
}

// A family is what models of a model_type do in another way than others. To read another one, write its row
// and put it into families; gguf/names.go has the names of its tensors. The places are listed in
// CONTRIBUTING.md.
type family struct {
	ggufhub.Family        // its model_type, and what its GGUF files do otherwise
	class          string // of transformers, that reads its folder
	// read says what a config.json means, beyond what all have in common. Defaults are those of transformers'
	// classes.
	read func(s settings, c *Config)
	// ropeKinds are other words for kinds of scaling.
	ropeKinds   ggufhub.Pairs
	interleaved bool          // rotary positions turn neighbours
	joined      bool          // folders have one tensor for the layers of all experts
	kinds       bool          // rope_parameters has an object for each kind of layer
	conv1D      bool          // folders have matrices as [in out]
	straight    bool          // which is [experts in out], not [experts out in]
	ahead       bool          // folders have layers beyond the last, which guess tokens further ahead: they are not read
	statics     bool          // the numbers by which routers choose are a row of a matrix (ERNIE)
	rates       bool          // layer_rope_theta has the rate of each layer
	grows       bool          // queries grow with their position, by llama_4_scaling_beta
	unadapted   []string      // layers that PEFT refuses to adapt (tuners_utils.py: _check_lora_target_modules_mamba)
	folded      bool          // mlx-lm multiplies weights by the settings' factors, and leaves some factors out
	keys        ggufhub.Pairs // settings that folders call otherwise: "hidden_size", and "n_embd" for it; or have not, with ""
	wide        int           // the feed-forward layer is so many times as wide as the model where a folder does not say it; 0: it does
	// names are those of members that have others than in Llama's folders: "dense" for "o_proj".
	names ggufhub.Pairs
	// files are other names of tensors in folders than those of the model's weights: ".mlp." and what stands
	// for it, in pairs.
	files []string
	// rows are the ends of a matrix's name and of those of its rows, which folders have as vectors of their
	// own.
	rows [2]string
}

// inFolder is the name in a folder of what the model calls by another one.
func (f family) inFolder(name string) string { return strings.NewReplacer(f.files...).Replace(name) }

// call gives settings the names that the family's folders have for them.
func (f family) call(k map[string]any) {
	for _, p := range f.keys {
		if x, ok := k[p[0]]; ok {
			if delete(k, p[0]); p[1] != "" {
				k[p[1]] = x
			}
		}
	}
}

// families are all. One that New made is of the first that can say its Config.
var families = []family{
	llama, mistral, qwen2, qwen3, gemma1, gemma2, gemma3, gemma4, gemma4Unified, phi3,
	ministral, ministral3, seedOSS, cwm, smolLM3, olmo1, olmo2, olmo3, granite, exaone4, cohere, cohere2, glm, glm4, phi, starCoder2, nemotron,
	lfm2, lfm2Moe, qwen3Next, qwen35, qwen35Moe, mamba2, falconH1, bamba, graniteHybrid, graniteShared, nemotronH,
	qwen2Moe, qwen3Moe, mixtral, miniMaxM2, hy3, olmoe, glm4Moe, dots1, flexOlmo, graniteMoe, gptOSS, deepSeek2, deepSeek3, hunyuanMoe, ernieMoe,
	glm4MoeLite, youtu, miniCPM3, mellum, solarOpen, phiMoE, graniteSWA, graniteMoeSWA, exaone,
	hunyuan, helium, arcee, hyperCLOVAX, iQuestCoder, ernie, internLM3, stableLM, jais2, vaultGemma, apertus, euroBERT,
	gpt2, gptBigCode, gptNeo, gptJ, gptNeoX, falcon, exaoneMoe,
}

// familyOf finds a family by its model_type.
func familyOf(name string) (f family, ok bool) {
	i := slices.IndexFunc(families, func(f family) bool { return f.Type == name })
	if i < 0 {
		return f, false
	}
	return families[i], true
}

// types are the model_types of all families.
func types() (list []string) {
	for _, f := range families {
		list = append(list, f.Type)
	}
	slices.Sort(list)
	return list
}

// inFiles are the families as package ggufhub wants them.
func inFiles() (list ggufhub.Families) {
	for _, f := range families {
		list = append(list, f.Family)
	}
	return append(list, otherFiles()...)
}

// windows reads which layers have a window.
func (s settings) windows(n int, other func(i int) bool) []bool {
	return s.layers(n, "sliding_attention", other)
}

// oldKinds are words of layer_types that older folders have for others.
var oldKinds = map[string]string{"mamba": "linear_attention", "attention": "full_attention"}

// layers reads which layers are of a kind: layer_types, or what other says where there is none; nil: all.
func (s settings) layers(n int, kind string, other func(i int) bool) []bool {
	kinds := s.Texts("layer_types")
	for i, word := range kinds {
		kinds[i] = cmp.Or(oldKinds[word], word)
	}
	if n < 1 || n > 1<<20 || s.Err() != nil {
		return nil // refused by the check of all lengths
	}
	if kinds != nil && len(kinds) != n {
		s.Fail("layer_types", "got %d layers, want %d", len(kinds), n)
		return nil
	}
	list := make([]bool, n)
	for i := range list {
		switch {
		case kinds == nil:
			list[i] = other(i)
		case kinds[i] == kind:
			list[i] = true
		case kinds[i] != "full_attention":
			s.Fail("layer_types", "got %q, want full_attention or %s", kinds[i], kind)
			return nil
		}
	}
	if !slices.Contains(list, false) {
		return nil // all of them, which Config says so
	}
	return list
}

// eachLayer lists of n layers which are so.
func eachLayer(n int, is func(layer int) bool) []bool {
	list := make([]bool, min(max(n, 0), 1<<20)) // the check of all lengths refuses more
	for i := range list {
		list[i] = is(i)
	}
	return list
}

// window reads a window, of all tokens where there is none; other is that of a folder that does not say.
func (s settings) window(other int) int {
	if s.Null("sliding_window") {
		return 0
	}
	return s.Int("sliding_window", other)
}

// every says of a layer whether it is not each n-th.
func (s settings) every(key string, n int) func(layer int) bool {
	n = s.Int(key, n)
	if n < 1 {
		s.Fail(key, "got %d, want a positive number", n)
		return func(int) bool { return false }
	}
	return func(i int) bool { return (i+1)%n != 0 }
}

// biases reads those of attention, and of the feed-forward layer.
func (s settings) biases(c *Config, other bool) {
	c.QKVBias = s.Bool("attention_bias", other)
	c.OutBias = c.QKVBias
	c.MLPBias = s.Bool("mlp_bias", other)
}

// layerNorm reads LayerNorms.
func (s settings) layerNorm(c *Config, eps string, bias bool) {
	c.LayerNorm, c.NormBias = true, bias
	c.Eps = s.Number(eps, 1e-5)
}

// factor reads a factor, 0 where it is 1.
func (s settings) factor(key string, other float64) float64 {
	if x := s.Number(key, other); x != 1 {
		return x
	}
	return 0
}

// activation translates the name of an activation.
func (s settings) activation(key, other string) string {
	names := map[string]string{"silu": "silu", "swish": "silu", "gelu_pytorch_tanh": "gelu_tanh", "gelu_new": "gelu_tanh", "gelu": "gelu", "relu": "relu", "relu2": "relu2", xielu: xielu}
	return names[s.OneOf(key, other, slices.Sorted(maps.Keys(names))...)]
}

// parseConfig reads the text of a config.json.
func parseConfig(file string, text []byte) (Config, error) {
	all, err := pretrained.ParseSettings(file, text)
	if err != nil {
		return Config{}, err
	}
	return parseSettings(all)
}

func parseSettings(all *pretrained.Settings) (Config, error) {
	s := settings{Settings: all}
	c := s.config()
	if s.Err() == nil {
		c = c.withDefaults()
		if err := c.check(); err != nil {
			s.Fail("", "%v", err)
		}
	}
	return c, s.Err()
}

func (s settings) config() Config {
	name := s.Text("model_type", "")
	var ok bool
	if s.family, ok = familyOf(name); !ok {
		inner := ""
		if o := s.Object("text_config"); o != nil {
			inner = o.Text("model_type", "")
		}
		s.Fail("model_type", "%s", unknown(name, inner))
		return Config{}
	}
	s.Alias(s.family.keys)
	c := Config{
		Family: name, Vocab: s.Need("vocab_size"), Layers: s.depth(), Width: s.Need("hidden_size"),
		Heads: s.heads(), KVHeads: s.Int("num_key_value_heads", 0), HeadDim: s.Int("head_dim", 0),
		Hidden: s.hidden(), Context: s.Int("max_position_embeddings", 0),
		Untied: !s.Bool("tie_word_embeddings", false), Eps: s.Number("rms_norm_eps", 1e-6),
	}
	if s.Has("hidden_act") {
		c.Act = s.activation("hidden_act", "silu")
	}
	s.family.read(s, &c)
	c = c.withDefaults()
	s.ropes(&c)
	s.latentRope(&c)
	c.DType = s.DType()
	return c
}

// ropes reads rotary positions in today's form, rope_parameters, which may have an object for each kind of
// layer, or in the older one, rope_theta and rope_scaling.
func (s settings) ropes(c *Config) {
	theta := s.Number("rope_theta", cmp.Or(s.family.Theta, 10000))
	all := s.Object("rope_parameters")
	switch {
	case all == nil && c.LocalRope.Base != 0: // the family has read them
	case all == nil:
		c.Rope = s.rope(c, s.Object("rope_scaling"), theta)
	case all.Has("full_attention"):
		wide := *c
		wide.HeadDim = cmp.Or(c.Global.HeadDim, c.HeadDim)
		c.Rope = s.rope(&wide, all.Object("full_attention"), theta)
		if all.Has("sliding_attention") {
			c.LocalRope = s.rope(c, all.Object("sliding_attention"), theta)
		}
	default:
		c.Rope = s.rope(c, all, theta)
	}
	if s.family.rates {
		s.rates(c)
	}
}

// rope reads an object of rotary positions; nil: there is none.
func (s settings) rope(c *Config, o *pretrained.Settings, theta float64) nn.Rope {
	partial := s.Number("partial_rotary_factor", cmp.Or(s.family.Partial, 1))
	if n := s.Int("rotary_dim", 0); n > 0 && c.HeadDim > 0 { // as MiniMax-M2's folders say it
		partial = float64(n) / float64(c.HeadDim)
	}
	if o == nil {
		o = s.None()
	}
	r := nn.Rope{Base: o.Number("rope_theta", theta), Interleaved: s.family.interleaved}
	partial = o.Number("partial_rotary_factor", partial)
	if !(partial > 0 && partial <= 1) {
		s.Fail("partial_rotary_factor", "got %v, want a share of 1", partial)
		return r
	}
	if partial < 1 {
		r.Rotary = int(float64(c.HeadDim) * partial)
	}
	kind := o.Text("rope_type", o.Text("type", "default"))
	kind = cmp.Or(s.family.ropeKinds.Of(kind), kind)
	if alpha := o.Number("alpha", 0); kind == "dynamic" && alpha > 0 { // Hunyuan's, which does not vary
		width := float64(cmp.Or(r.Rotary, c.HeadDim))
		r.Base *= math.Pow(alpha, width/(width-2))
		return r
	}
	if kind == "proportional" {
		r.Scaling = nn.RopeScaling{Kind: kind, Factor: o.Number("factor", 1)}
	}
	if kind == "default" || kind == "proportional" {
		return r
	}
	short := o.Number("short_mscale", 0) // Phi 3.5 MoE
	if long := o.Number("long_mscale", short); long != short {
		s.Fail("long_mscale", "got %v, want short_mscale, %v", long, short)
	}
	original := o.Int("original_max_position_embeddings", c.Context)
	if s.Has("original_max_position_embeddings") {
		original = s.Int("original_max_position_embeddings", 0)
	}
	r.Scaling = nn.RopeScaling{
		Kind: kind, Factor: o.Number("factor", 0), Context: c.Context, Original: original,
		LowFreq: o.Number("low_freq_factor", 0), HighFreq: o.Number("high_freq_factor", 0),
		BetaFast: o.Number("beta_fast", 0), BetaSlow: o.Number("beta_slow", 0), Untruncated: !o.Bool("truncate", true),
		Short: o.Numbers("short_factor"), Long: o.Numbers("long_factor"), Attention: o.Number("attention_factor", short),
	}
	if s.family.grows {
		r.Scaling.QueryBeta = o.Number("llama_4_scaling_beta", 0)
	}
	if kind == "yarn" {
		yarnDefaults(o, &r.Scaling)
	}
	return r
}

// yarnDefaults fills in what a configuration of yarn leaves to be worked out.
func yarnDefaults(o *pretrained.Settings, y *nn.RopeScaling) {
	if y.Factor == 0 && y.Original > 0 {
		y.Factor = float64(y.Context) / float64(y.Original)
	}
	m, all := o.Number("mscale", 0), o.Number("mscale_all_dim", 0)
	if y.Attention == 0 && m != 0 && all != 0 && y.Factor > 1 {
		y.Attention = (0.1*m*math.Log(y.Factor) + 1) / (0.1*all*math.Log(y.Factor) + 1)
	}
}
