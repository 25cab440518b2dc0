package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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
// prompt took at best.
func BenchmarkIdle(b *testing.B) {
	name := program(b)
	best := time.Hour
	for b.Loop() {
		start := time.Now()
		n := startNotebook(b, name)
		best = min(best, time.Since(start))
		b.ReportMetric(float64(best.Microseconds())/1000, "prompt-ms")
		time.Sleep(time.Second)
		b.ReportMetric(n.memory(b), "MiB")
		n.kill()
	}
}

// BenchmarkComplete is the time from Tab to the first name of the menu, under a terminal: the first time,
// when the packages' types are read, and the best of the next.
func BenchmarkComplete(b *testing.B) {
	name := program(b)
	for _, c := range []struct{ what, typed, name string }{
		{"member", "tensor.Randn(2).Cum", "CumMax"},
		{"package", "tensor.Ra", "RandInt"},
		{"name", "str", "strconv"},
		{"command", "%ti", "timeit"},
	} {
		b.Run(c.what, func(b *testing.B) {
			for b.Loop() {
				n := startNotebook(b, name)
				first, best := time.Duration(0), time.Hour
				for i := range 8 {
					n.send(b, c.typed)
					n.see(b, c.typed[len(c.typed)-1:])
					time.Sleep(100 * time.Millisecond) // for the hint, which comes by itself
					n.forget()
					start := time.Now()
					n.send(b, "\t")
					n.see(b, c.name)
					took := time.Since(start)
					if i == 0 {
						first = took
					} else {
						best = min(best, took)
					}
					n.send(b, "\x1b\x15\x03") // close the menu, and drop what was typed
					time.Sleep(100 * time.Millisecond)
					n.forget()
				}
				b.ReportMetric(float64(first.Microseconds())/1000, "first-ms")
				b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
				b.ReportMetric(n.memory(b), "MiB")
				n.kill()
			}
		})
	}
}

// A runningNotebook is the program under a terminal.
type runningNotebook struct {
	cmd      *exec.Cmd
	terminal *os.File
	mu       sync.Mutex
	seen     bytes.Buffer
}

func startNotebook(b *testing.B, name string) *runningNotebook {
	b.Helper()
	n := startInTerminal(b, exec.Command(name))
	n.see(b, "In [")
	return n
}

func startInTerminal(b testing.TB, cmd *exec.Cmd) *runningNotebook {
	b.Helper()
	n := &runningNotebook{cmd: cmd}
	n.cmd.Env = append(n.cmd.Environ(), "TERM=xterm-256color", "HOME="+b.TempDir())
	var err error
	if n.terminal, err = pty.StartWithSize(n.cmd, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		b.Skip(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			k, err := n.terminal.Read(buf)
			n.mu.Lock()
			n.seen.Write(buf[:k])
			n.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return n
}

func (n *runningNotebook) send(b testing.TB, keys string) {
	b.Helper()
	if _, err := n.terminal.WriteString(keys); err != nil {
		b.Fatal(err)
	}
}

// see waits for texts, one behind the other.
func (n *runningNotebook) see(b testing.TB, texts ...string) {
	b.Helper()
	for start := time.Now(); time.Since(start) < 30*time.Second; time.Sleep(100 * time.Microsecond) {
		n.mu.Lock()
		rest, found := n.seen.String(), true
		n.mu.Unlock()
		for _, text := range texts {
			if found {
				_, rest, found = strings.Cut(rest, text)
			}
		}
		if found {
			return
		}
	}
	b.Fatalf("no %q in\n%q", texts, &n.seen)
}

func (n *runningNotebook) forget() {
	n.mu.Lock()
	n.seen.Reset()
	n.mu.Unlock()
}

// memory is what the process holds, in MiB.
func (n *runningNotebook) memory(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

func (n *runningNotebook) kill() {
	_ = n.cmd.Process.Kill() // it has nothing to lose
	_ = n.cmd.Wait()         // killed
	_ = n.terminal.Close()
}
