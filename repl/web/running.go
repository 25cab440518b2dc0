package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcs-notebook/mcs/internal/units"
	"github.com/mcs-notebook/mcs/internal/visible"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/notebook"
	"github.com/mcs-notebook/mcs/repl/runner"
)

// A job is a cell that waits to be run, or code that is none.
type job struct{ cell, code string }

type runRequest struct {
	Cells []string `json:"cells"`
	Slide bool     `json:"slide"` // the cell that a talk shows
}

// run has cells wait to be run, in order. A replay shows what they have put out instead.
func (s *server) run(request runRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slides := s.book.slides(); request.Slide && len(slides) > 0 {
		request.Cells = []string{s.book.nb.Cells[slides[s.at(slides)]].ID}
	}
	for _, id := range request.Cells {
		c := s.book.cell(id)
		if c == nil {
			return nil, refusal{http.StatusNotFound, errors.New("run: the notebook has no such cell")}
		}
		if c.Kind != "code" || s.book.at(id).state != "" {
			continue // prose, or a cell that runs already or will
		}
		if s.talk.replay != "" {
			s.play(c)
			continue
		}
		s.waiting = append(s.waiting, job{cell: id})
		s.state(id, "waiting")
	}
	s.rouse()
	return nothing{}, nil
}

// reset forgets all names of the session.
func (s *server) reset(nothing) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	s.waiting = append(s.waiting, job{code: "%reset"})
	s.rouse()
	return nothing{}, nil
}

// interrupt stops the cell that runs, and those that wait do not.
func (s *server) interrupt(nothing) (any, error) {
	s.mu.Lock()
	s.drop()
	s.mu.Unlock()
	s.runner.Interrupt()
	return nothing{}, nil
}

type lineRequest struct {
	Line string `json:"line"`
}

// line gives a cell the line that it waits for.
func (s *server) line(request lineRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asks == nil {
		return nil, refusal{http.StatusConflict, errors.New("no cell waits for input")}
	}
	s.asks <- request.Line
	s.asks = nil
	s.send(event{Kind: "asks"})
	return nothing{}, nil
}

// ask waits for a line that a person types.
func (s *server) ask(ended <-chan struct{}) (line string, ok bool) {
	lines := make(chan string, 1)
	s.mu.Lock()
	s.asks = lines
	s.send(event{Kind: "asks", Cell: s.running})
	s.mu.Unlock()
	select {
	case line = <-lines:
		return line, true
	case <-ended:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.asks == lines {
			s.asks = nil
			s.send(event{Kind: "asks"})
		}
		return "", false
	}
}

// drop has cells that wait not run. The caller holds mu, as those of the functions below do.
func (s *server) drop() {
	for _, j := range s.waiting {
		if j.cell != "" {
			s.state(j.cell, "")
		}
	}
	s.waiting = nil
}

// state says what a cell does.
func (s *server) state(id, state string) {
	c := s.book.at(id)
	c.state = state
	s.send(event{Kind: "state", Cell: id, State: state, Count: c.count, Took: c.took})
}

// rouse tells the goroutine that runs cells of work.
func (s *server) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// keepAfter is how long changes may be nowhere but in memory.
const keepAfter = 2 * time.Second

// runCells runs the cells that wait until ctx ends, and keeps changes.
func (s *server) runCells(ctx context.Context) {
	go s.keepChanges(ctx)
	for {
		s.mu.Lock()
		var next job
		more := len(s.waiting) > 0 && ctx.Err() == nil
		if more {
			next, s.waiting = s.waiting[0], s.waiting[1:]
		}
		s.mu.Unlock()
		if more {
			s.runOne(ctx, next)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
	}
}

// keepChanges writes changes that were not saved to where the next server finds them, however this one ends.
func (s *server) keepChanges(ctx context.Context) {
	for tick := time.NewTicker(keepAfter); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		s.mu.Lock()
		if _, err := s.book.keep(); err != nil {
			s.send(event{Kind: "notice", Text: err.Error()})
		}
		s.mu.Unlock()
	}
}

// runOne runs a cell, or code that is none. After a cell that fails those that wait do not run.
func (s *server) runOne(ctx context.Context, j job) {
	s.work.Lock()
	defer s.work.Unlock()
	s.mu.Lock()
	c := s.book.cell(j.cell)
	if j.cell != "" && c == nil { // it was deleted
		s.mu.Unlock()
		return
	}
	ctx, end := s.runner.Begin(ctx)
	defer end()
	request := runner.Cell{Code: j.code}
	if c != nil {
		request = runner.Cell{Title: c.Title(), Code: c.Source, Ask: s.ask, Send: func(kind string, content any) { s.message(j.cell, kind, content) }}
		s.running = j.cell
		s.book.at(j.cell).took = ""
		s.clear(j.cell)
		s.state(j.cell, "running")
	}
	s.mu.Unlock()
	start := time.Now()
	o := s.runner.Run(ctx, request)
	variables := s.variables()
	s.mu.Lock()
	defer s.mu.Unlock()
	if c != nil {
		s.book.at(j.cell).took = units.Duration(time.Since(start).Round(time.Millisecond))
		s.state(j.cell, "")
		if filepath.Ext(s.book.path) == notebook.Extension { // which has outputs
			s.book.changes++
			s.send(event{Kind: "unsaved"})
		}
		s.payload(j.cell, o.Payload)
	}
	if s.running = ""; o.Failure != nil {
		s.drop()
	}
	s.names = variables
	s.send(event{Kind: "variables", HTML: variables})
	if s.o.Follow != nil {
		if err := s.follow(); err != nil {
			s.send(event{Kind: "notice", Text: err.Error()})
		}
	}
}

