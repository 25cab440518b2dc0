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
	{"norms without weights", "nanochat olmo"},
	{"weights of three values", "bitnet"},
}

// encoders are those of package embed.
const encoders = "bert distilbert gte jina_embeddings_v3 modernbert mpnet new nomic_bert roberta xlm-roberta"

// unknown says why a model_type is not read.
func unknown(name string) string {
	if named(encoders, name) {
		return fmt.Sprintf("got %q, an encoder, which embed.Load reads", name)
	}
	for _, l := range lacks {
		if named(l.types, name) {
			return fmt.Sprintf("got %q, which has %s, and no family that is read has that: docs/models.md lists them", name, l.part)
		}
	}
	return fmt.Sprintf("got %q, want one of %s, or an encoder, which embed.Load reads: %s", name, strings.Join(types(), ", "), encoders)
}

func named(list, name string) bool { return slices.Contains(strings.Fields(list), name) }
