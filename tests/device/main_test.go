package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What the example prints, on the processor, in part.
const printed = `code 58420 bytes, tests 98506 bytes
60 steps · loss 5.447 → 2.443 · 7,795 tokens/s · 7.88 s
code 2.398, tests 3.110
24 steps · loss 3.416 → 3.156 · 10,619 tokens/s · 2.31 s
        before  after
code    2.398   2.531
tests   3.110   2.891
`

// A device learns what the processor learns, within rounding.
func TestLosses(t *testing.T) {
	for name, c := range map[string]struct{ got, want string }{
		"the same":           {printed, ""},
		"rounded":            {strings.ReplaceAll(printed, "2.443", "2.451"), ""},
		"another loss":       {strings.ReplaceAll(printed, "2.891", "3.100"), "the loss tests after is 3.1, want 2.891 within 1 %"},
		"not a number":       {strings.ReplaceAll(printed, "2.443", "NaN"), "the loss 60 steps after is 0, want 2.443"},
		"it ended too early": {printed[:strings.Index(printed, "tests   ")], "the loss tests after is 0, want 2.891"},
	} {
		w := &worker{cpu: "cpu"}
		err := w.compare(lossesIn(printed), lossesIn(c.got))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if err := new(worker).compare(lossesIn("loss"), lossesIn("loss")); err == nil {
		t.Error("got no error where the processor printed no losses")
	}
}

// The report begins with a table of all steps; a step that fails does not stop the next, one without an end
// is stopped.
func TestReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.txt")
	r, w := &report{path: path, title: "mcs on abacus"}, &worker{}
	for _, s := range []step{
		{name: "first", why: "go is there", limit: time.Minute, do: func(ctx context.Context, w *worker) error { return w.command(ctx, "go", "env", "GOOS") }},
		{name: "second", why: "fails", limit: time.Minute, do: func(ctx context.Context, w *worker) error { return errors.New("beads are missing") }},
		{name: "third", why: "is left out", skip: "no beads"},
		{name: "fourth", why: "never ends", limit: time.Millisecond, do: func(ctx context.Context, w *worker) error { <-ctx.Done(); return ctx.Err() }},
		{name: "fifth", why: "go refuses", limit: time.Minute, do: func(ctx context.Context, w *worker) error { return w.command(ctx, "go", "nothing") }},
	} {
		if err := r.add(w.do(t.Context(), s)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"mcs on abacus\n\nfirst            ok ",
		"second           FAILED                     0s       fails\n    beads are missing\n",
		"third            skipped: no beads ",
		"    it took longer than 1ms\n", "    go: exit status 2\n",
		"\n== first\n$ go env GOOS\n", "\n== fifth\n$ go nothing\ngo nothing: unknown command",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	if !r.failed() || !r.lacks("second") || !r.lacks("third") || r.lacks("first") || r.lacks("") {
		t.Errorf("failed %v, want that of second, third and fourth", r.failed())
	}
}

// Tests that all skip have shown nothing.
func TestNothingRan(t *testing.T) {
	w := &worker{}
	if err := w.tests(t.Context(), "../../engine/internal/backend/metal", "-run", "OnMac", "-v", "-short"); runtime.GOOS != "darwin" &&
		(err == nil || !strings.Contains(err.Error(), "no test ran")) {
		t.Errorf("got %v, want an error", err)
	}
	if err := w.tests(t.Context(), ".", "-run", "Losses", "-v"); err != nil {
		t.Error(err)
	}
}

// Each step names what exists: a package that is gone would be found on a Mac alone.
func TestSteps(t *testing.T) {
	for _, kind := range []string{"metal", "cpu"} {
		for _, s := range steps(options{device: kind, onnx: "cases.zip"}) {
			if s.name == "" || s.why == "" || s.skip == "" && (s.do == nil || s.limit == 0) {
				t.Errorf("%s: got %+v, want a name, a reason and a limit", kind, s)
			}
		}
	}
	for _, dir := range []string{"engine/internal/backend/metal/driver", "engine/internal/backend/cuda/driver", "engine/internal/backend/cpu",
		"engine/internal/backend/metal", "tests/conformance", "repl/mcs", "examples/lora.mcs"} {
		if _, err := os.Stat(filepath.Join("..", "..", dir)); err != nil {
			t.Error(err)
		}
	}
}
