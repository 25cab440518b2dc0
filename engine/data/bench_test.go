package data

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/tokenizer"
)

// Chats of JSON lines: what reading costs, and what tokens cost beside it.
func BenchmarkRecords(b *testing.B) {
	var text bytes.Buffer
	for i := range 2000 {
		turn := strings.Repeat("a batch of tokens and its gradient ", 2+i%20)
		fmt.Fprintf(&text, `{"messages": [{"role": "user", "content": %q}, {"role": "assistant", "content": %q}]}`+"\n", turn, turn)
	}
	path := filepath.Join(b.TempDir(), "chats.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o666); err != nil {
		b.Fatal(err)
	}
	d, err := ReadRecords(path)
	if err != nil {
		b.Fatal(err)
	}
	tok, err := tokenizer.Load("testdata/tokenizer.json")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if _, err := d.Each(b.Context(), func(Record) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("tokens", func(b *testing.B) {
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			if _, err := (Tokens{Tokenizer: tok, Template: chatML(b)}).Of(b.Context(), d); err != nil {
				b.Fatal(err)
			}
		}
	})
}
