package style

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	inline  = regexp.MustCompile("`[^`\n]*`")
	noSlug  = regexp.MustCompile(`[^\pL\pN _-]`)
)

// TestLinks: what a document links to is there, a file and a heading in it, and each page of the documents is
// reached from README.md.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..")
	documents := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || path != root && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			text, err := os.ReadFile(path)
			documents[path] = fence.ReplaceAllString(string(text), "")
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string][]string{}
	for path, text := range documents {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(text, ""), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(file))
			}
			linked[path] = append(linked[path], target)
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", path, m[1])
			} else if anchor != "" && !hasHeading(documents[target], anchor) {
				t.Errorf("%s links to %s, and there is no such heading", path, m[1])
			}
		}
	}
	reached := map[string]bool{}
	var follow func(path string)
	follow = func(path string) {
		if !reached[path] {
			reached[path] = true
			for _, target := range linked[path] {
				follow(target)
			}
		}
	}
	follow(filepath.Join(root, "README.md"))
	for path := range documents {
		if strings.HasPrefix(path, filepath.Join(root, "docs")) && !reached[path] {
			t.Errorf("no link leads from README.md to %s", path)
		}
	}
}

// hasHeading says whether a document has a heading with this anchor, as GitHub makes them.
func hasHeading(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		if strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}
