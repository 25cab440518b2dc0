package term

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cellOf is a cell of n lines of Go.
func cellOf(n int) string {
	var b strings.Builder
	b.WriteString("func train(m *llm.Model, steps int) (loss float64) {\n")
	for i := range n - 3 {
		fmt.Fprintf(&b, "\tx%d := tensor.Randn(256, 512).MatMul(w).Add(b) // step %d of \"many\"\n", i, i)
	}
	b.WriteString("\treturn loss\n}")
	return b.String()
}

// benchmarkKey measures what one key costs, from its bytes to the bytes that the terminal gets: a letter in
// the middle of the cell, and Backspace.
func benchmarkKey(b *testing.B, lines int) {
	var history []string
	for i := range historyLimit {
		history = append(history, fmt.Sprintf("y%d := f(x%d)\ny%d", i, i, i))
	}
	ty := newTypist(120, 60, theme{enabled: true}, history...)
	ty.console.Writer = io.Discard
	ty.asker.hint = nil // the session's time, which no key waits for
	ty.press(pasteStart + cellOf(lines) + pasteEnd + strings.Repeat(up, lines/2) + end)
	keys := [][]byte{[]byte("x"), []byte(backspace)}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		ty.feed(keys[i%2])
		ty.step(true)
	}
}

func BenchmarkKey50Lines(b *testing.B)   { benchmarkKey(b, 50) }
func BenchmarkKey2000Lines(b *testing.B) { benchmarkKey(b, 2000) }

// A suggestion is looked for among all cells of the history: here none fits.
func BenchmarkKeyAtTheEnd(b *testing.B) {
	var history []string
	for i := range historyLimit {
		history = append(history, fmt.Sprintf("y%d := f(x%d)\ny%d", i, i, i))
	}
	ty := newTypist(120, 60, theme{enabled: true}, history...)
	ty.console.Writer = io.Discard
	ty.asker.hint = nil
	keys := [][]byte{[]byte("x"), []byte(backspace)}
	for i := range b.N {
		ty.feed(keys[i%2])
		ty.step(true)
	}
}

// BenchmarkPaste2000Lines pastes a large cell and looks at it.
func BenchmarkPaste2000Lines(b *testing.B) {
	text := []byte(pasteStart + cellOf(2000) + pasteEnd)
	for b.Loop() {
		ty := newTypist(120, 60, theme{enabled: true})
		ty.console.Writer = io.Discard
		ty.asker.hint = nil
		for i := 0; i < len(text); i += 4096 {
			ty.feed(text[i:min(i+4096, len(text))])
			ty.step(true)
		}
	}
}

// BenchmarkLoadHistory reads a full history, which every start waits for.
func BenchmarkLoadHistory(b *testing.B) {
	h := historyFile{filepath.Join(b.TempDir(), "history")}
	var file []byte
	for i := range historyLimit {
		file = append(file, historyLine(fmt.Sprintf("y%d := f(x%d)\nfor i := range 10 {\n\tfmt.Println(\"cell\", y%d, i)\n}", i, i, i))...)
	}
	if err := os.WriteFile(h.path, file, 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cells, err := h.load()
		if err != nil || len(cells) != historyLimit {
			b.Fatalf("%d cells, %v", len(cells), err)
		}
		var p past
		for _, c := range cells {
			p.add(c)
		}
	}
}
