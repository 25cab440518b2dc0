package tokenizer

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/mutate"
)

// damageable are files of every kind: those of the fixtures, and small ones of ranks and of tekken.
func damageable(t *testing.T) map[string][]byte {
	t.Helper()
	list, err := filepath.Glob("testdata/*")
	if err != nil || len(list) < 30 {
		t.Fatal(list, err)
	}
	files := map[string][]byte{}
	for _, path := range list {
		if strings.HasSuffix(path, ".expected.json") {
			continue
		}
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	var ranks, tekken strings.Builder
	for i := range 300 {
		text := string([]byte{byte(i)})
		if i >= 256 {
			text = fmt.Sprint("a", i-256)
		}
		code := base64.StdEncoding.EncodeToString([]byte(text))
		fmt.Fprintf(&ranks, "%s %d\n", code, i)
		fmt.Fprintf(&tekken, `,{"rank": %d, "token_bytes": "%s", "token_str": null}`, i, code)
	}
	files["cl.tiktoken"] = []byte(ranks.String())
	files["tekken.json"] = []byte(`{"config": {"pattern": "[a-z]+|[^a-z]+", "num_vocab_tokens": 300, "default_vocab_size": 310, "default_num_special_tokens": 10, "version": "v3"}, "vocab": [` +
		tekken.String()[1:] + `], "special_tokens": [{"rank": 0, "token_str": "<unk>", "is_control": true}, {"rank": 1, "token_str": "<s>", "is_control": true}]}`)
	return files
}

// Each file is damaged in 500 ways: an error that names it, or a tokenizer that works. Neither a panic, nor a
// wait, nor memory beyond what reading JSON of that size takes.
func TestDamagedFiles(t *testing.T) {
	for name, whole := range damageable(t) {
		path := filepath.Join(t.TempDir(), name)
		load := func() (*Tokenizer, error) {
			if strings.HasSuffix(name, ".tiktoken") {
				return LoadRanks(path, Llama3, []string{"<s>"})
			}
			return Load(path)
		}
		read := func(b []byte) (tok *Tokenizer, allocated uint64, err error) {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tok, err = load()
			runtime.ReadMemStats(&after)
			return tok, after.TotalAlloc - before.TotalAlloc, err
		}
		_, sound, err := read(whole)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		refused := 0
		start := time.Now()
		n := mutate.Each(1, 500, whole, func(i int, mutant []byte) {
			tok, got, err := read(mutant)
			if limit := 2*sound + uint64(2*len(mutant)) + 1<<20; got > limit {
				t.Errorf("%s, mutant %d: %d bytes allocated, want at most %d", name, i, got, limit)
			}
			if err != nil {
				if refused++; !strings.Contains(err.Error(), name) {
					t.Errorf("%s, mutant %d: %v does not name the file", name, i, err)
				}
				return
			}
			ids := tok.Encode("a b<s> größe 東京 123 \xff", true)
			tok.Decode(ids, true)
			tok.Decode([]int{-1, 1 << 40, 3}, false)
		})
		if refused < n/10 || refused == n {
			t.Errorf("%s: %d of %d damaged files were refused", name, refused, n)
		}
		if d := time.Since(start); d > 2*time.Minute {
			t.Errorf("%s: %d damaged files took %v", name, n, d)
		}
	}
}

// Files that claim much are refused, or do no more work than what they say takes.
func TestHostileFiles(t *testing.T) {
	many := func(n int, each string) string { return strings.TrimSuffix(strings.Repeat(each+",", n), ",") }
	text := strings.Repeat("a", 20_000)
	for name, content := range map[string]string{
		"a number far beyond": `{"model": {"type": "BPE", "vocab": {"a": 9007199254740993}, "merges": []}}`,
		"merges of nothing":   `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [` + many(50_000, `"a a"`) + `]}}`,
		"the same merge":      `{"model": {"type": "BPE", "vocab": {"a": 0, "aa": 1}, "merges": [` + many(50_000, `"a a"`) + `]}}`,
		"a merge to itself":   `{"model": {"type": "BPE", "vocab": {"a": 0, "": 1}, "merges": ["a ", " a", " "]}}`,
		"a doubling pattern":  `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a|aa)+$|(a*)*b"}, "behavior": "Isolated"}}`,
		"a huge repetition":   `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(((a{1,999}){1,999}){1,999}){1,999}"}, "behavior": "Isolated"}}`,
		"a growing text":      `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "normalizer": {"type": "Sequence", "normalizers": [` + many(40, `{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}`) + `]}}`,
		"deep parts":          `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "normalizer": ` + strings.Repeat(`{"type": "Sequence", "normalizers": [`, 20_000) + strings.Repeat("]}", 20_000) + `}`,
		"many added tokens":   `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "added_tokens": [` + many(20_000, `{"id": 1, "content": "aaaaaaaaaaaaaaaaaaaaaaaaab", "special": true}`) + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan bool)
			go func() {
				defer close(done)
				tok, err := Parse("tokenizer.json", []byte(content))
				if err == nil {
					tok.Encode(text, true)
				}
				if name == "a growing text" && (err == nil || !strings.Contains(err.Error(), "normalizer: the replacements make a text up to")) {
					t.Errorf("got %v", err)
				}
			}()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatal("no end after a minute")
			}
		})
	}
}

func FuzzSentencePiece(f *testing.F) {
	for _, name := range []string{"sp-bpe.model", "sp-unigram-bytes.model"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, "a b")
	}
	f.Fuzz(func(t *testing.T, content []byte, text string) {
		if tok, err := parseSentencePiece(content); err == nil {
			tok.Decode(tok.Encode(text, true), false)
		}
	})
}
