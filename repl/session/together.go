package session

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/repl/display"
)

// Together is for cells that several processes run, this session among them.
type Together interface {
	// Begin returns the context that a cell is to run in: one that has ended, if it cannot run elsewhere.
	Begin(ctx context.Context, cell string) context.Context
	// End waits until the cell has ended everywhere. It takes what the cell has put out here and its error,
	// and returns the lines that others have put out and this session has not, and the error of the whole.
	End(output string, err error) (others string, all error)
}

// Join has the next cells run together with those of others; nil: alone again. The end of the session closes
// what is an io.Closer.
func (s *Session) Join(t Together) { s.together = t }

// Joined is what runs the cells of this session elsewhere, or nil.
func (s *Session) Joined() Together { return s.together }

// Count makes n the number of the next cell.
func (s *Session) Count(n int) { s.past.n = n - 1 }

// RunAlone is Run for a cell within a command's, which no other session runs: all that it shows counts as put
// out.
func (s *Session) RunAlone(ctx context.Context, cell string) Result {
	s.heard.all = true
	defer func() { s.heard.all = false }()
	return s.Run(ctx, cell)
}

// runTogether runs a cell here, and has t run it elsewhere.
func (s *Session) runTogether(ctx context.Context, t Together, cell string) Result {
	ctx = t.Begin(ctx, cell)
	s.heard.begin()
	at := len(s.past.cells)
	r := s.run(ctx, cell)
	s.streams.Flush()
	var others string
	if others, r.Err = t.End(s.heard.end(), r.Err); others != "" {
		s.showNow(&r)
		r.Out = false
		s.streams.Out.Line(strings.TrimRight(others, "\n"))
	}
	s.past.cells[at].Err = r.Err != nil
	return r
}

// heard is what a cell has put out: what it has printed, and shown as on a page without an end.
type heard struct {
	mu       sync.Mutex
	on, deaf bool
	all      bool // values with another text each time, too
	text     strings.Builder
}

func (h *heard) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Reset()
	h.on = true
}

func (h *heard) end() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.on = false
	return h.text.String()
}

func (h *heard) add(text func() string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.on && !h.deaf {
		h.text.WriteString(text())
	}
}

// value hears a value that the cell shows.
func (h *heard) value(v display.Value) {
	h.mu.Lock()
	on := h.on
	h.mu.Unlock()
	if on { // its text may be code of the cell, which prints
		text := display.Styled(v, 0, nil)
		h.add(func() string { return "\n" + text + "\n" })
	}
}

// without calls f, which puts out what is not to be heard.
func (h *heard) without(f func()) {
	h.mu.Lock()
	h.deaf = true
	h.mu.Unlock()
	f()
	h.mu.Lock()
	h.deaf = false
	h.mu.Unlock()
}

// listener passes on what cells print.
type listener struct {
	io.Writer
	heard *heard
}

func (l listener) Write(p []byte) (int, error) {
	l.heard.add(func() string { return string(p) })
	return l.Writer.Write(p)
}

// listened is a stream of cells whose text is heard.
func (s *Session) listened(w io.Writer) io.Writer {
	if w == nil {
		w = io.Discard
	}
	return listener{w, &s.heard}
}
