package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// notRun says why an example of the help is not run.
var notRun = map[string]string{
	"mcs lora.mcs":                                            "opens the notebook in a terminal",
	"mcs web lora.mcs":                                        "serves until Ctrl-C, as TestWeb shows",
	"mcs web --port 8888 lora.ipynb":                          "serves until Ctrl-C",
	"mcs present lora.mcs":                                    "shows a talk in a terminal, as TestPresent does",
	"mcs present --web --port 8888 lora.mcs":                  "serves until Ctrl-C, as TestTalkPage shows",
	"mcs present --replay lora.ipynb":                         "shows a talk in a terminal, as TestPresentReplay does",
	"mcs learn workshop":                                      "opens the terminal, as tests/terminal does",
	"mcs learn workshop --web":                                "serves until Ctrl-C",
	"mcs train job.toml":                                      "needs the folder of a model, as all that begin so",
	"mcs train -n 2 job.toml":                                 "needs the folder of a model: TestTrainOfRanks makes one",
	"mcs serve Qwen2.5-0.5B-Instruct --adapter tuned/adapter": "serves until Ctrl-C, as TestServeStarts shows",
	"mcs serve Qwen2.5-0.5B-Instruct --host 0.0.0.0 --port 8080 --max-tokens 1024": "serves until Ctrl-C, as TestServeStarts shows",
	"mcs serve --embed all-MiniLM-L6-v2":                                           "serves until Ctrl-C, as TestServeStarts shows",
	"mcs chat Qwen/Qwen2.5-0.5B-Instruct":                                          "needs the network",
	"mcs build --with gonum.org/v1/gonum@v0.16.0 --with ./mypackage -o mymcs":      "needs the network",
}

// The examples that mcs --help and the help of its commands give run.
func TestHelpExamples(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the examples are lines for sh")
	}
	t.Parallel()
	session := "// %%\nsteps := 2\nlr := 0.1\nrank := 1\ntext := \".\"\n// %%\nsoftmax := float64(steps*rank*len(text)) * lr\nsoftmax\n// > 0.2 float64\n"
	dir := writeFiles(t, map[string]string{
		"lora.mcs": session, "main.go": "package main\n\nfunc main() { hello() }\n", "util.go": "package main\n\nfunc hello() { println(\"hello\") }\n",
	})
	for path, text := range map[string]string{
		"examples/softmax.mcs": session, "lessons/01-tensors.mcs": sums, "lessons/01-tensors.key.mcs": sumsKey, "handed-in/anna.mcs": sums,
	} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(dir, "workshop"), os.DirFS("../lesson/testdata/course")); err != nil {
		t.Fatal(err)
	}
	writeModelFolders(t, dir, "Qwen2.5-0.5B-Instruct", "tuned/adapter")
	for _, name := range []string{"story.txt", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("once upon a time ", 20)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tasks, err := os.ReadFile("../../examples/tasks.jsonl")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "tasks.jsonl"), tasks, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			line = strings.TrimSpace(line)
			if line == "" || notRun[line] != "" || strings.HasPrefix(line, "mcs train job.toml ") {
				continue
			}
			ran++
			line = strings.Replace(line, "--timeout 2s", "--timeout 500ms", 1) // for which an answer runs on
			cmd := exec.CommandContext(t.Context(), "sh", "-c", `mcs() { "$MCS" "$@"; }; `+line)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), beCommand+"=1", "MCS="+os.Args[0], "JUPYTER_DATA_DIR="+dir, "VIRTUAL_ENV="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
		for _, sub := range c.Commands() {
			each(sub)
		}
	}
	each(rootCommand())
	if ran < 10 {
		t.Errorf("ran %d examples, want at least 10", ran)
	}
}
