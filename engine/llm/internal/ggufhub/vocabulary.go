package ggufhub

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/engine/tokenizer"
)

// vocabulary adds the tokenizer, for a model of so many tokens.
func (f *folder) vocabulary(size int) error {
	v := vocabulary{tokens: make([]string, size), kinds: make([]int32, size), scores: make([]float32, size)}
	for i := range v.tokens {
		v.tokens[i], v.kinds[i], v.scores[i] = fmt.Sprintf("[PAD%d]", i), unused, -10000
	}
	var parsed struct {
		Added      []addedToken `json:"added_tokens"`
		Normalizer any          `json:"normalizer"`
		Words      any          `json:"pre_tokenizer"`
		Model      struct {
			Type     string         `json:"type"`
			Vocab    map[string]int `json:"vocab"`
			Merges   []any          `json:"merges"`
			Fallback bool           `json:"byte_fallback"`
			Whole    bool           `json:"ignore_merges"`
			Unknown  string         `json:"unk_token"`
		} `json:"model"`
	}
	text, pieces := f.files["tokenizer.json"], f.files["tokenizer.model"]
	switch {
	case text == nil && pieces == nil && f.files["tekken.json"] != nil:
		return fmt.Errorf("tekken.json: no file is written with it; a tokenizer.json of the same model can be")
	case text == nil && pieces == nil:
		f.metadata["tokenizer.ggml.model"] = "none"
		return nil
	}
	if text != nil {
		if err := json.Unmarshal(text, &parsed); err != nil {
			return fmt.Errorf("tokenizer.json: %w", err)
		}
	}
	m := &parsed.Model
	var err error
	switch {
	case pieces != nil:
		err = f.pieces(&v, pieces)
	case m.Type != "BPE" && m.Type != "":
		err = fmt.Errorf("tokenizer.json: got a model of type %q, want BPE", m.Type)
	default:
		for token, id := range m.Vocab {
			if err := v.set(id, token, normal, 0); err != nil {
				return fmt.Errorf("tokenizer.json: %w", err)
			}
		}
		if v.merges, err = merges(m.Merges); err != nil {
			return fmt.Errorf("tokenizer.json: %w", err)
		}
		if m.Fallback {
			v.rank(m.Vocab, m.Unknown)
			f.metadata["tokenizer.ggml.model"], f.metadata["tokenizer.ggml.pre"] = "llama", "default"
			f.metadata["tokenizer.ggml.add_space_prefix"] = prefixed(parsed.Normalizer) || prefixed(parsed.Words)
			if f.arch == "gemma4" {
				f.metadata["tokenizer.ggml.model"], f.metadata["tokenizer.ggml.merges"] = f.arch, v.merges
				delete(f.metadata, "tokenizer.ggml.pre")
			}
			break
		}
		f.metadata["tokenizer.ggml.model"] = "gpt2"
		f.metadata["tokenizer.ggml.merges"] = v.merges
		f.metadata["tokenizer.ggml.pre"], err = nameOfCut(parsed.Words, m.Whole)
	}
	for _, a := range parsed.Added {
		if err == nil && a.ID < size { // some lists go on beyond the model's tokens
			err = v.set(a.ID, a.Content, a.kind(m.Unknown), -1000)
		}
	}
	if err != nil {
		return err
	}
	f.metadata["tokenizer.ggml.tokens"], f.metadata["tokenizer.ggml.token_type"] = v.tokens, v.kinds
	if f.metadata["tokenizer.ggml.model"] != "gpt2" {
		f.metadata["tokenizer.ggml.scores"] = v.scores
	}
	return f.specialTokens(&v)
}

// An addedToken is one of a tokenizer.json.
type addedToken struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
}

func (a addedToken) kind(unknownToken string) int32 {
	switch {
	case a.Content == unknownToken && unknownToken != "":
		return unknown
	case a.Special:
		return control
	}
	return userDefined
}

func (v *vocabulary) set(id int, token string, kind int32, score float32) error {
	if id < 0 || id >= len(v.tokens) {
		return fmt.Errorf("token %q is number %d, want one of %d", token, id, len(v.tokens))
	}
	v.tokens[id], v.kinds[id], v.scores[id] = token, kind, score
	return nil
}

// pieces takes the pieces of SentencePiece.
func (f *folder) pieces(v *vocabulary, text []byte) error {
	list, about, err := tokenizer.Pieces(text)
	if err != nil {
		return fmt.Errorf("tokenizer.model: %w", err)
	}
	if !about.BPE {
		return fmt.Errorf("tokenizer.model: got a unigram model, want one of byte pairs")
	}
	for id, p := range list {
		if id < len(v.tokens) {
			v.set(id, p.Text, int32(p.Kind), float32(p.Score))
		}
	}
	f.metadata["tokenizer.ggml.model"], f.metadata["tokenizer.ggml.pre"] = "llama", "default"
	f.metadata["tokenizer.ggml.add_space_prefix"] = about.Prefix
	return nil
}

// merges reads pairs, each "a b" or ["a", "b"], as "a b".
func merges(list []any) ([]string, error) {
	texts := make([]string, len(list))
	for i, m := range list {
		switch m := m.(type) {
		case string:
			texts[i] = m
			continue
		case []any:
			if len(m) == 2 {
				a, ok := m[0].(string)
				if b, ok2 := m[1].(string); ok && ok2 && !strings.Contains(a+b, " ") {
					texts[i] = a + " " + b
					continue
				}
			}
		}
		return nil, fmt.Errorf("model.merges: number %d: got %.40q, want two tokens without blanks", i, fmt.Sprint(m))
	}
	return texts, nil
}

