package style

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A room is a part of the product with its folders, the longest of which holds a file.
var rooms = map[string][]string{
	"Go in cells":               {"repl/session", "repl/cell", "repl/notation"},
	"help for what is mistyped": {"repl/session/internal/help"},
	"terminal, files, command":  {"repl", "stdlib"},
	"commands and measuring":    {"magics", "engine/bench", "engine/profile"},
	"tensors and plans":         {"engine/tensor", "engine/device", "engine/dtype", "engine/internal"},
	"GPU":                       {"engine/internal/backend/gpu", "engine/internal/backend/cuda", "engine/internal/backend/metal", "engine/internal/kernel", "engine/internal/msl", "engine/kernel", "shaders"},
	"processor":                 {"engine/internal/backend/cpu", "engine/internal/backend/ref"},
	"models and training":       {"engine"},
	"formats":                   {"engine/data", "engine/safetensors", "engine/gguf", "engine/npy", "engine/tokenizer"},
	"plots":                     {"engine/plot"},
	"beside":                    {"internal"},
}

// equipment are packages that only tests import.
var equipment = []string{"backendtest", "emulated", "fake", "late", "drivertest", "mutate", "turns", "record"}

// mostLines is what the product may have, rounded up to the next thousand when it was last looked at: to go
// beyond is a decision. The aim is 125,000.
const mostLines = 176_000

var generatedHead = regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`)

// TestLines counts the written lines of the product by room, without tests, what tests need, and generated
// files; -v shows them.
func TestLines(t *testing.T) {
	root := filepath.Join("..", "..")
	count, total := map[string]int{}, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if rel = filepath.ToSlash(rel); d.IsDir() {
			if d.Name() == "testdata" || rel == "tests" || rel == "examples" || slices.Contains(equipment, d.Name()) || rel != "." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".s", ".metal", ".h", ".cu"}, filepath.Ext(path)) || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if generatedHead.Match(text[:min(len(text), 2000)]) {
			return nil
		}
		in, folder := "", ""
		for room, folders := range rooms {
			for _, f := range folders {
				if strings.HasPrefix(rel, f+"/") && len(f) > len(folder) {
					in, folder = room, f
				}
			}
		}
		if in == "" {
			t.Errorf("%s is in no room", rel)
		}
		n := strings.Count(string(text), "\n")
		count[in], total = count[in]+n, total+n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	table := ""
	for _, room := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return count[b] - count[a] }) {
		table += fmt.Sprintf("%8d  %s\n", count[room], room)
	}
	t.Logf("written lines of the product\n%s%8d  in all", table, total)
	if total > mostLines {
		t.Errorf("the product has %d written lines, want at most %d", total, mostLines)
	}
}
