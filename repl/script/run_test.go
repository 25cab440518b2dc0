package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A fakeSession runs cells of lines `print TEXT`, `show TEXT`, `fail TEXT`, `exit N`.
type fakeSession struct {
	stdout io.Writer
	n      int
	closed bool
}

func (s *fakeSession) Close() error { s.closed = true; return nil }

func (s *fakeSession) Run(ctx context.Context, cell string) session.Result {
	s.n++
	r := session.Result{N: s.n}
	for line := range strings.SplitSeq(cell, "\n") {
		verb, text, _ := strings.Cut(line, " ")
		switch verb {
		case "print":
			fmt.Fprint(s.stdout, text)
		case "show":
			r.Shown = append(r.Shown, display.Text(text))
		case "fail":
			r.Err = errors.New(text)
		case "exit":
			r.Err = fmt.Errorf("panic: %w", stdlib.ExitRequest{Code: len(text)})
		}
	}
	return r
}

func run(t *testing.T, text string, o Options) (*mcsfile.File, *Report, string) {
	t.Helper()
	f := mcsfile.Parse("t.mcs", text)
	var out strings.Builder
	o.Stdout = &out
	s := &fakeSession{}
	o.Open = func(stdout io.Writer) (Runner, error) { s.stdout = stdout; return s, nil }
	report, err := Run(t.Context(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	if !s.closed {
		t.Error("the session was left open")
	}
	return f, report, out.String()
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name, text, out string
		cells           int
		failed          string
		exit            int
	}{
		{"printed and shown, in order", "// %%\nprint a\nshow b\nshow c\n// %%\nprint d", "a\nb\nc\nd", 2, "", 0},
		{"markdown does not run", "// %% [markdown]\n// print a\n// %%\nshow b", "b\n", 1, "", 0},
		{"an error ends the run", "show a\n// %%\nfail oops\n// %%\nshow b", "a\n", 2, "oops", 0},
		{"an expected error does not", "fail oops\n// > oops\nshow b", "oops\nb\n", 2, "", 0},
		{"expected, with what was printed before", "print a\nfail oops 3\n// > a\n// > oops [number]\nshow b", "a\noops 3\nb\n", 2, "", 0},
		{"an error that any output would match", "print a\nfail oops\n// > a\n// > ...\nshow b", "a\n", 1, "oops", 0},
		{"expected between others", "print a\nfail oops 3\n// > ...\n// > oops[..]\n// > ...\nshow b", "a\noops 3\nb\n", 2, "", 0},
		{"another error than expected", "fail ouch\n// > oops\nshow b", "", 1, "ouch", 0},
		{"exit", "show a\n// %%\nexit xxx\n// %%\nshow b", "a\n", 2, "", 3},
		{"a run does not compare output", "show a\n// > b", "a\n", 1, "", 0},
	} {
		_, r, out := run(t, tt.text, Options{})
		failed := ""
		if r.Failed != nil {
			failed = r.Failed.Err.Error()
		}
		if out != tt.out || r.Cells != tt.cells || failed != tt.failed || r.Exit != tt.exit {
			t.Errorf("%s: got output %q, %d cells, failure %q, exit %d, want %q, %d, %q, %d",
				tt.name, out, r.Cells, failed, r.Exit, tt.out, tt.cells, tt.failed, tt.exit)
		}
		if r.OK() != (tt.failed == "" && tt.exit == 0) {
			t.Errorf("%s: OK() = %v", tt.name, r.OK())
		}
	}
}

func TestCheck(t *testing.T) {
	const text = "// %%\nshow a\n// > a\n// %%\nshow b\n// > x\n// %%\nshow c\n// %%\nshow d\n// > [..]\n"
	f, r, _ := run(t, text, Options{Check: true})
	if len(r.Mismatches) != 1 || r.OK() {
		t.Fatalf("got %d mismatches, want 1: %+v", len(r.Mismatches), r.Mismatches)
	}
	m := r.Mismatches[0]
	if m.N != 2 || m.Line != 6 || m.Diff != "- x\n+ b" {
		t.Errorf("got cell %d, line %d, diff %q, want 2, 6, %q", m.N, m.Line, m.Diff, "- x\n+ b")
	}
	if got, want := Where(f, m.Cell, m.N), "t.mcs:5: cell 2"; got != want {
		t.Errorf("Where = %q, want %q", got, want)
	}
}

func TestFileUpdate(t *testing.T) {
	for _, tt := range []struct{ name, text, updated string }{
		{"only what does not match",
			"// %% one\nshow a\n// > [..]\n\n// %%\nshow b\n// > x\n// > y\n\n// comment\nshow c\n",
			"// %% one\nshow a\n// > [..]\n\n// %%\nshow b\n// > b\n\n// comment\nshow c\n"},
		{"a lone mark is filled", "show a\n// >\n", "show a\n// > a\n"},
		{"nothing left", "print \n// > x\nshow b\n// > b\n", "print \n// >\nshow b\n// > b\n"},
		{"an error is recorded and the run goes on", "fail oops\n// >\nshow b\n// >\n", "fail oops\n// > oops\nshow b\n// > b\n"},
		{"cells behind a failure stay", "fail oops\n// %%\nshow b\n// > x\n", "fail oops\n// %%\nshow b\n// > x\n"},
	} {
		f, r, _ := run(t, tt.text, Options{Check: true, Record: true})
		updated := r.Update(f)
		if updated != tt.updated {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, updated, tt.updated)
		}
		_, again, _ := run(t, updated, Options{Check: true})
		if len(again.Mismatches) > 0 {
			t.Errorf("%s: the updated file does not pass: %+v", tt.name, again.Mismatches)
		}
	}
}
