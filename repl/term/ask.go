package term

import (
	"fmt"
	"time"

	"github.com/mcs-notebook/mcs/repl/session"
)

// A question is a place in a cell that is being typed.
type question struct {
	cell string
	pos  int
}

// An answer is the session's answer about a place: completions, or a hint.
type answer struct {
	question
	completing bool
	from       int
	list       []session.Completion
	hint       session.Hint
	hinted     bool
	failed     any // the value of the session's panic
}

// An asker asks the session about the cell that is being typed. Keys never wait for it: it asks one question
// at a time, elsewhere, and its answer comes back to the editor, which drops it if the cell has changed
// meanwhile.
type asker struct {
	complete completer
	hint     func(cell string, pos int) (session.Hint, bool)
	answers  chan answer
	busy     bool
}

// A completer gives the ways to go on at a place of a cell; see session.Session.Complete.
type completer func(cell string, pos int) (from int, list []session.Completion)

func newAsker(complete completer, hint func(cell string, pos int) (session.Hint, bool)) asker {
	return asker{complete: complete, hint: hint, answers: make(chan answer, 1)}
}

// patience is how long Tab waits for completions before it goes on without: they are shown when they come.
const patience = 300 * time.Millisecond

// completions asks for the ways to go on. If they come soon, ok is true.
func (a *asker) completions(q question) (answer, bool) {
	timeout := time.After(patience)
	if a.busy { // with a hint, which will be asked for again
		select {
		case <-a.answers:
			a.busy = false
		case <-timeout:
			return answer{}, false
		}
	}
	a.start(answer{question: q, completing: true}, func(to *answer) { to.from, to.list = a.complete(q.cell, q.pos) })
	select {
	case answer := <-a.answers:
		a.busy = false
		return answer, true
	case <-timeout:
		return answer{}, false
	}
}

// askHint asks for the hint at a place. It returns false if an earlier question is not answered yet.
func (a *asker) askHint(q question) bool {
	if a.busy || a.hint == nil {
		return false
	}
	a.start(answer{question: q}, func(to *answer) { to.hint, to.hinted = a.hint(q.cell, q.pos) })
	return true
}

// start fills in an answer elsewhere. A panic there must not end the notebook with all its variables.
func (a *asker) start(to answer, fill func(*answer)) {
	a.busy = true
	go func() {
		defer func() {
			to.failed = recover()
			a.answers <- to
		}()
		fill(&to)
	}()
}

// settle waits until nothing is being asked.
func (a *asker) settle() {
	if a.busy {
		<-a.answers
		a.busy = false
	}
}

// A hint is the line below the cell with the session's hint for the place of the cursor.
type hint struct {
	of    question // the place that was asked about last
	shown bool
	session.Hint
}

func (e *cellEditor) question() question { return question{e.buf.Text(), e.buf.Pos()} }

// askHint asks about the place of the cursor, unless that was asked before.
func (e *cellEditor) askHint() {
	if q := e.question(); q != e.hint.of && e.search == nil && e.menu == nil && e.asker.askHint(q) {
		e.hint.of = q
	}
}

// answer uses the session's answer.
func (e *cellEditor) answer(a answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asker.busy = false
	switch {
	case a.failed != nil && !a.completing:
		e.failed(a)
	case a.completing:
		if a.question == e.question() && e.search == nil {
			e.completed(a)
		}
	case a.question == e.question():
		e.hint = hint{of: a.question, shown: a.hinted, Hint: a.hint}
	}
}

// failed says that the session could not answer: a mistake of mcs, not of the person.
func (e *cellEditor) failed(a answer) {
	what := "hints"
	if a.completing {
		what = "completions"
	}
	e.say(fmt.Sprintf("mcs: %s failed here: %v", what, a.failed))
}

// say prints a line above the cell.
func (e *cellEditor) say(line string) {
	e.view.painter.Erase()
	e.view.painter.Raw(e.theme.paint(grey, line) + "\r\n")
}
