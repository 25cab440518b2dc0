package term

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/mcs-notebook/mcs/internal/testing/mutate"

	"github.com/mcs-notebook/mcs/repl/journal"
)

func TestHistoryFile(t *testing.T) {
	h := historyFile{filepath.Join(t.TempDir(), "mcs", "history")}
	if cells, err := h.load(); cells != nil || err != nil {
		t.Fatalf("no file: got %q, %v, want nothing", cells, err)
	}
	for _, cell := range []string{"x := 1", "f {\n\t\"g\"\n}", "f {\n\t\"g\"\n}", "日本 // \u2028"} {
		if err := h.add(cell); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"x := 1", "f {\n\t\"g\"\n}", "日本 // \u2028"}
	if cells, err := h.load(); !slices.Equal(cells, want) || err != nil {
		t.Errorf("got %q, %v, want %q", cells, err, want)
	}
	// Another program, or a crash, left lines that are not cells.
	f, _ := os.OpenFile(h.path, os.O_APPEND|os.O_WRONLY, 0)
	f.WriteString("garbage\n\"half")
	f.Close()
	if cells, err := h.load(); !slices.Equal(cells, want) || err != nil {
		t.Errorf("damaged: got %q, %v, want %q", cells, err, want)
	}
}

func TestHistoryIsCut(t *testing.T) {
	h := historyFile{filepath.Join(t.TempDir(), "history")}
	var file []byte
	for i := range historyLimit * 2 {
		file = append(file, historyLine(fmt.Sprint("cell ", i))...)
	}
	if err := os.WriteFile(h.path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from the file that was written anew
		cells, err := h.load()
		if err != nil || len(cells) != historyLimit || cells[historyLimit-1] != fmt.Sprint("cell ", 2*historyLimit-1) {
			t.Fatalf("got %d cells, %v, want the last %d", len(cells), err, historyLimit)
		}
	}
	if after, _ := os.ReadFile(h.path); len(after) >= len(file) {
		t.Errorf("the file still has %d bytes of %d", len(after), len(file))
	}
}

// What a crash left of a line does not take the next cell with it.
func TestHistoryAfterHalfALine(t *testing.T) {
	h := historyFile{filepath.Join(t.TempDir(), "history")}
	if err := os.WriteFile(h.path, []byte("\"first\"\n\"hal"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.add("next"); err != nil {
		t.Fatal(err)
	}
	if cells, err := h.load(); !slices.Equal(cells, []string{"first", "next"}) || err != nil {
		t.Errorf("got %q, %v, want the whole cells", cells, err)
	}
}

// The file that is cut keeps its mode, and a link to it stays a link.
func TestTheHistoryFileStaysWhatItIs(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	h := historyFile{filepath.Join(dir, "history")}
	if err := os.Symlink("real", h.path); err != nil {
		t.Skip("no links here:", err)
	}
	var file []byte
	for i := range historyLimit * 2 {
		file = append(file, historyLine(fmt.Sprint("cell ", i))...)
	}
	if err := os.WriteFile(real, file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := h.load(); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(h.path); to != "real" {
		t.Errorf("the link is %q, %v", to, err)
	}
	if stat, err := os.Stat(real); err != nil || stat.Mode().Perm() != 0o640 || stat.Size() >= int64(len(file)) {
		t.Errorf("got %v, %d bytes, %v, want a shorter file of mode 0640", stat.Mode(), stat.Size(), err)
	}
}

// Many notebooks write at once, one of them when the file is to be cut: no cell is lost.
func TestHistoryIsShared(t *testing.T) {
	h := historyFile{filepath.Join(t.TempDir(), "history")}
	var file []byte
	for i := range 2 * historyLimit {
		file = append(file, historyLine(fmt.Sprint("old ", i))...)
	}
	if err := os.WriteFile(h.path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := h.add(fmt.Sprint("writer ", w, " cell ", i)); err != nil {
					t.Error(err)
				}
				if w == 0 && i == each/2 {
					if _, err := h.load(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	cells, err := h.load()
	if err != nil {
		t.Fatal(err)
	}
	for w := range writers {
		for i := range each {
			if cell := fmt.Sprint("writer ", w, " cell ", i); !slices.Contains(cells, cell) {
				t.Fatalf("%q is lost", cell)
			}
		}
	}
}

func TestSecrets(t *testing.T) {
	for _, c := range []struct {
		cell string
		want bool
	}{
		{`os.Setenv("HF_TOKEN", "hf_abcdefghijklmnop")`, true},
		{`password := "correct horse"`, false}, // a phrase with blanks is not taken for a password
		{`password := "correcthorse"`, true},
		{"apiKey = `0123456789abcdef`", true},
		{`req.Header.Set("Authorization", "Bearer 0123456789")`, true},
		{`c.AccessKey = "AKIA0123456789ABCDEF"`, true},
		{" x := 1", true},
		{`pw := "hunter2hunter2"`, true},
		{`db := sql.Open("postgres", "postgres://me:hunter2@db/x")`, true},
		{"http.Get(`https://user:pass@host/`)", true},
		{`key := "-----BEGIN RSA PRIVATE KEY-----"`, true},
		{`http.Get("http://localhost:8080/a@b")`, false},
		{`exec.Command("git", "clone", "ssh://git@host/repo")`, false},
		{`dir := os.Getwd(); pass := 3 // of 5`, false},
		{`tokens := tokenizer.Encode("some words")`, false},
		{`token := tokens[0]`, false},
		{`fmt.Println("secret")`, false},
		{"x := 1", false},
	} {
		if got := journal.Secret(c.cell); got != c.want {
			t.Errorf("%s: got %v, want %v", c.cell, got, c.want)
		}
		h := historyFile{filepath.Join(t.TempDir(), "history")}
		if err := h.add(c.cell); err != nil {
			t.Fatal(err)
		}
		if cells, _ := h.load(); (len(cells) == 0) != c.want {
			t.Errorf("%s: the file has %q", c.cell, cells)
		}
	}
	p := past{cells: []string{`password := "correcthorse"`}}
	if ghost := p.suggest("passw"); ghost != "" {
		t.Errorf("%q is suggested", ghost)
	}
}

// Every text comes back as it was written.
func FuzzHistory(f *testing.F) {
	for _, cell := range []string{"x < 1 && y > 2", "日本 🙂 \u2028\u2029", "\"\\`'\n\t\r\x00\x1b\x7f", `\/`} {
		f.Add(cell)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		if !utf8.ValidString(cell) {
			t.Skip("no cell")
		}
		if got, ok := historyCell(historyLine(cell)); got != cell || !ok {
			t.Errorf("%q: got %q, %v", cell, got, ok)
		}
	})
}

// TestHistoryMutants: whatever became of the file, the cells in whole lines are there, and the next one is
// kept.
func TestHistoryMutants(t *testing.T) {
	h := historyFile{filepath.Join(t.TempDir(), "history")}
	var whole []byte
	for _, cell := range []string{"x := 1", "f {\n\t\"g\"\n}", "日本 // \u2028", "y \x1b[2J"} {
		whole = append(whole, historyLine(cell)...)
	}
	mutate.Each(7, 1000, whole, func(i int, mutant []byte) {
		if err := os.WriteFile(h.path, mutant, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := h.add("next"); err != nil {
			t.Errorf("mutant %d: %v", i, err)
		}
		cells, err := h.load()
		if err != nil || len(cells) == 0 || cells[len(cells)-1] != "next" {
			t.Errorf("mutant %d: %q, %v, want the next cell at the end", i, cells, err)
		}
	})
}
