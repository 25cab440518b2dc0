package magics_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/tensor"
	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "4") // what measures waits much of the time, to hear what else goes on
	debug.SetGCPercent(400)        // a quarter of the time
	os.Exit(m.Run())
}

// Each file in testdata is a session; what it expects is what the commands put out.
func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.mcs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if slices.Contains([]string{"profile.mcs", "state.mcs"}, filepath.Base(name)) {
				long.InCI(t, "measures for seconds")
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if runtime.GOOS == "windows" && bytes.Contains(text, []byte("\n!")) {
				t.Skip("uses commands of a Unix shell")
			}
			defer device.Use("cpu")
			awaitRelease(t)
			runSession(t, mcsfile.Parse(name, string(text)))
		})
	}
}

// awaitRelease waits until the tensors of sessions that were closed are gone. Its last goroutines may still
// be about to end, and what they refer to is the process's memory that the next session's %mem would list.
func awaitRelease(t *testing.T) {
	t.Helper()
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		left := tensor.LiveMemory()
		if len(left) == 0 {
			return
		}
		if time.Since(start) > 20*time.Second {
			t.Fatalf("closed sessions still hold %d tensors, the first of %s", len(left), left[0].From.Place)
		}
	}
}

func runSession(t *testing.T, f *mcsfile.File) {
	t.Helper()
	report, err := script.Run(t.Context(), f, script.Options{Check: true, Open: func(stdout io.Writer) (script.Runner, error) {
		return session.New(session.Options{Stdout: stdout, Dir: t.TempDir(), Commands: magics.Table{}})
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range report.Mismatches {
		t.Errorf("%s:%d: cell %d:\n%s", f.Name, m.Line, m.N, m.Diff)
	}
	if report.Failed != nil {
		t.Errorf("%s\n%v", script.Where(f, report.Failed.Cell, report.Failed.N), report.Failed.Err)
	}
}

// Ctrl-C during a measurement shows what is known by then.
func TestInterruptedTiming(t *testing.T) {
	t.Parallel()
	s, err := session.New(session.Options{Commands: magics.Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(1500*time.Millisecond, cancel) // when its samples have begun
	start := time.Now()
	r := s.Run(ctx, "%timeit -t 1m time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)")
	if time.Since(start) > 30*time.Second {
		t.Error("the measurement was not interrupted")
	}
	if len(r.Shown) != 1 || !strings.Contains(r.Shown[0].Text(80), "interrupted: this is what was known by then") {
		t.Errorf("got %v, %v, want what was known and a note", r.Shown, r.Err)
	}
	if r := s.Run(t.Context(), "1 + 1"); r.Err != nil {
		t.Errorf("the next cell: %v", r.Err)
	}
}

func TestInterruptedEvaluation(t *testing.T) {
	s, err := session.New(session.Options{Commands: magics.Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), "x := tensor.Randn(1024, 1024).Eval(); y := x\nfor range 2000 { y = y.MatMul(x).Mul(0.03) }"); r.Err != nil {
		t.Fatal(r.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if r := s.Run(ctx, "%time y.Sum()"); !errors.Is(r.Err, session.ErrInterrupted) {
		t.Errorf("got error %v, want %v", r.Err, session.ErrInterrupted)
	}
}

// What %del forgets is given back to the system at once.
func TestDelGivesMemoryBack(t *testing.T) {
	s, err := session.New(session.Options{Commands: magics.Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(cell string) {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	const bytes = 4 << 20
	memory := func() int64 { return device.Default().Memory().InUse }
	run("first := tensor.Ones(2).Eval()\n%del first") // and all that earlier tests have left
	before := memory()
	for last := int64(-1); last != before; last, before = before, memory() { // cleanups run after the collection
		time.Sleep(50 * time.Millisecond)
	}
	run("x := tensor.Ones(1024, 1024).Eval()\nm := map[string]tensor.Tensor{\"y\": tensor.Ones(1024, 1024).Eval()}")
	if grown := memory() - before; grown < 2*bytes {
		t.Fatalf("%d bytes are in use for two tensors", grown)
	}
	run("%del x m")
	if left := memory() - before; left >= bytes {
		t.Errorf("%d bytes are in use, want what there was before", left)
	}
}

func TestComplete(t *testing.T) {
	s, err := session.New(session.Options{Dir: t.TempDir(), Commands: magics.Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r := s.Run(t.Context(), "alpha := 1\nalphabet := \"abc\"\n%alias gone = %del"); r.Err != nil {
		t.Fatal(r.Err)
	}
	if err := os.Mkdir(filepath.Join(s.Dir(), "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), "notes.mcs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		cell string
		from int
		want []string // completions that must be there
		all  bool     // and no others
	}{
		{"%ti", 1, []string{"time", "timeit"}, true},
		{"%%ti", 2, []string{"time", "timeit"}, true},
		{"%%who", 2, nil, true},
		{"  %who", 3, []string{"whos"}, true},
		{"x := 1\n%who", 8, []string{"whos"}, true},
		{"%kernels -f", 9, []string{"-fuse=on", "-fuse=off"}, true},
		{"%kernels -fuse=o", 9, []string{"-fuse=on", "-fuse=off"}, true},
		{"%bench -s", 7, []string{"-setup", "-sweep", "-save"}, true},
		{"%timeit -sweep n=1,2 -cold alp", 27, []string{"alpha", "alphabet"}, false},
		{"%timeit -assert 'a < 5ms' alp", 26, []string{"alpha", "alphabet"}, false},
		{"%del al", 5, []string{"alpha", "alphabet"}, true},
		{"%help ti", 6, []string{"time", "timeit"}, true},
		{"%device c", 8, []string{"cpu"}, true},
		{"%cd fol", 4, []string{"folder" + string(filepath.Separator)}, true},
		{"%cd no", 4, nil, true}, // a file
		{"%env -u PA", 8, []string{"PATH"}, false},
		{"%al", 1, []string{"alias"}, true},
		{"%g", 1, []string{"get", "gone", "graph", "guard"}, true}, // gone is an alias
		{"%gone al", 6, []string{"alpha", "alphabet"}, true},
		{"x := !cat notes.m", 10, []string{"notes.mcs"}, true},
		{"%run no", 5, []string{"notes.mcs"}, true},
		{"!cat no", 5, []string{"notes.mcs"}, true},
		{"%timeit -t 1s alp", 14, []string{"alpha", "alphabet"}, false},
		{"%%time\nalp", 7, []string{"alpha", "alphabet"}, false},
		{"%reset x", 8, nil, true},
	} {
		from, list := magics.Table{}.Complete(s, tt.cell, len(tt.cell))
		if list == nil && tt.all {
			t.Errorf("%q: not recognised as a command", tt.cell)
		}
		got := map[string]bool{}
		for _, c := range list {
			got[c.Text] = true
		}
		for _, want := range tt.want {
			if !got[want] || from != tt.from {
				t.Errorf("%q: got %v from %d, want %q from %d", tt.cell, got, from, want, tt.from)
			}
		}
		if tt.all && len(got) != len(tt.want) {
			t.Errorf("%q: got %v, want only %v", tt.cell, got, tt.want)
		}
	}
	if _, list := (magics.Table{}).Complete(s, "alp", 3); list != nil {
		t.Errorf("Go is completed by the session: got %v", list)
	}
}

// A profile for go tool pprof has the functions of Go, those of the engine and of the interpreter, and the
// lines of cells.
func TestPprofFile(t *testing.T) {
	long.InCI(t, "starts go tool pprof")
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	dir := t.TempDir()
	s, err := session.New(session.Options{Dir: dir, Commands: magics.Table{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, cell := range []string{
		"func busy(n int) int {\n\tlist := make([]int, 8)\n\tfor i := range n {\n\t\tlist[i%8]++\n\t}\n\treturn list[0]\n}\nx := tensor.Ones(64, 64).Eval()",
		"%profile -n 300 -o p.pb.gz busy(20000) + int(x.MatMul(x).Sum().Item())",
	} {
		if r := s.Run(t.Context(), cell); r.Err != nil {
			t.Fatalf("%s\n%v", cell, r.Err)
		}
	}
	for kind, want := range map[string][]string{
		"cpu":  {"mcs/engine/", "session/internal/yaegi"}, // nearly all samples are the loop's
		"wall": {"In[1]:4", "In[2]:1", "kernels", "matmul"},
	} {
		out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-nodefraction=0", "-sample_index="+kind, filepath.Join(dir, "p.pb.gz")).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, name := range want {
			if !strings.Contains(string(out), name) {
				t.Errorf("%s: got\n%.3000s\nwithout %s", kind, out, name)
			}
		}
	}
}
