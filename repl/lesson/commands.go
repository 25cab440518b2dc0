package lesson

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/display/prose"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A remark is a line in the colour of its role: Good about a right answer, Bad about what went wrong.
type remark struct {
	text string
	role display.Role
}

func (r remark) Text(int) string { return r.text }
func (r remark) StyledText(_ int, style display.Style) string {
	return style.Paint(r.role, r.text)
}

// praise says that an answer is right, and what comes behind the lesson's last one.
func (t *Tutor) praise(e *Exercise) string {
	text := e.Name + " is right"
	switch {
	case e.Check == "":
		text = e.Name + " is kept; it has no check here"
	case e.Points > 0:
		text += ": " + units.Plural(int64(e.Points), "point")
	}
	l := t.lesson()
	if right, all := t.count(l); right == all && all > 0 {
		text += fmt.Sprintf("\nall exercises of %s are done", l.Name)
		if t.at+1 < len(t.lessons) {
			text += fmt.Sprintf("; %%lesson %d goes on with %s", t.at+2, t.lessons[t.at+1].Name)
		}
	}
	return "✓ " + text
}

// refusal says what is wrong with an answer, and where help is.
func (t *Tutor) refusal(e *Exercise, a *attempt, words string) string {
	text := e.Name + " is not right yet\n  " + strings.ReplaceAll(words, "\n", "\n  ")
	var help []string
	if n := len(e.Hints) - a.Hints; n > 0 {
		help = append(help, fmt.Sprintf("%%hint helps (%d left)", n))
	}
	if e.Solution != "" && a.Tries > 0 {
		help = append(help, "%solution shows one")
	}
	if len(help) > 0 {
		text += "\n" + strings.Join(help, " · ")
	}
	return text
}

// count counts the exercises of a lesson.
func (t *Tutor) count(l *Lesson) (right, all int) {
	for i := range l.Exercises {
		if all++; t.work.of(l).of(&l.Exercises[i]).Right {
			right++
		}
	}
	return right, all
}

// current is the exercise at which the learner is: the step's, or the one that was answered last and is not
// right yet, or else the first that is not.
func (t *Tutor) current() (*Exercise, error) {
	l := t.lesson()
	if t.step < len(t.steps) && !t.pages {
		if e := l.Of(t.steps[t.step]); e != nil {
			return e, nil
		}
	}
	if e := l.Exercise(t.last); e != nil && !t.state().of(e).Right {
		return e, nil
	}
	for i := range l.Exercises {
		if e := &l.Exercises[i]; !t.state().of(e).Right {
			return e, nil
		}
	}
	return nil, fmt.Errorf("no exercise of %s is left", l.Name)
}

// NextHint gives the next hint of the exercise, and all of them after the last.
func (t *Tutor) NextHint() (display.Value, error) {
	t.moved = true // the step comes again
	e, err := t.current()
	if err != nil {
		return nil, err
	}
	a, n := t.state().of(e), len(e.Hints)
	if n == 0 {
		return nil, fmt.Errorf("%s has no hints", e.Name)
	}
	from, to := a.Hints, a.Hints+1
	if from >= n {
		from, to = 0, n
	}
	a.Hints = max(a.Hints, to)
	var parts []string
	for i := from; i < to; i++ {
		parts = append(parts, fmt.Sprintf("**%s, hint %d of %d.** %s", e.Name, i+1, n, e.Hints[i]))
	}
	return prose.Markdown(strings.Join(parts, "\n\n")), t.work.save()
}

// ShowSolution offers the solution of the exercise, in the terminal as the next cell, once there was an
// answer.
func (t *Tutor) ShowSolution() (display.Value, error) {
	t.moved = true // the step comes again
	e, err := t.current()
	if err != nil {
		return nil, err
	}
	a := t.state().of(e)
	switch {
	case e.Solution == "":
		return nil, fmt.Errorf("%s has no solution here", e.Name)
	case a.Tries == 0:
		return nil, fmt.Errorf("try %s first: a solution is shown after an answer that is not right", e.Name)
	}
	a.Solution, t.offered = true, e.Solution
	if i := t.stepOf(e); i >= 0 {
		t.step = i
	}
	if t.pages {
		return prose.Markdown("A solution, to copy into the cell of " + e.Name + ":\n\n" + display.Fenced("go", e.Solution)), t.work.save()
	}
	return display.Lines("a solution of " + e.Name + " is the next cell: Return runs it"), t.work.save()
}

