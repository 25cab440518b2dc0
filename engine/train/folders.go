package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/wrap"
)

// lockFile is held by the process that trains into a folder.
const lockFile = ".lock"

// folderOf is the name of a step's checkpoint.
func folderOf(step int) string { return fmt.Sprintf("step-%08d", step) }

// stepOf is the step of a checkpoint's name. Every other name ("step-best", "step-00000005-best", "step-5")
// is a person's, whatever it holds, and is neither read nor counted nor removed.
func stepOf(name string) (step int, ok bool) {
	digits, _ := strings.CutPrefix(name, "step-")
	step, err := strconv.Atoi(digits)
	return step, err == nil && step >= 0 && name == folderOf(step)
}

// lockCheckpoints makes the folder if need be, and locks it for this run; the lock ends with the process,
// too. It removes what a crash has left in the folder.
func lockCheckpoints(dir string) (lock *durable.Lock, err error) {
	defer wrap.Error(&err, "train: checkpoint")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if lock, err = durable.TryLock(filepath.Join(dir, lockFile)); err != nil {
		return nil, err
	}
	if err := durable.Tidy(dir, func(name string) bool { _, ok := stepOf(name); return ok }); err != nil {
		lock.Unlock()
		return nil, err
	}
	return lock, nil
}

// savesWhenStopped lets the run count as a save under way from the moment at which it is asked to stop. So a
// signal that ends the process waits until the step has ended and the checkpoint is written.
func savesWhenStopped(ctx context.Context, dir string) (done func()) {
	ends := make(chan func(), 1)
	stop := context.AfterFunc(ctx, func() { ends <- durable.Begin(dir) })
	return func() {
		if !stop() {
			(<-ends)()
		}
	}
}

// checkpoints lists the steps of a folder's complete checkpoints, newest first.
func checkpoints(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("train: checkpoint: %w", err)
	}
	var steps []int
	for _, e := range entries {
		if step, ok := stepOf(e.Name()); ok && e.IsDir() {
			steps = append(steps, step)
		}
	}
	slices.Sort(steps)
	slices.Reverse(steps)
	return steps, nil
}

// removeOld leaves the newest checkpoints up to step, and the best one. Later ones are damaged, or else the
// run would have gone on from them: they do not count.
func removeOld(dir string, step, keep, best int) error {
	steps, err := checkpoints(dir)
	if err != nil {
		return err
	}
	steps = slices.DeleteFunc(steps, func(s int) bool { return s > step })
	var failed []error
	for _, old := range steps[min(keep, len(steps)):] {
		if old == best {
			continue
		}
		failed = append(failed, durable.RemoveFolder(filepath.Join(dir, folderOf(old))))
	}
	return errors.Join(failed...)
}
