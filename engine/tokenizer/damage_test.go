package tokenizer

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Files that were damaged in 500 ways are errors, or tokenizers that work: no panic, and no end of memory.
func TestDamagedFiles(t *testing.T) {
	list, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	values := []string{"null", "-1", "1e308", "0", "[]", "{}", `"x"`, "true", "9223372036854775807", `"(?:a*)*"`, "[[["}
	for n := range 500 {
		path := list[n%len(list)]
		if strings.HasSuffix(path, ".expected.json") {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := rng.IntN(len(text))
		switch n % 4 {
		case 0:
			text = text[:at]
		case 1:
			text[at] ^= 1 << rng.IntN(8)
		case 2:
			text = append(text[:at:at], text[min(len(text), at+1+rng.IntN(50)):]...)
		case 3:
			if i := strings.IndexByte(string(text[at:]), ':'); i >= 0 {
				end := at + i + 1
				next := strings.IndexAny(string(text[end:]), ",}]")
				text = append(append(text[:end:end], values[rng.IntN(len(values))]...), text[end+max(next, 0):]...)
			}
		}
		tok, err := Parse(filepath.Base(path), text)
		if err != nil {
			continue
		}
		ids := tok.Encode("a b<s> größe 東京 123 \xff", true)
		tok.Decode(ids, true)
		tok.Decode([]int{-1, 1 << 40, 3}, false)
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
