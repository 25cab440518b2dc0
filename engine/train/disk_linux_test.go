package train

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
)

// noticed is data that says which batch is asked for.
type noticed struct {
	data.Source
	batch func(n int)
}

func (d noticed) Batch(n int) (data.Batch, error) {
	d.batch(n)
	return d.Source.Batch(n)
}

// TestLogsOnAFullDisk: a log that a disk has no room for ends with its last whole line and event, the history
// says so, and the run goes on; where there is room again a next run's lines follow.
func TestLogsOnAFullDisk(t *testing.T) {
	if os.Getenv("MCS_TEST_TRAIN_DISK") == "" { // files of a process that may not be longer
		child := exec.Command(os.Args[0], "-test.run=^TestLogsOnAFullDisk$")
		child.Env = append(os.Environ(), "MCS_TEST_TRAIN_DISK=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	o := options(8)
	want := mustRun(t, newModel(), windows(), o)
	dir := t.TempDir()
	o.Log, o.TensorBoard = filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "events")
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Skip(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 400, Max: was.Max}); err != nil {
		t.Skip(err)
	}
	d := noticed{windows(), func(n int) {
		if n == 7 { // there is room again, which comes too late
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
				t.Error(err)
			}
		}
	}}
	h := mustRun(t, newModel(), d, o)
	if !slices.Equal(h.Loss, want.Loss) {
		t.Errorf("got losses %v, want %v", h.Loss, want.Loss)
	}
	if notes := strings.Join(h.Notes, "\n"); strings.Count(notes, "the log ends early") < 1 || !strings.Contains(notes, "file too large") {
		t.Errorf("got notes %q", notes)
	}
	first := logged(t, o.Log)
	if steps := strings.Count(first, "\n"); steps < 1 || steps > 5 {
		t.Errorf("got %d steps in the log, want some:\n%s", steps, first)
	}
	mustRun(t, newModel(), windows(), o)
	if got := logged(t, o.Log); !strings.HasPrefix(got, first+"\nrun of 8\n1 ") || strings.Count(got, "\n") != strings.Count(first, "\n")+9 {
		t.Errorf("got\n%s", got)
	}
}
