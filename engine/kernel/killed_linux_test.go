package kernel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// runners are the processes in which this one runs kernels.
func runners(t *testing.T) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		var pid, parent int
		var name, state string
		b, err := os.ReadFile(path)
		if err != nil { // it has ended
			continue
		}
		if _, err := fmt.Sscan(string(b), &pid, &name, &state, &parent); err == nil && parent == os.Getpid() && name == "(runner)" && state != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids
}

// Somebody kills the process between two calls, or a terminal sends its group a signal: the next call starts
// another one.
func TestKilled(t *testing.T) {
	compiled(t)
	k := written(t, "square", square, kernel.Options{Launch: lengths})
	x := tensor.Full(3, 4).Eval()
	for range 3 {
		if got := k.Call(x).Floats(); got[0] != 9 {
			t.Fatalf("got %v, want 9", got)
		}
		list := runners(t)
		if len(list) == 0 {
			t.Fatal("no process runs kernels")
		}
		for _, pid := range list {
			if group, err := syscall.Getpgid(pid); err != nil || group != pid {
				t.Errorf("the process is in group %d, %v, want one of its own", group, err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		x = x.Add(0).Eval()
	}
}
