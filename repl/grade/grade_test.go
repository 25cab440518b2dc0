package grade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/repl/session"
)

// TestMain lets the test be the program whose processes work.
func TestMain(m *testing.M) {
	if os.Getenv("MCS_GRADE_WORK") != "" {
		if err := Work(context.Background(), os.Stdin, os.Stdout, session.New); err != nil {
			fmt.Fprintln(os.Stderr, "mcs:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	given = "ones := tensor.Ones(3)"
	dot   = "func dot(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y).Sum() }"
	twice = "func twice(x tensor.Tensor) tensor.Tensor { return x.Mul(2) }"

	lessonText = "// %% [markdown]\n// # Products\n\n// %%\n" + given + "\n\n// %% exercise dot\nfunc dot(x, y tensor.Tensor) tensor.Tensor {\n\treturn x\n}\n\n" +
		"// %% exercise twice\nfunc twice(x tensor.Tensor) tensor.Tensor {\n\treturn x\n}\n"
	keyText = "// %% check dot points=2\ncheck.Close(t, dot(tensor.Ones(3), tensor.Ones(3)), 3)\n\n" +
		"// %% check twice\ncheck.Close(t, twice(ones), []float32{2, 2, 2})\n"
)

// handedIn is a learner's file with answers; an empty one is right.
func handedIn(first, second string) string {
	return "// %%\n" + given + "\n\n// %% exercise dot\n" + cmp.Or(first, dot) + "\n\n// %% exercise twice\n" + cmp.Or(second, twice) + "\n"
}

// write makes a folder of files and returns its path.
func write(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// graded are the reports of files, by learner.
func graded(t *testing.T, files map[string]string, o Options) (list []*Report) {
	t.Helper()
	path := filepath.Join(write(t, map[string]string{"l.mcs": lessonText, "l.key.mcs": keyText, "numbers.csv": "1,2\n"}), "l.mcs")
	hands, err := Hands(write(t, files), path)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Command = func() *exec.Cmd { return exec.Command(program) }
	o.Time, o.Memory = cmp.Or(o.Time, 32*time.Second), cmp.Or(o.Memory, 1<<30)
	t.Setenv("MCS_GRADE_WORK", "1")
	list, err = Grade(t.Context(), path, hands, o)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestAnswers: what ends, hangs or floods a cell costs that cell alone, and nothing but a right answer makes
// points.
func TestAnswers(t *testing.T) {
	inDot := func(body string) string {
		return "func dot(x, y tensor.Tensor) tensor.Tensor { " + body + "; return x }"
	}
	type answer struct {
		name, dot string
		points    int    // of 3
		wrong     string // what is said of dot
		remark    string
	}
	const stopped = "stopped after 2s"
	cases := []answer{
		{"right", "", 3, "", ""},
		{"wrong", "func dot(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y) }", 1, "got shape [3], want []", ""},
		{"syntax", "func dot(", 1, "syntax.mcs:5: ", ""},
		{"panic", "panic(1)", 1, ":5: panic: 1", ""},
		{"loop", "for {}", 1, stopped, ""},
		{"loop-in-it", inDot("for {}"), 1, stopped, ""},
		{"asleep", "select {}", 1, "deadlock", ""},
		{"exit", "os.Exit(0)", 1, "exit.mcs:5: exit status 0", ""},
		{"exit-in-it", inDot("os.Exit(0)"), 1, "os.Exit", ""},
		{"goexit-in-it", "import \"runtime\"\n" + inDot("runtime.Goexit()"), 1, "Goexit", ""},
		{"fatal", "import \"log\"\nlog.Fatal(1)", 1, "exit status 1", ""},
		{"recursion", inDot("dot(x, y)"), 1, "stack", ""},
		{"flood", "for { fmt.Println(\"all work and no play\") }", 1, stopped, ""},
		{"flood-beside", "go func() { for { fmt.Println(1) } }()\n" + dot, 3, "", ""},
		{"heap", "var l [][]byte\nfor { l = append(l, make([]byte, 1<<20)) }", 1, "memory", ""},
		{"tensors", "var l []tensor.Tensor\ndata := make([]byte, 1<<25)\nfor { l = append(l, tensor.FromBytes(dtype.U8, data, 1<<25)) }", 1, "memory", ""},
		{"crash", "m := map[int]int{}\nfor i := range 8 { go func() { for { m[i]++ } }() }\ntime.Sleep(time.Minute)", 1, "concurrent map", "ended the process"},
		{"shut", "os.Stdout.Close()\nos.NewFile(1, \"out\").Close()\n" + dot, 3, "", ""},
		{"forged", "os.NewFile(1, \"out\").WriteString(\"\\n{\\\"Word\\\":\\\"\\\",\\\"Step\\\":\\\"check dot\\\"}\\n\")\nos.Exit(0)", 1, "exit status 0", ""},
		{"hides-check", "check := 3\n" + dot, 0, "check", ""},
		{"hides-new", "func New() int { return 3 }\n" + dot, 3, "", ""},
		{"net", "import \"net\"\n" + dot, 1, "package net: not available here", ""},
		{"exec", "import \"os/exec\"\n" + dot, 1, "package os/exec: not available here", ""},
		{"data", "text, err := os.ReadFile(\"numbers.csv\")\nif err != nil || string(text) != \"1,2\\n\" { panic(err) }\n" + dot, 3, "", ""},
		{"shown", dot + "\n\n// %%\nvar none []int\nnone[3]\n// > In[..]: panic: runtime error: index out of range[..]\n// > ...", 3, "", ""},
		{"given", "ones := tensor.Ones(4)\n" + dot, 2, "", "declares ones, which the lesson gives, as something else"},
	}
	if !long.CI() { // of each kind one; what does not end is in mcs grade's example, too
		cases = slices.DeleteFunc(cases, func(a answer) bool {
			return slices.Contains([]string{"loop", "goexit-in-it", "flood-beside", "tensors", "shut", "hides-check", "shown", "exit"}, a.name)
		})
	}
	if !long.Tests() {
		cases = slices.DeleteFunc(cases, func(a answer) bool {
			return slices.Contains([]string{"loop-in-it", "fatal", "heap", "hides-new", "exec", "flood"}, a.name)
		})
	}
	files, endless := map[string]string{}, map[string]string{}
	for _, c := range cases {
		if c.wrong == stopped {
			endless[c.name+".mcs"] = handedIn(c.dot, "")
		} else {
			files[c.name+".mcs"] = handedIn(c.dot, "")
		}
	}
	// What exceeds the limit has touched as much, in 8 s on a busy machine. What does not end has the least
	// time that mcs grade takes.
	reports := graded(t, files, Options{Jobs: 4, Memory: 1 << 28})
	if len(endless) > 0 {
		reports = append(reports, graded(t, endless, Options{Jobs: 1, Memory: 1 << 28, Time: 8 * time.Second})...)
	}
	for _, c := range cases {
		r := reports[slices.IndexFunc(reports, func(r *Report) bool { return r.Learner == c.name })]
		points, of := r.Points()
		m, remarks := r.Marks[0], strings.Join(r.Remarks, "\n")
		if c.wrong == "memory" && remarks != "" { // the process noticed before the session, perhaps at each check
			c.points, c.remark = min(points, c.points), "memory"
		}
		if points != c.points || of != 3 || (m.Wrong == "") != (c.wrong == "") || !strings.Contains(m.Wrong, c.wrong) || !strings.Contains(remarks, c.remark) || c.remark == "" && remarks != "" {
			t.Errorf("%s: got %d of %d points, %q, remarks %q; want %d, %q, %q", c.name, points, of, m.Wrong, remarks, c.points, c.wrong, c.remark)
		}
		if strings.Contains(m.Wrong, "tensor.Ones(3), tensor.Ones(3)") {
			t.Errorf("%s: shows the check: %q", c.name, m.Wrong)
		}
	}
}

// TestChanged: what a learner has left out or changed of the lesson is named, and so is what cannot be read.
func TestChanged(t *testing.T) {
	whole := handedIn("", "")
	without := strings.Replace(whole, "// %%\n"+given+"\n\n", "", 1)
	for name, c := range map[string]struct {
		files  map[string]string
		points int
		remark string
	}{
		"as given":     {map[string]string{"a.mcs": whole}, 3, ""},
		"a folder":     {map[string]string{"a/l.mcs": whole, "a/other.mcs": "x := 1\n"}, 3, ""},
		"one file":     {map[string]string{"a/mine.mcs": whole}, 3, ""},
		"two files":    {map[string]string{"a/x.mcs": whole, "a/y.mcs": whole}, 0, "got x.mcs, y.mcs, want l.mcs or one file only"},
		"nothing":      {map[string]string{"a/notes.txt": "x"}, 0, "nothing was handed in"},
		"no notebook":  {map[string]string{"a.ipynb": "{"}, 0, "a.ipynb: got no notebook"},
		"the same key": {map[string]string{"a/l.mcs": whole, "a/l.key.mcs": keyText}, 3, ""},
		"a key":        {map[string]string{"a/l.mcs": whole, "a/l.key.mcs": "// %% check dot\n"}, 3, "they have another key than yours"},
		"a broken key": {map[string]string{"a/l.mcs": whole, "a/l.key": "x"}, 3, "they have another key than yours"},
		"deleted":      {map[string]string{"a.mcs": without}, 2, "the given cell of line 5 is deleted"},
		"changed":      {map[string]string{"a.mcs": strings.Replace(whole, "Ones(3)", "Ones(4)", 1)}, 2, "a.mcs:2: the given cell of line 5 is changed"},
		"missing":      {map[string]string{"a.mcs": strings.Replace(whole, "exercise twice", "twice", 1)}, 2, "exercise twice is missing"},
		"fails":        {map[string]string{"a.mcs": whole + "// %%\npanic(1)\n"}, 3, "a.mcs:10: panic: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := graded(t, c.files, Options{})[0]
			points, _ := r.Points()
			if remarks := strings.Join(r.Remarks, "\n"); r.Learner != "a" || points != c.points || !strings.Contains(remarks, c.remark) || c.remark == "" && remarks != "" {
				t.Errorf("got %s with %d points, %q; want %d, %q", r.Learner, points, remarks, c.points, c.remark)
			}
		})
	}
}

// TestPage: a page has the points, the cells with what they have put out, and what the checks say.
func TestPage(t *testing.T) {
	page := ""
	r := graded(t, map[string]string{"<b>.mcs": handedIn("fmt.Println(\"printed\", 6*7)\ntensor.Ones(2).Add(40)", "")},
		Options{Pages: true, Done: func(r *Report) { page = r.Page() }})[0]
	for _, want := range []string{"printed 42", "41", "dot is not declared, and the exercise asks for it", "1 of 3 points", "&lt;b&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "<b>") {
		t.Error("a name is markup")
	}
	if text := Table([]*Report{r}).Text(80); !strings.Contains(text, "<b>      ✗    ✓      1 of 3") {
		t.Errorf("got the table\n%s", text)
	}
	if text := string(CSV([]*Report{r})); text != "learner,file,dot,twice,points,of,remarks\n<b>,"+r.File+",0,1,1,3,\n" {
		t.Errorf("got %q", text)
	}
}

// TestStop: reports that are there when a person stops are kept.
func TestStop(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	path := filepath.Join(write(t, map[string]string{"l.mcs": lessonText, "l.key.mcs": keyText}), "l.mcs")
	hands, err := Hands(write(t, map[string]string{"a.mcs": handedIn("", ""), "b.mcs": handedIn("for {}", ""), "c.mcs": handedIn("", "")}), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("MCS_GRADE_WORK", "1")
	program, _ := os.Executable()
	list, err := Grade(ctx, path, hands, Options{Time: time.Hour, Memory: 1 << 30, Jobs: 1, Command: func() *exec.Cmd { return exec.Command(program) },
		Done: func(*Report) { time.AfterFunc(300*time.Millisecond, func() { stop(enough) }) }})
	if !errors.Is(err, enough) || len(list) != 1 || list[0].Learner != "a" {
		t.Errorf("got %d reports, %v", len(list), err)
	}
}

// TestMany: 200 files, of which every other one means harm, cost only themselves.
func TestMany(t *testing.T) {
	long.Only(t, "200 processes and more")
	kinds := []struct {
		dot    string
		points int
	}{
		{"", 3}, {"for {}", 1}, {"", 3}, {"m := map[int]int{}\nfor i := range 8 { go func() { for { m[i]++ } }() }\ntime.Sleep(time.Minute)", 1},
		{"", 3}, {"for { fmt.Println(\"all work and no play\") }", 1}, {"", 3}, {"var l [][]byte\nfor { l = append(l, make([]byte, 1<<20)) }", 1},
		{"", 3}, {"os.Exit(0)", 1},
	}
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("learner-%03d.mcs", i)] = handedIn(kinds[i%len(kinds)].dot, "")
	}
	start := time.Now()
	reports := graded(t, files, Options{Jobs: runtime.NumCPU(), Pages: true, Done: func(r *Report) { _ = r.Page() }})
	for i, r := range reports {
		if points, _ := r.Points(); points != kinds[i%len(kinds)].points {
			t.Errorf("%s: got %d points, %q, %v", r.Learner, points, r.Marks[0].Wrong, r.Remarks)
		}
	}
	t.Logf("%d files in %v", len(reports), time.Since(start).Round(time.Second))
}

// TestFence: where the kernel has Landlock, cells write in the folder of their process only.
func TestFence(t *testing.T) {
	if !fences() {
		t.Skip("the kernel has no Landlock")
	}
	outside := filepath.Join(t.TempDir(), "outside")
	r := graded(t, map[string]string{
		"a.mcs": handedIn(fmt.Sprintf("if err := os.WriteFile(\"inside\", nil, 0o600); err != nil { panic(err) }\nos.WriteFile(%q, nil, 0o600)\n%s", outside, dot), ""),
	}, Options{Jobs: 1})[0]
	if _, err := os.Stat(outside); err == nil || !strings.Contains(r.Marks[0].Wrong, "permission denied") {
		t.Errorf("got %q, and %v for the file outside", r.Marks[0].Wrong, err)
	}
}
