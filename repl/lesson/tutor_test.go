package lesson

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// commands are a course's, as the program makes them.
type commands struct{ t *Tutor }

func (c commands) Run(_ context.Context, s *session.Session, line string) (display.Value, error) {
	name, args, _ := cell.ParseCommand(line)
	switch name {
	case "hint":
		return c.t.NextHint()
	case "solution":
		return c.t.ShowSolution()
	case "progress":
		return c.t.Progress()
	case "del":
		return nil, s.Delete(args)
	}
	return nil, c.t.GoTo(strings.TrimSpace(args))
}

// A learner is one who takes the lessons of a folder.
type learner struct {
	t *testing.T
	*Tutor
}

// course is a copy of the folder in testdata.
func course(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/course")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func learn(t *testing.T, dir string, pages bool) *learner {
	t.Helper()
	tutor, err := NewTutor(dir, pages)
	if err == nil {
		err = tutor.Begin(session.Options{Commands: commands{tutor}, Stdout: io.Discard})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tutor.Close() })
	l := &learner{t, tutor}
	l.says(l.Run(t.Context(), "%lesson"), "lesson")
	return l
}

// says checks what a cell has shown and complained about.
func (l *learner) says(r session.Result, wants ...string) {
	l.t.Helper()
	text := ""
	for _, v := range r.Shown {
		text += v.Text(80) + "\n"
	}
	if r.Err != nil {
		text += r.Err.Error()
	}
	for _, want := range wants {
		if !strings.Contains(text, want) {
			l.t.Errorf("got\n%s\nwant %s", text, want)
		}
	}
}

// submit runs the step that comes next, with another text unless it is empty.
func (l *learner) submit(text string, wants ...string) {
	l.t.Helper()
	_, cells, step, _ := l.Place()
	if text == "" {
		text = stepsOf(cells)[step]
	}
	l.says(l.RunStep(l.t.Context(), step, text), wants...)
}

func stepsOf(cells []mcsfile.Cell) (list []string) {
	for _, c := range cells {
		if !c.Markdown {
			list = append(list, c.Source)
		}
	}
	return list
}

// at checks which step comes next.
func (l *learner) at(want string) {
	l.t.Helper()
	_, cells, step, _ := l.Place()
	got := "the end"
	if list := stepsOf(cells); step < len(list) {
		got = list[step]
	}
	if !strings.HasPrefix(got, want) {
		l.t.Errorf("the next step is %s, want %s", got, want)
	}
}

func (l *learner) run(text string, wants ...string) {
	l.t.Helper()
	l.says(l.Run(l.t.Context(), text), wants...)
}

func (l *learner) file(name string) string {
	text, err := os.ReadFile(filepath.Join(l.dir, WorkDir, name))
	if err != nil {
		l.t.Error(err)
	}
	return string(text)
}

const (
	rightDot = "func dot(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y).Sum() }"
	wrongDot = "func dot(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y) }"
)

// TestTutor is a learner's way through a lesson, who leaves in the middle and comes back.
func TestTutor(t *testing.T) {
	dir := course(t)
	l := learn(t, dir, false)
	l.at("x := tensor.Range(6)")
	l.submit("")
	l.submit("")
	l.at("func dot")
	l.run("%solution", "try dot first")
	l.submit("", "dot is not right yet", "got shape [3], want []", "%hint helps (2 left)")
	l.run("%solution", "try dot first") // what was given is no try
	l.submit("func dot(x tensor.Tensor) {", "missing }")
	l.submit(wrongDot, "got shape [3], want []")
	l.at(wrongDot)
	l.run("%hint", "dot, hint 1 of 2", "First multiply")
	l.run("%hint", "hint 2 of 2")
	l.run("%hint", "hint 1 of 2", "hint 2 of 2")
	l.run("1 + 1", "2")
	l.run("product := func(x, y tensor.Tensor) tensor.Tensor { return x }")
	l.run("product := func(x, y tensor.Tensor) tensor.Tensor { return x.Mul(y) }")
	l.submit("func dot(x, y tensor.Tensor) tensor.Tensor { return product(x, y).Sum() }", "✓ dot is right: 2 points")
	l.at("dot(tensor.Ones(3)")
	l.run("%progress", "right", "2/2", "0/1", "2 of 4 points", "at norm")
	l.Close()

	l = learn(t, dir, false)
	l.at("dot(tensor.Ones(3)")
	l.submit("", "3")
	l.run("%solution", "try norm first")
	l.submit("func norm(x tensor.Tensor) tensor.Tensor { return dot(x, x) }", "got 25, want 5")
	l.run("%solution", "the next cell")
	l.at("func norm(x tensor.Tensor) tensor.Tensor {\n\treturn dot(x, x).Sqrt()")
	l.submit("", "✓ norm is right", "all exercises of 01-sums are done; %lesson 2 goes on with 02-more")
	l.at("the end")
	l.run("%lesson mor", "lesson 2 of 2, 02-more: 0 of 1 exercise right")
	l.run("dot", "undefined: dot") // another session
	l.run("answer := 41", "got 41, want 42")
	l.run("answer := 42", "✓ answer is right")
	l.run("kept := 1")
	l.run("gone := 1")
	l.run("%del gone")
	if given := l.file("02-more.mcs"); strings.Contains(given, "gone") || !strings.Contains(given, "kept") {
		t.Errorf("the copy is\n%s", given)
	}
	l.run("%lesson 3", "want a number from 1 to 2")
	l.run("%lesson 0", "got 0, which may be 01-sums or 02-more")
	l.run("%progress", "right, after the solution", "4 of 4 points")
	given := l.file("01-sums.mcs")
	if n := strings.Count(given, "product := "); n != 1 || !strings.Contains(given, "product(x, y).Sum()") || strings.Contains(given, "1 + 1") {
		t.Errorf("the copy is\n%s", given)
	}
	if n := strings.Index(given, "product := "); n > strings.Index(given, "// %% exercise dot") {
		t.Error("a cell of the learner's own is behind the answer that needs it")
	}
	l.Close()
}

