package lesson

import (
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// tried are the problems that a test of a lesson finds, of its cells and of each exercise.
func tried(t *testing.T, l *Lesson) (problems []string) {
	t.Helper()
	err := l.Test(t.Context(), TestOptions{
		Limit: time.Second,
		Open:  func() (*session.Session, error) { return session.New(session.Options{Script: true}) },
		Done: func(_ *Lesson, e *Exercise, _ time.Duration, list []string) {
			problems = append(problems, strings.Join(list, "\n"))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// TestTestdata: wrong answers of many kinds are refused in the words that the key expects: another value and
// shape, an endless loop, a panic, a package that is hidden, another signature, no Go.
func TestTestdata(t *testing.T) {
	lessons, err := ReadFolder("testdata/course")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lessons {
		if got := strings.Join(tried(t, l), ""); got != "" {
			t.Errorf("%s: %s", l.Name, got)
		}
	}
}

// TestTest: what a teacher got wrong is found.
func TestTest(t *testing.T) {
	const given = "// %%\nlimit := 3\n// %% exercise f\nf := 0\n// %%\nf / (f - limit)\n"
	for _, c := range []struct{ name, key, cells, exercise string }{
		{"all is well", "// %% check f\ncheck.Equal(t, f, 2)\n// %% solution f\nf := 2\n// %% wrong f\nf := 1\n// > got 1, want 2\n", "", ""},
		{"a wrong answer is right", "// %% check f\ncheck.That(t, f > 0, \"f is 0\")\n// %% solution f\nf := 2\n// %% wrong f\nf := 1\n", "", "k.mcs:6: wrong f: the check accepts it"},
		{"other words", "// %% check f\ncheck.Equal(t, f, 2)\n// %% solution f\nf := 2\n// %% wrong f\nf := 1\n// > got 5\n", "", "- got 5\n    + got 1, want 2"},
		{"a wrong solution", "// %% check f\ncheck.Equal(t, f, 2)\n// %% solution f\nf := 1\n", "", "k.mcs: the solution is refused:\n    got 1, want 2"},
		{"a check that is no Go", "// %% check f\ncheck.Equal(t, f, )\n// %% solution f\nf := 1\n", "", "not enough arguments"},
		{"no solution", "// %% check f\ncheck.Equal(t, f, 2)\n", "", "there is no solution"},
		{"a check of nothing", "// %% check f\ncheck.Equal(t, limit, 3)\n// %% solution f\nf := 2\n", "", "uses no name that the solution declares"},
		{"a cell that fails then", "// %% check f\ncheck.Equal(t, f, 3)\n// %% solution f\nf := 3\n", "l.mcs:6: this cell fails where the exercises before it are solved:\n    In[3]:1:1: panic: runtime error: integer divide by zero", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := New(mcsfile.Parse("l.mcs", given), mcsfile.Parse("k.mcs", c.key))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{c.cells, c.exercise} {
				if got := tried(t, l)[i]; !strings.Contains(got, want) || want == "" && got != "" {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}
