//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/internal/testing/mpiexec"
)

// sharedFiles has a job whose steps can be shared by four processes.
func sharedFiles(t *testing.T) string {
	t.Helper()
	dir := tuningFiles(t)
	job := strings.NewReplacer("steps = 60", "steps = 12\naccumulate = 4", "warmup", "shape = \"constant\"\nwarmup", "every = 20", "every = 3").Replace(tuningJob)
	if err := os.WriteFile(filepath.Join(dir, "job.toml"), []byte(job), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ofRun is what may differ: how long it took, and the line with which a log begins.
var ofRun = lazy.Regexp(`"(Elapsed|seconds)": ?[^,}]*|\{"run".*`)

// wrote is what a job of so many steps has written into its output that must not depend on the number of
// processes: the adapter, the last checkpoint, and the log.
func wrote(t *testing.T, output string, steps int) string {
	t.Helper()
	var all strings.Builder
	checkpoint := fmt.Sprintf("checkpoints/step-%08d/", steps)
	for _, name := range []string{"adapter/adapter_model.safetensors", checkpoint + "params.safetensors", checkpoint + "optimizer.safetensors", checkpoint + "state.json", "log.jsonl"} {
		text, err := os.ReadFile(filepath.Join(output, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(name, ".json") {
			text = ofRun().ReplaceAll(text, nil)
		}
		all.Write(text)
	}
	return all.String()
}

// alone is what a process writes that nobody has started together with others.
func alone(t *testing.T, dir string, steps int, args ...string) string {
	t.Helper()
	args = append([]string{"train", "job.toml", "-p", "output=alone", "-p", fmt.Sprint("train.steps=", steps)}, args...)
	if _, stderr, code := mcs(t, dir, "", args...); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	return wrote(t, filepath.Join(dir, "alone"), steps)
}

// started is this command under a launcher, within dir. What it prints goes to the buffer.
func started(t *testing.T, launcher mpiexec.Launcher, dir string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	c := launcher.Command(ctx, args...)
	var out bytes.Buffer
	c.Dir, c.Env, c.Stdout, c.Stderr = dir, append(c.Env, beCommand+"=1"), &out, &out
	c.WaitDelay = 5 * time.Second // for processes that the launcher has left behind
	return c, &out
}

// A job that mpiexec starts writes what one process writes, bit for bit, and goes on with another number.
func TestTrainUnderMpiexec(t *testing.T) {
	t.Parallel()
	launchers := mpiexec.All(t)
	dir := sharedFiles(t)
	want := alone(t, dir, 12)
	jobs := [][]int{{4, 1}} // from one to more goes TestTrainOfRanks
	if long.Tests() {
		jobs = [][]int{{4, 2, 1, 4}, {2}}
	}
	for _, launcher := range launchers {
		for _, sizes := range jobs {
			if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
				t.Fatal(err)
			}
			for i, size := range sizes {
				c, out := started(t, launcher, dir, "-n", fmt.Sprint(size), os.Args[0], "train", "job.toml", "--resume", "-p", fmt.Sprint("train.steps=", 12*(i+1)/len(sizes)))
				// srun's variables, of a step whose processes have started the launcher.
				c.Env = append(c.Env, "SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_LOCALID=0")
				if size == 1 { // mpiexec -n 1 is no group
					c.Env = append(c.Env, "SLURM_STEP_NUM_TASKS=1")
				}
				err := c.Run()
				shared, times := fmt.Sprintf("4 batches shared by %d ranks by MPI", size), 1
				if size == 1 {
					times = 0
				}
				if err != nil || strings.Count(out.String(), shared) != times || strings.Count(out.String(), "saved out") != 1 {
					t.Fatalf("%v, %d processes: %v, want %d times %q\n%s", launcher, size, err, times, shared, out)
				}
			}
			if got := wrote(t, filepath.Join(dir, "out"), 12); got != want {
				t.Errorf("%v: %v processes wrote something else than one", launcher, sizes)
			}
		}
	}
}

// What one rank has otherwise is named, once, before the first step. Without -long one launcher tries all,
// the others the first.
func TestRanksRefused(t *testing.T) {
	t.Parallel()
	launchers := mpiexec.All(t)
	dir := sharedFiles(t)
	other := filepath.Join(t.TempDir(), "other") // version
	program, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(other, bytes.ReplaceAll(program, []byte("mcs "+version), []byte("mcs 9.9")), 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "other.jsonl"), []byte(strings.Repeat(`{"prompt": "one", "completion": "two"}`+"\n", 40)), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, launcher := range launchers {
		t.Run(launcher.String(), func(t *testing.T) {
			for k, c := range []struct {
				program string
				args    []string // of rank 1
				want    string
			}{
				{other, nil, `mcs: the version: got mcs 9\.9 .* on rank 1, want mcs ` + version + ` .* as on rank 0`},
				{os.Args[0], []string{"-p", "data.train=other.jsonl"}, `mcs: train: the data: got "\w+" on rank 1, want "\w+" as on rank 0`},
				{os.Args[0], []string{"-p", "train.clip=2"}, `mcs: train: the clip: got 2 on rank 1, want 1 as on rank 0`},
				{os.Args[0], []string{"-p", "data.train=none.jsonl"}, `mcs: rank 1: .*none\.jsonl: no such file`},
				{os.Args[0], []string{"-p", "train.accumulate=1"}, `mcs: rank 1: train\.accumulate: got steps of 1 batch for 2 ranks, want at least a batch for each: write accumulate = 2 .*`},
			} {
				if !long.Tests() && i > 0 && k > 0 {
					break
				}
				first := []string{"-n", "1", os.Args[0], "train", "job.toml", ":"}
				run, out := started(t, launcher, dir, append(append(first, "-n", "1", c.program, "train", "job.toml"), c.args...)...)
				err := run.Run()
				if found := regexp.MustCompile(c.want).FindAllString(out.String(), -1); err == nil || len(found) != 1 || strings.Count(out.String(), "mcs: ") != 1 || strings.Contains(out.String(), "step 1/") {
					t.Errorf("%v, %s %v: got %v, want once %s\n%s", launcher, filepath.Base(c.program), c.args, err, c.want, out)
				}
			}
			for _, library := range []string{"/nowhere/libmpi.so", map[bool]string{false: "libmpi.so.40", true: "libmpich.so.12"}[launcher.Open]} {
				// MPICH's mpiexec loses what is said before it has set up all, and may end by SIGPIPE.
				c, out := started(t, launcher, dir, "-n", "2", "sh", "-c", `"$@"; code=$?; sleep 0.5; exit $code`, "sh", os.Args[0], "train", "job.toml")
				c.Env = append(c.Env, "MCS_MPI="+library)
				want := `mcs: ranks: started by ` + launcher.String() + ` as rank . of 2: mpi: (no library|\S+ sees 1 of 2 processes, as if it belonged to another MPI than mpiexec): install that of the mpiexec that started this, or name its file by MCS_MPI`
				if err := c.Run(); err == nil || !regexp.MustCompile(want).MatchString(out.String()) {
					t.Errorf("%v with %s: got %v, want %s\n%s", launcher, library, err, want, out)
				}
			}
		})
	}
}

// underShell runs a program that notes its process before it becomes this command.
var underShell = []string{"sh", "-c", `echo $$ > pid$OMPI_COMM_WORLD_RANK$PMI_RANK; exec "$@"`, "sh", os.Args[0]}

// rank1 is the process of rank 1 of a job whose log has so many lines.
func rank1(t *testing.T, dir, output string, lines int, out *bytes.Buffer) int {
	t.Helper()
	for limit := time.Now().Add(4 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if text, _ := os.ReadFile(filepath.Join(dir, output, "log.jsonl")); bytes.Count(text, []byte("\n")) >= lines {
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("the log has not come to %d lines\n%s", lines, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid1"))
	pid, wrong := strconv.Atoi(strings.TrimSpace(string(text)))
	if err := errors.Join(err, wrong); err != nil {
		t.Fatal(err)
	}
	return pid
}

// A rank that stands still for a while is waited for. One that is killed ends the others, and the job goes on
// from its checkpoint, with the bits of one that nobody has killed. Without -long that is so with one
// launcher.
func TestRanksKilled(t *testing.T) {
	t.Parallel()
	launchers := mpiexec.All(t)
	if !long.Tests() {
		launchers = launchers[len(launchers)-1:] // Open MPI's, if it is there: it names the rank that was killed
	}
	const steps = 32
	want := alone(t, sharedFiles(t), steps)
	for _, launcher := range launchers {
		t.Run(launcher.String(), func(t *testing.T) {
			dir := sharedFiles(t)
			output := "out" + strconv.FormatBool(launcher.Open)
			args := slices.Concat([]string{"-n", "2"}, underShell, []string{"train", "job.toml", "-p", fmt.Sprint("train.steps=", steps), "-p", "output=" + output, "--resume"})
			c, out := started(t, launcher, dir, args...)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			tell := func(lines int, s syscall.Signal) {
				t.Helper()
				if err := syscall.Kill(rank1(t, dir, output, lines, out), s); err != nil {
					t.Fatal(err)
				}
			}
			tell(8, syscall.SIGSTOP)
			select {
			case err := <-ended:
				t.Fatalf("a rank that stood still has ended all: %v\n%s", err, out)
			case <-time.After(700 * time.Millisecond): // in which the others ask again and again
			}
			tell(8, syscall.SIGCONT)
			tell(16, syscall.SIGKILL)
			began := time.Now()
			select {
			case err := <-ended:
				// MPICH's mpiexec does not know which it was: it may name one that it has killed itself.
				if err == nil || launcher.Open && !strings.Contains(out.String(), "process rank 1 ") {
					t.Errorf("got %v, want the rank that was killed\n%s", err, out)
				}
				t.Logf("ended after %.1f s", time.Since(began).Seconds())
			case <-time.After(time.Minute):
				t.Fatal("the others have not ended")
			}
			again, out := started(t, launcher, dir, args...)
			if err := again.Run(); err != nil || wrote(t, filepath.Join(dir, output), steps) != want {
				t.Errorf("%v, or it wrote something else than a job that nobody has killed\n%s", err, out)
			}
		})
	}
}

// SIGTERM to the launcher, or to one rank, saves one checkpoint and ends all.
func TestRanksStopped(t *testing.T) {
	t.Parallel()
	launchers := mpiexec.All(t)
	dir := sharedFiles(t)
	for _, launcher := range launchers {
		output := "out" + strconv.FormatBool(launcher.Open)
		c, out := started(t, launcher, dir, slices.Concat([]string{"-n", "2"}, underShell, []string{"train", "job.toml", "-p", "train.steps=100_000", "-p", "output=" + output})...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		pid := rank1(t, dir, output, 8, out)
		if !launcher.Open { // Open MPI's has little patience: a second after SIGTERM it kills
			pid = c.Process.Pid
		}
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		err := c.Wait() // MPICH's ends with 0 now and then after SIGTERM
		stopped := regexp.MustCompile(`mcs: interrupted at step (\d+) of 100000, a checkpoint is saved`).FindAllStringSubmatch(out.String(), -1)
		if len(stopped) == 0 && !launcher.Open { // which may end before it has passed on what its ranks say
			saved, _ := filepath.Glob(filepath.Join(dir, output, "checkpoints", "step-*", "manifest.json"))
			if len(saved) == 0 {
				t.Errorf("%v: got no checkpoint\n%s", launcher, out)
			}
			continue
		}
		if err == nil && launcher.Open || len(stopped) != 1 {
			t.Fatalf("%v: got %v, want once what was saved\n%s", launcher, err, out)
		}
		step, _ := strconv.Atoi(stopped[0][1])
		if _, err := os.Stat(filepath.Join(dir, output, "checkpoints", fmt.Sprintf("step-%08d", step), "manifest.json")); err != nil {
			t.Errorf("%v: %v", launcher, err)
		}
	}
}

// A full disk of rank 0 pauses all: they end by themselves, and what was saved before is there.
func TestRanksOnAFullDisk(t *testing.T) {
	t.Parallel()
	for _, launcher := range mpiexec.All(t) {
		dir := sharedFiles(t)
		// The launcher's own files need a place.
		script := `export TMPDIR=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; "` + launcher.Path + `" -n 2 "$MCS" train ../job.toml -p output=$PWD/out -p logs.tensorboard=false; echo exit code $?; ls out/checkpoints`
		out, err := onSmallDisk(t, dir, "180k", script)
		if want := regexp.MustCompile(`(?s)mcs: .*no space left on device; stopped at step 5 of 12: the same command with --resume goes on from the newest checkpoint\n.*exit code 1\nstep-00000003\n$`); err != nil || !want.MatchString(out) || strings.Count(out, "mcs: ") != 1 {
			t.Errorf("%v: %v\n%s", launcher, err, out)
		}
	}
}
