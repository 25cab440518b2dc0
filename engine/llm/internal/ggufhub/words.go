package ggufhub

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/engine/tokenizer"
)

// Kinds of a token, as tokenizer.ggml.token_type numbers them.
const (
	normal = 1 + iota
	unknown
	control
	userDefined
	unused
	byteToken
)

// object is one of JSON.
type object = map[string]any

// vocabulary is what the metadata say of the tokens.
type vocabulary struct {
	tokens []string
	kinds  []int32
	scores []float32
	merges []string
}

// words adds the files of the tokenizer, if the file has one.
func (m *Model) words() {
	kind := m.text("tokenizer.ggml.model")
	if m.err != nil || kind == "" || kind == "none" || kind == "no_vocab" {
		return
	}
	v := vocabulary{tokens: list[string](m, "tokenizer.ggml.tokens"), kinds: list[int32](m, "tokenizer.ggml.token_type"),
		scores: list[float32](m, "tokenizer.ggml.scores"), merges: list[string](m, "tokenizer.ggml.merges")}
	if v.kinds == nil {
		v.kinds = slices.Repeat([]int32{normal}, len(v.tokens))
	}
	m.check(&v)
	if m.err != nil {
		return
	}
	var content object
	bos := true
	switch kind {
	case "gpt2":
		content, bos = m.byteLevel(&v)
	case "llama":
		if v.scores == nil {
			m.fail("tokenizer.ggml.scores", "is not there")
			return
		}
		content = m.sentencePiece(&v, v.pairs())
	case "gemma4":
		content = m.sentencePiece(&v, v.merges)
	default:
		m.fail("tokenizer.ggml.model", "got %q, want gpt2, llama or gemma4", kind)
	}
	if m.err != nil {
		return
	}
	v.add(content)
	bos = m.flag("tokenizer.ggml.add_bos_token", bos)
	m.around(&v, content, bos, m.flag("tokenizer.ggml.add_eos_token", false))
	m.putCompact("tokenizer.json", content)
	m.special(&v, bos)
}

// putCompact is put without indentation and escapes that nobody needs.
func (m *Model) putCompact(name string, content any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(content); err != nil {
		m.fail(name, "%v", err)
	}
	m.Files[name] = b.Bytes()
}

// check says what no tokenizer can have.
func (m *Model) check(v *vocabulary) {
	const key = "tokenizer.ggml.tokens"
	if len(v.tokens) == 0 {
		m.fail(key, "got none, want a list of tokens")
	}
	if len(v.kinds) != len(v.tokens) {
		m.fail("tokenizer.ggml.token_type", "got %d, want one for each of %d tokens", len(v.kinds), len(v.tokens))
	}
	if v.scores != nil && len(v.scores) != len(v.tokens) {
		m.fail("tokenizer.ggml.scores", "got %d, want one for each of %d tokens", len(v.scores), len(v.tokens))
	}
	ids := make(map[string]int, len(v.tokens))
	for id, token := range v.tokens {
		if !utf8.ValidString(token) {
			m.fail(key, "token %d is %.40q, want UTF-8", id, token)
		}
		if first, ok := ids[token]; ok {
			m.fail(key, "tokens %d and %d are both %.40q", first, id, token)
		}
		ids[token] = id
	}
}

