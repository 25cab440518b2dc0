package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// Before main begins the program makes little: what few runs need is made when it is first used. Allocations
// stand for the time, which they follow and which varies.
func TestInitIsCheap(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	total := 0
	line := regexp.MustCompile(`(?m)^init (github\.com/mcs-notebook/\S+) .* (\d+) bytes`)
	for _, m := range line.FindAllStringSubmatch(trace.String(), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if total += n; n > 40<<10 {
			t.Errorf("package %s makes %d bytes at the start, want at most 40 KiB", m[1], n)
		}
	}
	if total == 0 || total > 200<<10 {
		t.Errorf("packages make %d bytes at the start, want at most 200 KiB", total)
	}
}
