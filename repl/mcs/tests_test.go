package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/script"
)

// tested are files that go wrong in every way, and one that does not.
var tested = map[string]string{
	"good.mcs":  "// %% sums\n1 + 1\n// > 2\n// %% products\n2 * 3\n// > 6\n",
	"bad.mcs":   "// %% sums\n1 + 1\n// > 3\n// %% products <\n2 * 3\n// > 6\n",
	"error.mcs": "1\n// %%\npanic(\"boom\")\n// %% never\n3\n// > 4\n",
	"exit.mcs":  "os.Exit(3)\n// > x\n",
	"slow.mcs":  "// %% quick\n1\n// > 1\n// %% long timeout=600ms\ntime.Sleep(time.Minute)\n// > ...\n",
	"kill.mcs":  "// %% first\n1\n// > 1\n// %%\n!kill -9 $PPID\n// > x\n",
	"stack.mcs": "func f(n int) int { return f(n+1) + 1 }\nf(0)\n// > x\n",
}

// Whatever ends a file, the files after it are tested, and the report says what happened.
func TestFilesGoOn(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("uses kill")
	}
	dir := writeFiles(t, tested)
	stdout, stderr, code := mcs(t, dir, "", "test", "-j", "2", "-junit", "report.xml", "kill.mcs", "stack.mcs", "exit.mcs", "slow.mcs", "error.mcs", "missing.mcs", "bad.mcs", "good.mcs")
	if code != exitUsage { // of the missing file
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	const want = `FAIL  kill.mcs  ended without a result: signal: killed
FAIL  stack.mcs  1 cell, [time]
stack.mcs:1: cell 1
In[1]:2:1: panic: stack limit reached: endless recursion?
...
FAIL  exit.mcs  1 cell, [time]
exit.mcs: a cell ended the run with exit status 3
FAIL  slow.mcs  2 cells, [time]
slow.mcs:5: cell 2
the cell was stopped: it took longer than 600 ms
FAIL  error.mcs  2 cells, [time]
error.mcs:3: cell 2
In[2]:1:1: panic: boom
...
FAIL  bad.mcs  2 cells, [time]
bad.mcs:3: cell 1: output differs (- expected, + got)
    - 3
    + 2
ok    good.mcs  2 cells, [time]`
	if diff := script.Diff(strings.Split(want, "\n"), stdout); diff != "" {
		t.Errorf("standard output (- want, + got)\n%s", diff)
	}
	python := exec.Command("python3", "../../tests/peers/junit_report.py", filepath.Join(dir, "report.xml"))
	out, err := python.CombinedOutput()
	if err != nil && (strings.Contains(string(out), "No module named") || len(out) == 0) {
		t.Skipf("python3 with junitparser reads the report: %v %s", err, out)
	}
	const read = `kill.mcs | cell 1: first | passed
kill.mcs | after cell 1 | Error: ended without a result: signal: killed
stack.mcs | cell 1, line 1 | Error: In[1]:2:1: panic: stack limit reached: endless recursion?
exit.mcs | cell 1, line 1 | Error: the cell ended the run with exit status 3
slow.mcs | cell 1: quick | passed
slow.mcs | cell 2: long | Error: the cell was stopped: it took longer than 600 ms
error.mcs | cell 1, line 1 | passed
error.mcs | cell 2, line 3 | Error: In[2]:1:1: panic: boom
missing.mcs | after cell 0 | Error: ended without a result: exit status 2
bad.mcs | cell 1: sums | Failure: output differs
bad.mcs | cell 2: products < | passed
good.mcs | cell 1: sums | passed
good.mcs | cell 2: products | passed`
	if diff := script.Diff(strings.Split(read, "\n"), string(out)); err != nil || diff != "" {
		t.Errorf("%v: junitparser reads (- want, + got)\n%s\n%s", err, diff, out)
	}
}

