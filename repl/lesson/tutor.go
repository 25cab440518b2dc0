package lesson

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// A Tutor is a session in which a learner takes the lessons of a folder. It has the methods of a session, for
// front ends: Run checks a cell that answers an exercise, and keeps what the learner does. Begin starts the
// session.
type Tutor struct {
	*session.Session

	dir     string
	pages   bool
	lessons []*Lesson
	work    *work
	o       session.Options
	quiet   atomic.Bool // nothing is shown: cells run again

	at      int // the lesson
	cells   []*mcsfile.Cell
	steps   []*mcsfile.Cell        // those that the learner steps through
	own     map[*mcsfile.Cell]bool // those that the learner has added
	step    int
	offered string // a solution, in the place of the answer
	last    string // the exercise that was answered last
	going   int    // the lesson to which a command of the cell goes, or -1
	moved   bool   // the step is another, or has another text
	turned  bool   // the lesson is another, or begins again
}

// NewTutor opens a folder of lessons for a learner. Pages says that the front end keeps the learner's copies
// itself, as a page does that has all of a lesson in view.
func NewTutor(dir string, pages bool) (*Tutor, error) {
	lessons, err := ReadFolder(dir)
	if err != nil {
		return nil, err
	}
	w, err := openWork(dir)
	if err != nil {
		return nil, err
	}
	t := &Tutor{dir: dir, pages: pages, lessons: lessons, work: w, going: -1}
	at := max(slices.IndexFunc(lessons, func(l *Lesson) bool { return l.Name == w.progress.Lesson }), 0)
	if err := t.turn(at); err != nil {
		w.lock.Unlock()
		return nil, err
	}
	return t, nil
}

// Begin starts the session with a front end's options.
func (t *Tutor) Begin(o session.Options) (err error) {
	t.o = o
	o.Dir, o.Source = cmp.Or(o.Dir, t.dir), t.dir // what lessons read lies beside them
	if o.Show != nil {
		o.Show = func(v display.Value) {
			if !t.quiet.Load() {
				t.o.Show(v)
			}
		}
	}
	if o.Draw != nil {
		o.Draw = func(state func() display.Value) {
			if !t.quiet.Load() {
				t.o.Draw(state)
			}
		}
	}
	t.Session, err = session.New(o)
	return err
}

// Close ends the session and lets another take the lessons.
func (t *Tutor) Close() error {
	defer t.work.lock.Unlock()
	if t.Session == nil {
		return nil
	}
	return t.Session.Close()
}

// turn makes a lesson the one that the learner takes.
func (t *Tutor) turn(at int) error {
	cells, err := t.work.copyOf(t.lessons[at])
	if err != nil {
		return err
	}
	t.at, t.cells, t.steps, t.own, t.offered, t.last = at, nil, nil, map[*mcsfile.Cell]bool{}, "", ""
	for i := range cells {
		c := &cells[i]
		if t.cells = append(t.cells, c); !c.Markdown {
			t.steps = append(t.steps, c)
			t.own[c] = t.lesson().Of(c) == nil && !slices.Contains(t.state().Given, sum(c))
		}
	}
	t.step = max(min(t.state().Step, len(t.steps)), 0)
	if t.pages { // a page runs the cells up to the last right answer, where others may have come
		t.step = t.state().behind(t.lesson(), cells)
	}
	t.work.progress.Lesson = t.lesson().Name
	t.moved, t.turned = true, true
	return t.work.save()
}

func (t *Tutor) lesson() *Lesson { return t.lessons[t.at] }
func (t *Tutor) state() *state   { return t.work.of(t.lesson()) }

// Path is the learner's copy of the lesson.
func (t *Tutor) Path() string { return t.work.path(t.lesson()) }

// Turned is the learner's copy of a lesson that has begun since it was asked last, if one has, and how many
// of its cells the learner has behind them.
func (t *Tutor) Turned() (path string, ran int, ok bool) {
	ok, t.turned = t.turned, false
	return t.Path(), t.step, ok
}

// Place is the cells of the lesson through which the learner steps, and which of those that run comes next.
// Moved says that it is another, or has another text, since Place was asked last.
func (t *Tutor) Place() (name string, cells []mcsfile.Cell, step int, moved bool) {
	for _, c := range t.cells {
		if c.Markdown || slices.Contains(t.steps, c) {
			cells = append(cells, *c)
			if t.offered != "" && t.step < len(t.steps) && c == t.steps[t.step] {
				cells[len(cells)-1].Source = t.offered
			}
		}
	}
	moved, t.moved = t.moved, false
	return filepath.Base(t.Path()), cells, t.step, moved
}

