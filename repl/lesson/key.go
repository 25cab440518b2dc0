package lesson

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// ReadKey reads the key that lies beside the lesson at path, open or sealed; nil if there is none.
func ReadKey(path string) (*mcsfile.File, error) {
	base := strings.TrimSuffix(path, fileEnd)
	key, err := mcsfile.Read(base+keyEnd, base+keyEnd)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key, err = open(base + sealEnd)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return key, err
}

// addKey gives the exercises what the cells of the key say.
func (l *Lesson) addKey(key *mcsfile.File) error {
	for i := range key.Cells {
		c := &key.Cells[i]
		if c.Title == "" && c.Markdown {
			continue // the teacher's own words
		}
		if err := l.addCell(c); err != nil {
			return fmt.Errorf("%s: %w", key.At(c.Line), err)
		}
	}
	for _, e := range l.Exercises {
		if e.Check == "" {
			return fmt.Errorf("%s: exercise %s has no check", visible.Line(key.Name), visible.Line(e.Name))
		}
	}
	return nil
}

// addCell gives an exercise what a cell of the key says.
func (l *Lesson) addCell(c *mcsfile.Cell) error {
	word, name, _ := strings.Cut(c.Title, " ")
	name, points, hasPoints := strings.Cut(name, " points=")
	e := l.Exercise(strings.TrimSpace(name))
	switch {
	case c.Markdown != (word == "hint") || word != "hint" && word != "check" && word != "solution" && word != "wrong":
		return fmt.Errorf("got a cell %q, want check, solution or wrong and the name of an exercise, or [markdown] hint and the name", visible.Line(c.Title))
	case e == nil:
		return fmt.Errorf("%s: the lesson has no exercise %q", word, visible.Line(name))
	case hasPoints && word != "check":
		return fmt.Errorf("%s: got points=%s, which a check has", word, visible.Line(points))
	case word == "check" && e.Check != "" || word == "solution" && e.Solution != "":
		return fmt.Errorf("exercise %s has two cells %s", visible.Line(name), word)
	}
	switch word {
	case "hint":
		e.Hints = append(e.Hints, c.Source)
	case "solution":
		e.Solution = c.Source
	case "wrong":
		e.Wrong = append(e.Wrong, Wrong{Answer: c.Source, Want: c.Want, Line: c.Line})
	case "check":
		e.Check, e.Points = c.Source, 1
		if hasPoints {
			var err error
			if e.Points, err = strconv.Atoi(points); err != nil || e.Points < 1 {
				return fmt.Errorf("check: got points=%s, want a number of at least 1", visible.Line(points))
			}
		}
	}
	return nil
}

// CheckCell is the Go that checks an answer, to run in the learner's session behind the exercise: its names
// stay its own, t is a *check.T, and the cell ends with an error that says what is wrong. Imports stay above
// the block.
func (e *Exercise) CheckCell() string {
	lines := strings.Split(e.Check, "\n")
	var imports []string
	for len(lines) > 0 && (strings.HasPrefix(lines[0], "import ") || strings.TrimSpace(lines[0]) == "") {
		imports, lines = append(imports, lines[0]), lines[1:]
	}
	return strings.Join(imports, "\n") + "\n{\n\tt := check.New()\n" + strings.Join(lines, "\n") + "\n\tt.Done()\n}"
}
