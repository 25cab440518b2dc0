package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/repl/script"
)

// The test binary is the command itself when this variable is set.
const beCommand = "MCS_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(beCommand) != "" {
		main()
	}
	flag.Parse()
	flag.Set("test.parallel", "4") // processes start, and wait for one another
	os.Setenv("GOGC", "400")       // of the processes that tests start: the collector would take a tenth of the time
	os.Exit(m.Run())
}

// mcs runs the command in a folder with the given files.
func mcs(t *testing.T, dir, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return mcsWith(t, dir, nil, stdin, args...)
}

// mcsWith is mcs with more variables of the environment.
func mcsWith(t *testing.T, dir string, env []string, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), beCommand+"=1"), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{
		"sum.mcs":   "// %%\nn := 3\nfmt.Println(\"n is\", n)\n// %%\nn * 2\n",
		"crash.mcs": "m := map[int]int{}\ngo func() {\n\tfor {\n\t\tm[1]++\n\t}\n}()\nfor {\n\tm[2]++\n}\n",
		"late.mcs":  "1 + 1\n// > 2\n\ntime.Sleep(time.Minute)\n// > ...\n",
		"twice.mcs": "1 + 2\n3 + 4\n",
		"fails.mcs": "// %%\nx := 1\n\n// %%\nx.Foo\n// %%\nfmt.Println(\"not reached\")\n",
		"fused.mcs": "x := tensor.Ones(9).Eval()\n%kernels -assert 'launches <= 1' x.Exp().Sin()\n",
		"plain.mcs": "x := tensor.Ones(9).Eval()\n%kernels -fuse=off -assert 'launches <= 1' x.Exp().Sin()\n",
		"exit.mcs":  "fmt.Println(\"bye\")\nos.Exit(3)\n",
		"good.mcs":  "1 + 1\n// > 2\n// %%\nerrors.New(\"expected\")\n// > [..]expected[..]\n",
		"bad.mcs":   "1 + 1\n// > 3\n\n2 + 2\n// > 4\n",
		"prog.go":   "package main\nimport (\"fmt\"; \"os\")\nfunc main() { fmt.Println(os.Args[1:], twice(2)); if len(os.Args) > 2 { panic(os.Args[2]) } }\n",
		"util.go":   "package main\nfunc twice(n int) int { return 2 * n }\n",
		"times.mcs": "x := tensor.Randn(192, 192).Eval()\np := x\nfmt.Println(\"before\")\n%timeit -t 50ms _ = x.MatMul(x)\nfmt.Println(\"after\")\n" +
			"%timeit -t 20ms fmt.Println(\"hello\")\n%timeit -t 20ms p = p.Sub(x)\n%time y := x.MatMul(x)\nfmt.Println(y.Evaluated(), tensor.MaxAbsDiff(p, x))\n",
		"errs.mcs":    "%timeit -t 20ms fmt.Fprintln(os.Stderr, \"once\")\nfmt.Fprintln(os.Stderr, \"last\")\n",
		"notes.txt":   "",
		"figures.mcs": "x := tensor.Rand(64, 64).Eval()\n%time y := x.Exp()\n%kernels -t x.MatMul(x)\n%mem\n",
		"ref.mcs":     "fmt.Println(device.Default())\n// > ref\n",
		"where.go":    "package main\nimport (\"fmt\"; \"os\"; \"github.com/mcs-notebook/mcs/engine/device\")\nfunc main() { fmt.Println(os.Args[1:], device.Default()) }\n",
	})
	for _, tt := range []struct {
		name   string
		args   string
		stdin  string
		stdout string // as a .mcs file would expect it
		stderr string
		code   int
	}{
		{"version", "version", "", "mcs [..] · go [..]", "", 0},
		{"run", "run sum.mcs", "", "n is 3\n6", "", 0},
		{"run commands that time", "run times.mcs", "", "before\n[time]  median of [..]\n95 % [..]\n1 launch, [..]\n...\nafter\nhello\n[time]  median of [..]\n...\n" +
			"dropped [number] lines that later runs printed\n...\n1 launch, [..]\n...\n[time] · 1 launch · [..]\n[number] processors[..]\ntrue 0", "", 0},
		{"run commands that time what prints errors", "run errs.mcs", "", "[time]  median of [..]\n...\ndropped [number] lines that later runs printed\n...", "once\nlast", 0},
		{"run with a parameter", "run sum.mcs -p n=5", "", "n is 5\n10", "", 0},
		{"run standard input", "run -", "a := 20\na + 1", "21", "", 0},
		{"standard input without a command", "", "a := 20\na + 1", "21", "", 0},
		{"standard input with more expressions", "", "1 + 2\nx := 4; x * x;\nx\n%time x + 1\nfmt.Println(\"p\")\nfunc f() int { return x }\nf() + 3", "3\n4\n5\n[..]launches[..]\n...\np\n7", "", 0},
		{"expressions of a file", "run twice.mcs", "", "", "twice.mcs:1: cell 1\nIn[1]:1:1: 1 + 2 [..] is not used\n...", 1},
		{"_ is the value of the expression before", "", "1 + 2\n_ * 2.0; _ + 1\n\"a\"\ny := _ + \"b\"\n_\ny; _\n", "3\n4\n\"a\"\n\"a\"\n\"a\"", "", 0},
		{"nothing runs before all is checked", "", "1 + 2\nnone\n", "", "standard input:1: cell 1\nIn[1]:2:1: undefined: none[..]\n...", 1},
		{"an expression", "-e 1+2", "", "3", "", 0},
		{"more expressions", "-e x:=2 -e x -e x*x", "", "2\n4", "", 0},
		{"an expression that is wrong", "-e y", "", "", "-e:1: cell 1\nIn[1]:1:1: undefined: y[..]\n...", 1},
		{"an expression that reads standard input", "-e io.ReadAll(os.Stdin)", "ab", "[]byte(\"ab\")", "", 0},
		{"an expression and a file", "-e 1 sum.mcs", "", "", "mcs: got -e and sum.mcs, want one of them", 2},
		{"a line of PyTorch", "-e net=nn.Sequential(nn.Linear(3,4),nn.ReLU())", "",
			"", "-e:1: cell 1\nIn[1]:1:1: undefined: net; write net := nn.Sequential{nn.NewLinearBias(3, 4), nn.ReLU()}\n...", 1},
		{"a line of PyTorch as it is answered", "run -", "net := nn.Sequential{nn.NewLinearBias(3, 4), nn.ReLU()}\nfmt.Println(net.Forward(tensor.Ones(2, 3)).Shape())", "[2 4]", "", 0},
		{"a number of threads", "run --threads 1 -", "device.Default().Info().Threads", "1", "", 0},
		{"a device", "run --device ref -", "fmt.Println(device.Default())", "ref", "", 0},
		{"a device, with one dash", "run -device=ref -", "fmt.Println(tensor.Ones(2).Device())", "ref", "", 0},
		{"a device before the command", "-device cpu:1 run -", "%device", "...\ncpu:1 [..] default\n...", "", 0},
		{"a device, and then another", "run -device ref -", "%device cpu\nfmt.Println(tensor.Ones(2).Device())", "...\ncpu", "", 0},
		{"a device for a test", "test -device ref ref.mcs", "", "ok    ref.mcs  1 cell, [time]", "", 0},
		{"figures of a device", "run -device ref figures.mcs", "", "f32[64 64] ref 16.0 KiB\n...\n[time] · 1 launch · [..]\n...\nmatmul [..] 1 [..]\n...\n1 launch · [..]\n...\nmemory [..]\n...\nref [..]\n...", "", 0},
		{"a device for a program", "run -device ref where.go -device x", "", "[-device x] ref", "", 0},
		{"no such device", "run -device abacus -", "", "", "mcs: device: got \"abacus\", want [..]cpu, cpu:N for N threads, [..]", 2},
		{"a device and threads", "run -device ref -threads 2 -", "", "",
			"mcs: got --device ref and --threads 2, want one of them: --threads N is --device cpu:N", 2},
		{"too few threads", "run --threads -1 -", "", "", "mcs: device: got \"cpu:-1\", want a number of threads from 1 to 1024 after the colon", 2},
		{"a cell fails", "run fails.mcs", "", "", "fails.mcs:5: cell 2\nIn[2]:1:3: x.Foo undefined[..]\n...", 1},
		{"a call that returns an error, too, inside of an expression", "run -", "i := strconv.Atoi(\"1\") + 1", "", "standard input:1: cell 1\nIn[1]:1:6: multiple-value strconv.Atoi(\"1\") [..]; it returns an error, too: assign it first, v := strconv.Atoi(\"1\")\n...", 1},
		{"a condition holds", "run fused.mcs", "", "...\n1 launch · [..]", "", 0},
		{"a condition does not hold", "run plain.mcs", "", "...\n2 launches · [..]", "plain.mcs:1: cell 1\nIn[1]:2: %kernels: launches <= 1 does not hold: launches is 2", 1},
		{"a cell exits", "run exit.mcs", "", "bye", "", 3},
		{"test passes", "test good.mcs", "", "ok    good.mcs  2 cells, [time]", "", 0},
		{"test fails", "test good.mcs bad.mcs", "", "ok    good.mcs  2 cells, [time]\nFAIL  bad.mcs  2 cells, [time]\n" +
			"bad.mcs:2: cell 1: output differs (- expected, + got)\n    - 3\n    + 2", "", 1},
		{"a file that cannot be read does not stop the next", "test none.mcs good.mcs", "", "ok    good.mcs  2 cells, [time]", "mcs: open none.mcs: [..]", 2},
		{"a crash does not stop the next", "test crash.mcs good.mcs", "", "FAIL  crash.mcs  ended without a result: exit status 2\nok    good.mcs  2 cells, [time]", "fatal error: concurrent map [..]\n...", 1},
		{"files at a time", "test -j 3 bad.mcs good.mcs good.mcs", "", "FAIL  bad.mcs  2 cells, [time]\n...\nok    good.mcs  2 cells, [time]\nok    good.mcs  2 cells, [time]", "", 1},
		{"no files at a time", "test -j 0 good.mcs", "", "", "mcs: test: got -j 0, want [..]", 2},
		{"a cell that takes too long", "test -timeout 1s late.mcs good.mcs", "", "FAIL  late.mcs  2 cells, [time]\nlate.mcs:4: cell 2\nthe cell was stopped: it took longer than 1.00 s\nok    good.mcs  2 cells, [time]", "", 1},
		{"flags reach the test of each file", "test -device ref ref.mcs ref.mcs", "", "ok    ref.mcs  1 cell, [time]\nok    ref.mcs  1 cell, [time]", "", 0},
		{"unknown parameter", "run sum.mcs -p steps=5", "", "", "mcs: -p steps=5: sum.mcs has no parameter steps; it has n", 2},
		{"no such file", "run none.mcs", "", "", "mcs: open none.mcs: [..]", 2},
		{"a Go program", "run prog.go util.go arg", "", "[arg] 4", "", 0},
		{"a Go program that panics", "run prog.go util.go arg boom", "", "[arg boom] 4", "panic: boom\n\ngoroutine 1 [running]:\n...", 2},
		{"a Go program that is not complete", "run prog.go", "", "", "prog.go:3:40: undefined: twice", 1},
		{"neither cells nor Go", "run notes.txt", "", "", "mcs: run: got notes.txt, want a .mcs, .ipynb or .go file, or - for standard input", 2},
		{"no such command", "frobnicate", "", "", "mcs: frobnicate is neither a command nor a .mcs or .ipynb file; mcs help lists the commands", 2},
		{"no such flag", "run -x", "", "", "mcs: unknown shorthand flag: 'x' in -x", 2},
		{"no file", "test", "", "", "mcs: test: got no files", 2},
		{"one file too few", "convert a.mcs", "", "", "mcs: convert: got 1 argument, takes 2: mcs convert FROM TO", 2},
		{"an argument too many", "version x", "", "", "mcs: version: got 1 argument, takes 0: mcs version", 2},
		{"no command of a command", "jupyter x", "", "", "mcs: jupyter: got 1 argument, takes 0: mcs jupyter", 2},
	} {
		stdout, stderr, code := mcs(t, dir, tt.stdin, strings.Fields(tt.args)...)
		if code != tt.code {
			t.Errorf("%s: exit code %d, want %d", tt.name, code, tt.code)
		}
		if diff := script.Diff(wantLines(tt.stdout), stdout); diff != "" {
			t.Errorf("%s: standard output (- want, + got)\n%s", tt.name, diff)
		}
		if diff := script.Diff(wantLines(tt.stderr), withoutNoise(stderr)); diff != "" {
			t.Errorf("%s: standard error (- want, + got)\n%s", tt.name, diff)
		}
	}
}

