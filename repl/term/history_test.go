package term

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
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
	// Another program, or a crash, left lines that are no cells.
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
	for i := range 2*historyLimit + 1 {
		file = append(file, historyLine(fmt.Sprint("cell ", i))...)
	}
	if err := os.WriteFile(h.path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time from the file that was written anew
		cells, err := h.load()
		if err != nil || len(cells) != historyLimit || cells[historyLimit-1] != fmt.Sprint("cell ", 2*historyLimit) {
			t.Fatalf("got %d cells, %v, want the last %d", len(cells), err, historyLimit)
		}
	}
	if after, _ := os.ReadFile(h.path); len(after) >= len(file) {
		t.Errorf("the file still has %d bytes of %d", len(after), len(file))
	}
}
