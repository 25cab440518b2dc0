package mpi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/ccall"
	"github.com/mcs-notebook/mcs/engine/internal/testing/cctest"
)

// child says to a process of the test how it is to end.
const child = "MCS_TEST_MPI"

func TestMain(m *testing.M) {
	if how := os.Getenv(child); how != "" {
		if err := used(how == "closed"); err != nil {
			fmt.Println(err)
		}
		Exit(3)
	}
	os.Exit(m.Run())
}

// used opens the library and calls all that it has.
func used(closed bool) error {
	w, err := Open(1)
	if err != nil {
		return err
	}
	text, all := []byte("text"), make([]byte, 4)
	if err := errors.Join(w.Gather(all, text), w.Exchange(text, all)); err != nil || w.Rank() != 0 || string(all) != "text" {
		return fmt.Errorf("got %q on rank %d, %w", all, w.Rank(), err)
	}
	if closed {
		return w.Close()
	}
	return nil
}

// standIn is the library of testdata.
func standIn(t *testing.T) string {
	t.Helper()
	if err := ccall.Available(); err != nil {
		t.Skipf("C cannot be called here: %v", err)
	}
	if cctest.Emulated() {
		t.Skip("on an emulated processor the test cannot start itself again")
	}
	return cctest.Library(t, "testdata/mpi.c")
}

// A process that has closed MPI ends with C's exit handlers, and one that has not without them. All calls
// come from one thread.
func TestExit(t *testing.T) {
	library := standIn(t)
	for how, want := range map[string]string{"closed": "mpiexec is told\n", "open": ""} {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), child+"="+how, "MCS_MPI="+library)
		out, err := c.CombinedOutput()
		if string(out) != want || c.ProcessState.ExitCode() != 3 {
			t.Errorf("%s: got %q, %v, want %q", how, out, err, want)
		}
	}
}

// What MPI cannot be had from is an error that says what to do.
func TestOpenFails(t *testing.T) {
	t.Setenv("MCS_MPI", "/nowhere/libmpi.so")
	if _, err := open(2); err == nil || !strings.HasPrefix(err.Error(), "mpi: no library: install that of the mpiexec that started this, or name its file by MCS_MPI: ") {
		t.Errorf("got %v", err)
	}
	t.Setenv("MCS_MPI", standIn(t))
	if _, err := open(2); err == nil || !strings.Contains(err.Error(), " sees 1 of 2 processes, as if it belonged to another MPI than mpiexec: install that") {
		t.Errorf("got %v", err)
	}
}