// Run runs a cell of the learner's own. One that declares what an exercise asks for is an answer.
func (t *Tutor) Run(ctx context.Context, text string) session.Result {
	if e := t.answered(text); e != nil {
		return t.answer(ctx, e, t.stepOf(e), text)
	}
	r := t.run(ctx, text)
	if r.Err != nil || t.pages {
		return r
	}
	forgot := t.forget(text)
	if !r.Out && slices.ContainsFunc(cell.Split(text), func(p cell.Piece) bool { return p.Kind != cell.Command }) { // it has Go
		t.insert(text)
		forgot = true
	}
	if forgot {
		t.keep(&r)
	}
	return r
}

// forget drops the learner's own cells that declare nothing but names which a cell has deleted.
func (t *Tutor) forget(text string) (dropped bool) {
	var gone []string
	for _, p := range cell.Split(text) {
		if name, args, _ := cell.ParseCommand(p.Text(text)); p.Kind == cell.Command && name == "del" {
			gone = append(gone, strings.Fields(args)...)
		}
	}
	for _, c := range slices.Clone(t.cells) {
		names := declare(c.Source)
		if len(names) == 0 {
			continue
		}
		for _, name := range gone {
			delete(names, name)
		}
		if len(gone) == 0 || !t.own[c] || len(names) > 0 {
			continue
		}
		t.cells, dropped = slices.DeleteFunc(t.cells, func(each *mcsfile.Cell) bool { return each == c }), true
		if i := slices.Index(t.steps, c); i >= 0 {
			t.steps = slices.Delete(t.steps, i, i+1)
			if t.moved = true; i < t.step {
				t.step--
			}
		}
	}
	return dropped
}

// RunTitled runs a cell of a page, which may have the title of an exercise.
func (t *Tutor) RunTitled(ctx context.Context, title, text string) session.Result {
	if e := t.lesson().Of(&mcsfile.Cell{Title: title}); e != nil {
		return t.answer(ctx, e, t.stepOf(e), text)
	}
	return t.Run(ctx, text)
}

// RunStep runs a cell as the i-th step of the lesson.
func (t *Tutor) RunStep(ctx context.Context, i int, text string) session.Result {
	if i < 0 || i >= len(t.steps) {
		return t.Run(ctx, text)
	}
	t.offered = ""
	c := t.steps[i]
	if e := t.lesson().Of(c); e != nil {
		return t.answer(ctx, e, i, text)
	}
	r := t.run(ctx, text)
	if i >= len(t.steps) || t.steps[i] != c { // it has gone to another lesson
		return r
	}
	if r.Err == nil {
		c.Source = text
	}
	t.stepTo(i + 1)
	t.keep(&r)
	return r
}

// run runs a cell, and goes to another lesson if a command of it does.
func (t *Tutor) run(ctx context.Context, text string) session.Result {
	t.going = -1
	r := t.Session.Run(ctx, text)
	t.arrive(ctx, &r)
	return r
}

// answer runs an answer to an exercise, which is the i-th step, and checks it.
func (t *Tutor) answer(ctx context.Context, e *Exercise, i int, text string) session.Result {
	r := t.run(ctx, text)
	a := t.state().of(e)
	if i >= 0 {
		t.steps[i].Source = text
	}
	t.last = e.Name
	if r.Err == nil {
		r.Err = t.lesson().Judge(ctx, t.Session, e)
	}
	if !a.Right && !errors.Is(r.Err, session.ErrInterrupted) && strings.TrimSpace(text) != strings.TrimSpace(e.Start) {
		a.Tries++
	}
	a.Right = r.Err == nil
	refusal := new(Refusal)
	switch {
	case r.Err == nil:
		t.stepTo(i + 1)
		t.show(&r, remark{t.praise(e), display.Good})
	case errors.As(r.Err, &refusal):
		r.Err = &Refusal{t.refusal(e, a, refusal.Words), refusal.Err}
		fallthrough
	default:
		t.stepTo(i)
	}
	t.keep(&r)
	return r
}

// stepTo makes a step the next one.
func (t *Tutor) stepTo(step int) {
	if step >= 0 {
		t.step = step
	}
	t.moved = true
}

// stepOf is the step that an exercise is, or -1.
func (t *Tutor) stepOf(e *Exercise) int {
	return slices.IndexFunc(t.steps, func(c *mcsfile.Cell) bool { return t.lesson().Of(c) == e })
}