// TestTeacherChanges: the learner's answers, and cells of their own, stay in a lesson that is another.
func TestTeacherChanges(t *testing.T) {
	dir := course(t)
	l := learn(t, dir, false)
	l.submit("")
	l.submit("")
	l.run("helper := 1")
	l.submit(rightDot, "✓")
	l.Close()
	path := filepath.Join(dir, "01-sums.mcs")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "x.Sum()\n", "x.Mean()\n", 1)
	changed = strings.Replace(changed, "norm(x tensor.Tensor) tensor.Tensor {\n\treturn x", "norm(x tensor.Tensor) tensor.Tensor {\n\treturn x // here", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	l = learn(t, dir, false)
	l.at("dot(tensor.Ones(3)")
	_, cells, _, _ := l.Place()
	want := []string{"x := tensor.Range(6).Reshape(2, 3)\nx", "x.Mean()", "helper := 1", rightDot, "dot(tensor.Ones(3), tensor.Range(3))", "func norm(x tensor.Tensor) tensor.Tensor {\n\treturn x // here\n}"}
	if got := stepsOf(cells); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestPages: a front end that keeps the copies has its answers checked by what they declare.
func TestPages(t *testing.T) {
	dir := course(t)
	l := learn(t, dir, true)
	before := l.file("01-sums.mcs")
	if path, ran, ok := l.Turned(); !ok || ran != 0 || path != filepath.Join(dir, WorkDir, "01-sums.mcs") {
		t.Errorf("got %s, %d, %v", path, ran, ok)
	}
	l.run(wrongDot, "not right yet")
	l.says(l.RunTitled(t.Context(), "exercise dot", "func product() {}"), "dot is not right yet")
	l.run("%solution", "copy into the cell of dot", "x.Mul(y).Sum()")
	l.run(rightDot, "✓ dot is right")
	if l.file("01-sums.mcs") != before {
		t.Error("the tutor has written the page's copy")
	}
	l.run("%lesson")
	if _, ran, ok := l.Turned(); !ok || ran != 3 {
		t.Errorf("got %d cells to run again, %v, want 3", ran, ok)
	}
}

// TestInterrupt: an endless loop is stopped, is no try, and stays where it is.
func TestInterrupt(t *testing.T) {
	l := learn(t, course(t), false)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	r := l.RunStep(ctx, 2, "func dot(x, y tensor.Tensor) tensor.Tensor { for {} }")
	if !errors.Is(r.Err, session.ErrInterrupted) {
		t.Errorf("got %v", r.Err)
	}
	l.at("func dot(x, y tensor.Tensor) tensor.Tensor { for {} }")
	l.run("%solution", "try dot first")
}

// TestTrouble: what stands in the way of a course is said, and nothing is lost.
func TestTrouble(t *testing.T) {
	write := func(name, text string) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				return err
			}
			return os.WriteFile(path, []byte(text), 0o600)
		}
	}
	for _, c := range []struct {
		name string
		do   func(dir string) error
		want string
	}{
		{"no lessons", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "01-sums.mcs")) }, ""},
		{"none at all", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "01-sums.mcs")), os.Remove(filepath.Join(dir, "02-more.mcs")))
		}, "no lessons"},
		{"a file in the place of the work", write("work", ""), "cannot be written"},
		{"damaged progress", write("work/progress.json", `{"version": 1, "les`), "progress.json"},
		{"progress of another mcs", write("work/progress.json", `{"version": 7}`), "got version 7"},
		{"odd progress", write("work/progress.json", `{"version": 1, "lesson": "x", "lessons": {"01-sums": {"step": -5, "exercises": {"dot": null}}}}`), ""},
		{"a damaged key", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "01-sums.key.mcs")), write("01-sums.key", sealed+"x")(dir))
		}, "damaged"},
		{"a key of something else", func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "01-sums.key.mcs")), write("01-sums.key", "x")(dir))
		}, "want a sealed key"},
		{"no key", func(dir string) error { return os.Remove(filepath.Join(dir, "02-more.key.mcs")) }, ""},
		{"a copy without exercises", write("work/01-sums.mcs", "x := 1\n"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := course(t)
			if err := c.do(dir); err != nil {
				t.Fatal(err)
			}
			tutor, err := NewTutor(dir, false)
			if err == nil {
				tutor.Close()
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestTwo: two do not take the same lessons at a time.
func TestTwo(t *testing.T) {
	l := learn(t, course(t), false)
	if _, err := NewTutor(l.dir, false); err == nil || !strings.Contains(err.Error(), "another mcs learn works here") {
		t.Errorf("got %v", err)
	}
	l.Close()
	learn(t, l.dir, false)
}

// TestNotKept: a disk that takes no more is told of with the cell, and what is there stays.
func TestNotKept(t *testing.T) {
	l := learn(t, course(t), false)
	if err := os.RemoveAll(filepath.Join(l.dir, WorkDir)); err != nil {
		t.Fatal(err)
	}
	l.submit("", "what you did is not kept")
	l.submit("")
	l.submit(rightDot, "✓", "what you did is not kept")
}
