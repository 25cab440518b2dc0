package tokenizer

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/regular"
)

// Patterns by which tokenizers of ranks cut text into words.
const (
	// Llama3 is that of Llama 3, which OpenAI's cl100k has, too.
	Llama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	// Qwen is that of Qwen 1 to 3, whose text is in the normal form NFC.
	Qwen = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	// Llama4 is that of Llama 4, which OpenAI's o200k has, too.
	Llama4 = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// LoadRanks reads a file of tiktoken: a line for each token, its bytes in base 64 and its rank, which is its
// number. The file does not say by which pattern text is cut, nor which special tokens follow: their numbers
// begin after the greatest rank, in the order of the list.
func LoadRanks(path, pattern string, special []string) (*Tokenizer, error) {
	text, err := regular.Read(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	t, err := parseRanks(text, pattern, special)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %s: %w", filepath.Base(path), err)
	}
	t.print = fingerprint(text, []byte(pattern), []byte(strings.Join(special, "\x00")))
	return t, nil
}

func parseRanks(text []byte, pattern string, special []string) (*Tokenizer, error) {
	tokens := map[string]int{}
	greatest := -1
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" {
			continue
		}
		encoded, number, ok := strings.Cut(line, " ")
		raw, err := base64.StdEncoding.DecodeString(encoded)
		rank, err2 := strconv.Atoi(number)
		if !ok || err != nil || err2 != nil || rank < 0 || rank >= len(text) {
			return nil, fmt.Errorf("line %d: got %q, want bytes in base 64 and a rank", n, brief(line, 40))
		}
		tokens[string(raw)] = rank
		greatest = max(greatest, rank)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("there are no ranks")
	}
	numbers := map[string]int{}
	for i, s := range special {
		numbers[s] = greatest + 1 + i
	}
	return byRanks("ranks", tokens, pattern, numbers)
}

// byRanks makes a tokenizer of tokens whose numbers are the order in which they are joined.
func byRanks(about string, tokens map[string]int, pattern string, special map[string]int) (*Tokenizer, error) {
	p, err := compile(pattern)
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{ids: map[string]int{}, special: map[int]bool{}, about: about, words: []cutter{split(findPattern(p), isolated, false)}}
	limit := 16*(len(tokens)+len(special)) + 1<<16
	for text, id := range tokens {
		if err := t.name(id, text, limit); err != nil {
			return nil, err
		}
	}
	b := &bpe{vocab: tokens, bytes: true, whole: true, unknown: -1, ranks: make([]int32, len(t.tokens))}
	for i := range b.ranks {
		b.ranks[i] = int32(i)
	}
	for text, id := range special {
		if err := t.name(id, text, limit); err != nil {
			return nil, err
		}
		t.special[id] = true
		t.added.add(addedToken{text: text, id: id})
	}
	b.prepare()
	t.model = b
	return t, nil
}

// parseTekken reads the file of Mistral's newer models. Special tokens have the first numbers.
func parseTekken(text []byte) (*Tokenizer, error) {
	var content struct {
		Config struct {
			Pattern string `json:"pattern"`
			Size    int    `json:"default_vocab_size"`
			Special int    `json:"default_num_special_tokens"`
		} `json:"config"`
		Vocab []struct {
			Rank  int    `json:"rank"`
			Bytes string `json:"token_bytes"`
		} `json:"vocab"`
		Special []struct {
			Rank int    `json:"rank"`
			Text string `json:"token_str"`
		} `json:"special_tokens"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	first := content.Config.Special
	if first < 0 || first > len(text) {
		return nil, fmt.Errorf("config.default_num_special_tokens: got %d", first)
	}
	tokens := map[string]int{}
	for _, v := range content.Vocab {
		if v.Rank < 0 || v.Rank >= len(text) {
			return nil, fmt.Errorf("vocab: got the rank %d", v.Rank)
		}
		if content.Config.Size > 0 && v.Rank+first >= content.Config.Size {
			continue // the file has more tokens than the model
		}
		raw, err := base64.StdEncoding.DecodeString(v.Bytes)
		if err != nil {
			return nil, fmt.Errorf("vocab: token of rank %d: %w", v.Rank, err)
		}
		tokens[string(raw)] = v.Rank + first
	}
	special := map[string]int{}
	for i := range first {
		special[fmt.Sprintf("<SPECIAL_%d>", i)] = i
	}
	if content.Special == nil { // files of the first version leave them to the reader
		for i, s := range []string{"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]"} {
			delete(special, fmt.Sprintf("<SPECIAL_%d>", i))
			special[s] = i
		}
	}
	for _, s := range content.Special {
		delete(special, fmt.Sprintf("<SPECIAL_%d>", s.Rank))
		special[s.Text] = s.Rank
	}
	t, err := byRanks("tekken", tokens, content.Config.Pattern, special)
	if err != nil {
		return nil, err
	}
	if id, ok := special["<s>"]; ok {
		t.before = []int{id}
	}
	return t, nil
}
