package lesson

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// WorkDir is the folder in a folder of lessons that has the learner's copies of them: the lessons with the
// learner's answers, which are handed in.
const WorkDir = "work"

// A work is the folder with a learner's copies, and what is known of the learner.
type work struct {
	dir      string
	lock     *durable.Lock
	progress progress
}

// A progress is what a learner has done, as progress.json keeps it.
type progress struct {
	Version int               `json:"version"`
	Lesson  string            `json:"lesson"` // where the learner is
	Lessons map[string]*state `json:"lessons"`
}

const progressVersion = 1

// A state is that of a lesson.
type state struct {
	Step      int                 `json:"step"`  // of the cells that run in the copy, the next one
	Given     []string            `json:"given"` // what the copy was made of: sums of the teacher's cells
	Exercises map[string]*attempt `json:"exercises"`
}

// An attempt is what a learner has done for an exercise.
type attempt struct {
	Tries    int  `json:"tries"`    // runs of answers, up to the first right one
	Hints    int  `json:"hints"`    // that were given
	Solution bool `json:"solution"` // it was shown
	Right    bool `json:"right"`    // the newest answer is
}

// openWork opens the folder of a learner's copies, and locks it.
func openWork(dir string) (*work, error) {
	w := &work{dir: filepath.Join(dir, WorkDir), progress: progress{Version: progressVersion, Lessons: map[string]*state{}}}
	err := os.MkdirAll(w.dir, 0o755)
	if err == nil {
		w.lock, err = durable.TryLock(filepath.Join(w.dir, ".lock"))
	}
	if held := new(durable.HeldError); errors.As(err, &held) {
		return nil, fmt.Errorf("%s: another mcs learn works here (%s): go on there, or end it", visible.Line(dir), held.Holder)
	} else if err != nil {
		return nil, fmt.Errorf("your work is kept in %s, which cannot be written (%w): copy the lessons to a folder of yours", visible.Line(w.dir), err)
	}
	if err := w.read(); err != nil {
		w.lock.Unlock()
		return nil, err
	}
	return w, nil
}

func (w *work) read() error {
	path := filepath.Join(w.dir, "progress.json")
	text, err := regular.Read(path, regular.MaxSource)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &w.progress)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w; without the file mcs learn begins anew, with the answers that are in %s", visible.Line(path), err, visible.Line(w.dir))
	case w.progress.Version != progressVersion:
		return fmt.Errorf("%s: got version %d, want %d: it was written by another mcs", visible.Line(path), w.progress.Version, progressVersion)
	case w.progress.Lessons == nil:
		w.progress.Lessons = map[string]*state{}
	}
	return nil
}

// of is the state of a lesson.
func (w *work) of(l *Lesson) *state {
	s := w.progress.Lessons[l.Name]
	if s == nil {
		s = &state{}
		w.progress.Lessons[l.Name] = s
	}
	if s.Exercises == nil {
		s.Exercises = map[string]*attempt{}
	}
	return s
}

func (s *state) of(e *Exercise) *attempt {
	if s.Exercises[e.Name] == nil {
		s.Exercises[e.Name] = &attempt{}
	}
	return s.Exercises[e.Name]
}

// path is the learner's copy of a lesson.
func (w *work) path(l *Lesson) string { return filepath.Join(w.dir, l.Name+fileEnd) }

// copyOf reads the learner's copy of a lesson, and makes it if there is none. What the teacher has changed
// since is changed in it; answers stay.
func (w *work) copyOf(l *Lesson) ([]mcsfile.Cell, error) {
	s := w.of(l)
	var sums []string
	for i := range l.File.Cells {
		sums = append(sums, sum(&l.File.Cells[i]))
	}
	old, err := mcsfile.Read(w.path(l), w.path(l))
	switch {
	case err == nil && slices.Equal(sums, s.Given) && hasAll(l, old):
		return old.Cells, nil
	case errors.Is(err, fs.ErrNotExist):
		old = &mcsfile.File{}
	case err != nil:
		return nil, err
	}
	cells := merged(l, old.Cells, s.Given)
	if err := w.write(l, cells); err != nil {
		return nil, err
	}
	s.Step, s.Given = s.behind(l, cells), sums
	return cells, nil
}

// behind is the step behind the last right answer among cells.
func (s *state) behind(l *Lesson, cells []mcsfile.Cell) (behind int) {
	step := 0
	for i := range cells {
		if cells[i].Markdown {
			continue
		}
		step++
		if e := l.Of(&cells[i]); e != nil && s.of(e).Right {
			behind = step
		}
	}
	return behind
}

func hasAll(l *Lesson, f *mcsfile.File) bool {
	n := 0
	for _, c := range f.Code() {
		if l.Of(c) != nil {
			n++
		}
	}
	return n >= len(l.Exercises)
}

// merged are the cells of a lesson with the answers of a learner's copy, and with the learner's own cells
// before the exercises that they were written for. Given are the sums of the cells that the copy was made of.
func merged(l *Lesson, old []mcsfile.Cell, given []string) (cells []mcsfile.Cell) {
	answers, before := map[string]string{}, map[string][]mcsfile.Cell{}
	var own []mcsfile.Cell
	for _, c := range old {
		e := l.Of(&c)
		theirs := slices.Contains(given, sum(&c))
		if e != nil {
			before[e.Name], own = append(before[e.Name], own...), nil
			if !theirs {
				answers[e.Name] = c.Source
			}
		} else if !theirs {
			own = append(own, c)
		}
	}
	for _, c := range l.File.Cells {
		if e := l.Of(&c); e != nil {
			cells = append(cells, before[e.Name]...)
			if answer, ok := answers[e.Name]; ok {
				c.Source = answer
			}
		}
		cells = append(cells, c)
	}
	return append(cells, own...)
}

// sum tells whether a cell is another one.
func sum(c *mcsfile.Cell) string {
	s := sha256.Sum256([]byte(c.Title + "\x00" + c.Source))
	return hex.EncodeToString(s[:6])
}

// write writes the learner's copy of a lesson.
func (w *work) write(l *Lesson, cells []mcsfile.Cell) error {
	text := mcsfile.Format(cells)
	if len(l.File.Kept) > 0 {
		text = mcsfile.Keep(text, l.File.Kept)
	}
	return durable.WriteFile(w.path(l), durable.Text(text))
}

// save writes what is known of the learner.
func (w *work) save() error {
	text, err := json.MarshalIndent(w.progress, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(w.dir, "progress.json"), durable.Text(string(text)+"\n"))
}
