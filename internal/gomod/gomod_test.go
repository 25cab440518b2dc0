package gomod

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestAbove(t *testing.T) {
	top := t.TempDir()
	in := func(name string) string { return filepath.Join(top, filepath.FromSlash(name)) }
	err := os.MkdirAll(in("a/b/c"), 0o777)
	err = errors.Join(err, os.MkdirAll(in("other/go.mod"), 0o777)) // a folder is none
	err = errors.Join(err, os.WriteFile(in("go.mod"), []byte("// top\nmodule example.com/top\n"), 0o666))
	if err = errors.Join(err, os.WriteFile(in("a/b/go.mod"), []byte("module \"example.com/b\"\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(in("a"))
	for _, c := range []struct{ dir, root, path string }{
		{in("a/b/c"), in("a/b"), "example.com/b"},
		{in("a/b"), in("a/b"), "example.com/b"},
		{in("a"), top, "example.com/top"},
		{in("other"), top, "example.com/top"},
		{in("nowhere/deep"), top, "example.com/top"},
		{"b", in("a/b"), "example.com/b"},
		{filepath.VolumeName(top) + string(filepath.Separator), "", ""},
	} {
		if root, path := Above(c.dir); root != c.root || path != c.path {
			t.Errorf("%s: got %s %s, want %s %s", c.dir, root, path, c.root, c.path)
		}
	}
}
