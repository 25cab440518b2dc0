package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// sums is a lesson, and sumsKey its key.
const (
	sums    = "// %% exercise sum\nfunc sum(x []float64) float64 {\n\treturn 0\n}\n\n// %% exercise mean\nfunc mean(x []float64) float64 {\n\treturn sum(x) / float64(len(x))\n}\n"
	sumsKey = "// %% check sum points=2\ncheck.Close(t, sum([]float64{1, 2, 3}), 6)\n\n// %% check mean\ncheck.Close(t, mean([]float64{1, 2, 3}), 2)\n"
)

// gradeFolder is a folder with the lesson and with files that two learners have handed in.
func gradeFolder() (dir string, err error) {
	dir, err = os.MkdirTemp("", "mcs")
	for path, text := range map[string]string{
		"lessons/sums.mcs": sums, "lessons/sums.key.mcs": sumsKey,
		"handed-in/anna.mcs":     strings.Replace(sums, "return 0", "s := 0.0\n\tfor _, v := range x {\n\t\ts += v\n\t}\n\treturn s", 1),
		"handed-in/ben/sums.mcs": "// %%\n!touch here\n// %%\nfor {}\n" + sums,
	} {
		path = filepath.Join(dir, path)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	return dir, err
}

// mcs grade runs what learners have handed in against the checks of a lesson.
func Example_grade() {
	dir, err := gradeFolder()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(os.Args[0], "grade", "handed-in", "--lesson", "lessons/sums.mcs", "--time", "4s")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), beCommand+"=1")
	out, err := cmd.Output()
	fmt.Print(string(out))
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// learner  sum  mean  points  remarks
	// anna     ✓ 2  ✓     3 of 3
	// ben      ✗    ✗     0 of 3  sums.mcs:2: !: not available here: this session
	//                             reaches neither the network nor other programs;
	//                             sums.mcs:4: stopped after 1s
}

// TestGrade: what is written beside the table, and what is refused.
func TestGrade(t *testing.T) {
	t.Parallel()
	dir, err := gradeFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ben := filepath.Join(dir, "handed-in", "ben", "sums.mcs") // without the loop that Example_grade waits for
	if err := os.WriteFile(ben, []byte("// %%\n!touch here\n"+sums), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"grade"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), beCommand+"=1")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("handed-in", "--lesson", "lessons/sums.mcs", "-j", "2", "--time", "8s", "--csv", "p.csv", "--junit", "p.xml", "--pages", "pages"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]string{
		"p.csv":           "anna,handed-in/anna.mcs,2,1,3,3,",
		"pages/anna.html": "anna: 3 of 3 points",
		"pages/ben.html":  "got 0, want 6",
	} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), filepath.FromSlash(want)) {
			t.Errorf("%s lacks %q: %v\n%s", name, want, err, text)
		}
	}
	var report junitReport
	text, _ := os.ReadFile(filepath.Join(dir, "p.xml"))
	if err := xml.Unmarshal(text, &report); err != nil || report.Tests != 4 || report.Failures != 2 || len(report.Suites) != 2 ||
		!strings.Contains(report.Suites[1].Cases[0].Failure.Message, "got 0, want 6") {
		t.Errorf("got %+v, %v", report, err)
	}
	for _, c := range []struct{ args, says string }{
		{"handed-in", "grade: got no --lesson"},
		{"handed-in --lesson none.mcs", "none.mcs"},
		{"handed-in --lesson handed-in/anna.mcs", "got no key beside it, want anna.key.mcs with the checks"},
		{"lessons --lesson lessons/sums.mcs", "got no files of learners"},
		{"handed-in --lesson lessons/sums.mcs -j 0", "got -j 0"},
		{"handed-in --lesson lessons/sums.mcs --memory much", "got --memory much"},
		{"--lesson lessons/sums.mcs", "takes 1"},
	} {
		if out, err := run(strings.Fields(c.args)...); err == nil || !strings.Contains(out, c.says) {
			t.Errorf("%s: got %v, %s, want %q", c.args, err, out, c.says)
		}
	}
}

// TestGradeStopped: Ctrl-C keeps what is there.
func TestGradeStopped(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signal that interrupts a process")
	}
	dir, err := gradeFolder()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "grade", "handed-in", "--lesson", "lessons/sums.mcs", "--time", "1h", "--csv", "p.csv", "--pages", "pages")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), beCommand+"=1")
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "pages", "anna.html")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("anna's page is not there after a minute")
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("got %v", err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "p.csv"))
	if !strings.Contains(out.String(), "stopped after 1 of 2 files") || !strings.Contains(string(text), "anna") {
		t.Errorf("got\n%s\n%s", out.String(), text)
	}
}
