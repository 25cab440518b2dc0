package generic

import "testing"

func TestSource(t *testing.T) {
	for path, files := range map[string]int{"slices": 3, "maps": 1, "cmp": 1, "sync": 1, "sync/atomic": 1, "unique": 1, "fmt": 0} {
		texts, ok := Source(path)
		if len(texts) != files || ok != (files > 0) {
			t.Errorf("Source(%q): %d files, %v; want %d", path, len(texts), ok, files)
		}
	}
}