// answered is the exercise of the lesson that a cell answers, or nil: it declares all that the exercise
// declares and its check uses. Of several it is the one where the learner is.
func (t *Tutor) answered(text string) *Exercise {
	declared := declare(text)
	var found *Exercise
	for i := range t.lesson().Exercises {
		e := &t.lesson().Exercises[i]
		asked := e.asks()
		if len(asked) == 0 || slices.ContainsFunc(asked, func(name string) bool { _, ok := declared[name]; return !ok }) {
			continue
		}
		if found == nil || t.step < len(t.steps) && t.lesson().Of(t.steps[t.step]) == e {
			found = e
		}
	}
	return found
}

// asks are the names that an answer declares: those that the check uses, without one all.
func (e *Exercise) asks() (names []string) {
	used := map[string]bool{}
	for _, t := range cell.Scan(e.Check) {
		if t.Tok == token.IDENT {
			used[t.Text(e.Check)] = true
		}
	}
	for name := range declare(e.Start, e.Solution) {
		if e.Check == "" || used[name] {
			names = append(names, name)
		}
	}
	return names
}

// insert keeps a cell of the learner's own before the next step: answers may need what it declares. One that
// declares the same names replaces it.
func (t *Tutor) insert(text string) {
	now := Declared(text)
	for _, c := range t.cells {
		if len(now) > 0 && t.own[c] && slices.Equal(Declared(c.Source), now) {
			c.Source = text
			return
		}
	}
	at := len(t.cells)
	if t.step < len(t.steps) {
		at = slices.Index(t.cells, t.steps[t.step])
	}
	c := &mcsfile.Cell{Source: text}
	t.cells, t.own[c] = slices.Insert(t.cells, at, c), true
}

// keep writes what the learner has done. A failure is shown with the result.
func (t *Tutor) keep(r *session.Result) {
	s, step := t.state(), 0
	var cells []mcsfile.Cell
	for _, c := range t.cells {
		if t.step < len(t.steps) && c == t.steps[t.step] {
			s.Step = step
		}
		if cells = append(cells, *c); !c.Markdown {
			step++
		}
	}
	if t.step >= len(t.steps) {
		s.Step = step
	}
	var err error
	if !t.pages {
		err = t.work.write(t.lesson(), cells)
	}
	if err == nil {
		err = t.work.save()
	}
	if err != nil {
		t.show(r, remark{"what you did is not kept: " + visible.Line(err.Error()), display.Bad})
	}
}

// show adds a value to a result, before that of its last expression.
func (t *Tutor) show(r *session.Result, v display.Value) {
	if t.o.Render != nil {
		v = t.o.Render(v, 0)
	}
	at := len(r.Shown)
	if r.Out && at > 0 {
		at--
	}
	r.Shown = slices.Insert(r.Shown, at, v)
}

// soon is how long work takes that needs no live line.
const soon = 300 * time.Millisecond

// again runs the cells before the step, and shows nothing of them but that they run. It returns what is to be
// said of them.
func (t *Tutor) again(ctx context.Context) (said []string) {
	t.quiet.Store(true)
	defer t.quiet.Store(false)
	ctx, mute := t.Session.Mute(ctx)
	ran, start := 0, time.Now()
	var before []*mcsfile.Cell
	for _, c := range t.cells {
		if t.step < len(t.steps) && c == t.steps[t.step] {
			break
		}
		if !c.Markdown {
			before = append(before, c)
		}
	}
	for i, c := range before {
		if took := time.Since(start); t.o.Progress != nil && took > soon {
			t.o.Progress("cells before here", int64(i), int64(len(before)), "", took)
		}
		var r session.Result
		_ = mute.While(func() error { r = t.Session.Run(ctx, c.Source); return r.Err })
		switch ran++; {
		case errors.Is(r.Err, session.ErrInterrupted):
			return append(said, fmt.Sprintf("stopped: the last %s before here did not run again", units.Plural(int64(len(before)-i), "cell")))
		case r.Err != nil:
			title := cmp.Or(c.Title, cell.Line(c.Source, 1))
			said = append(said, fmt.Sprintf("fails: %s: %s", visible.Line(title), cell.Line(visible.Text(r.Err.Error()), 1)))
		}
	}
	if ran > 0 {
		said = append(said, units.Plural(int64(ran), "cell")+" before here ran again")
	}
	return said
}
