package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// `mcs test -u` writes over files that are people's own.

const wrong = "// %%\n1 + 1\n// > 3\n"
const right = "// %%\n1 + 1\n// > 2\n"

func TestUpdateKeepsModeAndLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such modes")
	}
	dir := writeFiles(t, map[string]string{"real.mcs": wrong})
	real := filepath.Join(dir, "real.mcs")
	if err := os.Chmod(real, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.mcs", filepath.Join(dir, "link.mcs")); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := mcs(t, dir, "", "test", "-u", "link.mcs"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if text, err := os.ReadFile(real); string(text) != right {
		t.Errorf("got %q, %v, want %q", text, err, right)
	}
	if stat, err := os.Stat(real); err != nil || stat.Mode() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", stat.Mode(), err)
	}
	if to, err := os.Readlink(filepath.Join(dir, "link.mcs")); to != "real.mcs" {
		t.Errorf("the link is %q, %v", to, err)
	}
}

// A person saves the file in an editor while its cells run: that is the newer text.
func TestUpdateOfAFileThatChanged(t *testing.T) {
	t.Parallel()
	text := "// %%\nos.WriteFile(`self.mcs`, []byte(`mine`), 0o666)\n\n" + wrong
	dir := writeFiles(t, map[string]string{"self.mcs": text})
	_, stderr, code := mcs(t, dir, "", "test", "-u", "self.mcs")
	if want := "self.mcs was changed while it ran: run it again"; code == 0 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "self.mcs")); string(got) != "mine" {
		t.Errorf("got %q, %v, want what was written meanwhile", got, err)
	}
}

// On a disk that is full the old file stays whole, and nothing lies beside it.
func TestUpdateOnAFullDisk(t *testing.T) {
	t.Parallel()
	big := "// %%\n1 + 1\n// > 3\n// %%\n// " + strings.Repeat("x", 40<<10) + "\n"
	dir := writeFiles(t, map[string]string{"big.mcs": big})
	out, err := onSmallDisk(t, dir, "64k", `cp ../big.mcs .
"$MCS" test -u big.mcs && exit 98
cmp big.mcs ../big.mcs && [ "$(ls -A)" = big.mcs ]`)
	if err != nil || !strings.Contains(out, "no space left on device") {
		t.Errorf("%v: %s", err, out)
	}
}
