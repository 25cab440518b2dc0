package term

import (
	"fmt"
	"strings"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/display/prose"
	"github.com/mcs-notebook/mcs/repl/term/paint"
)

// A File has the cells through which the person steps: the prompt begins with the first one, and a run
// brings the next one.
type File struct {
	Name  string
	Path  string // as commands such as %run take it
	Steps []Step
	At    int // the step with which the prompt begins
}

// A Step is a cell of a file.
type Step struct {
	Prose string // the text above the cell, or empty
	Title string // or empty
	Text  string
}

// steps is the way through a file. The cell that is being typed is a step, or the person's own.
type steps struct {
	File
	at    int            // the step that is shown, or that the next key brings
	shown bool           // the cell that is being typed is step at
	due   bool           // the next prompt begins with step at
	told  int            // the first step whose prose was not shown
	left  map[int]string // steps that were changed and not run
	own   string         // what the person typed before a key brought a step
	ran   int            // the step that was submitted last, or -1
}

// begin is the way through a file that begins, or goes on as its Guide says, with the step At.
func (s steps) begin(f File) steps {
	now := steps{File: f, at: f.At, due: f.At < len(f.Steps), told: f.At, ran: -1}
	if f.Name == s.Name && len(f.Steps) == len(s.Steps) {
		now.told, now.left, now.own = s.told, s.left, s.own
	}
	return now
}

// text is the i-th step as it was left.
func (s *steps) text(i int) string {
	if text, ok := s.left[i]; ok {
		return text
	}
	return s.Steps[i].Text
}

// turn goes to the next step (1) or to the one before (-1). Behind the last step is the person's own cell.
func (s *steps) turn(direction int, text string) (cell string, ok bool) {
	to := s.at
	if s.shown || direction < 0 {
		to += direction
	}
	if to < 0 || to > len(s.Steps) || to == len(s.Steps) && !s.shown {
		return "", false
	}
	s.keep(text)
	s.at, s.shown = to, to < len(s.Steps)
	if !s.shown {
		return s.own, true
	}
	return s.text(to), true
}

// keep remembers the cell that a key is about to replace.
func (s *steps) keep(text string) {
	switch {
	case !s.shown:
		s.own = text
	case text != s.text(s.at):
		if s.left == nil {
			s.left = map[int]string{}
		}
		s.left[s.at] = text
	}
}

// ended notes that the cell was submitted, as the step that is shown or as the person's own, or was given
// up. A step that has run brings the next one.
func (s *steps) ended(ran bool) {
	s.ran = -1
	if s.shown && ran {
		s.ran = s.at
		delete(s.left, s.at)
		s.at++
		s.due = s.at < len(s.Steps)
	}
	s.shown, s.own = false, ""
}

// readable is how wide lines of prose are at most: the eye loses its line in longer ones.
const readable = 100

// news is the prose of steps up to the one that is due, each of which is shown once, set for a width.
func (s *steps) news(width int, style display.Style) string {
	var parts []string
	for ; s.due && s.told <= s.at; s.told++ {
		if text := s.Steps[s.told].Prose; text != "" {
			parts = append(parts, prose.Set(text, min(width, readable), style)+"\n\n")
		}
	}
	return strings.Join(parts, "")
}

// row says which step is shown.
func (s *steps) row(th theme) func(width, rows int) []paint.Row {
	return func(width, _ int) []paint.Row {
		text := fmt.Sprintf("  %s %d/%d", s.Name, s.at+1, len(s.Steps))
		if title := s.Steps[s.at].Title; title != "" {
			text += " · " + title
		}
		return []paint.Row{paint.NewRow(width, th.span(visible.Line(text), grey))}
	}
}

// stepping says whether the cell that is being typed is a step of the file: no cell of the history is.
func (e *cellEditor) stepping() bool { return e.steps.shown && e.past.at == len(e.past.cells) }

// page goes through the file, or through the history if there is no file.
func (e *cellEditor) page(direction int) {
	if len(e.steps.Steps) == 0 {
		e.jump(direction)
		return
	}
	if e.past.at < len(e.past.cells) { // from a cell of the history
		e.past.jump(1, e.buf.Text())
		e.buf.Set(e.past.text(e.past.at), 0)
	}
	if cell, ok := e.steps.turn(direction, e.buf.Text()); ok {
		e.bring(cell)
	}
}

// bring shows a cell of the file, which Return runs as it runs a recalled one.
func (e *cellEditor) bring(cell string) {
	e.past.prefix = ""
	e.past.leave(len(e.past.cells), cell)
	e.past.walking, e.past.shown = true, cell
	e.buf.Set(cell, len(cell))
}
