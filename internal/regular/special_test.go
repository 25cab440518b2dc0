//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package regular

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSpecialFiles: a path that is not a file is refused at once, by what it is, also behind a link.
func TestSpecialFiles(t *testing.T) {
	dir, err := os.MkdirTemp("", "r") // short: the path of a socket has at most some 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	pipe, socket, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no sockets here:", err)
	}
	defer l.Close()
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe: "named pipe", socket: "socket", link: "device", "/dev/zero": "device", "/dev/tty": "device",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path+" is a "+want+", want a regular file") {
			t.Errorf("%s: got %v, want a refusal of a %s", path, err, want)
		}
	}
}
