package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/lesson"
	"github.com/mcs-notebook/mcs/repl/session"
)

// testLessons is `mcs learn --test`.
func testLessons(ctx context.Context, dir string, limit time.Duration) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	lessons, err := lesson.ReadFolder(dir)
	if err != nil {
		return fmt.Errorf("learn: %w", err)
	}
	failed, exercises, wrong := 0, 0, 0
	for _, l := range lessons {
		if l.Key == nil && len(l.Exercises) > 0 {
			fmt.Printf("FAIL  %s  has %s and no key\n", visible.Line(l.Name), units.Plural(int64(len(l.Exercises)), "exercise"))
			failed++
			continue
		}
		err := l.Test(ctx, lesson.TestOptions{
			Limit: limit,
			Open: func() (*session.Session, error) {
				return openSession(session.Options{Script: true, Dir: dir, Source: dir})
			},
			Done: func(l *lesson.Lesson, e *lesson.Exercise, took time.Duration, problems []string) {
				name, what := l.Name, "all cells with the solutions"
				if e != nil {
					name, what = l.Name+" "+e.Name, units.Plural(int64(len(e.Wrong)), "wrong answer")
					exercises, wrong = exercises+1, wrong+len(e.Wrong)
				}
				word := "ok   "
				if len(problems) > 0 {
					word = "FAIL "
					failed++
				}
				fmt.Printf("%s %s  %s, %s\n", word, visible.Line(name), what, units.Duration(took))
				for _, p := range problems {
					fmt.Println(p)
				}
			},
		})
		if code, ok := stoppedBy(ctx); ok {
			return code
		}
		if err != nil {
			return fmt.Errorf("learn: %w", err)
		}
	}
	fmt.Printf("%s, %s, %s\n", units.Plural(int64(len(lessons)), "lesson"), units.Plural(int64(exercises), "exercise"), units.Plural(int64(wrong), "wrong answer"))
	if failed > 0 {
		return exitCode(exitFailed)
	}
	return nil
}
