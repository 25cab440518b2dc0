package train

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/data"
	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/engine/optim"
	"github.com/mcs-notebook/mcs/internal/durable"
)

// saved makes a run with checkpoints at steps 2 and 4, and returns its options.
func saved(t *testing.T) Options {
	t.Helper()
	o := options(4)
	o.Checkpoint, o.CheckpointEvery = t.TempDir(), 2
	mustRun(t, newModel(), windows(), o)
	o.Resume = true
	return o
}

func folders(t *testing.T, dir string) string {
	t.Helper()
	steps, err := checkpoints(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, step := range steps {
		names = append(names, folderOf(step))
	}
	return strings.Join(names, " ")
}

func TestOldCheckpointsGo(t *testing.T) {
	o := options(5)
	o.Checkpoint, o.CheckpointEvery, o.Keep = t.TempDir(), 1, 3
	mustRun(t, newModel(), windows(), o)
	if got, want := folders(t, o.Checkpoint), "step-00000005 step-00000004 step-00000003"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAFinishedRunResumesAsFinished(t *testing.T) {
	o := saved(t)
	if h := mustRun(t, newModel(), windows(), o); h.Steps() != 4 {
		t.Errorf("%d steps, want 4", h.Steps())
	}
}

// A finished run goes on to more steps, with a schedule that takes as long; nothing else of it may be
// another.
func TestMoreSteps(t *testing.T) {
	for _, c := range []struct {
		steps int
		rate  optim.Schedule
		want  string
	}{
		{9, optim.Cosine(1e-2, 2, 9), ""},
		{9, optim.Cosine(1e-2, 1, 4), ""},
		{9, optim.Cosine(2e-2, 2, 9), "the learning rate's Peak was 0.01, and is 0.02 now"},
		{9, optim.Linear(1e-2, 2, 9), "the learning rate's Shape was 1, and is 2 now"},
		{4, optim.Cosine(1e-2, 1, 9), "the learning rate's Total was 4, and is 9 now"},
	} {
		o := options(4)
		o.Checkpoint, o.CheckpointEvery, o.LR = t.TempDir(), 2, optim.Cosine(1e-2, 1, 4)
		mustRun(t, newModel(), windows(), o)
		o.Resume, o.Steps, o.LR = true, c.steps, c.rate
		h, err := Run(t.Context(), newModel(), windows(), o)
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d steps of %v: got %v, want %s", c.steps, c.rate, err, c.want)
			}
		case err != nil || h.Steps() != 9 || h.LR[8] != c.rate.At(8):
			t.Errorf("%d steps of %v: got %v, %v", c.steps, c.rate, h, err)
		case (len(h.Notes) > 0) != (c.rate.Total == 9):
			t.Errorf("%d steps of %v: notes %q", c.steps, c.rate, h.Notes)
		}
	}
}

// TestDamagedCheckpoint: the newest one that is whole is used, and the history says which was left out.
func TestDamagedCheckpoint(t *testing.T) {
	flip := func(path string) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b[len(b)/2] ^= 1
		return os.WriteFile(path, b, 0o666)
	}
	shorten := func(path string) error { return os.Truncate(path, 100) }
	tests := []struct {
		name, file string
		damage     func(path string) error
	}{
		{"a flipped bit in the weights", paramsFile, flip},
		{"a flipped bit in the optimizer", optimizerFile, flip},
		{"a short state", stateFile, shorten},
		{"a short manifest", manifestFile, shorten},
		{"no manifest", manifestFile, os.Remove},
		{"no weights", paramsFile, os.Remove},
	}
	for _, test := range tests {
		o := saved(t)
		if err := test.damage(filepath.Join(o.Checkpoint, "step-00000004", test.file)); err != nil {
			t.Fatal(err)
		}
		m := newModel()
		h, err := Run(cancelled(), m, windows(), o)
		if err == nil || h == nil || h.Steps() != 2 {
			t.Errorf("%s: got %v, want to go on from step 2", test.name, err)
			continue
		}
		if len(h.Notes) != 1 || !strings.Contains(h.Notes[0], test.file) {
			t.Errorf("%s: notes %q, want one that names %s", test.name, h.Notes, test.file)
		}
	}
}

