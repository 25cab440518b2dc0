package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/pretrained"
	"github.com/mcs-notebook/mcs/engine/llm/internal/ggufhub"
)

// wrappers are the models of pictures or sound around a model of text that computes with texts as it does
// alone, by their model_types. What encodes pictures and sound is not read. The logits of aya_vision and
// cohere2_vision have the factor of Cohere 2, which transformers leaves out.
const wrappers = "aya_vision cohere2_vision deepseek_vl exaone4_5 gemma3 gemma4 gemma4_unified glm46v glm4v glm4v_moe glmasr got_ocr2 granite_speech hyperclovax_vision_v2 idefics2 idefics3 internvl janus kimi_k25 lfm2_vl lighton_ocr " +
	"llava llava_next llava_next_video llava_onevision minicpmv4_6 mistral3 ovis2 paddleocr_vl pp_chart2table qianfan_ocr qwen2_5_vl qwen2_audio qwen2_vl qwen3_5 qwen3_5_moe qwen3_vl qwen3_vl_moe smolvlm video_llama_3 video_llava vipllava voxtral"

// textTypes are the families of the text parts that have a model_type of their own.
var textTypes = map[string]string{"qwen2_vl_text": "qwen2", "qwen2_5_vl_text": "qwen2", "qwen3_vl_text": "qwen3", "qwen3_vl_moe_text": "qwen3_moe", "glm4v_text": "glm4", "glm4v_moe_text": "glm4_moe", "paddleocr_vl_text": "llama"}

// otherFiles are GGUF files that do not have the architecture of the family: of models of text in such
// models, which [SaveGGUF] writes as files of the family, and of EmbeddingGemma.
func otherFiles() ggufhub.Families {
	list := ggufhub.Families{qwen2.Family, qwen3.Family, qwen3Moe.Family, {Type: llama.Type}, gemma3.Family}
	for i, architecture := range []string{"qwen2vl", "qwen3vl", "qwen3vlmoe", "paddleocr", "gemma-embedding"} {
		list[i].Architecture = architecture
	}
	list[4].Knows = map[string]any{"use_bidirectional_attention": true}
	return list
}

// textSizes are what a text_config leaves out where it is as in the family's class of transformers.
var textSizes = map[string]map[string]any{
	"llama":             {"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32},
	"mistral":           {"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32},
	"qwen2":             {"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "num_attention_heads": 32},
	"gemma4_text":       {"vocab_size": 262144, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 30, "num_attention_heads": 8},
	"qwen3_vl_moe_text": {"norm_topk_prob": true},
	"gemma3_text":       {"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "num_attention_heads": 8},
}

// textPrefixes are what stands before the names of a text part's tensors, in place of "model.".
var textPrefixes = []string{"model.language_model.", "language_model.model.", "model.text_model.", "model."}

// textOnly leaves of a folder with a model of pictures or sound its model of text. Other folders stay.
func (s *source) textOnly() error {
	var outer map[string]any
	d := json.NewDecoder(bytes.NewReader(s.files[configFile]))
	d.UseNumber()
	if err := d.Decode(&outer); err != nil {
		return nil // what reads the settings says so
	}
	name, _ := outer["model_type"].(string)
	if !named(wrappers, name) {
		return nil
	}
	for _, s.prefix = range textPrefixes {
		if s.weights.Has(s.prefix + "embed_tokens.weight") {
			break
		}
	}
	text, ok := outer["text_config"].(map[string]any)
	if !ok { // as Qwen 2 and 2.5 were first written
		text = maps.Clone(outer)
		text["model_type"] = name + "_text"
	}
	for _, key := range []string{"torch_dtype", "dtype", "bos_token_id", "eos_token_id", "pad_token_id"} {
		if x := outer[key]; x != nil && text[key] == nil {
			text[key] = x
		}
	}
	kind, _ := text["model_type"].(string)
	if of := textTypes[kind]; of != "" {
		text["model_type"] = of
	}
	for key, x := range textSizes[kind] {
		if text[key] == nil {
			text[key] = x
		}
	}
	s.head = "lm_head.weight"
	if inner := strings.TrimSuffix(s.prefix, "model.") + s.head; s.weights.Has(inner) {
		s.head = inner
	}
	text["tie_word_embeddings"] = !s.weights.Has(s.head)
	if err := s.write(name, text); err != nil {
		return err
	}
	s.weights.Stored = func(name string) string {
		if name == "lm_head.weight" {
			return s.head
		}
		return s.prefix + strings.TrimPrefix(name, "model.")
	}
	return nil
}

// write makes the config.json of a text part as a folder of its family has it.
func (s *source) write(wrapper string, text map[string]any) error {
	path := filepath.Join(s.path, configFile)
	content, err := json.Marshal(text)
	if err != nil {
		return err
	}
	c, err := parseConfig(path, content)
	if err != nil {
		return fmt.Errorf("text part of %s: %w", wrapper, err)
	}
	keys, err := c.keys()
	if err != nil {
		return fmt.Errorf("%s: text part of %s: %w", path, wrapper, err)
	}
	for _, key := range []string{"bos_token_id", "eos_token_id", "pad_token_id"} {
		if text[key] != nil {
			keys[key] = text[key]
		}
	}
	pretrained.SetDType(keys, c.DType)
	s.files[configFile], err = json.MarshalIndent(keys, "", "  ")
	return err
}

// left says whether a tensor is not of the text part.
func (s *source) left(stored string) bool {
	return s.prefix != "" && !strings.HasPrefix(stored, s.prefix) && stored != s.head
}
