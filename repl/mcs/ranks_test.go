package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sharedFiles has a job whose steps can be shared by four processes.
func sharedFiles(t *testing.T) string {
	t.Helper()
	dir := tuningFiles(t)
	job := strings.Replace(tuningJob, "steps = 60", "steps = 12\naccumulate = 4", 1)
	if err := os.WriteFile(filepath.Join(dir, "job.toml"), []byte(job), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// wrote is what a job has written that must not depend on the number of processes.
func wrote(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"adapter/adapter_model.safetensors", "checkpoints/step-00000012/params.safetensors", "checkpoints/step-00000012/optimizer.safetensors"} {
		text, err := os.ReadFile(filepath.Join(dir, "out", name))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// startedBy runs mcs by a launcher, within dir.
func startedBy(t *testing.T, dir, launcher string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, launcher, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), beCommand+"=1", "PATH="+filepath.Dir(launcher)+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1", "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
	out, err := c.CombinedOutput()
	return string(out), err
}

// A job that mpiexec starts writes what one process writes, bit for bit, and goes on with another number.
func TestTrainUnderMpiexec(t *testing.T) {
	mpiexec, err := exec.LookPath("mpiexec")
	if err != nil {
		t.Skip("no mpiexec: apt-get install mpich, or openmpi-bin, has one")
	}
	dir := sharedFiles(t)
	if _, stderr, code := mcs(t, dir, "", "train", "job.toml"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	want := wrote(t, dir)
	for _, sizes := range [][]int{{2}, {4}, {4, 2}} {
		if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
			t.Fatal(err)
		}
		for i, size := range sizes {
			args := []string{"-n", fmt.Sprint(size), os.Args[0], "train", "job.toml", "--resume"}
			if i < len(sizes)-1 {
				args = append(args, "-p", "train.steps=5")
			}
			out, err := startedBy(t, dir, mpiexec, args...)
			if shared := fmt.Sprintf("4 batches shared by %d ranks by MPI", size); err != nil || strings.Count(out, shared) != 1 || strings.Contains(out, "rank 1") {
				t.Fatalf("%d processes: %v, want once %q\n%s", size, err, shared, out)
			}
		}
		if got := wrote(t, dir); got != want {
			t.Errorf("%v processes wrote something else than one", sizes)
		}
	}
	out, err := startedBy(t, dir, mpiexec, "-n", "8", os.Args[0], "train", "job.toml", "--resume")
	if want := "train.accumulate: got steps of 4 batches for 8 ranks, want at least a batch for each: write accumulate = 8"; err == nil || !strings.Contains(out, want) {
		t.Errorf("got %v, want %s\n%s", err, want, out)
	}
}