// cancelled returns a context that is done: a run only opens its checkpoints then.
func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestAllCheckpointsDamaged(t *testing.T) {
	o := saved(t)
	for _, name := range []string{"step-00000002", "step-00000004"} {
		if err := os.Remove(filepath.Join(o.Checkpoint, name, stateFile)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Run(context.Background(), newModel(), windows(), o); err == nil || !strings.Contains(err.Error(), "no checkpoint is whole") {
		t.Errorf("got %v", err)
	}
}

// TestHalfWrittenCheckpoint: a folder that was never renamed is no checkpoint.
func TestHalfWrittenCheckpoint(t *testing.T) {
	o := saved(t)
	if err := os.Mkdir(filepath.Join(o.Checkpoint, "step-00000009"+durable.TempMark+"00"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got, want := folders(t, o.Checkpoint), "step-00000004 step-00000002"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCheckpointsOfAnotherRun(t *testing.T) {
	tests := []struct {
		name   string
		change func(o *Options)
		want   string
	}{
		{"without Resume", func(o *Options) { o.Resume = false }, "set Resume to go on from it"},
		{"another rate", func(o *Options) { o.LR.Peak = 1 }, "another run: the learning rate's Peak was 0.01, and is 1 now"},
		{"another clip", func(o *Options) { o.Clip = 3 }, "another run: the clip was 1, and is 3 now"},
		{"no clip", func(o *Options) { o.Clip = math.Inf(1) }, "another run: the clip was 1, and is +Inf now"},
		{"another seed", func(o *Options) { o.Seed = 8 }, "another run: the seed was 7, and is 8 now"},
		{"another seed of many digits", func(o *Options) { o.Seed = 1<<63 + 1 }, "the seed was 7, and is 9223372036854775809 now"},
		{"fewer parameters", func(o *Options) { o.Params = nn.Params(newModel())[1:] }, "the parameters were 11, and are 10 now, without model.embed_tokens.weight f32[256 16]"},
	}
	for _, test := range tests {
		o := saved(t)
		test.change(&o)
		if _, err := Run(context.Background(), newModel(), windows(), o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want it to say %q", test.name, err, test.want)
		}
	}
	o := saved(t)
	other := windows()
	other.Seed = 1
	if _, err := Run(context.Background(), newModel(), other, o); err == nil || !strings.Contains(err.Error(), "another run: the data was ") {
		t.Errorf("another order of the data: got %v", err)
	}
	o.Seed = 8
	larger := data.Windows(text, 16, 3)
	want := fmt.Sprintf("another run: the data was %v, and is %v now; the seed was 7, and is 8 now", windows(), larger)
	if _, err := Run(context.Background(), newModel(), larger, o); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("another batch and seed: got %v, want it to say %q", err, want)
	}
}

// TestNoStepLeft: a run that goes on from its last checkpoint says that it made no step.
func TestNoStepLeft(t *testing.T) {
	o := saved(t)
	if h := mustRun(t, newModel(), windows(), o); h.Steps() != o.Steps || !strings.HasSuffix(h.Text(0), "\n"+nothingLeft) {
		t.Errorf("got %s", h)
	}
	o.Steps++
	if h := mustRun(t, newModel(), windows(), o); h.Steps() != o.Steps || slices.Contains(h.Notes, nothingLeft) {
		t.Errorf("a step more: got %s", h)
	}
}

// TestDamageAnywhere: whatever byte of a checkpoint is changed, or wherever it ends, it is refused with the
// file's name, or what was read is what was written.
func TestDamageAnywhere(t *testing.T) {
	o := saved(t)
	dir := filepath.Join(o.Checkpoint, "step-00000004")
	for _, name := range []string{paramsFile, optimizerFile, stateFile, manifestFile} {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		try := func(what string, b []byte) {
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
			err := verify(dir)
			if err == nil && name != manifestFile {
				t.Errorf("%s: %s was not noticed", name, what)
			}
			if err != nil && !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: %s: got %q, want it to name the file", name, what, err)
			}
		}
		step := max(1, len(whole)/64)
		for at := 0; at < len(whole); at += step {
			damaged := slices.Clone(whole)
			damaged[at] ^= 1 << (at % 8)
			try(fmt.Sprintf("a flipped bit in byte %d", at), damaged)
			try(fmt.Sprintf("an end at byte %d", at), whole[:at])
		}
		try("a byte too many", append(slices.Clone(whole), 0))
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := verify(dir); err != nil {
		t.Fatal(err)
	}
}
