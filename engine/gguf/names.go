package gguf

import (
	"maps"
	"slices"
	"strings"
)

// A pair is a name in a GGUF file and one in a model's folder at Hugging Face.
type pair struct{ file, hub string }

// tensorsOutside are the tensors outside the layers, without ".weight".
var tensorsOutside = []pair{{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}}

// tensorsOfLayer are those of a layer, without "blk.0.", "model.layers.0.", ".weight" and ".bias".
var tensorsOfLayer = []pair{
	{"attn_norm", "input_layernorm"},
	{"attn_q", "self_attn.q_proj"}, {"attn_k", "self_attn.k_proj"}, {"attn_v", "self_attn.v_proj"},
	{"attn_qkv", "self_attn.qkv_proj"}, {"attn_output", "self_attn.o_proj"},
	{"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
	{"ffn_gate", "mlp.gate_proj"}, {"ffn_down", "mlp.down_proj"},
}

// The norms have other names where there is one after attention as well as before it, and the second matrix
// where it holds the gate too.
var (
	twoNorms  = []pair{{"ffn_norm", "post_attention_layernorm"}}
	fourNorms = []pair{
		{"post_attention_norm", "post_attention_layernorm"},
		{"ffn_norm", "pre_feedforward_layernorm"}, {"post_ffw_norm", "post_feedforward_layernorm"},
	}
	after    = []pair{{"post_attention_norm", "post_attention_layernorm"}, {"post_ffw_norm", "post_feedforward_layernorm"}}
	glmNorms = []pair{
		{"post_attention_norm", "post_self_attn_layernorm"}, {"ffn_norm", "post_attention_layernorm"}, {"post_ffw_norm", "post_mlp_layernorm"},
	}
	gateApart = []pair{{"ffn_up", "mlp.up_proj"}}
	gateIn    = []pair{{"ffn_up", "mlp.gate_up_proj"}}
)

// experts are the layers of all experts of a layer, [experts out in], and what stands beside them.
var experts = []pair{
	{"ffn_gate_inp", "mlp.gate"}, {"ffn_gate_exps", "mlp.experts.gate_proj"}, {"ffn_up_exps", "mlp.experts.up_proj"},
	{"ffn_down_exps", "mlp.experts.down_proj"}, {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"}, {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
	{"ffn_up_shexp", "mlp.shared_expert.up_proj"}, {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
}

// Names of some families, which come before the others.
var (
	phiNames       = []pair{{"attn_output", "self_attn.dense"}, {"ffn_up", "mlp.fc1"}, {"ffn_down", "mlp.fc2"}}
	starCoderNames = []pair{{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}}
	hunyuanNames   = []pair{{"attn_q_norm", "self_attn.query_layernorm"}, {"attn_k_norm", "self_attn.key_layernorm"}}
)

// families are the models whose names are known, by general.architecture.
var families = map[string][][]pair{
	"llama":  {tensorsOfLayer, twoNorms, gateApart, experts},
	"qwen2":  {tensorsOfLayer, twoNorms, gateApart},
	"qwen3":  {tensorsOfLayer, twoNorms, gateApart},
	"gemma":  {tensorsOfLayer, twoNorms, gateApart},
	"gemma2": {tensorsOfLayer, fourNorms, gateApart},
	"gemma3": {tensorsOfLayer, fourNorms, gateApart},
	"phi3":   {tensorsOfLayer, twoNorms, gateIn},

	"arcee":         {tensorsOfLayer, twoNorms, gateApart},
	"cohere2":       {tensorsOfLayer, gateApart},
	"command-r":     {tensorsOfLayer, gateApart},
	"ernie4_5":      {tensorsOfLayer, twoNorms, gateApart},
	"exaone4":       {tensorsOfLayer, after, gateApart},
	"glm4":          {tensorsOfLayer, glmNorms, gateIn},
	"granite":       {tensorsOfLayer, twoNorms, gateApart},
	"hunyuan-dense": {hunyuanNames, tensorsOfLayer, twoNorms, gateApart},
	"jais2":         {tensorsOfLayer, twoNorms, gateApart},
	"mistral3":      {tensorsOfLayer, twoNorms, gateApart},
	"nemotron":      {tensorsOfLayer, twoNorms, gateApart},
	"olmoe":         {tensorsOfLayer, twoNorms, experts},
	"qwen2moe":      {tensorsOfLayer, twoNorms, experts},
	"qwen3moe":      {tensorsOfLayer, twoNorms, experts},
	"olmo2":         {tensorsOfLayer, after, gateApart},
	"phi2":          {phiNames, tensorsOfLayer},
	"seed_oss":      {tensorsOfLayer, after, gateApart},
	"smollm3":       {tensorsOfLayer, twoNorms, gateApart},
	"stablelm":      {tensorsOfLayer, twoNorms, gateApart},
	"starcoder2":    {starCoderNames, tensorsOfLayer, twoNorms},
}

// tied are the architectures whose output matrix is the embedding.
var tied = []string{"command-r", "cohere2"}

// Architectures are those whose names are known.
func Architectures() []string { return slices.Sorted(maps.Keys(families)) }

// HubName is the name that a tensor of a file has in the model's folder at Hugging Face, by the file's
// general.architecture: "model.layers.0.self_attn.q_proj.weight" for "blk.0.attn_q.weight". It is not ok for
// a name that the architecture does not have there, as rope_freqs.weight, and for an unknown architecture.
//
// The numbers need not be the same: files of "llama" have the rows of attn_q and attn_k in another order, the
// two halves of each head interleaved, and those of the gemma family have 1 added to the weights of norms.
func HubName(architecture, name string) (hub string, ok bool) {
	return rename(architecture, name, "blk.", "model.layers.", func(p pair) (string, string) { return p.file, p.hub })
}

// FileName is the name that a tensor of a folder has in a file: the inverse of [HubName].
func FileName(architecture, hub string) (name string, ok bool) {
	return rename(architecture, hub, "model.layers.", "blk.", func(p pair) (string, string) { return p.hub, p.file })
}

// rename looks a name up from one side of the tables to the other.
func rename(architecture, name, layers, otherLayers string, sides func(pair) (from, to string)) (string, bool) {
	family, ok := families[architecture]
	dot := strings.LastIndexByte(name, '.')
	if !ok || dot < 0 {
		return "", false
	}
	stem, end := name[:dot], name[dot:]
	if end != ".weight" && end != ".bias" {
		return "", false
	}
	tables, prefix := [][]pair{tensorsOutside}, ""
	switch {
	case architecture == "phi2":
		tables = [][]pair{{{"output_norm", "model.final_layernorm"}}, tensorsOutside}
	case slices.Contains(tied, architecture):
		tables = [][]pair{tensorsOutside[:2]}
	}
	if rest, ok := strings.CutPrefix(stem, layers); ok {
		number, inside, _ := strings.Cut(rest, ".")
		if number == "" || strings.Trim(number, "0123456789") != "" {
			return "", false
		}
		tables, prefix, stem = family, otherLayers+number+".", inside
	}
	for _, table := range tables {
		for _, p := range table {
			if from, to := sides(p); from == stem {
				return prefix + to + end, true
			}
		}
	}
	return "", false
}

// config are the metadata, without the architecture before them, and the fields of a folder's config.json.
var config = []pair{
	{"context_length", "max_position_embeddings"}, {"block_count", "num_hidden_layers"},
	{"embedding_length", "hidden_size"}, {"feed_forward_length", "intermediate_size"}, {"vocab_size", "vocab_size"},
	{"attention.head_count", "num_attention_heads"}, {"attention.head_count_kv", "num_key_value_heads"},
	{"attention.key_length", "head_dim"}, {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
	{"attention.sliding_window", "sliding_window"}, {"rope.freq_base", "rope_theta"},
	{"expert_count", "num_local_experts"}, {"expert_used_count", "num_experts_per_tok"},
	{"expert_feed_forward_length", "moe_intermediate_size"}, {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
}

// ConfigKeys are the metadata for which there is a field of config.json, without the architecture before
// them.
func ConfigKeys() []string {
	var keys []string
	for _, p := range config {
		keys = append(keys, p.file)
	}
	return keys
}

// ConfigField is the field of config.json that holds what a file's metadata hold under the key:
// "hidden_size" for "llama.embedding_length". It is not ok for a key without one.
func ConfigField(key string) (field string, ok bool) {
	_, key, _ = strings.Cut(key, ".")
	for _, p := range config {
		if p.file == key {
			return p.hub, true
		}
	}
	return "", false
}
