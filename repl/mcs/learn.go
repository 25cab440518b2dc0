package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/magics"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/journal"
	"github.com/mcs-notebook/mcs/repl/lesson"
	"github.com/mcs-notebook/mcs/repl/runner"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/repl/term"
	"github.com/mcs-notebook/mcs/repl/web"
)

func learnCommand() *cobra.Command {
	page, seal, test, port, limit := false, false, false, 0, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "learn FOLDER | learn --seal FOLDER TO | learn --test FOLDER",
		Short: "Take the lessons of a folder",
		Long: `learn goes through the lessons of a folder, .mcs files in the order of their names: Return runs the cell at the prompt and
brings the next one. An exercise stays until its check accepts the answer. %hint helps, %solution shows one after a try,
%progress says how far you are, %lesson N goes to another lesson. What you do is kept in FOLDER/work, and mcs learn goes
on where you were; FOLDER/work/LESSON.mcs is the file to hand in.

For teachers: --test runs each solution and each wrong answer of the keys (LESSON.key.mcs) and compares what the checks
say; --seal writes the folder that learners get, whose keys cannot be read. docs/guide/teaching.md says more.`,
		Example: "  mcs learn workshop\n  mcs learn workshop --web\n  mcs learn --test workshop --timeout 2s\n  mcs learn --seal workshop workshop-for-you",
		Args: func(_ *cobra.Command, args []string) error {
			want := 1
			if seal {
				want = 2
			}
			switch {
			case page && (seal || test) || seal && test:
				return errors.New("learn: got several of --web, --seal and --test, want one")
			case len(args) != want:
				return fmt.Errorf("learn: got %d folders, takes %d", len(args), want)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch {
			case seal:
				err = lesson.Seal(args[0], args[1])
			case test:
				return testLessons(cmd.Context(), args[0], limit)
			case page:
				err = learnOnPage(cmd.Context(), args[0], port)
			default:
				err = learnInTerminal(cmd.Context(), args[0])
			}
			return ofCommand("learn", err)
		},
	}
	cmd.Flags().BoolVar(&page, "web", false, "in a browser, as mcs web shows a notebook")
	cmd.Flags().IntVar(&port, "port", 0, "with --web, listen on port `N`; 0 is a free one")
	cmd.Flags().BoolVar(&seal, "seal", false, "write the lessons into the folder TO with keys that cannot be read")
	cmd.Flags().BoolVar(&test, "test", false, "run the solutions and wrong answers of the keys, and compare what the checks say")
	cmd.Flags().DurationVar(&limit, "timeout", 10*time.Second, "with --test, stop an answer and its check after `TIME`")
	return cmd
}

// courseMagics are the table of commands with those of a course.
func courseMagics(t *lesson.Tutor) magics.Table {
	does := func(name string, do func() (display.Value, error)) func(context.Context, *session.Session, string) (display.Value, error) {
		return func(context.Context, *session.Session, string) (display.Value, error) { return named(name, do) }
	}
	return magics.Table{More: []*magics.Magic{{
		Name: "hint", Family: "Lessons", Summary: "a hint for the exercise; again, the next one",
		Example: "%hint", Do: does("hint", t.NextHint),
	}, {
		Name: "solution", Family: "Lessons", Summary: "a solution of the exercise, as the next cell",
		Help: "There is none before an answer of yours.", Example: "%solution", Do: does("solution", t.ShowSolution),
	}, {
		Name: "progress", Family: "Lessons", Summary: "the lessons, their exercises, and what you have done",
		Example: "%progress", Do: does("progress", t.Progress),
	}, {
		Name: "lesson", Family: "Lessons", Args: "[N|NAME]", Summary: "go to a lesson, or begin this one again where you are",
		Help:    "All names are forgotten; the cells of the lesson that you have run before run again.",
		Example: "%lesson 2\n%lesson gradients",
		Do: func(_ context.Context, _ *session.Session, args string) (display.Value, error) {
			return named("lesson", func() (display.Value, error) { return nil, t.GoTo(args) })
		},
	}}}
}

// named puts a command before its error.
func named(name string, do func() (display.Value, error)) (display.Value, error) {
	v, err := do()
	return v, ofCommand("%"+name, err)
}

// A guide is a tutor for the terminal.
type guide struct{ *lesson.Tutor }

// NextStep is the lesson with the step where the learner is.
func (g guide) NextStep() (term.File, bool) {
	name, cells, step, moved := g.Place()
	return term.File{Name: name, Path: g.Path(), Steps: steps(cells), At: step}, moved
}

func learnInTerminal(ctx context.Context, dir string) error {
	if !term.IsTerminal() || os.Getenv("TERM") == "dumb" {
		return errors.New("this needs a terminal whose cursor moves; --web shows the lessons in a browser")
	}
	t, err := lesson.NewTutor(dir, false)
	if err != nil {
		return err
	}
	defer t.Close()
	table := courseMagics(t)
	return term.Run(ctx, term.Options{
		Open: func(o session.Options) (term.Session, error) {
			o.Commands = table
			return guide{t}, t.Begin(o)
		},
		Complete: func(cell string, pos int) (int, []session.Completion) { return table.Complete(t.Session, cell, pos) },
		Banner:   banner() + "\n" + t.Welcome(),
		Begin: func(run func(cell string) session.Result) term.File {
			run("%lesson")
			f, _ := guide{t}.NextStep()
			return f
		},
	})
}

func learnOnPage(ctx context.Context, dir string, port int) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	t, err := lesson.NewTutor(dir, true)
	if err != nil {
		return err
	}
	defer t.Close()
	kept, err := journal.Place("web")
	if err != nil {
		return err
	}
	table := courseMagics(t)
	return web.Run(ctx, web.Options{
		Options: runner.Options{
			Open: func(o session.Options) (runner.Session, error) {
				o.Commands = table
				return t, t.Begin(o)
			},
			Complete: func(cell string, pos int) (int, []session.Completion) { return table.Complete(t.Session, cell, pos) },
			Inspect:  func(name string, all bool) (display.Value, error) { return table.Inspect(t.Session, name, all) },
		},
		Dir: kept, Port: port, Log: os.Stdout, Notice: t.Welcome(),
		Follow:    t.Turned,
		Variables: func() (display.Value, error) { return table.Run(ctx, t.Session, "%whos") },
	})
}

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
