package gguf

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A pair is a name in a GGUF file and one in a model's folder at Hugging Face.
type pair struct{ file, hub string }

// whole says whether the pair's names are complete, without an end that both have.
func (p pair) whole() bool {
	return strings.HasSuffix(p.hub, ".weight") || slices.Contains([]string{"ssm_a", "ssm_d", "exp_probs_b"}, p.file) ||
		slices.ContainsFunc([]string{".weight", ".bias", ".scale"}, func(end string) bool { return strings.HasSuffix(p.file, end) })
}

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
	apertusNames   = []pair{{"attn_norm", "attention_layernorm"}, {"ffn_norm", "feedforward_layernorm"}}
	phiNames       = []pair{{"attn_output", "self_attn.dense"}, {"ffn_up", "mlp.fc1"}, {"ffn_down", "mlp.fc2"}}
	starCoderNames = []pair{{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"}}
	stableNames    = []pair{{"attn_q_norm", "self_attn.q_layernorm"}, {"attn_k_norm", "self_attn.k_layernorm"}}
	hunyuanNames   = []pair{{"attn_q_norm", "self_attn.query_layernorm"}, {"attn_k_norm", "self_attn.key_layernorm"}}
)

// Names of GPT-2 and its heirs, whose files call the tensors alike.
var (
	gptNames = []pair{
		{"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn"}, {"attn_output", "attn.c_proj"}, {"ffn_norm", "ln_2"}, {"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"},
	}
	neoXNames = []pair{{"attn_qkv", "attention.query_key_value"}, {"attn_output", "attention.dense"}, {"ffn_up", "mlp.dense_h_to_4h"}, {"ffn_down", "mlp.dense_4h_to_h"}}
	// Of two norms the second is that of attention.
	rwNames    = []pair{{"attn_norm_2", "ln_attn"}, {"attn_norm", "input_layernorm"}, {"attn_norm", "ln_mlp"}, {"attn_qkv", "self_attention.query_key_value"}, {"attn_output", "self_attention.dense"}}
	gptOutside = []pair{{"token_embd", "transformer.wte"}, {"position_embd", "transformer.wpe"}, {"output_norm", "transformer.ln_f"}}
)

// deepExperts are names of experts that several families have, with those that all tokens go through.
var deepExperts = []pair{
	{"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"}, {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
	{"ffn_up_shexp", "mlp.shared_experts.up_proj"}, {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
}

// latentNames are those of DeepSeek's attention. "k_b_proj" and "v_b_proj" are parts of "kv_b_proj".
var latentNames = []pair{
	{"attn_q_a", "self_attn.q_a_proj"}, {"attn_q_a_norm", "self_attn.q_a_layernorm"}, {"attn_q_b", "self_attn.q_b_proj"},
	{"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"}, {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
	{"attn_k_b", "self_attn.k_b_proj"}, {"attn_v_b", "self_attn.v_b_proj"},
}

// ossNames are those of gpt-oss, lfmNames of LFM 2, whose feed-forward layers have the names of the first
// Llama.
var (
	ossNames = []pair{
		{"attn_sinks.weight", "self_attn.sinks"}, {"ffn_gate_inp", "mlp.router"}, {"ffn_down_exps.bias", "mlp.experts.down_proj_bias"},
		{"post_attention_norm", "post_attention_layernorm"},
	}
	lfmNames = []pair{
		{"attn_norm", "operator_norm"}, {"ffn_norm", "ffn_norm"}, {"ffn_gate", "feed_forward.w1"}, {"ffn_up", "feed_forward.w3"}, {"ffn_down", "feed_forward.w2"},
		{"shortconv.conv", "conv.conv"}, {"shortconv.in_proj", "conv.in_proj"}, {"shortconv.out_proj", "conv.out_proj"}, {"attn_output", "self_attn.out_proj"},
		{"attn_q_norm", "self_attn.q_layernorm"}, {"attn_k_norm", "self_attn.k_layernorm"},
	}
	lfmExperts = []pair{
		{"ffn_gate_inp", "feed_forward.gate"}, {"exp_probs_b.bias", "feed_forward.gate.e_score_correction_bias"}, {"ffn_gate_exps", "feed_forward.experts.gate_proj"},
		{"ffn_up_exps", "feed_forward.experts.up_proj"}, {"ffn_down_exps", "feed_forward.experts.down_proj"},
	}
	hunyuanExperts = []pair{
		{"ffn_gate_inp", "mlp.gate.wg"}, {"ffn_gate_shexp", "mlp.shared_mlp.gate_proj"}, {"ffn_up_shexp", "mlp.shared_mlp.up_proj"},
		{"ffn_down_shexp", "mlp.shared_mlp.down_proj"},
	}
	// graniteExperts are Granite's. What stands beside experts is the feed-forward layer where there are
	// none.
	graniteExperts = []pair{
		{"ffn_gate_inp", "block_sparse_moe.router"}, {"ffn_gate_exps", "block_sparse_moe.experts.gate_proj"}, {"ffn_up_exps", "block_sparse_moe.experts.up_proj"},
		{"ffn_down_exps", "block_sparse_moe.experts.down_proj"}, {"ffn_gate_shexp", "shared_mlp.gate_proj"}, {"ffn_up_shexp", "shared_mlp.up_proj"},
		{"ffn_down_shexp", "shared_mlp.output_linear"}, {"ffn_gate", "shared_mlp.gate_proj"}, {"ffn_up", "shared_mlp.up_proj"}, {"ffn_down", "shared_mlp.output_linear"},
	}
	// swaNames are those of Granite with windows, of which gate and up stay one tensor.
	swaNames = []pair{
		{"attn_sinks.weight", "self_attn.sinks"}, {"ffn_up_shexp", "shared_mlp.input_linear"},
		{"ffn_gate_up_exps.weight", "block_sparse_moe.experts.gate_up_proj"}, {"ffn_down_exps.weight", "block_sparse_moe.experts.down_proj"},
	}
	falconNames = []pair{{"ffn_norm", "pre_ff_layernorm.weight"}, {"ffn_gate", "feed_forward.gate_proj"}, {"ffn_up", "feed_forward.up_proj"}, {"ffn_down", "feed_forward.down_proj"}}
	oneNorm     = []pair{{"attn_norm", "norm"}}
	gemma4Names = []pair{
		{"layer_output_scale.weight", "layer_scalar"}, {"inp_gate", "per_layer_input_gate"}, {"proj", "per_layer_projection"}, {"post_norm", "post_per_layer_input_norm"},
		{"ffn_gate_inp", "router.proj"}, {"ffn_gate_inp.scale", "router.scale"}, {"ffn_down_exps.scale", "router.per_expert_scale"},
		{"ffn_gate_up_exps.weight", "experts.gate_up_proj"}, {"ffn_down_exps.weight", "experts.down_proj"}, {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
		{"pre_ffw_norm_2", "pre_feedforward_layernorm_2"}, {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
	}
	// nemotronNames are those of Nemotron-H, whose parts have one name.
	nemotronNames = []pair{
		{"attn_norm", "norm"}, {"attn_q", "mixer.q_proj"}, {"attn_k", "mixer.k_proj"}, {"attn_v", "mixer.v_proj"}, {"attn_output", "mixer.o_proj"},
		{"ffn_up", "mixer.up_proj"}, {"ffn_down", "mixer.down_proj"}, {"ffn_gate_inp", "mixer.gate"}, {"exp_probs_b.bias", "mixer.gate.e_score_correction_bias"},
		{"ffn_up_exps", "mixer.experts.up_proj"}, {"ffn_down_exps", "mixer.experts.down_proj"}, {"ffn_up_shexp", "mixer.shared_experts.up_proj"},
		{"ffn_down_shexp", "mixer.shared_experts.down_proj"}, {"ffn_latent_down", "mixer.fc1_latent_proj"}, {"ffn_latent_up", "mixer.fc2_latent_proj"},
	}
	// deltaNames are those of gated delta nets. "in_proj_qkv" and "in_proj_z" are parts of "in_proj_qkvz".
	deltaNames = append(stateNames("linear_attn."), pair{"attn_qkv", "linear_attn.in_proj_qkv"}, pair{"attn_gate", "linear_attn.in_proj_z"},
		pair{"ssm_ba", "linear_attn.in_proj_ba"}, pair{"ssm_alpha", "linear_attn.in_proj_a"}, pair{"ssm_beta", "linear_attn.in_proj_b"},
		pair{"post_attention_norm", "post_attention_layernorm"})
)

// stateNames are those of a layer that keeps a state.
func stateNames(path string) []pair {
	return []pair{
		{"ssm_a", path + "A_log"}, {"ssm_d", path + "D"}, {"ssm_dt.bias", path + "dt_bias"}, {"ssm_conv1d", path + "conv1d"},
		{"ssm_norm", path + "norm"}, {"ssm_in", path + "in_proj"}, {"ssm_out", path + "out_proj"},
	}
}

// outside are the names outside of the layers that some architectures have in place of others.
var outside = map[string][]pair{
	"falcon":    {{"token_embd", "transformer.word_embeddings"}, {"output_norm", "transformer.ln_f"}},
	"gpt2":      gptOutside,
	"gptneox":   {{"token_embd", "gpt_neox.embed_in"}, {"output_norm", "gpt_neox.final_layer_norm"}},
	"starcoder": gptOutside,

	"gemma4": {{"per_layer_token_embd", "model.embed_tokens_per_layer"}, {"per_layer_model_proj", "model.per_layer_model_projection"}, {"per_layer_proj_norm", "model.per_layer_projection_norm"}},

	"phi2": {{"output_norm", "model.final_layernorm"}},
	"lfm2": {{"token_embd_norm", "model.embedding_norm"}},

	"lfm2moe": {{"token_embd_norm", "model.embedding_norm"}},

	"mamba2": {{"token_embd", "backbone.embeddings"}, {"output_norm", "backbone.norm_f"}},

	"falcon-h1":      {{"output_norm", "model.final_layernorm"}},
	"nemotron_h":     {{"token_embd", "model.embeddings"}, {"output_norm", "model.norm_f"}},
	"nemotron_h_moe": {{"token_embd", "model.embeddings"}, {"output_norm", "model.norm_f"}},
}

// layersOf is what stands before a layer's number in folders whose layers are not "model.layers.".
var layersOf = map[string]string{
	"falcon": "transformer.h.", "gpt2": "transformer.h.", "gptneox": "gpt_neox.layers.", "mamba2": "backbone.layers.", "starcoder": "transformer.h.",
}

// families are the tables of names by general.architecture, of several that call their tensors alike.
var families = sync.OnceValue(func() map[string][][]pair {
	list := map[string][][]pair{}
	for _, row := range []struct {
		architectures string
		tables        [][]pair
	}{
		{"arcee ernie4_5 eurobert exaone gemma granite jais2 mistral3 nemotron paddleocr qwen2 qwen2vl qwen3 qwen3vl smollm3", [][]pair{tensorsOfLayer, twoNorms, gateApart}},
		{"mellum olmoe phimoe qwen2moe qwen3moe qwen3vlmoe", [][]pair{tensorsOfLayer, twoNorms, experts}},
		{"cohere2 command-r olmo", [][]pair{tensorsOfLayer, gateApart}},
		{"dots1 ernie4_5-moe exaone-moe", [][]pair{tensorsOfLayer, twoNorms, gateApart, deepExperts, experts}},
		{"exaone4 olmo2 seed_oss", [][]pair{tensorsOfLayer, after, gateApart}},
		{"gemma-embedding gemma2 gemma3", [][]pair{tensorsOfLayer, fourNorms, gateApart}},
		{"chatglm phi3", [][]pair{tensorsOfLayer, twoNorms, gateIn}},
		{"gpt2 starcoder", [][]pair{gptNames}},
		{"nemotron_h nemotron_h_moe", [][]pair{nemotronNames, stateNames("mixer.")}},
		{"apertus", [][]pair{apertusNames, tensorsOfLayer, gateApart}},
		{"deepseek2", [][]pair{latentNames, tensorsOfLayer, twoNorms, gateApart, deepExperts, experts}},
		{"falcon", [][]pair{rwNames, neoXNames}},
		{"falcon-h1", [][]pair{falconNames, stateNames("mamba."), tensorsOfLayer}},
		{"gemma4", [][]pair{gemma4Names, tensorsOfLayer, fourNorms, gateApart}},
		{"glm4", [][]pair{tensorsOfLayer, glmNorms, gateIn}},
		{"glm4moe", [][]pair{after, tensorsOfLayer, gateApart, deepExperts, experts}},
		{"gpt-oss", [][]pair{ossNames, tensorsOfLayer, experts}},
		{"gptneox", [][]pair{neoXNames, tensorsOfLayer, twoNorms}},
		{"granite_swa", [][]pair{swaNames, tensorsOfLayer, twoNorms, gateApart, graniteExperts}},
		{"granitehybrid", [][]pair{graniteExperts, stateNames("mamba."), tensorsOfLayer, twoNorms}},
		{"granitemoe", [][]pair{graniteExperts, tensorsOfLayer, twoNorms}},
		{"hunyuan-dense", [][]pair{hunyuanNames, tensorsOfLayer, twoNorms, gateApart}},
		{"hunyuan-moe", [][]pair{hunyuanNames, hunyuanExperts, tensorsOfLayer, twoNorms, experts}},
		{"hy_v3", [][]pair{{{"exp_probs_b", "mlp.gate.e_score_correction_bias"}}, tensorsOfLayer, twoNorms, gateApart, deepExperts, experts}},
		{"lfm2", [][]pair{lfmNames, tensorsOfLayer}},
		{"lfm2moe", [][]pair{lfmNames, lfmExperts, tensorsOfLayer}},
		{"llama", [][]pair{tensorsOfLayer, twoNorms, gateApart, experts}},
		{"mamba2", [][]pair{oneNorm, stateNames("mixer.")}},
		{"minicpm3", [][]pair{{{"attn_kv_b", "self_attn.kv_b_proj"}, {"attn_norm", "input_layernorm"}, {"attn_output", "self_attn.o_proj"}, {"ffn_gate", "mlp.gate_proj"}, {"ffn_down", "mlp.down_proj"}}, latentNames, twoNorms, gateApart}},
		{"minimax-m2", [][]pair{tensorsOfLayer, twoNorms, deepExperts, experts}},
		{"phi2", [][]pair{phiNames, tensorsOfLayer}},
		{"qwen35", [][]pair{deltaNames, tensorsOfLayer, gateApart}},
		{"qwen35moe", [][]pair{deltaNames, tensorsOfLayer, experts}},
		{"qwen3next", [][]pair{deltaNames, tensorsOfLayer, gateApart, experts}},
		{"stablelm", [][]pair{stableNames, tensorsOfLayer, twoNorms, gateApart}},
		{"starcoder2", [][]pair{starCoderNames, tensorsOfLayer, twoNorms}},
	} {
		for architecture := range strings.FieldsSeq(row.architectures) {
			list[architecture] = row.tables
		}
	}
	return list
})

// tied are the architectures whose output matrix is the embedding.
var tied = []string{"command-r", "cohere2"}

// Architectures are those whose names are known.
func Architectures() []string { return slices.Sorted(maps.Keys(families())) }

// HubName is the name that a tensor of a file has in the model's folder at Hugging Face, by the file's
// general.architecture: "model.layers.0.self_attn.q_proj.weight" for "blk.0.attn_q.weight". It is not ok for
// a name that the architecture does not have there, as rope_freqs.weight, and for an unknown architecture.
//
// The numbers need not be the same: files of "llama" have the rows of attn_q and attn_k in another order, the
// two halves of each head interleaved, and those of the gemma family have 1 added to the weights of norms.
func HubName(architecture, name string) (hub string, ok bool) {
	return rename(architecture, name, "blk.", cmp.Or(layersOf[architecture], "model.layers."), func(p pair) (string, string) { return p.file, p.hub })
}

// FileName is the name that a tensor of a folder has in a file: the inverse of [HubName].
func FileName(architecture, hub string) (name string, ok bool) {
	return rename(architecture, hub, cmp.Or(layersOf[architecture], "model.layers."), "blk.", func(p pair) (string, string) { return p.hub, p.file })
}

// rename looks a name up from one side of the tables to the other.
func rename(architecture, name, layers, otherLayers string, sides func(pair) (from, to string)) (string, bool) {
	family, ok := families()[architecture]
	if !ok {
		return "", false
	}
	tables, prefix := [][]pair{outside[architecture], tensorsOutside}, ""
	if slices.Contains(tied, architecture) {
		tables = [][]pair{tensorsOutside[:2]}
	}
	if rest, ok := strings.CutPrefix(name, layers); ok {
		number, inside, _ := strings.Cut(rest, ".")
		if number == "" || strings.Trim(number, "0123456789") != "" {
			return "", false
		}
		tables, prefix, name = family, otherLayers+number+".", inside
	}
	stem, end := name, ""
	for _, kind := range []string{".weight", ".bias"} {
		if s, ok := strings.CutSuffix(name, kind); ok {
			stem, end = s, kind
		}
	}
	for _, table := range tables {
		for _, p := range table {
			switch from, to := sides(p); {
			case p.whole() && from == name:
				return prefix + to, true
			case !p.whole() && from == stem && end != "":
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
