package main

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// The program serves a page, refuses who has no token, and ends with Ctrl-C. What it cannot serve it says.
func TestWeb(t *testing.T) {
	dir := writeFiles(t, map[string]string{"a.mcs": "1 + 1\n", "bad.ipynb": "{"})
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	cmd := exec.CommandContext(t.Context(), os.Args[0], "web", "a.mcs")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), beCommand+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	_, address, ok := strings.Cut(lines.Text(), "a.mcs is at ")
	if !ok {
		t.Fatalf("got %q", lines.Text())
	}
	page, _, _ := strings.Cut(address, "?")
	r, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("without the token: got %s", r.Status)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for args, want := range map[string]string{
		"a.mcs": "is open already, in process", "bad.ipynb": "got no notebook", "a.go": "want a .mcs or .ipynb file", "a.mcs b.mcs": "takes one",
		"b.mcs --port " + strconv.Itoa(l.Addr().(*net.TCPAddr).Port): "is taken by another program",
	} {
		if _, stderr, code := mcs(t, dir, "", append([]string{"web"}, strings.Fields(args)...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: got %d %s, want %s", args, code, stderr, want)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Skip("this system interrupts no process: ", err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
}
