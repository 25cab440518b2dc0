package durable

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestTheModeStays: a file that is replaced keeps its mode, a new one has that of the Writer.
func TestTheModeStays(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such modes")
	}
	for _, test := range []struct {
		name   string
		before fs.FileMode // 0: no file
		perm   fs.FileMode
		want   fs.FileMode
	}{
		{"a private file stays private", 0o600, 0, 0o600},
		{"what the umask would forbid stays, too", 0o666, 0, 0o666},
		{"a program stays one", 0o755, 0, 0o755},
		{"the mode for new files is not for old ones", 0o644, 0o600, 0o644},
		{"a new private file", 0, 0o600, 0o600},
	} {
		path := filepath.Join(t.TempDir(), "x")
		if test.before != 0 {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, test.before); err != nil {
				t.Fatal(err)
			}
		}
		if err := (Writer{Perm: test.perm}).WriteFile(path, Text("new")); err != nil {
			t.Fatal(err)
		}
		if stat, err := os.Stat(path); err != nil || stat.Mode() != test.want {
			t.Errorf("%s: got %v %v, want %v", test.name, stat.Mode(), err, test.want)
		}
	}
}

// TestLinksStay: a link goes on pointing to the file, which has the new content.
func TestLinksStay(t *testing.T) {
	for _, test := range []struct {
		name, link string
		exists     bool
	}{
		{"in the same folder", "file", true},
		{"in another", "../far/file", true},
		{"to a link", "second", true},
		{"to a file that is not there yet", "../far/none", false},
	} {
		dir := t.TempDir()
		near, far := filepath.Join(dir, "near"), filepath.Join(dir, "far")
		for _, d := range []string{near, far} {
			if err := os.Mkdir(d, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d, "file"), []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(near, "link")
		if err := os.Symlink(test.link, link); err != nil {
			t.Skip("no links here:", err)
		}
		if err := os.Symlink("../far/file", filepath.Join(near, "second")); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(link, Text("new")); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if to, err := os.Readlink(link); to != filepath.FromSlash(test.link) {
			t.Errorf("%s: the link is %q, %v, want %q", test.name, to, err, test.link)
		}
		if got, err := os.ReadFile(link); string(got) != "new" {
			t.Errorf("%s: got %q, %v, want the new content", test.name, got, err)
		}
		noLitter(t, near, test.name)
		noLitter(t, far, test.name)
	}
}

// TestNotReplaced: a device or a file that must not be written stays.
func TestNotReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("b", filepath.Join(dir, "a")); err == nil {
		os.Symlink("a", filepath.Join(dir, "b"))
		if err := WriteFile(filepath.Join(dir, "a"), Text("x")); err == nil || !strings.Contains(err.Error(), "more than 40 links") {
			t.Errorf("links in a circle: got %v", err)
		}
	}
	if err := WriteFile(dir, Text("x")); err == nil || !strings.Contains(err.Error(), "is a folder, want a regular file") {
		t.Errorf("a folder: got %v", err)
	}
	if runtime.GOOS != "windows" {
		if err := WriteFile("/dev/null", Text("x")); err == nil || !strings.Contains(err.Error(), "is a device, want a regular file") {
			t.Errorf("a device: got %v", err)
		}
	}
	locked := filepath.Join(dir, "read-only")
	if err := os.WriteFile(locked, []byte("old"), 0o444); err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(locked, os.O_WRONLY, 0); err == nil {
		f.Close() // root may write it
	} else if err := WriteFile(locked, Text("x")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file that may not be written: got %v", err)
	}
	if _, err := NewFolder(locked); err == nil || !strings.Contains(err.Error(), "is a regular file, want a folder") {
		t.Errorf("a folder in place of a file: got %v", err)
	}
}

// TestErrorsNameTheFile and not the temporary one.
func TestErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "x")
	err := WriteFile(path, Text(""))
	if err == nil || !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), TempMark) || !strings.Contains(err.Error(), path) {
		t.Errorf("a file: got %v", err)
	}
	_, err = NewFolder(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), TempMark) || !strings.Contains(err.Error(), path) {
		t.Errorf("a folder: got %v", err)
	}
}

// TestAFolderThatAllowsNoNewFile: the error says why a file that may be written is not.
func TestAFolderThatAllowsNoNewFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o777)
	if os.Mkdir(filepath.Join(dir, "probe"), 0o777) == nil {
		t.Skip("this user may do everything")
	}
	err := WriteFile(path, Text("new"))
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "its folder must allow") || strings.Contains(err.Error(), TempMark) {
		t.Errorf("got %v", err)
	}
	if b, err := os.ReadFile(path); string(b) != "old" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

// TestLeftoversGo: the next write removes what a crash left of the same file, and nothing else.
func TestLeftoversGo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	old := time.Now().Add(-time.Hour)
	for name, goes := range map[string]bool{
		"x" + TempMark + "0123456789ab":  true,
		"x" + TempMark + "0123456789abc": false,
		"x" + TempMark + "notes":         false,
		"y" + TempMark + "0123456789ab":  false,
	} {
		left := filepath.Join(dir, name)
		if err := os.WriteFile(left, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(left, old, old); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(path, Text("")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(left); (err != nil) != goes {
			t.Errorf("%s: %v, want gone: %v", name, err, goes)
		}
	}
	young := path + TempMark + "ffffffffffff"
	if err := os.WriteFile(young, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, Text("")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("one that may be another writer's: %v, want it to stay", err)
	}
}

// TestTidy: leftovers of the caller's own names go, a folder that was being replaced gets its name back.
func TestTidy(t *testing.T) {
	const mark = "0123456789ab"
	for _, test := range []struct{ name, before, after string }{
		{"half a folder", "step-1" + TempMark + mark, ""},
		{"killed between two renames", "step-1" + oldMark + mark + " step-1" + TempMark + mark, "step-1"},
		{"killed after them", "step-1 step-1" + oldMark + mark, "step-1"},
		{"not the caller's", "mine" + TempMark + mark, "mine" + TempMark + mark},
		{"a name that only begins so", "step-1" + TempMark + "best", "step-1" + TempMark + "best"},
	} {
		dir := t.TempDir()
		for name := range strings.FieldsSeq(test.before) {
			if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if err := Tidy(dir, func(name string) bool { return name == "step-1" }); err != nil {
			t.Error(err)
		}
		var after []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			after = append(after, e.Name())
		}
		if got := strings.Join(after, " "); got != test.after {
			t.Errorf("%s: got %q, want %q", test.name, got, test.after)
		}
	}
}

// TestSaving: what is being written can be asked for and waited for.
func TestSaving(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	err := WriteFile(path, func(w io.Writer) error {
		if got := Saving(); len(got) != 1 || got[0] != path {
			t.Errorf("in a write: got %q, want the file", got)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := Settle(ctx); err == nil {
			t.Error("Settle did not wait for the write")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := NewFolder(filepath.Join(dir, "y"))
	if err != nil {
		t.Fatal(err)
	}
	settled := make(chan error)
	go func() { settled <- Settle(context.Background()) }()
	if got := Saving(); len(got) != 1 {
		t.Errorf("in a folder: got %q", got)
	}
	folder.Drop()
	folder.Drop()
	if err := <-settled; err != nil || len(Saving()) != 0 {
		t.Errorf("afterwards: %v, %q", err, Saving())
	}
}