// rank gives tokens of a list of merges the scores of SentencePiece: the sooner, the greater.
func (v *vocabulary) rank(vocab map[string]int, unknownToken string) {
	for token, id := range vocab {
		v.scores[id] = float32(-1 - len(v.merges))
		if len(token) == 6 && strings.HasPrefix(token, "<0x") && token[5] == '>' {
			v.kinds[id] = byteToken
		}
		if token == unknownToken {
			v.kinds[id] = unknown
		}
	}
	for i, m := range slices.Backward(v.merges) { // of several the first counts
		a, b, _ := strings.Cut(m, " ")
		if id, ok := vocab[a+b]; ok {
			v.scores[id] = float32(-1 - i)
		}
	}
}

// prefixed says whether a normalizer or pre_tokenizer puts a blank before the text.
func prefixed(part any) bool {
	p, _ := part.(object)
	switch p["type"] {
	case "Prepend":
		return true
	case "Metaspace":
		return p["prepend_scheme"] != "never" && p["add_prefix_space"] != false
	}
	for _, list := range []any{p["normalizers"], p["pretokenizers"]} {
		parts, _ := list.([]any)
		if slices.ContainsFunc(parts, prefixed) {
			return true
		}
	}
	return false
}

// nameOfCut finds the name of the way in which a pre_tokenizer cuts text into words.
func nameOfCut(part any, whole bool) (string, error) {
	var c cut
	regex := false
	var read func(part any) bool
	read = func(part any) bool {
		p, _ := part.(object)
		switch p["type"] {
		case "Sequence":
			parts, _ := p["pretokenizers"].([]any)
			return !slices.ContainsFunc(parts, func(p any) bool { return !read(p) })
		case "ByteLevel":
			regex = p["use_regex"] != false
			return p["add_prefix_space"] != true
		case "Digits":
			c.digits = true
			return p["individual_digits"] == true
		case "Split":
			pattern, _ := p["pattern"].(object)
			text, ok := pattern["Regex"].(string)
			c.patterns = append(c.patterns, text)
			return ok && p["invert"] != true && (p["behavior"] == "Isolated" || p["behavior"] == "Removed")
		}
		return false
	}
	if read(part) && regex == (len(c.patterns) == 0) {
		for _, name := range usual {
			if k := cuts[name]; slices.Equal(k.patterns, c.patterns) && k.digits == c.digits && k.whole == whole {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("tokenizer.json: pre_tokenizer: no tokenizer.ggml.pre of llama.cpp is known that cuts text into words as it does")
}

// usual are the names of ways of cutting, of several with the same meaning one.
var usual = []string{"llama-bpe", "qwen2", "gpt-2", "tekken", "llama4", "deepseek-v3", "starcoder", "dbrx", "default"}

// specialTokens adds the tokens that mean something, and the chat template.
func (f *folder) specialTokens(v *vocabulary) error {
	var config, generation object
	for name, to := range map[string]*object{"tokenizer_config.json": &config, "generation_config.json": &generation} {
		if text := f.files[name]; text != nil {
			if err := json.Unmarshal(text, to); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	ids := map[string]int{}
	for key, name := range map[string]string{"bos": "bos", "eos": "eos", "unknown": "unk", "padding": "pad"} {
		id := slices.Index(v.tokens, contentOf(config[name+"_token"]))
		for _, from := range []object{generation, f.config} {
			if x, ok := first(from[name+"_token_id"]); ok && id < 0 && x >= 0 && x < len(v.tokens) {
				id = x
			}
		}
		if ids[key] = id; id >= 0 {
			f.metadata["tokenizer.ggml."+key+"_token_id"] = uint32(id)
		}
	}
	if err := f.around(ids); err != nil {
		return err
	}
	if text := f.template(config); text != "" {
		f.metadata["tokenizer.chat_template"] = text
	}
	return nil
}

// around says which tokens stand around a text, as the folder's own tokenizer does.
func (f *folder) around(ids map[string]int) error {
	name := "tokenizer.json"
	if f.files[name] == nil {
		name = "tokenizer.model"
	}
	t, err := tokenizer.Parse(name, f.files[name])
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	around := t.Encode("", true)
	f.metadata["tokenizer.ggml.add_bos_token"] = len(around) > 0 && around[0] == ids["bos"]
	f.metadata["tokenizer.ggml.add_eos_token"] = len(around) > 0 && around[len(around)-1] == ids["eos"] && ids["eos"] != ids["bos"]
	return nil
}

// template is the chat template: the folder's own file, or that in its settings.
func (f *folder) template(config object) string {
	if text := f.files["chat_template.jinja"]; text != nil {
		return string(text)
	}
	var inner object
	if json.Unmarshal(f.files["chat_template.json"], &inner) == nil {
		if text, ok := inner["chat_template"].(string); ok {
			return text
		}
	}
	switch t := config["chat_template"].(type) {
	case string:
		return t
	case []any: // several by name
		for _, one := range t {
			if o, _ := one.(object); o["name"] == "default" {
				text, _ := o["template"].(string)
				return text
			}
		}
	}
	return ""
}

// contentOf is the text of a special token, which is a string or an object.
func contentOf(v any) string {
	if o, ok := v.(object); ok {
		v = o["content"]
	}
	s, ok := v.(string)
	if !ok {
		return "\x00" // no token
	}
	return s
}

// first is a number, or the first of a list.
func first(v any) (int, bool) {
	if l, ok := v.([]any); ok && len(l) > 0 {
		v = l[0]
	}
	x, ok := v.(float64)
	return int(x), ok
}
