package grade

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/lesson"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// changed says what of the lesson a learner's file has no more, or otherwise.
func (g *grader) changed(path string, f *mcsfile.File) (remarks []string) {
	say := func(format string, args ...any) { remarks = append(remarks, fmt.Sprintf(format, args...)) }
	for i := range g.lesson.Exercises {
		if e := &g.lesson.Exercises[i]; last(g.lesson, f, e) < 0 {
			say("exercise %s is missing", visible.Line(e.Name))
		}
	}
	theirs := f.Code()
	replaced := map[*mcsfile.Cell]bool{}
	at := 0 // behind the last of their cells that is one of the lesson's
	for _, c := range g.lesson.File.Code() {
		if g.lesson.Of(c) != nil {
			if i := slices.IndexFunc(theirs, func(t *mcsfile.Cell) bool { return g.lesson.Of(t) == g.lesson.Of(c) }); i >= 0 {
				at = i + 1
			}
			continue
		}
		same := func(t *mcsfile.Cell) bool { return source(t) == source(c) }
		if i := slices.IndexFunc(theirs, same); i >= 0 {
			at = i + 1
			continue
		}
		if at < len(theirs) && g.own(theirs[at]) {
			say("%s: the given cell of line %d is changed", f.At(theirs[at].Line), c.Line)
			replaced[theirs[at]] = true
			at++
			continue
		}
		say("the given cell of line %d is deleted", c.Line)
	}
	given := map[string]bool{}
	for _, c := range g.lesson.File.Code() {
		if g.lesson.Of(c) == nil {
			for _, name := range lesson.Declared(c.Source) {
				given[name] = true
			}
		}
	}
	for _, c := range theirs {
		if replaced[c] || g.lesson.Of(c) == nil && !g.own(c) {
			continue
		}
		for _, name := range lesson.Declared(c.Source) {
			if given[name] && !slices.Contains(g.starts(c), name) {
				say("%s: declares %s, which the lesson gives, as something else", f.At(c.Line), name)
			}
		}
	}
	if g.otherKey(path) {
		say("they have another key than yours, which counts for nothing")
	}
	return remarks
}

// own says whether a learner's cell is none of the lesson.
func (g *grader) own(c *mcsfile.Cell) bool {
	return g.lesson.Of(c) == nil && !slices.ContainsFunc(g.lesson.File.Code(), func(given *mcsfile.Cell) bool { return source(given) == source(c) })
}

// starts are the names that an exercise declares as the lesson has it.
func (g *grader) starts(c *mcsfile.Cell) []string {
	if e := g.lesson.Of(c); e != nil {
		return lesson.Declared(e.Start)
	}
	return nil
}

// source is the text of a cell without what an editor may change.
func source(c *mcsfile.Cell) string {
	lines := strings.Split(c.Source, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// otherKey says whether a key lies beside a learner's file that is not the one of the lesson.
func (g *grader) otherKey(path string) bool {
	for _, base := range []string{strings.TrimSuffix(path, filepath.Ext(path)), filepath.Join(filepath.Dir(path), g.lesson.Name)} {
		key, err := lesson.ReadKey(base + ".mcs")
		if err != nil || key != nil && key.Text() != g.lesson.Key.Text() {
			return true
		}
	}
	return false
}

// last is the place of the last cell of a file that is the exercise; -1: none is.
func last(l *lesson.Lesson, f *mcsfile.File, e *lesson.Exercise) int {
	for i, c := range slices.Backward(f.Code()) {
		if l.Of(c) == e {
			return i
		}
	}
	return -1
}
