package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// training is a session that trains into the folder run, and prints what came out.
const training = `// %%
text := strings.Repeat("func add(a, b int) int { return a + b }\n", 20)
m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 24, Seed: 1})
steps := 40
// %%
fmt.Println("begins")
h := train.Run(ctx, m, data.Windows(text, 16, 2), train.Options{
	Steps: steps, LR: optim.Cosine(1e-2, 3, 40), Clip: math.Inf(1), Seed: 7, Checkpoint: "run", CheckpointEvery: 2, Resume: true,
})
// %%
fmt.Println("result", h.Steps(), nn.Hash(nn.Params(m)))
`

// telling, in place of a line of training, tells when there is something to save, and lets a signal come in
// time.
const telling = `type telling struct{ data.Source }
func (s telling) Batch(n int) (data.Batch, error) {
	if n == 3 {
		fmt.Println("begins")
	}
	time.Sleep(5 * time.Millisecond)
	return s.Source.Batch(n)
}`

// start runs mcs in a folder; its output so far is in out when it ends.
func start(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, out *bytes.Buffer, begun <-chan bool) {
	t.Helper()
	return startWith(t, dir, nil, args...)
}

func startWith(t *testing.T, dir string, stdin *os.File, args ...string) (cmd *exec.Cmd, out *bytes.Buffer, begun <-chan bool) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	if stdin != nil {
		cmd.Stdin = stdin
	}
	cmd.Dir, cmd.Env = dir, append(os.Environ(), beCommand+"=1")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	out, seen := new(bytes.Buffer), make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			out.WriteString(lines.Text() + "\n")
			if lines.Text() == "begins" {
				seen <- true
			}
		}
		close(seen)
	}()
	return cmd, out, seen
}

func finish(cmd *exec.Cmd, begun <-chan bool) int {
	cmd.Wait()
	for range begun { // until all output was read
	}
	return cmd.ProcessState.ExitCode()
}

// TestSignalsSave: a training that is told to end, by whatever signal, saves and can be gone on from, bit for
// bit.
func TestSignalsSave(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such signals")
	}
	whole := writeFiles(t, map[string]string{"t.mcs": training})
	want, errs, code := mcs(t, whole, "", "run", "t.mcs")
	if code != 0 || !strings.Contains(want, "result 40 ") {
		t.Fatalf("code %d: %s%s", code, want, errs)
	}
	_, want, _ = strings.Cut(want, "begins\n")
	text := strings.NewReplacer("CheckpointEvery: 2", "Keep: 1", `fmt.Println("begins")`, telling, "data.Windows(text, 16, 2)", "telling{data.Windows(text, 16, 2)}").Replace(training)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		dir := writeFiles(t, map[string]string{"t.mcs": text})
		cmd, out, begun := start(t, dir, "run", "t.mcs")
		<-begun
		cmd.Process.Signal(s)
		code := finish(cmd, begun)
		if strings.Contains(out.String(), "result 40 ") {
			t.Logf("%v came too late", s)
		} else if found, _ := filepath.Glob(filepath.Join(dir, "run", "step-*")); code != 128+int(s) || len(found) != 1 {
			t.Errorf("%v: code %d with %q, want %d and a checkpoint\n%s", s, code, found, 128+int(s), out)
		}
		got, errs, code := mcs(t, dir, "", "run", "t.mcs")
		if code != 0 || !strings.HasSuffix(got, want) {
			t.Errorf("%v, and run again: code %d: got %q, want %q\n%s", s, code, got, want, errs)
		}
	}
}

// TestHeldCtrlC: a key that repeats ends neither the process at once nor a save.
func TestHeldCtrlC(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows has no such signals")
	}
	dir := writeFiles(t, map[string]string{"t.mcs": training})
	cmd, out, begun := start(t, dir, "run", "t.mcs")
	<-begun
	for held, ended := 0, false; held < 60 && !ended; held++ {
		select {
		case <-begun: // its output is closed
			ended = true
		case <-time.After(33 * time.Millisecond):
			cmd.Process.Signal(syscall.SIGINT)
		}
	}
	code := finish(cmd, begun)
	left, _ := filepath.Glob(filepath.Join(dir, "run", "*.partial-*"))
	if len(left) > 0 || code != 130 && code != 0 || code == 130 && !strings.Contains(out.String(), "interrupted") {
		t.Errorf("code %d, %q are left\n%s", code, left, out)
	}
}

