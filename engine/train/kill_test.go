package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/nn"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// TestKilled: a process that trains and saves after each step is killed again and again, and at the end the
// run is the same, bit for bit, as one that nobody killed.
func TestKilled(t *testing.T) {
	const steps = 12
	run := func(dir string) (*History, string) {
		m := newModel()
		o := options(steps)
		o.Checkpoint, o.CheckpointEvery, o.Resume = dir, 1, true
		h := mustRun(t, m, windows(), o)
		return h, nn.Hash(nn.Params(m))
	}
	if dir := os.Getenv("MCS_TEST_TRAIN_KILL"); dir != "" {
		run(dir)
		return
	}
	rounds := 4
	if long.Tests() {
		rounds = 100
	}
	want, wantHash := run(t.TempDir())
	kills := 0
	for round := range rounds {
		r := rand.New(rand.NewPCG(5, uint64(round)))
		dir := t.TempDir()
		for range 3 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(20+r.IntN(400))*time.Millisecond)
			child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilled$") // ends it by SIGKILL
			child.Env = append(os.Environ(), "MCS_TEST_TRAIN_KILL="+dir)
			out, err := child.CombinedOutput()
			if ctx.Err() != nil {
				kills++
			} else if err != nil {
				t.Fatalf("round %d: %v\n%s", round, err, out)
			}
			cancel()
		}
		h, hash := run(dir)
		if !slices.Equal(h.Loss, want.Loss) || hash != wantHash || slices.ContainsFunc(h.Notes, func(note string) bool { return note != nothingLeft }) {
			t.Errorf("round %d: the run differs from one that was not killed; notes %q", round, h.Notes)
		}
		if got, want := folders(t, dir), fmt.Sprint(folderOf(steps), " ", folderOf(steps-1)); got != want {
			t.Errorf("round %d: got %s, want %s", round, got, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 { // the lock's file, too
			t.Errorf("round %d: %v, %v, want nothing left", round, entries, err)
		}
	}
	t.Logf("%d kills", kills)
}
