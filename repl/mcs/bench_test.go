package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// program builds the command as people have it.
func program(b *testing.B) string {
	b.Helper()
	name := filepath.Join(b.TempDir(), "mcs")
	if out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput(); err != nil {
		b.Skipf("cannot build the command: %v\n%s", err, out)
	}
	return name
}

// BenchmarkStart is the time from the start of the process to its end: with nothing to do, and with one
// trivial cell.
func BenchmarkStart(b *testing.B) {
	name := program(b)
	for _, c := range []struct{ what, cell string }{{"version", ""}, {"cell", "1 + 1\n"}} {
		b.Run(c.what, func(b *testing.B) {
			best := time.Hour
			for b.Loop() {
				cmd := exec.Command(name, "version")
				if c.cell != "" {
					cmd = exec.Command(name, "run", "-")
					cmd.Stdin = strings.NewReader(c.cell)
				}
				start := time.Now()
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				best = min(best, time.Since(start))
			}
			b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
		})
	}
}

// BenchmarkIdle is the memory of a notebook under a terminal that waits for its first cell, and how long the
// prompt took.
func BenchmarkIdle(b *testing.B) {
	name := program(b)
	for b.Loop() {
		cmd := exec.Command(name)
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "HOME="+b.TempDir())
		start := time.Now()
		terminal, err := pty.Start(cmd)
		if err != nil {
			b.Skip(err)
		}
		var seen bytes.Buffer
		buf := make([]byte, 4096)
		for !strings.Contains(seen.String(), "In [") {
			n, err := terminal.Read(buf)
			if seen.Write(buf[:n]); err != nil {
				b.Fatalf("no prompt: %v\n%s", err, &seen)
			}
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "prompt-ms")
		time.Sleep(time.Second)
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			b.Skip(err)
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		var kib float64
		if _, err := fmt.Sscan(rest, &kib); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(kib/1024, "MiB")
		_ = cmd.Process.Kill() // it has nothing to lose
		_ = cmd.Wait()         // killed
		_ = terminal.Close()
	}
}