// TestKilledProgram: mcs run is killed again and again in a training that saves all the time; at the end the
// run is the same as one that was not killed, and nothing lies about.
func TestKilledProgram(t *testing.T) {
	t.Parallel()
	rounds := 2
	if long.Tests() {
		rounds = 60
	}
	want, errs, code := mcs(t, writeFiles(t, map[string]string{"t.mcs": training}), "", "run", "t.mcs")
	if code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	kills := 0
	for round := range rounds {
		r := rand.New(rand.NewPCG(7, uint64(round)))
		dir := writeFiles(t, map[string]string{"t.mcs": training})
		for range 3 {
			cmd, _, begun := start(t, dir, "run", "t.mcs")
			<-begun
			time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
			cmd.Process.Kill()
			if finish(cmd, begun) != 0 {
				kills++
			}
		}
		got, errs, code := mcs(t, dir, "", "run", "t.mcs")
		if code != 0 || got != want {
			t.Errorf("round %d: code %d: got %q, want %q\n%s", round, code, got, want, errs)
		}
		entries, err := os.ReadDir(filepath.Join(dir, "run"))
		if names := fmt.Sprint(entries); err != nil || len(entries) != 3 || !strings.Contains(names, "step-00000040") {
			t.Errorf("round %d: %v, %v, want two checkpoints and the lock", round, entries, err)
		}
	}
	t.Logf("%d kills", kills)
}

// TestTwoPrograms: of two at once in one folder the second is told which process has it.
func TestTwoPrograms(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"t.mcs": strings.Replace(training, "steps := 40", "steps := 1_000_000", 1)})
	cmd, _, begun := start(t, dir, "run", "t.mcs")
	<-begun
	defer func() {
		cmd.Process.Kill()
		finish(cmd, begun)
	}()
	want := fmt.Sprintf("run is in use by process %d (", cmd.Process.Pid)
	var errs string
	for range 100 {
		_, errs, _ = mcs(t, dir, "", "run", "-p", "steps=1", "t.mcs")
		if strings.Contains(errs, want) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("got %q, want %q", errs, want)
}

// TestPausedBySave: a save that fails pauses the training; the same call goes on from there, exactly.
func TestPausedBySave(t *testing.T) {
	t.Parallel()
	want, errs, code := mcs(t, writeFiles(t, map[string]string{"t.mcs": training}), "", "run", "t.mcs")
	if code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	_, result, _ := strings.Cut(want, "result ")
	cells := strings.SplitAfter(training, "// %%\n")
	text := strings.Replace(training, `fmt.Println("begins")`, `type breaking struct{ data.Source }
func (b breaking) Batch(n int) (data.Batch, error) {
	if _, err := os.Stat("broken"); n == 5 && err != nil {
		os.WriteFile("broken", nil, 0o666)
		os.RemoveAll("run")
		os.WriteFile("run", nil, 0o666)
	}
	return b.Source.Batch(n)
}
d := breaking{data.Windows(text, 16, 2)}`, 1)
	text = strings.ReplaceAll(text, "m, data.Windows(text, 16, 2), train", "m, d, train")
	text = strings.Replace(text, "h := train.Run", "h, err := train.Run", 1)
	text = strings.Replace(text, `fmt.Println("result", h.Steps(), nn.Hash(nn.Params(m)))`, `err
// > train: checkpoint run/step-[..]; paused at step [..] of 40, nothing is lost: run it again to go on
// %%
os.Remove("run")
// %%
`+strings.Replace(cells[2], "m, data.Windows(text, 16, 2), train", "m, d, train", 1)+cells[3], 1)
	got, errs, code := mcs(t, writeFiles(t, map[string]string{"t.mcs": text}), "", "run", "t.mcs")
	if code != 0 || !strings.HasSuffix(got, "result "+result) {
		t.Errorf("code %d: got %q, want the result %q\n%s", code, got, result, errs)
	}
	if !strings.Contains(got, "nothing is lost: run it again to go on") {
		t.Errorf("got %q, want to be told that the run is paused", got)
	}
}

// TestFullDiskInTraining: the checkpoint that is there stays whole, and is gone on from where there is room.
func TestFullDiskInTraining(t *testing.T) {
	t.Parallel()
	want, errs, code := mcs(t, writeFiles(t, map[string]string{"t.mcs": training}), "", "run", "t.mcs")
	if code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	dir := writeFiles(t, map[string]string{"t.mcs": training})
	out, err := onSmallDisk(t, dir, "128k", `cp ../t.mcs .
"$MCS" run t.mcs
cp -r run ..`)
	if !strings.Contains(out, "no space left on device; paused at step ") {
		t.Errorf("%v: %s", err, out)
	}
	got, errs, code := mcs(t, dir, "", "run", "t.mcs")
	if code != 0 || got != want {
		t.Errorf("with room: code %d: got %q, want %q\n%s", code, got, want, errs)
	}
}
