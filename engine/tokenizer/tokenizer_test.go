package tokenizer

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// testdata was written by tests/peers/tokenizer_files.py with tokenizers and SentencePiece.

var real = flag.String("real", "", "folder that tests/peers/tokenizer_files.py real FOLDER wrote")

// An expected row is a text, its tokens, those with special ones, and the text that they give.
type expected struct {
	text         string
	ids, special []int
	back         string
}

func (e *expected) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&e.text, &e.ids, &e.special, &e.back})
}

func load(t testing.TB, path string) *Tokenizer {
	t.Helper()
	if strings.HasSuffix(path, ".ranks") {
		pattern := map[string]string{"llama3.ranks": Llama3, "llama4.ranks": Llama4, "qwen.ranks": Qwen}[filepath.Base(path)]
		tok, err := LoadRanks(path, pattern, nil)
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	tok, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func eachTokenizer(t *testing.T, dir string, test func(t *testing.T, tok *Tokenizer, rows []expected)) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.expected.json"))
	if err != nil || len(list) == 0 {
		t.Fatal("no tokenizers in", dir, err)
	}
	for _, path := range list {
		base := strings.TrimSuffix(path, ".expected.json")
		t.Run(filepath.Base(base), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var rows []expected
			if err := json.Unmarshal(text, &rows); err != nil {
				t.Fatal(err)
			}
			for _, end := range []string{".json", ".model", ".ranks"} {
				if _, err := os.Stat(base + end); err == nil {
					test(t, load(t, base+end), rows)
					return
				}
			}
			t.Fatal("no tokenizer beside", path)
		})
	}
}

func sameTokens(t *testing.T, tok *Tokenizer, rows []expected) {
	wrong := 0
	for _, row := range rows {
		if got := tok.Encode(row.text, false); !slices.Equal(got, row.ids) {
			t.Errorf("%q: got %v, want %v", row.text, got, row.ids)
			wrong++
		} else if got := tok.Encode(row.text, true); !slices.Equal(got, row.special) {
			t.Errorf("%q with special tokens: got %v, want %v", row.text, got, row.special)
			wrong++
		} else if got := tok.Decode(row.ids, false); got != row.back {
			t.Errorf("%q: %v decoded: got %q, want %q", row.text, row.ids, got, row.back)
			wrong++
		}
		if wrong > 5 {
			t.Fatal("and so on")
		}
	}
}

// Each kind of tokenizer gives what tokenizers and SentencePiece give, token by token.
func TestTokens(t *testing.T) { eachTokenizer(t, "testdata", sameTokens) }

// So do those of models that people use, over 10,000 lines of mixed scripts, code and emoji.
func TestRealTokens(t *testing.T) {
	if *real == "" {
		t.Skip("needs -real FOLDER with vocabularies, written by tests/peers/tokenizer_files.py real FOLDER")
	}
	eachTokenizer(t, *real, sameTokens)
}

// What a stream gives is the text as a whole, and each part is whole characters.
func TestStream(t *testing.T) {
	eachTokenizer(t, "testdata", func(t *testing.T, tok *Tokenizer, rows []expected) {
		for _, row := range rows {
			s := tok.Stream(false)
			var b strings.Builder
			for _, id := range row.ids {
				part := s.Next(id)
				if !utf8.ValidString(part) || strings.Contains(part, "\uFFFD") && !strings.Contains(row.back, "\uFFFD") {
					t.Errorf("%q: part %q is no whole character", row.text, part)
				}
				b.WriteString(part)
			}
			b.WriteString(s.End())
			if got := b.String(); got != row.back && !strings.Contains(row.back, "\uFFFD") && tok.about != "WordPiece" {
				t.Errorf("%q: the parts are %q, want %q", row.text, got, row.back)
			}
		}
	})
}

// TestShowing: special tokens are part of a text where they are asked for, and no others.
func TestShowing(t *testing.T) {
	tok := load(t, "testdata/bert.json")
	ids := tok.Encode("a", true)
	shown := tok.Showing("[SEP]", "[unknown]")
	if plain, got := tok.Decode(ids, false), shown.Decode(ids, false); got != plain+" [SEP]" {
		t.Errorf("got %q, want %q with the mark behind it", got, plain)
	}
	if sep := ids[len(ids)-1]; !tok.IsSpecial(sep) || shown.IsSpecial(sep) || !shown.IsSpecial(ids[0]) {
		t.Errorf("%v: the mark is special as before, or another one is not", ids)
	}
}

// BenchmarkEncode cuts the lines of the fixtures, over and over, with each tokenizer of -real.
func BenchmarkEncode(b *testing.B) {
	if *real == "" {
		b.Skip("needs -real FOLDER: see TestRealTokens")
	}
	list, err := filepath.Glob(filepath.Join(*real, "*.expected.json"))
	if err != nil {
		b.Fatal(err)
	}
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		var rows []expected
		if err := json.Unmarshal(text, &rows); err != nil {
			b.Fatal(err)
		}
		base := strings.TrimSuffix(path, ".expected.json")
		for _, end := range []string{".json", ".model", ".ranks"} {
			if _, err := os.Stat(base + end); err != nil {
				continue
			}
			b.Run(filepath.Base(base), func(b *testing.B) {
				tok := load(b, base+end)
				bytes := 0
				for _, row := range rows {
					bytes += len(row.text)
				}
				b.SetBytes(int64(bytes))
				for b.Loop() {
					for _, row := range rows {
						tok.Encode(row.text, false)
					}
				}
			})
		}
	}
}

// Bytes that are no UTF-8 become as many U+FFFD as Rust's and Python's decoders write.
func TestValid(t *testing.T) {
	for text, want := range map[string]string{
		"aé日🙂": "aé日🙂", "\xa6\xa6\xfb!": "???!", "\xe6\x97": "?", "\xe6\x97!": "?!", "\xe6!": "?!", "\xf0\x9f\x99": "?",
		"\xed\xa0\x80": "???", "\xe6\xe6\x97\xa5": "?日", "\uFFFD\xff": "??", "\xf0\x9f\x99\xe6": "??",
	} {
		if got := strings.ReplaceAll(valid(text), "\uFFFD", "?"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// The bytes of tokens are what they add to a text.
func TestBytes(t *testing.T) {
	eachTokenizer(t, "testdata", func(t *testing.T, tok *Tokenizer, rows []expected) {
		if strings.HasSuffix(t.Name(), "/clip") {
			t.Skip("the blank after a word of CLIP depends on the token that follows, and Bytes leaves it out")
		}
		for _, row := range rows {
			if len(row.ids) == 0 {
				continue
			}
			whole := tok.Decode(row.ids, false)
			var rest []byte
			for _, id := range row.ids[1:] {
				rest = append(rest, tok.Bytes(id)...)
			}
			if first := tok.Decode(row.ids[:1], false); first != "" && utf8.ValidString(whole) && !strings.Contains(whole, "\uFFFD") && !strings.Contains(first, "\uFFFD") && whole != first+string(rest) {
				t.Errorf("%q: got %q after %q, want %q", row.text, rest, first, whole)
			}
		}
	})
}
