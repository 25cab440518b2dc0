package lesson

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/lazy"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/session"
	"github.com/mcs-notebook/mcs/stdlib"
)

// A Refusal says what is wrong with an answer. Nothing of the check's text or of the expected answer is in
// it.
type Refusal struct {
	Words string
	Err   error // of the check, which only a teacher may see; nil: the check did not run
}

func (r *Refusal) Error() string { return r.Words }

// Unwrap returns the check's error.
func (r *Refusal) Unwrap() error { return r.Err }

// Judge runs the check of an exercise of the lesson in the session where an answer has run without an error.
// It returns nil for a right answer, a *Refusal, or session.ErrInterrupted once ctx has ended. An exercise
// without a check has no wrong answers. No cell may run in the session meanwhile.
func (l *Lesson) Judge(ctx context.Context, s *session.Session, e *Exercise) error {
	if e.Check == "" {
		return nil
	}
	vars := s.Vars()
	if names := l.hidden(e, vars); len(names) > 0 {
		return &Refusal{Words: fmt.Sprintf("a cell of yours declares %s, which the check needs as it was: give yours another name, and forget it: %%del %s", strings.Join(names, " and "), strings.Join(names, " "))}
	}
	err := s.RunAside(ctx, e.CheckCell())
	var refused *session.CheckError
	var exit stdlib.ExitRequest
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrInterrupted):
		return session.ErrInterrupted
	case errors.As(err, &refused):
		return &Refusal{l.notAsAsked(e, refused, vars), err}
	case errors.As(err, &exit):
		return &Refusal{"the answer ends the program with os.Exit or log.Fatal", err}
	}
	return &Refusal{strings.TrimRight(visible.Text(err.Error()), "\n"), err}
}

// hidden are the names of packages, and of Go itself, that the check of an exercise means and the learner has
// declared as something else. What the lesson itself declares, the check means so.
func (l *Lesson) hidden(e *Exercise, vars []session.Var) (names []string) {
	own := l.declared()
	tokens := cell.Scan(e.Check)
	for i, t := range tokens {
		name := t.Text(e.Check)
		if t.Tok != token.IDENT || t.Command || i > 0 && tokens[i-1].Tok == token.PERIOD || slices.Contains(names, name) {
			continue
		}
		if _, meant := own[name]; meant {
			continue
		}
		path, isPackage := stdlib.ImportFor(name)
		isPackage = isPackage && i+1 < len(tokens) && tokens[i+1].Tok == token.PERIOD
		if !isPackage && types.Universe.Lookup(name) == nil {
			continue
		}
		if slices.ContainsFunc(vars, func(v session.Var) bool { return v.Name == name && (v.Kind != "import" || v.Type != path) }) {
			names = append(names, name)
		}
	}
	return names
}

// undefined matches the checker's message about a name.
var undefined = lazy.Regexp(`^undefined: ([\pL_][\pL_\d]*)`)

// notAsAsked says which names of an answer the check cannot use, as it was refused.
func (l *Lesson) notAsAsked(e *Exercise, refused *session.CheckError, vars []session.Var) string {
	own, given, solved := l.declared(), declare(e.Start), declare(e.Solution)
	var said, others []string
	for _, d := range refused.Diags {
		if m := undefined().FindStringSubmatch(d.Message); m != nil {
			_, first := given[m[1]]
			_, second := solved[m[1]]
			if _, asked := own[m[1]]; first || second {
				said = append(said, m[1]+" is not declared, and the exercise asks for it")
			} else if asked {
				others = append(others, m[1]+" is not declared: a cell above does that; %lesson runs them all again")
			}
			continue
		}
		for _, t := range cell.Scan(d.Source) {
			name := t.Text(d.Source)
			at := slices.IndexFunc(vars, func(v session.Var) bool { return v.Name == name && v.Kind != "import" })
			head, asked := own[name]
			if !asked || at < 0 || t.Tok != token.IDENT {
				continue
			}
			line := fmt.Sprintf("%s is not of the type that is asked for: got %s", name, vars[at].Type)
			if head != "" {
				line += ", want " + head
			}
			if _, first := given[name]; first {
				said = append(said, line)
			} else {
				others = append(others, line)
			}
		}
	}
	if len(said) == 0 {
		said = others
	}
	slices.Sort(said)
	return cmp.Or(strings.Join(slices.Compact(said), "\n"), "the check does not fit the names that are declared now: are all cells above run, as they were given?")
}

// declared are the names that the lesson's cells and solutions declare, functions of cells with the lines
// that say their types: learners see those.
func (l *Lesson) declared() map[string]string {
	var sources []string
	for _, c := range l.File.Code() {
		sources = append(sources, c.Source)
	}
	names := declare(sources...)
	for i := range l.Exercises {
		for name := range declare(l.Exercises[i].Solution) {
			names[name] += "" // learners do not see its line
		}
	}
	return names
}

// Declared are the names that a cell declares, sorted.
func Declared(source string) []string { return slices.Sorted(maps.Keys(declare(source))) }

// declare returns the names that cells declare, functions with the lines that say their types.
func declare(sources ...string) map[string]string {
	names := map[string]string{}
	for _, source := range sources {
		tokens := cell.Scan(source)
		for i, t := range tokens {
			if t.Tok != token.IDENT || t.Depth > 0 {
				continue
			}
			before := token.ILLEGAL
			if i > 0 {
				before = tokens[i-1].Tok
			}
			name := t.Text(source)
			switch {
			case before == token.FUNC:
				line, _ := cell.LineCol(source, t.From)
				names[name] = strings.TrimSuffix(strings.TrimSpace(cell.Line(source, line)), " {")
			case slices.Contains([]token.Token{token.VAR, token.CONST, token.TYPE}, before) || defines(tokens[i+1:]):
				names[name] += ""
			}
		}
	}
	return names
}

// defines says whether what follows a name is the rest of a list of names and :=.
func defines(rest []cell.Token) bool {
	for len(rest) > 1 && rest[0].Tok == token.COMMA && rest[1].Tok == token.IDENT {
		rest = rest[2:]
	}
	return len(rest) > 0 && rest[0].Tok == token.DEFINE
}
