package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var pair = []string{"weights", "config"}

func writePair(w Writer, s Set, content string) error {
	var members []Member
	for _, name := range []string{"config", "weights"} { // in any order
		members = append(members, Member{name, Text(content + name)})
	}
	return w.WriteSet(s, members)
}

// readPair returns what a reader finds: "old", "new", or what is wrong with it.
func readPair(s Set) string {
	var contents []string
	for _, name := range pair {
		b, err := os.ReadFile(s.Path(name))
		if err != nil {
			return err.Error()
		}
		contents = append(contents, string(b[:3]))
	}
	if contents[0] != contents[1] {
		return fmt.Sprintf("a mixture: %q", contents)
	}
	return contents[0]
}

// crash makes every call from the n-th on fail, as if the process had ended there.
type crash struct{ faulty }

func (s crash) fail() bool {
	*s.calls++
	return *s.calls >= s.failAt
}

func (s crash) rename(from, to string) error {
	if s.fail() {
		return errFault
	}
	return s.osSystem.rename(from, to)
}

func (s crash) syncDir(path string) error {
	if s.fail() {
		return errFault
	}
	return s.osSystem.syncDir(path)
}

func (s crash) removeAll(path string) error {
	if s.fail() {
		return errFault
	}
	return s.osSystem.removeAll(path)
}

// TestSetFaults fails every call in turn, and ends the process at every call in turn: a reader finds the old
// files or the new ones, and the next write works and leaves nothing else behind.
func TestSetFaults(t *testing.T) {
	for _, kind := range []string{"fault", "end"} {
		for n := 1; ; n++ {
			when := fmt.Sprintf("%s at call %d", kind, n)
			dir := t.TempDir()
			s := Set{Dir: dir, Key: "config"}
			if err := writePair(Writer{}, s, "old"); err != nil {
				t.Fatal(err)
			}
			calls := 0
			var sys system = faulty{calls: &calls, failAt: n}
			if kind == "end" {
				sys = crash{faulty{calls: &calls, failAt: n}}
			}
			err := writePair(Writer{sys: sys}, s, "new")
			if got := readPair(s); got != "new" && (err == nil || got != "old") {
				t.Errorf("%s: got %s, %v", when, got, err)
			}
			if err := writePair(Writer{}, s, "aft"); err != nil || readPair(s) != "aft" {
				t.Errorf("%s: the next write: %v, %s", when, err, readPair(s))
			}
			noLitterBut(t, dir, when, kind == "end")
			if calls < n {
				break
			}
			if err != nil && !errors.Is(err, errFault) {
				t.Errorf("%s: got error %v", when, err)
			}
		}
	}
}

// noLitterBut is noLitter; after a crash temporary files stay until they are old enough.
func noLitterBut(t *testing.T, dir, when string, temporary bool) {
	t.Helper()
	if !temporary {
		noLitter(t, dir, when)
		return
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*"+oldMark+"*")); len(left) > 0 {
		t.Errorf("%s: %q are left over", when, left)
	}
}

// TestSetKeepsLinks: a member that is a link stays one.
func TestSetKeepsLinks(t *testing.T) {
	dir, far := t.TempDir(), t.TempDir()
	s := Set{Dir: dir, Key: "config"}
	if err := os.Symlink(filepath.Join(far, "blob"), filepath.Join(dir, "weights")); err != nil {
		t.Skip("no links here:", err)
	}
	for _, content := range []string{"old", "new"} {
		if err := writePair(Writer{}, s, content); err != nil || readPair(s) != content {
			t.Fatalf("%v: got %s, want %s", err, readPair(s), content)
		}
	}
	if b, err := os.ReadFile(filepath.Join(far, "blob")); string(b) != "newweights" {
		t.Errorf("behind the link: %q, %v", b, err)
	}
	noLitter(t, dir, "here")
	noLitter(t, far, "behind the link")
}
