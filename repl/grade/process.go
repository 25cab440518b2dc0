package grade

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/script"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

const (
	// share is which part of a file's time a step has.
	share = 4
	// grace is how long a step may take beyond its time before its process is ended: a session stops most
	// code by itself.
	grace = 5 * time.Second
	// lookEvery is how often the memory of a process is looked at.
	lookEvery = 50 * time.Millisecond
)

// run runs a learner's file until all its steps have been done, or have ended a process.
func (g *grader) run(ctx context.Context, r *Report) {
	r.ran = map[*mcsfile.Cell]notebook.Ran{}
	steps := stepsOf(g.lesson, r.file)
	said, ended := map[string]told{}, map[string]string{} // of each step: what has come of it, or how it ended a process
	ctx, cancel := context.WithDeadlineCause(ctx, r.Start.Add(g.Time), fmt.Errorf("the time for the file, %v, was over", g.Time))
	defer cancel()
	for {
		p := &process{grader: g, file: r.File, skip: slices.Sorted(maps.Keys(ended)), said: said}
		why := p.run(ctx)
		if why == nil {
			break
		}
		if p.step == "" {
			r.refuse(fmt.Errorf("not graded: %w", why))
			return
		}
		ended[p.step] = why.Error()
		delete(said, p.step)
		if ctx.Err() != nil {
			break
		}
	}
	for _, s := range steps {
		t, did := said[s.name]
		why, fatal := ended[s.name]
		switch {
		case fatal:
			t.Wrong = why
		case !did:
			t.Wrong = "not reached"
		}
		if s.check != nil {
			r.mark(s.check.Name, t)
			continue
		}
		r.cell(s.cell, t, fatal, did || fatal)
	}
	for i := range r.Marks {
		if m := &r.Marks[i]; last(g.lesson, r.file, g.lesson.Exercise(m.Exercise)) < 0 {
			m.Wrong = "missing"
		}
	}
}

// mark notes what a check has said. Of an answer that is wrong, the error of its cell is said first.
func (r *Report) mark(exercise string, t told) {
	m := &r.Marks[slices.IndexFunc(r.Marks, func(m Mark) bool { return m.Exercise == exercise })]
	if m.Took = t.Took; t.Wrong == "" {
		m.Points, m.Wrong = m.Of, ""
		return
	}
	m.Wrong = strings.Trim(m.Wrong+"\n"+t.Wrong, "\n")
}

// cell notes what a cell has put out, and the error of one that has failed.
func (r *Report) cell(c *mcsfile.Cell, t told, fatal, ran bool) {
	if fatal || !ran {
		t.Ran.Outputs = append(t.Ran.Outputs, notebook.Failed(t.Wrong))
	}
	r.ran[c] = t.Ran
	if t.Wrong == "" || !ran || c.Checked && script.Match(c.Want, visible.Text(t.Wrong)) { // a lesson may show an error
		return
	}
	text := r.placed(c, t)
	if fatal {
		r.Remarks = append(r.Remarks, text)
	}
	if word, name, _ := strings.Cut(c.Title, " "); word == "exercise" {
		if i := slices.IndexFunc(r.Marks, func(m Mark) bool { return m.Exercise == strings.TrimSpace(name) }); i >= 0 {
			r.Marks[i].Wrong = text
		}
	} else if !fatal {
		r.Remarks = append(r.Remarks, text)
	}
}

// placed is the first line of a cell's error with its place in the file: that of the cell, or the line in it
// that the session has named.
func (r *Report) placed(c *mcsfile.Cell, t told) string {
	text, n, line, col := cell.Line(t.Wrong, 1), 0, 1, 0
	if rest, _, ok := strings.Cut(text, ": "); ok {
		if _, err := fmt.Sscanf(rest, "In[%d]:%d:%d", &n, &line, &col); err == nil && n == t.Ran.N {
			text = text[len(rest)+len(": "):]
		} else {
			line = 1
		}
	}
	return r.file.At(c.Line+line-1) + ": " + text
}

// A process does the steps of a file, but for those that are skipped.
type process struct {
	*grader
	file string
	skip []string
	said map[string]told // by step

	step  string    // that runs, or that ran last
	since time.Time // when it began; zero: none runs
	all   bool      // all steps are done
}