// add fills in the tokens: those that mark something or are found as a whole are added tokens. Hugging Face's
// tokenizers number these after the others unless the vocabulary has them too.
func (v *vocabulary) add(content object) {
	last := 0 // the tokens of the vocabulary end here
	for id, kind := range v.kinds {
		if kind == normal || kind == byteToken || kind == unknown {
			last = id + 1
		}
	}
	vocab, added := make(map[string]int, last), []object{}
	for id, token := range v.tokens {
		if id < last {
			vocab[token] = id
		}
		if kind := v.kinds[id]; kind == control || kind == userDefined || kind == unknown {
			added = append(added, object{"id": id, "content": token, "special": kind != userDefined,
				"single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
		}
	}
	content["added_tokens"] = added
	content["model"].(object)["vocab"] = vocab
}

// bpe is a tokenizer.json of pairs of bytes or characters.
func bpe(merges any) object {
	return object{"version": "1.0", "truncation": nil, "padding": nil, "model": object{
		"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
		"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "merges": merges}}
}

// byteLevel is the tokenizer of GPT-2 and its descendants, which differ in how text is cut into words.
func (m *Model) byteLevel(v *vocabulary) (content object, bos bool) {
	key := "tokenizer.ggml.pre"
	name := cmp.Or(m.text(key), "default")
	cut, ok := cuts[name]
	if !ok {
		m.fail(key, "got %q, want one of %s", name, strings.Join(slices.Sorted(maps.Keys(cuts)), ", "))
		return nil, false
	}
	if v.merges == nil {
		m.fail("tokenizer.ggml.merges", "is not there")
	}
	bytesOf := func(regex bool) object {
		return object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex}
	}
	content = bpe(v.merges)
	content["model"].(object)["ignore_merges"] = cut.whole
	if cut.nfc {
		content["normalizer"] = object{"type": "NFC"}
	}
	parts := []object{}
	if cut.digits {
		parts = append(parts, object{"type": "Digits", "individual_digits": true})
	}
	for _, p := range cut.patterns {
		parts = append(parts, object{"type": "Split", "pattern": object{"Regex": p}, "behavior": "Isolated", "invert": false})
	}
	content["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": append(parts, bytesOf(len(cut.patterns) == 0))}
	content["decoder"] = bytesOf(true)
	return content, cut.bos
}

// sentencePiece is the tokenizer of Llama 2, Mistral and Gemma: pairs of characters, the one whose piece has
// the greatest score first, or in Gemma 4's files the first of a list; what has no piece becomes bytes.
func (m *Model) sentencePiece(v *vocabulary, merges any) object {
	content := bpe(merges)
	model := content["model"].(object)
	model["byte_fallback"], model["fuse_unk"] = true, true
	if id := slices.Index(v.kinds, unknown); id >= 0 {
		model["unk_token"] = v.tokens[id]
	}
	blank := object{"type": "Replace", "pattern": object{"String": " "}, "content": "▁"}
	back := []object{{"type": "Replace", "pattern": object{"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}}
	content["normalizer"] = blank
	if m.flag("tokenizer.ggml.add_space_prefix", true) {
		content["normalizer"] = object{"type": "Sequence", "normalizers": []object{{"type": "Prepend", "prepend": "▁"}, blank}}
		back = append(back, object{"type": "Strip", "content": " ", "start": 1, "stop": 0})
	}
	content["decoder"] = object{"type": "Sequence", "decoders": back}
	return content
}

// pairs are the pairs of tokens that together are a token, that of the greatest score first, as Hugging
// Face's converter of SentencePiece lists them.
func (v *vocabulary) pairs() [][2]string {
	plain := make(map[string]float32, len(v.tokens))
	for id, token := range v.tokens {
		if v.kinds[id] == normal {
			plain[token] = v.scores[id]
		}
	}
	type pair struct {
		left, right string
		score       float32
	}
	var list []pair
	for id, token := range v.tokens {
		if v.kinds[id] != normal || len(token) > 1<<10 {
			continue
		}
		for at := range token {
			_, ok := plain[token[:at]]
			if _, ok2 := plain[token[at:]]; ok && ok2 && at > 0 {
				list = append(list, pair{token[:at], token[at:], v.scores[id]})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(utf8.RuneCountInString(b.left), utf8.RuneCountInString(a.left)))
	})
	texts := make([][2]string, len(list))
	for i, p := range list {
		texts[i] = [2]string{p.left, p.right}
	}
	return texts
}

// id reads the number of a special token, −1 if there is none.
func (m *Model) id(v *vocabulary, name string) int {
	key := "tokenizer.ggml." + name + "_token_id"
	id := m.number(key, -1)
	if m.file.Has(key) && !(id >= 0 && id < float64(len(v.tokens))) {
		m.fail(key, "got %v, want one of %d tokens", id, len(v.tokens))
		return -1
	}
	return int(id)
}

// around adds the tokens that stand before and after a text.
func (m *Model) around(v *vocabulary, content object, bos, eos bool) {
	single, special := []object{}, object{}
	token := func(name string) {
		if id := m.id(v, name); id >= 0 {
			text := v.tokens[id]
			single = append(single, object{"SpecialToken": object{"id": text, "type_id": 0}})
			special[text] = object{"id": text, "ids": []int{id}, "tokens": []string{text}}
		}
	}
	if bos {
		token("bos")
	}
	single = append(single, object{"Sequence": object{"id": "A", "type_id": 0}})
	if eos {
		token("eos")
	}
	if len(special) == 0 {
		return
	}
	pair := append(slices.Clone(single), object{"Sequence": object{"id": "B", "type_id": 1}})
	content["post_processor"] = object{"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}
}

// ends are tokens after which a text ends, whatever the metadata say: those by which llama.cpp knows the end
// of a turn.
var ends = []string{"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|eom_id|>", "<EOT>", "<|end_of_text|>", "<end_of_utterance>", "<turn|>"}

// special adds what the folder says of special tokens, and the chat template.
func (m *Model) special(v *vocabulary, bos bool) {
	config := object{"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": false, "add_bos_token": bos}
	generation := object{}
	for key, name := range map[string]string{"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"} {
		if id := m.id(v, key); id >= 0 {
			config[name] = v.tokens[id]
		}
	}
	if id := m.id(v, "bos"); id >= 0 {
		generation["bos_token_id"] = id
	}
	var stop []int
	for _, name := range []string{"eos", "eot", "eom"} {
		if id := m.id(v, name); id >= 0 && !slices.Contains(stop, id) {
			stop = append(stop, id)
		}
	}
	for id, token := range v.tokens {
		if v.kinds[id] == control && slices.Contains(ends, token) && !slices.Contains(stop, id) {
			stop = append(stop, id)
		}
	}
	if stop != nil {
		generation["eos_token_id"] = stop
	}
	m.put("tokenizer_config.json", config)
	m.put("generation_config.json", generation)
	if template := m.text("tokenizer.chat_template"); template != "" {
		m.Files["chat_template.jinja"] = []byte(template)
	}
}

// A cut says how a tokenizer of bytes cuts text into words.
type cut struct {
	patterns []string // none: that of GPT-2
	digits   bool     // each digit is a word
	nfc      bool     // text is brought into the normal form NFC before
	whole    bool     // a word that is a token needs no merges
	bos      bool     // unless the metadata say otherwise
}

const (
	gpt2Pattern   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	tekkenPattern = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepseek3     = `[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_` + "`" + `{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// cuts are the values of tokenizer.ggml.pre that are known, as llama.cpp and the models' own tokenizer.json
// mean them.
var cuts = func() map[string]cut {
	all := map[string]cut{
		"default":     {patterns: []string{`[\p{P}\$\+<=>\^~\|]+`, gpt2Pattern, `\p{N}+`, `[0-9][0-9][0-9]`}},
		"deepseek-v3": {patterns: []string{`\p{N}{1,3}`, `[一-龥぀-ゟ゠-ヿ]+`, deepseek3}},
		"gpt-4o":      {patterns: []string{tokenizer.Llama4}},
		"llama4":      {patterns: []string{tokenizer.Llama4}},
		"tekken":      {patterns: []string{tekkenPattern}, whole: true, bos: true},
	}
	for same, names := range map[*cut][]string{
		{patterns: []string{tokenizer.Llama3}, whole: true, bos: true}: {"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"},
		{patterns: []string{tokenizer.Llama3}}:                         {"dbrx", "smaug-bpe", "chatglm-bpe"},
		{patterns: []string{tokenizer.Qwen}, nfc: true}:                {"qwen2", "deepseek-r1-qwen", "megrez"},
		{patterns: []string{tokenizer.Qwen}}:                           {"stablelm2", "hunyuan"},
		{}:                                                             {"gpt-2", "phi-2", "olmo", "exaone4"},
		{digits: true}:                                                 {"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone"},
	} {
		for _, name := range names {
			all[name] = *same
		}
	}
	return all
}()
