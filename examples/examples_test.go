// Package examples holds sessions that show what mcs does; the test runs each one and compares what it puts
// out with what the file says.
package examples

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// quicker are texts of examples that train for long, and what stands in their place without -long: all cells
// run then, and put out the same, but for what only the whole training gives. What is learnt in fewer steps
// is less, and is asked for: chance is a tenth of the digits.
var quicker = map[string][][2]string{
	"chat.mcs":     {{"steps := 60 ", "steps := 4 "}, {"< before/2", "< before"}, {`"The opposite of [..].[..]"`, "..."}, {"-t 500ms", "-t 50ms"}},
	"digits.mcs":   {{"Steps: 300", "Steps: 60"}, {"> 300 steps", "> 60 steps"}, {`"accuracy") > 0.85`, `"accuracy") > 0.5`}, {`"accuracy") > 0.95`, `"accuracy") > 0.4`}},
	"lora.mcs":     {{"steps := 300 ", "steps := 12 "}, {"Tokens: 200", "Tokens: 20"}, {"64, 16), 4)", "64, 16), 1)"}, {"64, 16), train", "64, 4), train"}, {"-t 500ms", "-t 50ms"}},
	"generate.mcs": {{"Steps: 100, LR: optim.Cosine(1e-2, 10, 100)", "Steps: 40, LR: optim.Cosine(1e-2, 10, 40)"}},
	"adapters.mcs": {{", 32, 8)", ", 32, 4)"}},
	"timing.mcs":   {{"-t 300ms", "-t 50ms"}, {"-t 500ms", "-t 50ms"}, {"-t 200ms", "-t 50ms"}},
	"softmax.mcs":  {{"-t 200ms", "-t 50ms"}},
}

// seconds are examples that take more than one, but for lora.mcs, which shows the main job.
var seconds = []string{"adapters.mcs", "chat.mcs", "digits.mcs", "generate.mcs", "grpo.mcs", "kalman.mcs", "quantise.mcs", "softmax.mcs", "timing.mcs", "training.mcs"}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("*.mcs")
	if err != nil || len(files) < 6 {
		t.Fatalf("got %d files and error %v, want at least six sessions", len(files), err)
	}
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(seconds, name) {
				long.InCI(t, "takes more than a second")
			}
			changes := quicker[name]
			if long.Tests() {
				changes = nil
			}
			run(t, name, changes)
		})
	}
}

// run runs a session, with some texts changed, and compares what it puts out with what the file says.
func run(t *testing.T, name string, changes [][2]string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Checked(); err != nil && strings.Contains(string(text), "kernel.New(") {
		t.Skip(err)
	}
	for _, c := range changes {
		if !bytes.Contains(text, []byte(c[0])) {
			t.Fatalf("%s: got no %q, which is changed here", name, c[0])
		}
		text = bytes.ReplaceAll(text, []byte(c[0]), []byte(c[1]))
	}
	f := mcsfile.Parse(name, string(text))
	report, err := script.Run(context.Background(), f, script.Options{
		Check: true,
		Open: func(stdout io.Writer) (script.Runner, error) {
			return session.New(session.Options{Stdout: stdout, Stderr: os.Stderr, Commands: magics.Table{}})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Failed != nil {
		t.Errorf("%s:\n%v", script.Where(f, report.Failed.Cell, report.Failed.N), report.Failed.Err)
	}
	for _, m := range report.Mismatches {
		t.Errorf("%s:\n%s", script.Where(f, m.Cell, m.N), m.Diff)
	}
	checked := 0
	for _, c := range f.Cells {
		if c.Checked {
			checked++
		}
	}
	if checked == 0 {
		t.Error("no cell says what it puts out")
	}
}
