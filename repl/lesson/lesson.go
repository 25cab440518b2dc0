// Package lesson reads lessons and their keys, judges answers, and leads a learner. A lesson is a .mcs file;
// a code cell of it with the title "exercise NAME" is an exercise, whose text is what the learner begins
// with. The key is a second .mcs file, NAME.key.mcs beside NAME.mcs, which a teacher writes and learners get
// sealed (NAME.key) or not at all. Its cells say by their titles what they are for an exercise of the lesson:
//
//	check NAME points=2     Go that finds out whether the exercise is solved, with package check and its t
//	[markdown] hint NAME    a hint; several are given one at a time
//	solution NAME           what the exercise could be
//	wrong NAME              an answer that the check refuses, and with the expected output how
//
// So a lesson without its key is a file like any other, and a key is one that mcs fmt formats.
//
// A [Tutor] is a session in which a learner takes the lessons of a folder; it keeps the learner's copies in a
// folder work beside them. Front ends see a session, and know no lessons.
//
// Reading order: lesson.go, key.go, judge.go, seal.go; then tutor.go, work.go (what is kept), commands.go
// (what learners ask for); test.go tries what a key says.
package lesson

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// A Lesson is a file of prose, cells and exercises, with what its key says of them.
type Lesson struct {
	Name      string // of the file, without .mcs
	File      *mcsfile.File
	Exercises []Exercise    // in the order of the file
	Key       *mcsfile.File // nil: there is none
}

// An Exercise is a cell that the learner writes.
type Exercise struct {
	Name     string
	Start    string // what the lesson's cell has
	Points   int    // for an answer that the check accepts
	Check    string // Go; see Exercise.CheckCell
	Hints    []string
	Solution string
	Wrong    []Wrong
}

// A Wrong is an answer that the check of an exercise refuses.
type Wrong struct {
	Answer string
	Want   []string // what the check says, as expected output; nil: anything
	Line   int      // of the answer in the key
}

const (
	fileEnd = ".mcs"
	keyEnd  = ".key.mcs"
	sealEnd = ".key"
)

// ReadFolder reads the lessons of a folder, in the order of their names.
func ReadFolder(dir string) ([]*Lesson, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []*Lesson
	for _, e := range entries {
		if name := e.Name(); e.IsDir() || !strings.HasSuffix(name, fileEnd) || strings.HasSuffix(name, keyEnd) {
			continue
		}
		l, err := Read(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no lessons: want .mcs files", visible.Line(dir))
	}
	return list, nil
}

// Read reads the lesson at path with the key that lies beside it, if there is one.
func Read(path string) (*Lesson, error) {
	f, err := mcsfile.Read(path, path)
	if err != nil {
		return nil, err
	}
	key, err := readKey(strings.TrimSuffix(path, fileEnd))
	if err != nil {
		return nil, err
	}
	return New(f, key)
}

// New is the lesson of a file with its key; nil: it has none.
func New(f, key *mcsfile.File) (*Lesson, error) {
	l := &Lesson{Name: strings.TrimSuffix(filepath.Base(f.Name), fileEnd), File: f}
	for _, c := range f.Code() {
		name, ok := exerciseOf(c)
		switch {
		case !ok:
			continue
		case name == "":
			return nil, fmt.Errorf("%s: got an exercise without a name, want exercise NAME", f.At(c.Line))
		case l.Exercise(name) != nil:
			return nil, fmt.Errorf("%s: exercise %s is there twice", f.At(c.Line), visible.Line(name))
		}
		l.Exercises = append(l.Exercises, Exercise{Name: name, Start: c.Source})
	}
	if key == nil {
		return l, nil
	}
	l.Key = key
	return l, l.addKey(key)
}

// exerciseOf is the name of the exercise that a cell is.
func exerciseOf(c *mcsfile.Cell) (name string, ok bool) {
	word, name, _ := strings.Cut(c.Title, " ")
	return strings.TrimSpace(name), word == "exercise" && !c.Markdown
}

// Exercise is the exercise with a name, or nil.
func (l *Lesson) Exercise(name string) *Exercise {
	i := slices.IndexFunc(l.Exercises, func(e Exercise) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Exercises[i]
}

// Of is the exercise that a cell of the lesson's file, or of a learner's copy of it, is; nil if it is none.
func (l *Lesson) Of(c *mcsfile.Cell) *Exercise {
	if name, ok := exerciseOf(c); ok {
		return l.Exercise(name)
	}
	return nil
}