// Progress is a table of the exercises, what the learner has done, and where the learner is.
func (t *Tutor) Progress() (display.Value, error) {
	t.moved = true // the step comes again
	table := display.NewTable("lesson", "exercise", "state", ">tries", ">hints", ">points")
	got, all := 0, 0
	for i, l := range t.lessons {
		name := fmt.Sprintf("%d %s", i+1, l.Name)
		if len(l.Exercises) == 0 {
			table.Add(name)
		}
		for k := range l.Exercises {
			e := &l.Exercises[k]
			a := t.work.of(l).of(e)
			state, role, points := "", display.Plain, 0
			switch {
			case a.Right && a.Solution:
				state, role, points = "right, after the solution", display.Good, e.Points
			case a.Right:
				state, role, points = "right", display.Good, e.Points
			case a.Tries > 0:
				state, role = "not yet", display.Bad
			}
			got, all = got+points, all+e.Points
			table.Add(name, e.Name, display.Cell{Text: state, Role: role}, blank(a.Tries), blank(a.Hints), fmt.Sprintf("%d/%d", points, e.Points))
			name = ""
		}
	}
	at := fmt.Sprintf("you are in lesson %d, %s", t.at+1, t.lesson().Name)
	if e, err := t.current(); err == nil {
		at += ", at " + e.Name
	}
	table.Foot = fmt.Sprintf("%d of %s · %s · %%lesson N goes to another", got, units.Plural(int64(all), "point"), at)
	return table, nil
}

func blank(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// GoTo goes to a lesson, by its number or its name or a part of it, or to the one where the learner is, once
// the cell with the command has ended: the session begins anew with the cells that the learner has run in it.
func (t *Tutor) GoTo(which string) (err error) {
	t.going, err = t.find(which)
	return err
}

// arrive ends what GoTo has begun.
func (t *Tutor) arrive(ctx context.Context, r *session.Result) {
	at := t.going
	if t.going = -1; at < 0 {
		return
	}
	if err := t.turn(at); err != nil {
		r.Err = err
		return
	}
	t.Session.Reset()
	l := t.lesson()
	right, all := t.count(l)
	head := fmt.Sprintf("lesson %d of %d, %s", t.at+1, len(t.lessons), l.Name)
	if all > 0 {
		head += fmt.Sprintf(": %d of %s right", right, units.Plural(int64(all), "exercise"))
	}
	said := []string{head}
	if !t.pages {
		said = append(said, t.again(ctx)...)
	}
	t.show(r, display.Lines(strings.Join(said, "\n")))
}

func (t *Tutor) find(which string) (int, error) {
	if which == "" {
		return t.at, nil
	}
	if n, err := strconv.Atoi(which); err == nil && n >= 1 && n <= len(t.lessons) {
		return n - 1, nil
	}
	found := -1
	for i, l := range t.lessons {
		switch {
		case l.Name == which:
			return i, nil
		case !strings.Contains(l.Name, which):
		case found >= 0:
			return 0, fmt.Errorf("got %s, which may be %s or %s", visible.Line(which), t.lessons[found].Name, l.Name)
		default:
			found = i
		}
	}
	if found < 0 {
		return 0, fmt.Errorf("got %s, want a number from 1 to %d or a name; %%progress lists the lessons", visible.Line(which), len(t.lessons))
	}
	return found, nil
}

// Welcome is a line about the lessons and what is done of them.
func (t *Tutor) Welcome() string {
	right, all, checked := 0, 0, false
	for _, l := range t.lessons {
		r, a := t.count(l)
		right, all = right+r, all+a
		for i := range l.Exercises {
			checked = checked || l.Exercises[i].Check != ""
		}
	}
	text := fmt.Sprintf("%s · %d of %s right · %%hint · %%solution · %%progress · %%lesson N", units.Plural(int64(len(t.lessons)), "lesson"), right, units.Plural(int64(all), "exercise"))
	if !checked && all > 0 {
		text += "\nno key lies here: answers are kept and not checked"
	}
	return text
}
