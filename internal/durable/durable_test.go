package durable

import (
	"errors"
	"fmt"
	"io"
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
}

func (s faulty) fail() bool {
	*s.calls++
	return *s.calls == s.failAt
}

func (s faulty) create(path string) (file, error) {
	if s.fail() {
		return nil, errFault
	}
	f, err := s.osSystem.create(path)
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

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func writeFolder(w Writer, path, content string) error {
	f, err := w.NewFolder(path)
	if err != nil {
		return err
	}
	defer f.Drop()
	for _, name := range []string{"a", "b"} {
		if err := f.WriteFile(name, text(content+name)); err != nil {
			return err
		}
	}
	return f.Commit()
}

// TestFaults fails every call of the operating system in turn: at each point the old content or the new one is there,
// whole, and an error before the last rename leaves no litter.
func TestFaults(t *testing.T) {
	for n := 1; ; n++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "x")
		if err := WriteFile(path, text("old")); err != nil {
			t.Fatal(err)
		}
		calls := 0
		err := Writer{faulty{calls: &calls, failAt: n}}.WriteFile(path, text("new"))
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

func TestFolderFaults(t *testing.T) {
	for n := 1; ; n++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "step-1")
		if err := writeFolder(Writer{}, path, "old"); err != nil {
			t.Fatal(err)
		}
		calls := 0
		err := writeFolder(Writer{faulty{calls: &calls, failAt: n}}, path, "new")
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
			return
		}
		if !errors.Is(err, errFault) {
			t.Fatalf("fault at call %d: got error %v", n, err)
		}
	}
}

func noLitter(t *testing.T, dir, when string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), TempMark) {
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
	if err := f.Commit(); err == nil {
		t.Error("second Commit: got no error")
	}
}