// withoutNoise leaves out what is said about the machine before it measures.
func withoutNoise(stderr string) string {
	var kept []string
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "the machine is not quiet: ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func wantLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func TestUpdateRewritesFile(t *testing.T) {
	t.Parallel()
	const before = "// %% first\n1 + 1\n// > 3\n\n// %%\nfmt.Println(\"took\", time.Second)\n// > took [time]\n// %%\nvar m map[string]int\nm[\"a\"] = 1\n// >\n"
	dir := writeFiles(t, map[string]string{"t.mcs": before})
	stdout, stderr, code := mcs(t, dir, "", "test", "-u", "t.mcs")
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if !strings.Contains(stdout, "t.mcs:3: cell 1: updated") || !strings.Contains(stdout, "now expects this error") {
		t.Errorf("the report does not say what changed:\n%s", stdout)
	}
	after, err := os.ReadFile(filepath.Join(dir, "t.mcs"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(before, "// > 3", "// > 2", 1)
	want = strings.TrimSuffix(want, "// >\n")
	if got, ok := strings.CutPrefix(string(after), want); !ok || !strings.Contains(got, "nil map") {
		t.Errorf("got\n%s\nwant\n%s and the error", after, want)
	}
	if stdout, _, code := mcs(t, dir, "", "test", "t.mcs"); code != 0 {
		t.Errorf("the updated file does not pass:\n%s", stdout)
	}
}

// What fails while it is shown is an error of its cell: the file fails at its line, and the files after it
// are run.
func TestShownValuesFail(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"index":   "x := tensor.Randn(3)\nx.Take(tensor.From([]int{99}), 0)\n",
		"large":   "tensor.Zeros(1 << 40)\n",
		"recurse": "type T struct{}\nfunc (t T) String() string { return fmt.Sprint(t) }\nT{}\n",
		"panics":  "type T struct{}\nfunc (t T) Error() string { panic(1) }\nerror(T{})\n",
		"exits":   "type T struct{}\nfunc (t T) String() string { runtime.Goexit(); return `` }\nT{}\n",
		"inspect": "type T struct{}\nfunc (t T) String() string { return fmt.Sprint(t) }\nx := T{}\nx?\n",
		"show":    "x := tensor.Randn(3).Take(tensor.From([]int{99}), 0)\n%show x\n",
	}
	files := map[string]string{"good.mcs": "1 + 1\n// > 2\n"}
	for name, text := range values {
		files[name+".mcs"] = text
	}
	dir := writeFiles(t, files)
	for name := range values {
		stdout, stderr, code := mcs(t, dir, "", "run", name+".mcs")
		if code != exitFailed || !strings.Contains(stderr, name+".mcs:1: cell 1\n") {
			t.Errorf("run %s: exit code %d, want %d\n%s%s", name, code, exitFailed, stdout, stderr)
		}
		stdout, stderr, code = mcs(t, dir, "", "test", name+".mcs", "good.mcs")
		if code != exitFailed || !strings.Contains(stdout, "FAIL  "+name+".mcs") || !strings.Contains(stdout, "ok    good.mcs") {
			t.Errorf("test %s: exit code %d, want %d\n%s%s", name, code, exitFailed, stdout, stderr)
		}
	}
}
