package grade

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/repl/lesson"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
	"github.com/mcs-notebook/mcs/repl/session"
)

// An order is what a process is to do, a line on its standard input, which stays open as long as somebody
// wants to know.
type order struct {
	Word         string // stands in all that is told: code of the learner's cannot know it
	Lesson, File string
	Skip         []string // steps that have ended other processes
	Limit        time.Duration
	Memory       int64
	Outputs      bool
}

// Something told is a line of JSON on standard output.
type told struct {
	Word  string
	Step  string
	Begun bool         // the step begins; else it has ended
	Ran   notebook.Ran // what a cell has put out
	Wrong string       // the error of a cell, or what a check says
	Took  time.Duration
	All   bool // no step is left
}

const (
	// maxTold is how long a line may be: what a cell puts out is cut before.
	maxTold = 8 << 20
	// maxPutOut is how many bytes of outputs a whole file may have.
	maxPutOut = 32 << 20
	// maxWrong is how many characters of an error are told.
	maxWrong = 2000
)

// A step is a cell, or the check of an exercise.
type step struct {
	name  string
	cell  *mcsfile.Cell
	check *lesson.Exercise
}

// stepsOf are the cells of a file in order, and behind the last one of each exercise its check.
func stepsOf(l *lesson.Lesson, f *mcsfile.File) (list []step) {
	for i, c := range f.Code() {
		list = append(list, step{name: fmt.Sprintf("cell %d", i+1), cell: c})
		if e := l.Of(c); e != nil && last(l, f, e) == i {
			list = append(list, step{name: "check " + e.Name, check: e})
		}
	}
	return list
}

// Work does what the process that has started this one orders, in a session that open starts. In and out are
// standard input and output.
func Work(ctx context.Context, in io.Reader, out *os.File, open func(session.Options) (*session.Session, error)) error {
	fence()
	line, err := bufio.NewReader(in).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("grade: got no order: %w", err)
	}
	go func() {
		if _, err := io.Copy(io.Discard, in); err == nil { // nobody waits for this process any more
			os.Exit(1)
		}
	}()
	w := &worker{out: apart(out)}
	if err := json.Unmarshal(line, &w.order); err != nil {
		return fmt.Errorf("grade: got no order: %w", err)
	}
	if w.lesson, err = lesson.Read(w.Lesson); err != nil {
		return err
	}
	f, err := notebook.Read(w.File, filepath.Base(w.File))
	if err != nil {
		return err
	}
	o := session.Options{Script: true, Confined: true, Memory: uint64(w.Memory)}
	w.recorder.Listen(&o)
	if w.session, err = open(o); err != nil {
		return err
	}
	for _, s := range stepsOf(w.lesson, f) {
		if slices.Contains(w.Skip, s.name) {
			continue
		}
		if err := errors.Join(w.tell(told{Step: s.name, Begun: true}), w.tell(w.do(ctx, s))); err != nil {
			return err
		}
	}
	return w.tell(told{All: true})
}

// A worker runs the steps of a file.
type worker struct {
	order
	lesson   *lesson.Lesson
	session  *session.Session
	recorder notebook.Recorder
	putOut   int // bytes of outputs so far

	out io.Writer
}

// do runs a step.
func (w *worker) do(ctx context.Context, s step) told {
	ctx, cancel := context.WithTimeout(ctx, w.Limit)
	defer cancel()
	start, t := time.Now(), told{Step: s.name}
	var err error
	if s.check != nil {
		err = w.lesson.Judge(ctx, w.session, s.check)
	} else {
		r := w.session.Run(ctx, s.cell.Source)
		r.Err = stopped(ctx, r.Err, w.Limit)
		t.Ran, err = w.ran(r), r.Err
	}
	if err = stopped(ctx, err, w.Limit); err != nil {
		t.Wrong = cut(err.Error())
	}
	t.Took = time.Since(start)
	return t
}

// stopped says of an interrupted step that its time was over.
func stopped(ctx context.Context, err error, limit time.Duration) error {
	if errors.Is(err, session.ErrInterrupted) && ctx.Err() != nil {
		return fmt.Errorf("stopped after %v", limit)
	}
	return err
}

// cut is an error's text without what would flood a page.
func cut(text string) string {
	if r := []rune(strings.ToValidUTF8(text, "\uFFFD")); len(r) > maxWrong {
		return string(r[:maxWrong]) + "…"
	}
	return text
}

// ran is what a cell has put out, as far as it is wanted and there is room.
func (w *worker) ran(r session.Result) notebook.Ran {
	ran := w.recorder.Ended(r)
	if !w.Outputs {
		return notebook.Ran{N: ran.N}
	}
	text, err := json.Marshal(ran.Outputs)
	if w.putOut += len(text); err != nil || len(text) > maxTold/2 || w.putOut > maxPutOut {
		ran.Outputs = []notebook.Output{notebook.Printed("stderr", "… the outputs are left out: they are too large\n")}
	}
	return ran
}

// tell tells the process that has started this one. What it tells stands on a line of its own, whatever code
// of the learner's has written to the same stream.
func (w *worker) tell(t told) error {
	t.Word = w.Word
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = w.out.Write(slices.Concat([]byte{'\n'}, line, []byte{'\n'}))
	return err
}
