package train

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/internal/durable"
)

func TestStepOf(t *testing.T) {
	for name, want := range map[string]int{
		"step-00000000": 0, "step-00000005": 5, "step-123456789": 123456789,
		"step-5": -1, "step-000000005": -1, "step-best": -1, "step-00000005-best": -1, "step-0-my-data": -1, "step-": -1,
		"step--0000005": -1, "step-+0000005": -1, "step-00000005.partial-0123456789ab": -1, "00000005": -1, "notes": -1,
	} {
		step, ok := stepOf(name)
		if !ok {
			step = -1
		}
		if step != want {
			t.Errorf("%s: got %d, want %d", name, step, want)
		}
	}
}

// TestPeoplesFoldersStay: what a person puts beside the checkpoints is neither read nor counted nor removed.
func TestPeoplesFoldersStay(t *testing.T) {
	o := saved(t)
	names := []string{"step-best", "step-00000004-best", "step-0-my-data", "step-notes", "step-9"}
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(o.Checkpoint, name), os.DirFS(filepath.Join(o.Checkpoint, folderOf(2)))); err != nil {
			t.Fatal(err)
		}
	}
	o.Steps, o.Keep, o.CheckpointEvery = 8, 2, 1
	h := mustRun(t, newModel(), windows(), o)
	if h.Steps() != 8 || len(h.Notes) != 0 {
		t.Errorf("%d steps, notes %q, want 8 from step 4 on", h.Steps(), h.Notes)
	}
	if got, want := folders(t, o.Checkpoint), "step-00000008 step-00000007"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, name := range names {
		if err := verify(filepath.Join(o.Checkpoint, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestACopyUnderAnotherStep is no checkpoint of that step.
func TestACopyUnderAnotherStep(t *testing.T) {
	o := saved(t)
	if err := os.CopyFS(filepath.Join(o.Checkpoint, folderOf(90)), os.DirFS(filepath.Join(o.Checkpoint, folderOf(2)))); err != nil {
		t.Fatal(err)
	}
	_, err := Run(context.Background(), newModel(), windows(), o)
	if err == nil || !strings.Contains(err.Error(), "step-00000090: it holds step 2, want that of its name") {
		t.Errorf("got %v", err)
	}
}

// TestLeftoversOfACrashGo, and one that a crash left between two renames comes back.
func TestLeftoversOfACrashGo(t *testing.T) {
	const digits = "0123456789ab"
	o := saved(t)
	for _, name := range []string{folderOf(5) + durable.TempMark + digits, folderOf(1) + durable.TempMark + digits} {
		if err := os.Mkdir(filepath.Join(o.Checkpoint, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	newest := filepath.Join(o.Checkpoint, folderOf(4))
	if err := os.Rename(newest, newest+".replaced-"+digits); err != nil {
		t.Fatal(err)
	}
	if h := mustRun(t, newModel(), windows(), o); h.Steps() != 4 || !slices.Equal(h.Notes, []string{nothingLeft}) {
		t.Errorf("%d steps, notes %q, want the 4 of the checkpoint", h.Steps(), h.Notes)
	}
	left, err := filepath.Glob(filepath.Join(o.Checkpoint, "*-"+digits))
	if err != nil || len(left) > 0 {
		t.Errorf("%q are left, %v", left, err)
	}
}

// TestOldCheckpointsGoWhenResumed: a run that was killed between its last save and the removal of old ones
// has nothing left to save when it is run again.
func TestOldCheckpointsGoWhenResumed(t *testing.T) {
	o := saved(t)
	if err := os.CopyFS(filepath.Join(o.Checkpoint, folderOf(1)), os.DirFS(filepath.Join(o.Checkpoint, folderOf(2)))); err != nil {
		t.Fatal(err)
	}
	before := folders(t, o.Checkpoint)
	if h := mustRun(t, newModel(), windows(), o); h.Steps() != 4 {
		t.Errorf("%d steps, want the 4 of the checkpoint", h.Steps())
	}
	if got, want := folders(t, o.Checkpoint), "step-00000004 step-00000002"; got != want {
		t.Errorf("got %s after %s, want %s", got, before, want)
	}
}

// TestOneRunAtATime: a second run into the same folder is refused, in this process and in another.
func TestOneRunAtATime(t *testing.T) {
	if dir := os.Getenv("MCS_TEST_TRAIN_LOCK"); dir != "" {
		o := options(4)
		o.Checkpoint, o.Resume = dir, true
		_, err := Run(context.Background(), newModel(), windows(), o)
		os.Stdout.WriteString(err.Error())
		os.Exit(0)
	}
	o := options(4)
	o.Checkpoint, o.Resume = t.TempDir(), true
	meanwhile := &source{Batches: windows(), at: 5, do: func() error {
		if _, err := Run(context.Background(), newModel(), windows(), o); err == nil || !strings.Contains(err.Error(), o.Checkpoint+" is in use by this process already") {
			t.Errorf("in this process: got %v", err)
		}
		child := exec.Command(os.Args[0], "-test.run=^TestOneRunAtATime$")
		child.Env = append(os.Environ(), "MCS_TEST_TRAIN_LOCK="+o.Checkpoint)
		if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), o.Checkpoint+" is in use by process ") {
			t.Errorf("in another: %s, %v", out, err)
		}
		return nil
	}}
	if h := mustRun(t, newModel(), meanwhile, o); h.Steps() != 4 || meanwhile.do != nil {
		t.Errorf("%d steps", h.Steps())
	}
}

// A source does something, once, when it is asked for a batch.
type source struct {
	*data.Batches
	at int
	do func() error
}

func (s *source) Batch(n int) (data.Batch, error) {
	if do := s.do; n == s.at && do != nil {
		s.do = nil
		if err := do(); err != nil {
			return data.Batch{}, err
		}
	}
	return s.Batches.Batch(n)
}

// TestAFailedSavePauses: the run says so, and the next call saves and goes on, exactly.
func TestAFailedSavePauses(t *testing.T) {
	straight := newModel()
	want := mustRun(t, straight, windows(), options(6))
	for _, test := range []struct {
		name   string
		damage func(dir string) error
		mend   func(dir string) error
		at     int  // the batch before which it is damaged; each step takes two
		step   int  // after which the run waits
		locked bool // the damage removes the file that the run has locked
	}{
		{"the folder is gone", os.RemoveAll, nil, 6, 4, true},
		{"the folder is gone before the last save", os.RemoveAll, nil, 10, 6, true},
		{"a file has its name", func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o666))
		}, os.Remove, 2, 2, true},
		{"a file has the checkpoint's name", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, folderOf(4)), nil, 0o666)
		}, func(dir string) error { return os.Remove(filepath.Join(dir, folderOf(4))) }, 6, 4, false},
	} {
		if runtime.GOOS == "windows" && test.locked {
			continue // a folder with an open file cannot be removed there
		}
		m := newModel()
		o := options(6)
		o.Checkpoint, o.CheckpointEvery, o.Resume = filepath.Join(t.TempDir(), "run"), 2, true
		o.Eval, o.EvalEvery, o.EvalBatches = windows(), 2, 1
		d := &source{Batches: windows(), at: test.at, do: func() error { return test.damage(o.Checkpoint) }}
		h, err := Run(context.Background(), m, d, o)
		var paused *Paused
		if !errors.As(err, &paused) || paused.Step != test.step || h.Steps() != test.step {
			t.Errorf("%s: got %v after %d steps, want a pause at step %d", test.name, err, h.Steps(), test.step)
			continue
		}
		if want := "nothing is lost: run it again to go on"; !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %q, want it to say %q", test.name, err, want)
		}
		if again, err := Run(context.Background(), m, d, o); test.mend != nil {
			if err == nil || again != nil && again.Steps() != test.step {
				t.Errorf("%s: run again at once: got %v, want an error and the steps kept", test.name, err)
			}
			if err := test.mend(o.Checkpoint); err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
		h = mustRun(t, m, d, o)
		if !slices.Equal(h.Loss, want.Loss) || nn.Hash(nn.Params(m)) != nn.Hash(nn.Params(straight)) {
			t.Errorf("%s: the run that went on differs from one that was not stopped", test.name)
		}
		if len(h.Eval) != 3 {
			t.Errorf("%s: evaluations %v, want one at each of 2, 4 and 6", test.name, h.Eval)
		}
		if got := folders(t, o.Checkpoint); !strings.HasPrefix(got, folderOf(6)) {
			t.Errorf("%s: got %s, want the last step first", test.name, got)
		}
	}
}

