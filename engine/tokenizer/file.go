package tokenizer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// maxFile is how long a tokenizer's file may be.
const maxFile = 256 << 20

// Load reads a tokenizer from a file, or from a model's folder: tokenizer.json, tekken.json or
// tokenizer.model, whichever is there first. A tokenizer.model is one of SentencePiece; for ranks of tiktoken
// see [LoadRanks].
func Load(path string) (*Tokenizer, error) {
	if stat, err := os.Stat(path); err == nil && stat.IsDir() {
		for _, name := range []string{"tokenizer.json", "tekken.json", "tokenizer.model"} {
			if _, err := os.Stat(filepath.Join(path, name)); err == nil {
				return Load(filepath.Join(path, name))
			}
		}
		return nil, fmt.Errorf("tokenizer: %s: no tokenizer.json, tekken.json or tokenizer.model", path)
	}
	text, err := regular.Read(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	t, err := Parse(filepath.Base(path), text)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %s: %w", path, err)
	}
	return t, nil
}

// Parse reads the content of a file of that name.
func Parse(name string, text []byte) (t *Tokenizer, err error) {
	switch {
	case strings.HasSuffix(name, ".model"):
		t, err = parseSentencePiece(text)
	case strings.Contains(name, "tekken") && strings.HasSuffix(name, ".json"):
		t, err = parseTekken(text)
	default:
		t, err = parseJSON(text)
	}
	if err != nil {
		return nil, err
	}
	t.print = fingerprint(text)
	return t, nil
}

