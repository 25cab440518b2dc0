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
	"commands and measuring":    {"magics", "engine/bench", "engine/check", "engine/profile"},
	"tensors and plans":         {"engine/tensor", "engine/device", "engine/dtype", "engine/internal"},
	"GPU":                       {"engine/internal/backend/gpu", "engine/internal/backend/cuda", "engine/internal/backend/metal", "engine/internal/kernel", "engine/internal/msl", "engine/kernel", "shaders"},
	"processor":                 {"engine/internal/backend/cpu", "engine/internal/backend/ref"},
	"models and training":       {"engine"},
	"formats":                   {"engine/data", "engine/safetensors", "engine/gguf", "engine/npy", "engine/tokenizer"},
	"plots":                     {"engine/plot"},
	"beside":                    {"internal"},
}

// mostLines is what the product may have, rounded up to the next hundred when it was last looked at: to go
// beyond is a decision. The aim is 125,000.
const mostLines = 222_400

var generatedHead = regexp.MustCompile(`(?m)^(//|#) Code generated .* DO NOT EDIT\.$`)

// TestLines counts the written lines of the product by room, without tests, what tests need, and generated
// files; -v shows them.
func TestLines(t *testing.T) {
	count, total := map[string]int{}, 0
	written(t, func(path, text string) {
		pkg := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") || lies(pkg, "tests", "examples") || ofTests(pkg) {
			return
		}
		in, folder := "", ""
		for room, folders := range rooms {
			if f := longest(pkg, folders); len(f) > len(folder) {
				in, folder = room, f
			}
		}
		if in == "" {
			t.Errorf("%s is in no room", path)
		}
		n := strings.Count(text, "\n")
		count[in], total = count[in]+n, total+n
	})
	table := ""
	for _, room := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return count[b] - count[a] }) {
		table += fmt.Sprintf("%8d  %s\n", count[room], room)
	}
	t.Logf("written lines of the product\n%s%8d  in all", table, total)
	if total > mostLines {
		t.Errorf("the product has %d written lines, want at most %d: take %d away elsewhere, or raise mostLines and say what for", total, mostLines, total-mostLines)
	}
}

// written calls f with the path and the text of each source file of the tree that somebody wrote.
func written(t *testing.T, f func(path, text string)) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || !slices.Contains([]string{".go", ".s", ".metal", ".h", ".cu"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !generatedHead.Match(text[:min(len(text), 2000)]) {
			rel, _ := filepath.Rel(root, path)
			f(filepath.ToSlash(rel), string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// longest returns the longest of the folders in which a package lies, "" if it lies in none.
func longest(pkg string, folders []string) (folder string) {
	for _, f := range folders {
		if lies(pkg, f) && len(f) > len(folder) {
			folder = f
		}
	}
	return folder
}

// lies says whether a package lies in one of the folders.
func lies(pkg string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return pkg == f || strings.HasPrefix(pkg, f+"/") })
}
