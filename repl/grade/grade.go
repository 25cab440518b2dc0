// Package grade runs what learners hand in for a lesson against the lesson's checks.
//
// Each file runs in a process of its own, which calls [Work]: its cells in order, and behind the last cell of
// an exercise the check of it, in the same session. The process has a folder of its own and limits; it tells
// the one that has started it what it begins and what has come of it. A step, which is a cell or a check,
// that ends the process, or does not end, costs only itself: the file is run once more without it.
//
// Reading order: grade.go (what is asked and answered), hand.go (the learners' files), changed.go (what of
// the lesson they have changed), process.go (a file's processes), confine_linux.go, work.go (what runs in
// one), write.go (tables and pages).
package grade

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/repl/lesson"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

// Options say how files are graded.
type Options struct {
	Time   time.Duration // for a file with all its cells and checks; each of them has a quarter of it
	Memory int64         // bytes that a process may hold
	Jobs   int           // files at a time
	Pages  bool          // have Done make pages: see Report.Page
	// Command makes the command whose process calls Work.
	Command func() *exec.Cmd
	// Done gets each report when it is there, one at a time.
	Done func(*Report)
}

// A Report is what a learner's file has come to.
type Report struct {
	Learner string
	File    string   // "" if none was handed in
	Marks   []Mark   // for each exercise of the lesson, in its order
	Remarks []string // what the teacher should know: what was changed, which cells fail
	Err     error    // why the file could not be graded; nil: it was
	Start   time.Time
	Took    time.Duration

	file *mcsfile.File
	ran  map[*mcsfile.Cell]notebook.Ran
}

// A Mark is what an answer is worth.
type Mark struct {
	Exercise   string
	Points, Of int
	Wrong      string // what is wrong with the answer, in the words of the check; "" if nothing is
	Took       time.Duration
}

// Points are those of all exercises, of as many as there are.
func (r *Report) Points() (points, of int) {
	for _, m := range r.Marks {
		points, of = points+m.Points, of+m.Of
	}
	return points, of
}

// Grade grades what the learners have handed in for the lesson at path, in the order in which they are
// given. If ctx ends it returns the reports that are there, and ctx's cause.
func Grade(ctx context.Context, path string, hands []Hand, o Options) ([]*Report, error) {
	path, err := filepath.Abs(path) // processes have other folders
	if err != nil {
		return nil, err
	}
	l, err := lesson.Read(path)
	switch {
	case err != nil:
		return nil, err
	case len(l.Exercises) == 0:
		return nil, fmt.Errorf("%s: got a lesson without exercises", l.File.Name)
	case l.Exercises[0].Check == "":
		return nil, fmt.Errorf("%s: got no key beside it, want %s.key.mcs with the checks", l.File.Name, l.Name)
	}
	g := &grader{Options: o, path: path, lesson: l}
	end, err := g.shareData()
	if err != nil {
		return nil, err
	}
	defer end()

	list := make([]*Report, len(hands))
	var all sync.WaitGroup
	var done sync.Mutex
	free := make(chan struct{}, max(o.Jobs, 1))
	for i, h := range hands {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-free }()
			r := g.grade(ctx, h)
			if ctx.Err() != nil { // it is of half a run
				return
			}
			list[i] = r
			done.Lock()
			defer done.Unlock()
			if o.Done != nil {
				o.Done(r)
			}
			r.file, r.ran = nil, nil
		})
	}
	all.Wait()
	return slices.DeleteFunc(list, func(r *Report) bool { return r == nil }), context.Cause(ctx)
}

// A grader grades the files of one lesson.
type grader struct {
	Options
	path   string // of the lesson
	lesson *lesson.Lesson
	data   string      // a folder with the lesson's data
	bare   atomic.Bool // this system gives processes no namespaces of their own
}

// grade is the report of a file.
func (g *grader) grade(ctx context.Context, h Hand) *Report {
	r := &Report{Learner: h.Learner, File: h.Path, Start: time.Now(), Err: h.Err}
	for _, e := range g.lesson.Exercises {
		r.Marks = append(r.Marks, Mark{Exercise: e.Name, Of: e.Points})
	}
	if r.Err == nil {
		r.file, r.Err = notebook.Read(h.Path, filepath.Base(h.Path))
	}
	if r.Err != nil {
		r.refuse(r.Err)
	} else {
		r.Remarks = g.changed(h.Path, r.file)
		g.run(ctx, r)
	}
	r.Took = time.Since(r.Start)
	return r
}

// refuse notes why a file could not be graded.
func (r *Report) refuse(err error) {
	r.Err = err
	r.Remarks = append(r.Remarks, err.Error())
	for i := range r.Marks {
		r.Marks[i].Wrong = err.Error()
	}
}
