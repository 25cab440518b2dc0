package examples

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/lesson"
	"github.com/mcs-notebook/mcs/repl/session"
)

// TestWorkshop: every exercise has a solution that its check accepts and five wrong answers that it refuses
// in the words that the key says; and the lessons, with the exercises as learners get them, put out what they
// say.
func TestWorkshop(t *testing.T) {
	lessons, err := lesson.ReadFolder("workshop")
	if err != nil || len(lessons) != 6 {
		t.Fatalf("got %d lessons and error %v, want 6", len(lessons), err)
	}
	for _, l := range lessons {
		t.Run(l.Name, func(t *testing.T) {
			if l.Name >= "4" {
				long.InCI(t, "measures and trains")
			}
			if len(l.Exercises) < 3 {
				t.Errorf("got %d exercises, want three", len(l.Exercises))
			}
			for i := range l.Exercises {
				e := &l.Exercises[i]
				if len(e.Wrong) < 5 || len(e.Hints) == 0 {
					t.Fatalf("exercise %s: got %d wrong answers and %d hints, want five and one", e.Name, len(e.Wrong), len(e.Hints))
				}
				if !long.Tests() { // each runs the cells before it again
					e.Wrong = e.Wrong[i%5:][:1]
				}
			}
			err := l.Test(t.Context(), lesson.TestOptions{
				Open: func() (*session.Session, error) {
					return session.New(session.Options{Script: true, Commands: magics.Table{}})
				},
				Limit: time.Minute,
				Done: func(_ *lesson.Lesson, _ *lesson.Exercise, _ time.Duration, problems []string) {
					if len(problems) > 0 {
						t.Error(strings.Join(problems, "\n"))
					}
				},
			})
			if err != nil {
				t.Error(err)
			}
			run(t, filepath.Join("workshop", l.Name+".mcs"), nil)
		})
	}
}