func fingerprint(parts ...[]byte) string {
	hash := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(hash, "%d\n%s", len(p), p)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// part is a normalizer, pre_tokenizer, post_processor or decoder of a tokenizer.json: the settings of all
// types.
type part struct {
	Type          string       `json:"type"`
	Normalizers   []part       `json:"normalizers"`
	PreTokenizers []part       `json:"pretokenizers"`
	Processors    []part       `json:"processors"`
	Decoders      []part       `json:"decoders"`
	Pattern       *patternPart `json:"pattern"`
	Content       string       `json:"content"`
	Prepend       string       `json:"prepend"`

	StripLeft    bool   `json:"strip_left"`
	StripRight   bool   `json:"strip_right"`
	CleanText    *bool  `json:"clean_text"`
	ChineseChars *bool  `json:"handle_chinese_chars"`
	StripAccents *bool  `json:"strip_accents"`
	Lowercase    *bool  `json:"lowercase"`
	CharsMap     string `json:"precompiled_charsmap"`

	AddPrefixSpace   *bool  `json:"add_prefix_space"`
	UseRegex         *bool  `json:"use_regex"`
	Behavior         string `json:"behavior"`
	Invert           bool   `json:"invert"`
	Replacement      string `json:"replacement"`
	PrependScheme    string `json:"prepend_scheme"`
	Split            *bool  `json:"split"`
	IndividualDigits bool   `json:"individual_digits"`
	Delimiter        string `json:"delimiter"`

	Prefix  string `json:"prefix"`
	Suffix  string `json:"suffix"`
	Cleanup bool   `json:"cleanup"`
	Start   int    `json:"start"`
	Stop    int    `json:"stop"`

	Single        []map[string]templateItem `json:"single"`
	Pair          []map[string]templateItem `json:"pair"`
	SpecialTokens map[string]struct {
		IDs []int `json:"ids"`
	} `json:"special_tokens"`
	Sep json.RawMessage `json:"sep"`
	Cls json.RawMessage `json:"cls"`
}

type templateItem struct {
	ID   string `json:"id"`
	Kind int    `json:"type_id"`
}

type patternPart struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

// modelPart is the model of a tokenizer.json.
type modelPart struct {
	Type         string          `json:"type"`
	Vocab        json.RawMessage `json:"vocab"`
	Merges       json.RawMessage `json:"merges"`
	Unknown      *string         `json:"unk_token"`
	UnknownID    *int            `json:"unk_id"`
	Fuse         bool            `json:"fuse_unk"`
	Prefix       string          `json:"continuing_subword_prefix"`
	Suffix       string          `json:"end_of_word_suffix"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	MaxRunes     int             `json:"max_input_chars_per_word"`
}

// file is a tokenizer.json that is being read. The first problem is its error.
type file struct {
	t         *Tokenizer
	limit     int     // above which no token has its number
	byteLevel bool    // words are bytes, written as runes of their own in the vocabulary
	growth    float64 // how many times as long replacements make a text
	err       error
}

func (f *file) fail(at, format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...))
	}
}

func parseJSON(text []byte) (*Tokenizer, error) {
	var content struct {
		Added []struct {
			ID         int    `json:"id"`
			Content    string `json:"content"`
			SingleWord bool   `json:"single_word"`
			Left       bool   `json:"lstrip"`
			Right      bool   `json:"rstrip"`
			Normalized bool   `json:"normalized"`
			Special    bool   `json:"special"`
		} `json:"added_tokens"`
		Normalizer *part     `json:"normalizer"`
		Words      *part     `json:"pre_tokenizer"`
		Post       *part     `json:"post_processor"`
		Decoder    *part     `json:"decoder"`
		Model      modelPart `json:"model"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	t := &Tokenizer{ids: map[string]int{}, special: map[int]bool{}}
	f := &file{t: t, limit: len(text)} // a token takes bytes of the file
	if content.Normalizer != nil {
		t.normalize = f.normalizer("normalizer", content.Normalizer)
	}
	if content.Words != nil {
		t.words = f.cutters("pre_tokenizer", content.Words)
	}
	f.model(&content.Model)
	for _, a := range content.Added {
		if err := t.name(a.ID, a.Content, f.limit); err != nil {
			f.fail("added_tokens", "%v", err)
			break
		}
		if a.Special {
			t.special[a.ID] = true
		}
		token := addedToken{a.Content, a.ID, a.SingleWord, a.Left, a.Right}
		if a.Normalized && t.normalize != nil && f.err == nil {
			token.text = t.normalize(a.Content)
			t.later.add(token)
		} else {
			t.added.add(token)
		}
	}
	if content.Post != nil {
		f.post(content.Post)
	}
	t.spaced = content.Decoder == nil
	if content.Decoder != nil {
		t.decoders = f.decoder("decoder", content.Decoder)
	}
	if f.err != nil {
		return nil, f.err
	}
	return t, nil
}

// model reads vocabulary and merges.
func (f *file) model(m *modelPart) {
	m.Type = cmp.Or(m.Type, "BPE") // files of old versions do not say it
	f.t.about = m.Type
	if m.Type == "Unigram" {
		f.unigram(m)
		return
	}
	vocab := map[string]int{}
	if err := json.Unmarshal(m.Vocab, &vocab); err != nil {
		f.fail("model.vocab", "%v", err)
		return
	}
	for token, id := range vocab {
		if err := f.t.name(id, token, f.limit); err != nil {
			f.fail("model.vocab", "%v", err)
			return
		}
	}
	unknown := -1
	if m.Unknown != nil {
		if id, ok := vocab[*m.Unknown]; ok {
			unknown = id
		}
	}
	switch m.Type {
	case "BPE":
		f.t.model = f.bpe(m, vocab, unknown)
	case "WordPiece":
		if unknown < 0 {
			f.fail("model.unk_token", "the vocabulary has no token for what is unknown")
		}
		w := &wordPiece{vocab: vocab, prefix: m.Prefix, unknown: unknown, longest: m.MaxRunes}
		w.longest = cmp.Or(w.longest, 100)
		f.t.model = w
	case "WordLevel":
		f.t.model = &wordLevel{vocab: vocab, unknown: unknown}
	default:
		f.fail("model.type", "%q is not known", m.Type)
	}
}

func (f *file) bpe(m *modelPart, vocab map[string]int, unknown int) *bpe {
	b := &bpe{vocab: vocab, whole: m.IgnoreMerges, unknown: unknown, fuse: m.Fuse, prefix: m.Prefix, suffix: m.Suffix, bytes: f.byteLevel}
	if m.ByteFallback {
		b.fallback = fallbackOf(vocab)
	}
	b.merges = f.merges(m, vocab)
	if b.bytes {
		raw := make(map[string]int, len(vocab))
		for token, id := range vocab {
			if text, ok := bytesOfRunes(token); ok {
				raw[text] = id
			}
		}
		b.vocab = raw
	}
	b.prepare()
	return b
}

// merges reads pairs, each "a b" or ["a", "b"].
func (f *file) merges(m *modelPart, vocab map[string]int) map[[2]int32]merge {
	var texts []string
	var lists [][2]string
	if len(m.Merges) > 0 && json.Unmarshal(m.Merges, &texts) != nil {
		texts = nil
		if err := json.Unmarshal(m.Merges, &lists); err != nil {
			f.fail("model.merges", "%v", err)
			return nil
		}
	}
	for i, text := range texts {
		a, b, ok := strings.Cut(text, " ")
		if !ok {
			f.fail("model.merges", "number %d: got %q, want two tokens", i, brief(text, 40))
			return nil
		}
		lists = append(lists, [2]string{a, b})
	}
	merges := make(map[[2]int32]merge, len(lists))
	for i, pair := range lists {
		joined := pair[0] + strings.TrimPrefix(pair[1], m.Prefix)
		x, ok := vocab[pair[0]]
		y, ok2 := vocab[pair[1]]
		id, ok3 := vocab[joined]
		if !ok || !ok2 || !ok3 {
			f.fail("model.merges", "number %d: %q and %q, or both together, are no tokens", i, brief(pair[0], 40), brief(pair[1], 40))
			return nil
		}
		merges[[2]int32{int32(x), int32(y)}] = merge{int32(i), int32(id)}
	}
	return merges
}

// fallbackOf returns the tokens <0x00> to <0xFF>, nil if one is missing.
func fallbackOf(vocab map[string]int) []int {
	list := make([]int, 256)
	for i := range list {
		id, ok := vocab[fmt.Sprintf("<0x%02X>", i)]
		if !ok {
			return nil
		}
		list[i] = id
	}
	return list
}

func (f *file) unigram(m *modelPart) {
	var rows [][2]any
	if err := json.Unmarshal(m.Vocab, &rows); err != nil {
		f.fail("model.vocab", "%v", err)
		return
	}
	pieces, scores := make([]string, len(rows)), make([]float64, len(rows))
	for i, row := range rows {
		piece, ok := row[0].(string)
		score, ok2 := row[1].(float64)
		if !ok || !ok2 {
			f.fail("model.vocab", "number %d: got %v, want a token and a number", i, row)
			return
		}
		pieces[i], scores[i] = piece, score
		if err := f.t.name(i, piece, f.limit); err != nil {
			f.fail("model.vocab", "%v", err)
			return
		}
	}
	unknown := -1
	if m.UnknownID != nil {
		if unknown = *m.UnknownID; unknown < 0 || unknown >= len(rows) {
			f.fail("model.unk_id", "got %d, want one of %d tokens", unknown, len(rows))
			return
		}
	}
	var fallback []int
	if m.ByteFallback {
		fallback = fallbackOf(f.t.ids)
	}
	f.t.model = newUnigram(pieces, scores, unknown, fallback, nil)
}

// post reads what stands around a text.
func (f *file) post(p *part) {
	pair := func(raw json.RawMessage, key string) (id int) {
		var both [2]any
		if json.Unmarshal(raw, &both) == nil {
			if x, ok := both[1].(float64); ok {
				return int(x)
			}
		}
		f.fail("post_processor."+key, "got %s, want a token and its number", brief(string(raw), 40))
		return 0
	}
	switch p.Type {
	case "Sequence":
		for i := range p.Processors {
			f.post(&p.Processors[i])
		}
	case "ByteLevel": // changes offsets only
	case "BertProcessing", "RobertaProcessing":
		f.t.before, f.t.after = []int{pair(p.Cls, "cls")}, []int{pair(p.Sep, "sep")}
		middle, kind := f.t.after, 1
		if p.Type == "RobertaProcessing" {
			middle, kind = slices.Repeat(f.t.after, 2), 0
		}
		f.t.pair = []span{{ids: f.t.before}, {text: 1}, {ids: middle}, {text: 2, kind: kind}, {ids: f.t.after, kind: kind}}
	case "TemplateProcessing":
		f.template(p)
	default:
		f.fail("post_processor", "%q is not known", p.Type)
	}
}

func (f *file) template(p *part) {
	passed := false
	for _, item := range p.Single {
		if _, ok := item["Sequence"]; ok {
			passed = true
			continue
		}
		token, ok := item["SpecialToken"]
		known, ok2 := p.SpecialTokens[token.ID]
		if !ok || !ok2 {
			f.fail("post_processor.single", "the token %q has no number", brief(token.ID, 40))
			return
		}
		if passed {
			f.t.after = append(f.t.after, known.IDs...)
		} else {
			f.t.before = append(f.t.before, known.IDs...)
		}
	}
	for _, item := range p.Pair {
		if text, ok := item["Sequence"]; ok {
			f.t.pair = append(f.t.pair, span{text: 1 + strings.Index("AB", text.ID), kind: text.Kind})
			continue
		}
		token := item["SpecialToken"]
		known, ok := p.SpecialTokens[token.ID]
		if !ok {
			f.fail("post_processor.pair", "the token %q has no number", brief(token.ID, 40))
			return
		}
		f.t.pair = append(f.t.pair, span{ids: known.IDs, kind: token.Kind})
	}
}
