package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var errFault = errors.New("injected fault")

// faulty is the operating system failing at its n-th call.
type faulty struct {
	osSystem
	calls  *int
	failAt int
	noSwap bool // as on Windows
}

func (s faulty) fail() bool {
	*s.calls++
	return *s.calls == s.failAt
}

func (s faulty) create(path string, perm fs.FileMode, old fs.FileInfo) (file, error) {
	if s.fail() {
		return nil, errFault
	}
	f, err := s.osSystem.create(path, perm, old)
	return faultyFile{f, s}, err
}

func (s faulty) mkdir(path string) error {
	if s.fail() {
		return errFault
	}
	return s.osSystem.mkdir(path)
}

func (s faulty) rename(from, to string) error {
	if s.fail() {
		return errFault
	}
	return s.osSystem.rename(from, to)
}

func (s faulty) swap(a, b string) error {
	if s.noSwap {
		return errors.ErrUnsupported
	}
	if s.fail() {
		return errFault
	}
	return s.osSystem.swap(a, b)
}

func (s faulty) syncDir(path string) error {
	if s.fail() {
		return errFault
	}
	return s.osSystem.syncDir(path)
}

type faultyFile struct {
	file
	sys faulty
}

func (f faultyFile) Write(p []byte) (int, error) {
	if f.sys.fail() {
		n, _ := f.file.Write(p[:len(p)/2])
		return n, errFault
	}
	return f.file.Write(p)
}

func (f faultyFile) Sync() error {
	if f.sys.fail() {
		return errFault
	}
	return f.file.Sync()
}

func writeFolder(w Writer, path, content string) error {
	f, err := w.NewFolder(path)
	if err != nil {
		return err
	}
	defer f.Drop()
	for _, name := range []string{"a", "b"} {
		if err := f.WriteFile(name, Text(content+name)); err != nil {
			return err
		}
	}
	return f.Commit()
}

// TestFaults fails every call of the operating system in turn: at each point the old content or the new one
// is there, whole, and an error before the last rename leaves no litter.
func TestFaults(t *testing.T) {
	for n := 1; ; n++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "x")
		if err := WriteFile(path, Text("old")); err != nil {
			t.Fatal(err)
		}
		calls := 0
		err := Writer{sys: faulty{calls: &calls, failAt: n}}.WriteFile(path, Text("new"))
		got, readErr := os.ReadFile(path)
		if readErr != nil || string(got) != "old" && string(got) != "new" {
			t.Fatalf("fault at call %d: file holds %q, %v", n, got, readErr)
		}
		if err == nil && string(got) != "new" {
			t.Fatalf("fault at call %d: no error, but the file holds %q", n, got)
		}
		noLitter(t, dir, fmt.Sprintf("fault at call %d", n))
		if calls < n {
			if err != nil || n < 5 {
				t.Fatalf("%d calls, err %v: want a fault at each of at least create, write, sync, rename, sync of the folder", calls, err)
			}
			return
		}
		if !errors.Is(err, errFault) {
			t.Fatalf("fault at call %d: got error %v", n, err)
		}
	}
}

// TestFolderFaults does the same for a folder that replaces another, with and without a way to swap them in
// one step. What a crash between two renames leaves, Tidy mends.
func TestFolderFaults(t *testing.T) {
	for _, noSwap := range []bool{false, true} {
		for n := 1; folderFault(t, n, noSwap); n++ {
		}
	}
}

func folderFault(t *testing.T, n int, noSwap bool) (more bool) {
	dir := t.TempDir()
	path := filepath.Join(dir, "step-1")
	if err := writeFolder(Writer{}, path, "old"); err != nil {
		t.Fatal(err)
	}
	calls := 0
	err := writeFolder(Writer{sys: faulty{calls: &calls, failAt: n, noSwap: noSwap}}, path, "new")
	a, errA := os.ReadFile(filepath.Join(path, "a"))
	b, errB := os.ReadFile(filepath.Join(path, "b"))
	if errA != nil || errB != nil || string(a[:3]) != string(b[:3]) {
		t.Fatalf("fault at call %d: a = %q %v, b = %q %v", n, a, errA, b, errB)
	}
	if calls < n {
		if err != nil || string(a) != "newa" {
			t.Fatalf("without fault: a = %q, err %v", a, err)
		}
		noLitter(t, dir, "without fault")
		return false
	}
	if !errors.Is(err, errFault) {
		t.Fatalf("fault at call %d: got error %v", n, err)
	}
	if err := Tidy(dir, func(name string) bool { return name == "step-1" }); err != nil {
		t.Fatal(err)
	}
	noLitter(t, dir, fmt.Sprintf("fault at call %d, tidied", n))
	return true
}

func noLitter(t *testing.T, dir, when string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), TempMark) || strings.Contains(e.Name(), oldMark) {
			t.Errorf("%s: %s is left over", when, e.Name())
		}
	}
}

func TestFolderCommitsOnce(t *testing.T) {
	f, err := NewFolder(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err = f.Commit(); err == nil {
		t.Error("second Commit: got no error")
	}
}