// TestDataThatFailsPauses: an error of the data costs no step that was made.
func TestDataThatFailsPauses(t *testing.T) {
	straight := newModel()
	want := mustRun(t, straight, windows(), options(4))
	m := newModel()
	d := &source{Batches: windows(), at: 4, do: func() error { return fs.ErrClosed }}
	_, err := Run(context.Background(), m, d, options(4))
	var paused *Paused
	if !errors.As(err, &paused) || !errors.Is(err, fs.ErrClosed) || paused.Step != 2 {
		t.Fatalf("got %v, want a pause at step 2", err)
	}
	if h := mustRun(t, m, d, options(4)); !slices.Equal(h.Loss, want.Loss) || nn.Hash(nn.Params(m)) != nn.Hash(nn.Params(straight)) {
		t.Error("the run that went on differs from one that was not stopped")
	}
}

// TestAnotherProcessWentOn: a run that waits does not go back behind what the folder holds by now.
func TestAnotherProcessWentOn(t *testing.T) {
	o := options(8)
	o.Checkpoint, o.Resume = t.TempDir(), true
	m := newModel()
	if _, err := Run(cancelAfter(3), m, windows(), o); err == nil {
		t.Fatal("the run was not interrupted")
	}
	other := newModel()
	o.CheckpointEvery = 1
	if h, err := Run(cancelAfter(6), other, windows(), o); err == nil || h.Steps() < 6 {
		t.Fatalf("the other run: %v after %d steps", err, h.Steps())
	}
	h := mustRun(t, m, windows(), o)
	straight := newModel()
	if want := mustRun(t, straight, windows(), options(8)); !slices.Equal(h.Loss, want.Loss) || nn.Hash(nn.Params(m)) != nn.Hash(nn.Params(straight)) {
		t.Error("the run that went on differs from one that was not stopped")
	}
}
