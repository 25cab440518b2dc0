package tuning

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/ranks"
)

// alike is a link to ranks that say what this one says.
type alike int

func (alike) Rank() int                      { return 0 }
func (a alike) Size() int                    { return int(a) }
func (alike) Exchange(dst, src []byte) error { copy(dst, src); return nil }
func (a alike) Gather(dst, src []byte) error { copy(dst, bytes.Repeat(src, int(a))); return nil }
func (alike) Fail(string)                    {}
func (alike) Close() error                   { return nil }

// Several processes hold a model together whose files are larger than the device, unless the file says
// otherwise.
func TestShard(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int64{"small": 100, "large": 1 << 43} { // a file with a hole
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(dir, name, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(size); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		size int
		text string
		want bool
	}{
		{2, `path = "small"`, false},
		{2, `path = "large"`, true},
		{1, `path = "large"`, false},
		{2, "path = \"large\"\nshard = false", false},
		{2, "path = \"large\"\nbits = 4", false},
		{2, "path = \"small\"\nshard = true", true},
	} {
		file := filepath.Join(dir, "job.toml")
		if err := os.WriteFile(file, []byte("output = \"out\"\n[model]\n"+c.text+"\n[data]\ntrain = \"t.jsonl\"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		var g *ranks.Group
		if c.size > 1 {
			g = ranks.New(alike(c.size))
		}
		config, err := Read(file, nil)
		if err == nil {
			err = config.Shard(g)
		}
		if err != nil || config.Model.Shard != c.want {
			t.Errorf("%d processes, %s: got %v, %v, want %v", c.size, c.text, config.Model.Shard, err, c.want)
		}
	}
	if _, err := Read(filepath.Join(dir, "job.toml"), []string{"model.bits=4", "model.shard=true"}); err == nil || !strings.Contains(err.Error(), "model.shard") {
		t.Errorf("codes of a model in parts: got %v", err)
	}
}
