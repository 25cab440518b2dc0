package durable

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain is also the other process of TestLock: it takes a lock, says so and waits to be killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("DURABLE_LOCK"); path != "" {
		if _, err := TryLock(path); err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString("locked\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestLock: one holder at a time, in this process and among several; a process that dies lets go.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := TryLock(path); !errors.As(err, &held) {
		t.Errorf("a second time: got %v, want a HeldError", err)
	}
	l.Unlock()

	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "DURABLE_LOCK="+path)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process: %q, %v", line, err)
	}
	if _, err := WaitLock(t.Context(), path, 20*time.Millisecond); !errors.As(err, &held) || !strings.Contains(err.Error(), "in use by process ") {
		t.Errorf("while another process has it: got %v, want to be told which", err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if _, err := WaitLock(over, path, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("after the caller has given up: got %v, want %v", err, context.Canceled)
	}
	other.Process.Kill()
	other.Wait()
	l, err = WaitLock(t.Context(), path, 10*time.Second)
	if err != nil {
		t.Errorf("after the other process died: %v", err)
	}
	l.Unlock()
}
