//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package term

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in place of the history would hold the first cell up for good.
func TestHistoryThatIsNoFile(t *testing.T) {
	h := historyFile{filepath.Join(t.TempDir(), "history")}
	if err := syscall.Mkfifo(h.path, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	const want = "history is a named pipe, want a regular file"
	if _, err := h.load(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("load: got %v, want it to say %q", err, want)
	}
	if err := h.add("x := 1"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("add: got %v, want it to say %q", err, want)
	}
}
