package llm

import (
	"fmt"
	"slices"
	"strings"
)

// lacks are the parts that well-known models have and that no Config says, with their model_types.
var lacks = []struct{ part, types string }{
	{"experts with parts of their own", "afmoe cohere2_moe dbrx ernie4_5_vl_moe exaone_moe glm4v_moe " +
		"jetmoe llama4 llama4_text mimo_v2_flash minimax_m3_vl phimoe " +
		"qwen3_omni_moe sarvam_moe solar_open"},
	{"latent attention with parts of its own", "deepseek_v32 deepseek_v4 glm4_moe_lite glm_moe_dsa kimi_k25 longcat_flash minicpm3 mistral4 sarvam_mla youtu"},
	{"linear attention of another kind", "bailing_hybrid kimi_linear minimax olmo_hybrid"},
	{"layers with a state of another kind", "falcon_mamba jamba mamba recurrent_gemma rwkv xlstm zamba zamba2"},
	{"short convolutions beside experts or pictures", "lfm3 lfm3_vl"},
	{"an encoder beside its decoder", "bart blenderbot florence2 led longt5 m2m_100 marian mbart mt5 nllb-moe pegasus plbart switch_transformers t5 t5gemma " +
		"t5gemma2 umt5 whisper"},
	{"several streams beside each other, and embeddings in each layer", "gemma3n gemma3n_text"},
	{"positions without a rotation", "biogpt bloom gpt2 gpt_bigcode gpt_neo mpt openai-gpt opt xglm"},
	{"attention to pictures in layers of its own", "mllama"},
	{"q, k and v of each head in one matrix", "codegen falcon gpt_neox gpt_neox_japanese persimmon"},
	{"differential attention", "diffllama"},
	{"keys of another model, for which it guesses", "gemma4_assistant gemma4_unified_assistant muse_glimmer_assistant"},
	{"text that is made by diffusion", "diffusion_gemma"},
	{"norms without weights", "nanochat olmo"},
	{"weights of three values", "bitnet"},
}

// encoders are those of package embed, and others those that it does not read.
const (
	encoders = "bert camembert distilbert gte jina_embeddings_v3 modernbert mpnet new nomic_bert roberta xlm-roberta"
	others   = "albert big_bird canine data2vec-text deberta deberta-v2 electra ernie esm fnet funnel ibert luke megatron-bert mobilebert mra nystromformer rembert " +
		"roberta-prelayernorm roc_bert roformer squeezebert xlm xlm-roberta-xl xmod yoso"
)

// unknown says why a model_type is not read, and what comes near it. Inner is that of a part for text; empty:
// there is none.
func unknown(name, inner string) string {
	switch {
	case named(encoders, name):
		return fmt.Sprintf("got %q, an encoder, which embed.Load reads", name)
	case named(others, name):
		return fmt.Sprintf("got %q, an encoder that is not read; embed.Load reads %s", name, encoders)
	}
	for _, l := range lacks {
		if named(l.types, name) {
			return fmt.Sprintf("got %q, which has %s, and no family that is read has that: docs/models.md lists them", name, l.part)
		}
	}
	if _, ok := familyOf(inner); ok {
		return fmt.Sprintf("got %q, around a model of text of the type %q, which is read in a folder of its own only", name, inner)
	}
	if inner != "" {
		return unknown(inner, "") + fmt.Sprintf(", within %q", name)
	}
	text := fmt.Sprintf("got %q, which is not read: docs/models.md lists the families", name)
	if list := neighbours(name); list != nil {
		text += "; near it: " + strings.Join(list, ", ")
	}
	return text
}

// neighbours are families whose names begin with the same word, or of which one is a part of the other.
func neighbours(name string) (list []string) {
	word := func(s string) string { return s[:len(s)-len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz"))] }
	for _, t := range types() {
		if word(t) == word(name) || len(name) > 3 && (strings.Contains(t, name) || strings.Contains(name, t)) {
			list = append(list, t)
		}
	}
	return list
}

func named(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
