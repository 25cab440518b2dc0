package terminal

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/tests/terminal/screen"
)

// owned is a sequence in a file that would change the terminal's title and clear it.
const owned = "\x1b]0;owned\a\x1b[2J"

func (h home) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// hostile is a safetensors file whose names, keys and values are escape sequences.
func hostile() string {
	escape := strings.NewReplacer("\x1b", `\u001b`, "\a", `\u0007`).Replace(owned)
	header := `{"__metadata__":{"` + escape + `":"` + escape + `"},"` + escape + `":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "\x00\x00\x00\x00"
}

// TestFilesCannotDriveTheTerminal: text of a file reaches the screen escaped, on every way.
func TestFilesCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("w.safetensors", hostile())
	h.write("bad.safetensors", strings.Replace(hostile(), "F32", "F33", 1))
	h.write("a.mcs", "// %%\nx := 1 // "+owned+"\n// %%\nx.y // "+owned+"\n")
	h.write(owned+".txt", "text")
	h.write(owned+".mcs", "x.y\n")
	if err := os.Mkdir(filepath.Join(h.dir, "evil"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.write("evil/evil.go", "package evil\n\nvar A = b // "+owned+"\n")
	p := h.open(nil)
	cell := func(text, see string) {
		t.Helper()
		run(p, text, see)
		if p.Wrote("\x1b]0;") {
			t.Fatalf("%s: the title was changed\n%s", text, p.Text())
		}
	}
	cell(`ts, meta := safetensors.Load("w.safetensors")`, "In [2]:")
	cell(`y := ts["\x1b]0;owned\a\x1b[2J"]`, "In [3]:")
	cell(`y`, `\x1b]0;owned\a`)
	cell(`ts`, `In [5]:`)
	cell(`meta`, `In [6]:`)
	cell(`y?`, `In [7]:`)
	cell(`%whos`, `In [8]:`)
	cell(`y.MatMul(tensor.Zeros(7, 7))`, `In [9]:`)
	cell(`fmt.Println(y)`, `In [10]:`)
	cell(`safetensors.Load("bad.safetensors")`, `In [11]:`)
	cell("%load a.mcs", `// \x1b]0;owned\a\x1b[2J`)
	cell("%run a.mcs", "x.y undefined")
	cell("%history", "%history")
	cell(`data.ReadText("none\x1b]0;owned\a")`, `none\x1b]0;owned\a`)
	cell(`os.ReadDir(".")`, "Out[")
	cell(`errors.New("\x1b]0;owned\a")`, `\x1b]0;owned\a`)
	cell(`panic("\x1b]0;owned\a")`, `panic`)
	cell(`go func() { panic("\x1b]0;owned\a") }()`, `panic in goroutine`)
	cell(`import "./evil"`, `// \x1b]0;owned\a`)
	ready(p)
	p.Send("%run \t")
	p.See(`a.mcs`)
	p.Send(ctrlC)
	leave(t, p)
	if p.Wrote("\x1b]0;") {
		t.Errorf("the title was changed\n%s", p.Text())
	}

	p = h.open(nil) // the cells of %load are in the history by now, where they were run
	p.Send(up + up + up)
	p.Send(ctrlC)
	leave(t, p)
	if p.Wrote("\x1b]0;") {
		t.Errorf("from the history: the title was changed\n%s", p.Text())
	}
}

// TestProgramsPrintWhatTheyLike: output of a person's own program reaches the terminal unchanged.
func TestProgramsPrintWhatTheyLike(t *testing.T) {
	t.Parallel()
	p := newHome(t).open(nil)
	p.Send(`fmt.Print("\x1b]0;mine\a")` + "\r")
	p.See("In [2]:")
	if !p.Wrote("\x1b]0;mine\a") {
		t.Error("what was printed did not arrive")
	}
	leave(t, p)
}