// run runs the process to its end. The error is why it ended before all steps were done.
func (p *process) run(ctx context.Context) error {
	dir, err := p.folder()
	if err != nil {
		return err
	}
	defer removeAll(dir)
	word := rand.Text()
	text, err := json.Marshal(order{Word: word, Lesson: p.path, File: filepath.Join(dir, filepath.Base(p.file)), Skip: p.skip,
		Limit: p.Time / share, Memory: p.Memory, Outputs: p.Pages})
	if err != nil {
		return err
	}
	var said head
	cmd, in, out, err := p.start(dir, &said)
	if err != nil {
		return err
	}
	defer in.Close()
	lines := make(chan told)
	go func() {
		defer close(lines)
		listen(out, word, lines)
	}()
	if _, err := in.Write(append(text, '\n')); err != nil {
		end(cmd)
	}
	why := p.watch(ctx, cmd, dir, lines)
	if why != nil || p.all {
		end(cmd)
	}
	force := time.AfterFunc(time.Second, func() { end(cmd) }) // it may have closed its output only
	for range lines {
	}
	failed := cmd.Wait()
	force.Stop()
	switch {
	case p.all:
		return nil
	case why != nil:
		return why
	case said.reason() != "":
		return errors.New("ended the process: " + said.reason())
	case failed != nil:
		return fmt.Errorf("ended the process: %w", failed)
	}
	return errors.New("ended the process")
}

// watch waits until the process has told all, or has to be ended, which the error says.
func (p *process) watch(ctx context.Context, cmd *exec.Cmd, dir string, lines <-chan told) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for n := 1; ; n++ {
		select {
		case t, ok := <-lines:
			if !ok || t.All {
				p.all = t.All
				return nil
			}
			p.step = t.Step
			if p.since = time.Now(); !t.Begun {
				p.said[t.Step], p.since = t, time.Time{}
			}
		case <-look.C:
			if limit := p.Time / share; !p.since.IsZero() && time.Since(p.since) > limit+grace {
				return fmt.Errorf("did not stop after %v", limit)
			}
			if held := resident(cmd.Process.Pid); held > p.Memory {
				return fmt.Errorf("held more than %s of memory", units.Bytes(p.Memory))
			}
			if n%20 == 0 && regular.Size(dir) > p.Memory {
				return fmt.Errorf("wrote more than %s", units.Bytes(p.Memory))
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// start starts the process: confined, as far as the system can, or else without that.
func (p *process) start(dir string, said io.Writer) (cmd *exec.Cmd, in io.WriteCloser, out io.Reader, err error) {
	for {
		cmd = p.Command()
		cmd.Dir, cmd.Env, cmd.Stderr = dir, environment(dir), said
		cmd.WaitDelay = time.Second
		if in, err = cmd.StdinPipe(); err != nil {
			return nil, nil, nil, err
		}
		if out, err = cmd.StdoutPipe(); err != nil {
			return nil, nil, nil, err
		}
		bare := p.bare.Load()
		confine(cmd, bare)
		if err = cmd.Start(); err == nil || bare {
			return cmd, in, out, err
		}
		p.bare.Store(true)
	}
}

// listen sends what the process tells, and drops whatever else is written to the stream.
func listen(out io.Reader, word string, lines chan<- told) {
	r := bufio.NewReaderSize(out, 64<<10)
	var line []byte
	long := false
	for {
		part, more, err := r.ReadLine()
		if err != nil {
			return
		}
		if long = long || len(line)+len(part) > maxTold; !long {
			line = append(line, part...)
		}
		if more {
			continue
		}
		var t told
		if !long && bytes.HasPrefix(line, []byte(`{"Word":"`+word)) && json.Unmarshal(line, &t) == nil {
			lines <- t
		}
		line, long = line[:0], false
	}
}

// A head keeps the beginning of what is written, for the reason of a crash.
type head struct{ text []byte }

func (h *head) Write(b []byte) (int, error) {
	h.text = append(h.text, b[:min(len(b), 16<<10-len(h.text))]...)
	return len(b), nil
}

// reason is the line in which Go's runtime says why it ends the process.
func (h *head) reason() string {
	for line := range strings.SplitSeq(string(h.text), "\n") {
		for _, begin := range []string{"fatal error: ", "panic: ", "mcs: "} {
			if strings.HasPrefix(line, begin) {
				return strings.TrimPrefix(line, "fatal error: ")
			}
		}
	}
	return ""
}

// environment is what a process knows of this one's: nothing that may be a secret.
func environment(dir string) (list []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		for _, known := range []string{"PATH", "LANG", "LC_", "LD_LIBRARY_PATH", "CUDA_", "NVIDIA_", "MCS_", "GODEBUG", "HF_HOME", "SYSTEMROOT"} {
			if strings.EqualFold(name, known) || strings.HasSuffix(known, "_") && strings.HasPrefix(name, known) {
				list = append(list, v)
			}
		}
	}
	for _, name := range []string{"HOME", "TMPDIR", "TMP", "TEMP", "USERPROFILE", "LOCALAPPDATA"} {
		list = append(list, name+"="+dir)
	}
	return list
}
