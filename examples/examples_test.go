// Package examples holds sessions that show what mcs does; the test runs each one and compares what it puts
// out with what the file says.
package examples

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/kernel"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// fewer are parameters of examples that train for long: with them what they say still holds.
var fewer = map[string]map[string]string{"lora.mcs": {"steps": "12"}, "chat.mcs": {"steps": "30"}}

func TestExamples(t *testing.T) {
	files, err := filepath.Glob("*.mcs")
	if err != nil || len(files) < 6 {
		t.Fatalf("got %d files and error %v, want at least six sessions", len(files), err)
	}
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			params := fewer[name]
			if long.Tests() {
				params = nil
			}
			run(t, name, params)
		})
	}
}

// run runs a session and compares what it puts out with what the file says.
func run(t *testing.T, name string, params map[string]string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Checked(); err != nil && strings.Contains(string(text), "kernel.New(") {
		t.Skip(err)
	}
	f := mcsfile.Parse(name, string(text))
	report, err := script.Run(context.Background(), f, script.Options{
		Check: true,
		Open: func(stdout io.Writer) (script.Runner, error) {
			return session.New(session.Options{Stdout: stdout, Stderr: os.Stderr, Commands: magics.Table{}, Params: params})
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