// TestScriptsCannotDriveTheTerminal: the same for mcs run and mcs test.
func TestScriptsCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("w.safetensors", hostile())
	h.write("show.mcs", "ts, meta := safetensors.Load(`w.safetensors`)\n// %%\nts\n// %%\nmeta\n// %%\n%load fail.mcs\n// %%\nfor _, t := range ts {\n\tfmt.Println(t)\n}\n")
	h.write("fail.mcs", "1 // "+owned+"\n// > "+owned+"\n// %%\nx.y // "+owned+"\n")
	h.write("prog.go", "package main\n\nfunc main() { x // "+owned+"\n}\n")
	h.write(owned+".mcs", "1\n// > 2\n// %%\nx.y\n")
	for _, args := range [][]string{
		{"run", "show.mcs"}, {"run", "fail.mcs"}, {"test", "fail.mcs"}, {"run", owned + ".mcs"}, {"test", owned + ".mcs"}, {"test", "-u", "fail.mcs"},
		{"run", "prog.go"}, {"run", owned + ".no"}, {"run", "none" + owned + ".mcs"}, {"run", "show.mcs", "-p", owned + "=1"},
	} {
		cmd := exec.Command(program, args...)
		cmd.Dir = h.dir
		cmd.Env = append(os.Environ(), "HOME="+h.dir)
		p := screen.Start(t, cmd, 80, 30)
		p.Exit()
		if p.Wrote("\x1b]0;") || p.Wrote("\x1b[2J") {
			t.Errorf("mcs %q: the terminal obeyed\n%s", args, p.Text())
		}
		if p.Text() == "" {
			t.Errorf("mcs %q: nothing was shown", args)
		}
	}
}

// training makes a model and trains it into the folder run, with a checkpoint after each step.
const training = `text := strings.Repeat("func add(a, b int) int { return a + b }\n", 20); steps := 100_000
m := llm.New(llm.Config{Vocab: 256, Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 24, Seed: 1})
h := train.Run(ctx, m, data.Windows(text, 16, 2), train.Options{Steps: steps, LR: optim.Constant(1e-3), Seed: 7, Checkpoint: "run", CheckpointEvery: 1, Resume: true})`

// train types the training and waits until it saves.
func (h home) train(p *screen.Program) {
	h.t.Helper()
	p.Send(pasteStart + training + pasteEnd + "\r")
	p.Wait("a checkpoint", func() bool { return len(h.checkpoints()) > 1 })
}

func (h home) checkpoints() []string {
	found, _ := filepath.Glob(filepath.Join(h.dir, "run", "step-????????"))
	return found
}

// whole checks the training's folder: a new process continues from it.
func (h home) whole() {
	h.t.Helper()
	if left, _ := filepath.Glob(filepath.Join(h.dir, "run", "*.partial-*")); len(left) > 0 {
		h.t.Errorf("%q are left", left)
	}
	script := strings.Replace(training, "steps := 100_000", "steps := 1", 1) + "\nh.Notes, h.Steps() > 1\n"
	cmd := exec.Command(program, "run", "-")
	cmd.Dir, cmd.Stdin = h.dir, strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "true") {
		h.t.Errorf("the checkpoint is not gone on from: %v\n%s", err, out)
	}
}

// TestHeldCtrlCInTraining: the key repeats while a checkpoint is written after each step. The session
// stays, with the trained steps, and so does the folder.
func TestHeldCtrlCInTraining(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.open(nil)
	h.train(p)
	hold(t, p)
	p.See("interrupted")
	ready(p)
	p.Send("h.Steps() > 1\r")
	p.See("]: true")
	leave(t, p)
	h.whole()
}

// TestTheSystemEndsATraining: SIGTERM, as at the end of a login, leaves a checkpoint that is gone on from.
func TestTheSystemEndsATraining(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	p := h.open(nil)
	h.train(p)
	p.Terminate()
	p.Exit()
	h.whole()
}

// TestTrainingReportFits: what a job says is broken between words, below what follows its label.
func TestTrainingReportFits(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write("t.jsonl", strings.Repeat(`{"prompt": "one and ", "completion": "one"}`+"\n", 8))
	h.write("job.toml", "output = \"out\"\nmodel.path = \"tiny\"\ndata.train = \"t.jsonl\"\n")
	cmd := exec.Command(program, "train", "job.toml", "-p", "train.steps=2")
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "HOME="+h.dir, "TERM=xterm-256color", "NO_COLOR=1")
	p := screen.Start(t, cmd, 80, 30)
	if code := p.Exit(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.Text())
	}
	for _, want := range []string{"\ndata   t.jsonl · 8 sequences · 88 tokens, 27 % count, longest 11, padded, 4 a\n       batch, ", "\ntrain  an adapter · 2 steps of 1 batch · ", "\nsaved out/adapter"} {
		if !strings.Contains(p.Text(), want) {
			t.Errorf("got\n%s\nwant %q", p.Text(), want)
		}
	}
}