func TestRunSelects(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, tested)
	for _, tt := range []struct{ args, stdout, stderr string }{
		{"-run good good.mcs bad.mcs", "ok    good.mcs  2 cells, [time]", ""},
		{"-run products good.mcs bad.mcs", "ok    good.mcs  2 cells, [time]\nok    bad.mcs  2 cells, [time]", ""},
		{"-run ^sums$ good.mcs bad.mcs", "ok    good.mcs  1 cell, [time]\nFAIL  bad.mcs  1 cell, [time]\n...", ""},
		{"-run sums|quick slow.mcs", "ok    slow.mcs  1 cell, [time]", ""},
		{"-run never error.mcs", "FAIL  error.mcs  2 cells, [time]\nerror.mcs:3: cell 2\n...", ""}, // a cell before it fails
		{"-run none good.mcs bad.mcs", "", "mcs: test: -run none: no file has this in its name, and no cell in its title"},
		{"-run [ good.mcs", "", "mcs: test: -run: error parsing regexp: [..]"},
		{"-timeout 1s slow.mcs", "FAIL  slow.mcs  2 cells, [time]\nslow.mcs:5: cell 2\n[..]took longer than 600 ms", ""}, // the file's own limit
	} {
		stdout, stderr, code := mcs(t, dir, "", append([]string{"test"}, strings.Fields(tt.args)...)...)
		if diff := script.Diff(wantLines(tt.stdout), stdout) + script.Diff(wantLines(tt.stderr), stderr); diff != "" {
			t.Errorf("%s: (- want, + got)\n%s", tt.args, diff)
		}
		if bad := strings.Contains(stdout, "FAIL"); bad != (code == exitFailed) || (stderr != "") != (code == exitUsage) {
			t.Errorf("%s: exit code %d", tt.args, code)
		}
	}
}

// A list of values runs the file with each; the table at the end has a line for each combination.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{
		"s.mcs": "lr := 1e-3\nrank := 4\nname := \"adam\"\n// %%\nif rank == 8 && lr > 1e-4 { panic(\"diverged\") }\nfmt.Println(\"with\", name)\nlr * float64(rank)\n",
		"e.mcs": "code := 0\n// %%\nos.Exit(code)\n",
	})
	for _, tt := range []struct {
		args, stdout, stderr string
		code                 int
	}{
		{"run s.mcs -p lr=1e-3,1e-4 -p rank=4,8 -j 3", `lr=1e-3 rank=4
with adam
0.004 float64

lr=1e-3 rank=8

lr=1e-4 rank=4
with adam
0.0004 float64

lr=1e-4 rank=8
with adam
0.0008 float64

lr    rank  status  time  last val[..]
1e-3  4     ok      [time]  0.004 float64
1e-3  8     failed  [time]  In[2]:1:29: panic: diverged …
1e-4  4     ok      [time]  0.0004 float64
1e-4  8     ok      [time]  0.0008 float64`, "s.mcs:5: cell 2\nIn[2]:1:29: panic: diverged\n...", 1},
		{`run s.mcs -p name="a,b" -p lr=2`, "with a,b\n8 float64", "", 0},
		{`run s.mcs -p name="a,b",c`, "name=a,b\nwith a,b\n0.004 float64\n\nname=c\nwith c\n0.004 float64\n\n...", "", 0},
		{"run e.mcs -p code=0,3", "code=0\n\ncode=3\n\ncode  status  time  last val[..]\n0     ok      [time]\n3     exit 3  [time]  the cell ended the run with exit status 3", "", 1},
		{"test s.mcs -p rank=4,8 -p lr=1e-3", "ok    s.mcs  2 cells, [time]\nFAIL  s.mcs  2 cells, [time]\ns.mcs:5: cell 2\n...\nrank  lr    status  time  last val[..]\n4     1e-3  ok      [time]  0.004 float64\n8     1e-3  failed  [time]  In[2]:1:29: panic: diverged …", "", 1},
		{"test s.mcs -p lr=1e-4", "ok    s.mcs  2 cells, [time]", "", 0},
		{"test -u s.mcs -p lr=1,2", "", "mcs: test: got -u and several values of a parameter, want one: a file has one expected output", 2},
		{"run s.mcs -p lr=1,", "", "mcs: -p lr=1,: got an empty value among others", 2},
		{"run s.mcs -p none=1,2", "", "mcs: -p none=1: s.mcs has no parameter none; it has lr, name, rank", 2},
		{"run - -p lr=1,2", "", "mcs: run: got several values of a parameter for standard input[..]", 2},
		{"run s.mcs -p lr=1,2 -j 0", "", "mcs: run: got -j 0, want how many run at a time, at least 1", 2},
	} {
		stdout, stderr, code := mcs(t, dir, "", strings.Fields(tt.args)...)
		if diff := script.Diff(wantLines(tt.stdout), stdout) + script.Diff(wantLines(tt.stderr), stderr); diff != "" || code != tt.code {
			t.Errorf("%s: exit code %d, want %d (- want, + got)\n%s", tt.args, code, tt.code, diff)
		}
	}
}
