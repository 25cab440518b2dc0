package lesson

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/session"
)

// TestOptions say how lessons are tested.
type TestOptions struct {
	// Open starts a session for a lesson.
	Open func() (*session.Session, error)
	// Limit is how long an answer and its check may run, each.
	Limit time.Duration
	// Done is called for each exercise, and with a nil one for the cells of a lesson.
	Done func(l *Lesson, e *Exercise, took time.Duration, problems []string)
}

// Test tries what a key says of a lesson. All cells run with the solutions, which the checks must accept;
// each wrong answer is tried in a session of its own behind the cells before it, and must be refused in the
// words that the key expects. The error is of ctx, or of starting a session.
func (l *Lesson) Test(ctx context.Context, o TestOptions) error {
	begun := time.Now()
	problems, err := l.testSolutions(ctx, o)
	if err != nil {
		return err
	}
	o.Done(l, nil, time.Since(begun), problems[nil])
	for i := range l.Exercises {
		e, start := &l.Exercises[i], time.Now()
		list := problems[e]
		for k := range e.Wrong {
			problem, err := l.testWrong(ctx, o, e, &e.Wrong[k])
			if err != nil {
				return err
			}
			if problem != "" {
				list = append(list, problem)
			}
		}
		o.Done(l, e, time.Since(start), list)
	}
	return nil
}

// testSolutions runs all cells with the solutions in one session.
func (l *Lesson) testSolutions(ctx context.Context, o TestOptions) (problems map[*Exercise][]string, err error) {
	s, err := o.Open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	problems = map[*Exercise][]string{}
	for _, c := range l.File.Code() {
		e := l.Of(c)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case e == nil:
			if r := s.Run(ctx, c.Source); r.Err != nil && !(c.Checked && script.Match(c.Want, visible.Text(r.Err.Error()))) { // which a lesson may show on purpose
				problems[nil] = append(problems[nil], fmt.Sprintf("%s: this cell fails where the exercises before it are solved:\n%s", l.File.At(c.Line), indented(r.Err)))
			}
		case e.Solution == "":
			problems[e] = append(problems[e], "there is no solution")
			s.Run(ctx, c.Source)
		default:
			if err := l.try(ctx, s, e, e.Solution, o.Limit); err != nil {
				problems[e] = append(problems[e], fmt.Sprintf("%s: the solution is refused:\n%s", visible.Line(l.Key.Name), indented(teachers(err))))
			} else if len(e.asks()) == 0 {
				problems[e] = append(problems[e], fmt.Sprintf("%s: the check uses no name that the solution declares, by which answers are known", visible.Line(l.Key.Name)))
			}
		}
	}
	return problems, nil
}

// testWrong tries a wrong answer, and says what is wrong with how it is refused.
func (l *Lesson) testWrong(ctx context.Context, o TestOptions, e *Exercise, w *Wrong) (problem string, err error) {
	s, err := o.Open()
	if err != nil {
		return "", err
	}
	defer s.Close()
	for _, c := range l.File.Code() {
		before := l.Of(c)
		if before == e {
			break
		}
		source := c.Source
		if before != nil && before.Solution != "" {
			source = before.Solution
		}
		s.Run(ctx, source) // testSolutions says what fails
	}
	err = l.try(ctx, s, e, w.Answer, o.Limit)
	at := fmt.Sprintf("%s: wrong %s", l.Key.At(w.Line), e.Name)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err == nil:
		return at + ": the check accepts it", nil
	case w.Want == nil:
		return "", nil
	}
	text := strings.TrimRight(visible.Text(err.Error()), "\n")
	if diff := script.Diff(w.Want, text); diff != "" {
		problem = fmt.Sprintf("%s: refused in other words (- expected, + got)\n%s", at, indented(errors.New(diff)))
		if cause := teachers(err); cause != err {
			problem += "\n  the check's error:\n" + indented(cause)
		}
	}
	return problem, nil
}

// try runs an answer and its check.
func (l *Lesson) try(ctx context.Context, s *session.Session, e *Exercise, answer string, limit time.Duration) error {
	within := func(do func(ctx context.Context) error) error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		kill := time.AfterFunc(limit+killAfter, s.Kill)
		defer kill.Stop()
		err := do(limited)
		if errors.Is(err, session.ErrInterrupted) && ctx.Err() == nil {
			return fmt.Errorf("it does not end within %s", units.Duration(limit))
		}
		return err
	}
	if err := within(func(ctx context.Context) error { return s.Run(ctx, answer).Err }); err != nil {
		return err
	}
	return within(func(ctx context.Context) error { return l.Judge(ctx, s, e) })
}

// killAfter is how long code that was stopped may take to end.
const killAfter = 2 * time.Second

// teachers is the error of a check as a teacher sees it.
func teachers(err error) error {
	refusal := new(Refusal)
	if errors.As(err, &refusal) && refusal.Err != nil && errors.As(refusal.Err, new(*session.CheckError)) {
		return refusal.Err
	}
	return err
}

func indented(err error) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(visible.Text(err.Error()), "\n"), "\n", "\n    ")
}
