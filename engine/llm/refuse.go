package llm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// lacks are the parts that well-known models have and that no Config says, with their model_types.
var lacks = []struct{ part, types string }{
	{"experts with parts of their own", "aria aria_text cohere2_moe dbrx ernie4_5_vl_moe qwen3_omni_moe"},
	{"experts of attention", "jetmoe"},
	{"a router that is a network of its own", "zaya"},
	{"attention within chunks", "llama4 llama4_text"},
	{"attention with a gate or a bias of its own", "afmoe doge dory inkling_text inkling2_text inkling2_loop_text laguna muse_glimmer_text muse_spark_text step3p5"},
	{"attention to keys that an index chooses", "axk2 deepseek_v32 dots3_note dots3_note_text glm_moe_dsa hy_v4 minimax_m3_vl minimax_m3_vl_text"},
	{"values of another width than keys", "mimo_v2_flash"},
	{"latent attention with parts of its own", "deepseek_v4 longcat_flash mistral4"},
	{"linear attention of another kind", "bailing_hybrid glm5_next kimi_linear minimax olmo_hybrid"},
	{"layers with a state of another kind", "falcon_mamba jamba mamba recurrent_gemma rwkv xlstm zamba zamba2"},
	{"short convolutions of another kind", "lfm3 lfm3_vl"},
	{"an encoder beside its decoder", "bart bigbird_pegasus blenderbot blenderbot-small florence2 led longt5 m2m_100 marian mbart mt5 musicgen musicgen_melody mvp nllb-moe pegasus pix2struct " +
		"plbart pp_formulanet prophetnet switch_transformers t5 t5gemma t5gemma2 trocr udop umt5 vision-encoder-decoder whisper"},
	{"several streams beside each other, and embeddings in each layer", "gemma3n gemma3n_text"},
	{"positions without a rotation", "biogpt blip bloom cpmant ctrl git gpt-sw3 kosmos-2 kosmos-2.5 mpt openai-gpt opt xglm xlnet"},
	{"attention to tokens by hashes", "reformer"},
	{"patches of bytes in place of tokens", "blt"},
	{"attention to pictures in layers of its own", "evolla idefics mllama"},
	{"q, k and v of each head in one matrix", "codegen fuyu gpt_neox_japanese persimmon"},
	{"q, k and v in one matrix of folders", "sarvam_moe"},
	{"differential attention", "diffllama"},
	{"keys of another model, for which it guesses", "gemma4_assistant gemma4_unified_assistant muse_glimmer_assistant"},
	{"movements of a robot in place of tokens", "pi0"},
	{"text that is made by diffusion", "diffusion_gemma"},
	{"norms without weights", "hrm_text nanochat"},
	{"norms within attention and feed-forward layer", "bitnet"},
	{"tokens of pictures or sound in its vocabulary", "chameleon cosmos3_edge cosmos3_omni emu3 moshi"},
}

// kin are families by whose parts transformers makes the models of others, where their names do not tell.
var kin = map[string]string{
	"axk1": "deepseek_v3", "beam": "qwen3_moe", "flint": "qwen3_moe", "kolibri1": "exaone4, glm4",
	"lara_mini": "qwen3_5_moe_text", "modernbert-decoder": "eurobert", "paddleocr_vl_text": "ernie4_5", "unlimited_ocr_text": "deepseek_v2", "qwen4_exp_text": "qwen3_5_moe_text", "sarvam_mla": "deepseek_v3",
}

// encoders are those of package embed, and others those that it does not read.
const (
	encoders = "bert camembert distilbert gte jina_embeddings_v3 modernbert mpnet new nomic_bert roberta xlm-roberta"
	others   = "albert bert-generation big_bird canine data2vec-text deberta deberta-v2 electra ernie esm fnet funnel ibert luke megatron-bert mobilebert mra nystromformer rembert " +
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
	if near := cmp.Or(kin[name], strings.Join(neighbours(name), ", ")); near != "" {
		text += "; near it: " + near
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
