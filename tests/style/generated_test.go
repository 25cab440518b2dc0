package style

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Files are marked in .gitattributes as generated if, and only if, they say so themselves.
func TestGeneratedFilesAreMarked(t *testing.T) {
	root := filepath.Join("..", "..")
	git := func(stdin string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = root, strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("needs git and a checkout: %v", err)
		}
		return string(out)
	}
	for line := range strings.Lines(git(git("", "ls-files", "*.go", "*.s"), "check-attr", "--stdin", "linguist-generated")) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		marked, says := strings.HasSuffix(rest, ": set"), generatedHead.Match(text[:min(len(text), 2000)])
		if marked != says {
			t.Errorf("%s: marked as generated: %v, says so itself: %v", path, marked, says)
		}
	}
}