// follow saves the notebook, and shows the one that the session leads to.
func (s *server) follow() error {
	if err := s.book.save(false); err != nil {
		return err
	}
	s.send(event{Kind: "saved", Revision: s.book.revision})
	path, ran, led := s.o.Follow()
	switch {
	case !led:
		return nil
	case path == s.book.path:
		s.queue(ran)
		return nil
	}
	b, err := open(path, s.o.Dir)
	if err != nil {
		return err
	}
	b.revision = s.book.revision + 1 // no page has it
	s.drop()
	s.book.close()
	s.book = b
	s.send(event{Kind: "book", Book: s.view(), Revision: b.revision})
	s.queue(ran)
	return nil
}

// queue has the first cells wait to be run.
func (s *server) queue(n int) {
	for i := range s.book.nb.Cells {
		if c := &s.book.nb.Cells[i]; c.Kind == "code" && n > 0 {
			s.waiting = append(s.waiting, job{cell: c.ID})
			s.state(c.ID, "waiting")
			n--
		}
	}
	s.rouse()
}

// variables are those of the session, as a table.
func (s *server) variables() string {
	if s.o.Variables == nil {
		return ""
	}
	v, err := s.o.Variables()
	if err != nil || v == nil {
		return ""
	}
	return fragment(notebook.Shown(display.Bundled(v, runner.TextWidth), 0))
}

// clear makes a cell have no outputs, which those of this session follow.
func (s *server) clear(id string) {
	c := s.book.at(id)
	c.outputs, c.ran = nil, true
	s.send(event{Kind: "clear", Cell: id})
}

// message takes what a cell puts out.
func (s *server) message(id, kind string, content any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.book.at(id)
	fields, _ := content.(map[string]any)
	b, _ := fields["data"].(display.Bundle)
	switch kind {
	case "execute_input":
		c.count, _ = fields["execution_count"].(int)
		s.state(id, c.state)
	case "clear_output":
		s.clear(id)
	case "stream":
		name, _ := fields["name"].(string)
		text, _ := fields["text"].(string)
		s.printed(id, name, text)
	case "display_data", "update_display_data":
		transient, _ := fields["transient"].(map[string]any)
		name, _ := transient["display_id"].(string)
		s.place(id, output{made: notebook.Shown(b, 0), display: name})
	case "execute_result":
		s.place(id, output{made: notebook.Shown(b, c.count)})
	case "error":
		if f, ok := content.(*runner.Failure); ok {
			s.place(id, output{made: notebook.Output{"output_type": "error", "ename": f.Name, "evalue": f.Value, "traceback": f.Traceback}})
		}
	}
}

// printed puts text behind what a cell has printed.
func (s *server) printed(id, stream, text string) {
	text = visible.Text(text)
	c := s.book.at(id)
	if n := len(c.outputs); n > 0 && c.outputs[n-1].stream == stream {
		c.outputs[n-1].text += text
		s.send(event{Kind: "append", Cell: id, At: n - 1, Text: text})
		return
	}
	s.place(id, output{stream: stream, text: text})
}

// maxOutputs is how many outputs of a cell a page has.
const maxOutputs = 1000

// place puts an output below the others of a cell, or in the place of the display that it draws again.
func (s *server) place(id string, o output) {
	c := s.book.at(id)
	at := len(c.outputs)
	if o.display != "" {
		if i := slices.IndexFunc(c.outputs, func(old output) bool { return old.display == o.display }); i >= 0 {
			at = i
		}
	}
	failed := o.made["output_type"] == "error"
	switch {
	case at > maxOutputs && !failed:
		return
	case at == maxOutputs && !failed:
		o = output{stream: "stderr", text: fmt.Sprintf("… more than %d outputs are left out: show less\n", maxOutputs)}
		fallthrough
	case at == len(c.outputs):
		c.outputs = append(c.outputs, o)
	default:
		c.outputs[at] = o
	}
	s.send(event{Kind: "output", Cell: id, At: at, HTML: fragment(o.value())})
}

// payload does what a cell asks of the page: a text for the next cell, or an answer beside the notebook.
func (s *server) payload(id string, list []map[string]any) {
	for _, p := range list {
		switch p["source"] {
		case "page":
			b, _ := p["data"].(display.Bundle)
			s.send(event{Kind: "page", HTML: fragment(notebook.Shown(b, 0))})
		case "set_next_input":
			text, _ := p["text"].(string)
			at := slices.IndexFunc(s.book.nb.Cells, func(c notebook.Cell) bool { return c.ID == id })
			s.book.nb.Cells = slices.Insert(s.book.nb.Cells, at+1, notebook.Cell{Kind: "code", ID: rand.Text()[:8], Source: text, Metadata: map[string]any{}})
			s.changed("")
		}
	}
}
