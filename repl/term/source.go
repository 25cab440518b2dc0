package term

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// errCancelled is the error of a read that was given up before anything was typed.
var errCancelled = errors.New("read cancelled")

// A source shares one blocking reader, the terminal, between readers that may give up: the editor, and a
// cell that reads standard input and is interrupted. A read of a terminal cannot be interrupted; if its
// reader has given up, the text that it brings goes to the next reader.
type source struct {
	reads  chan struct{}
	chunks chan chunk
	turn   sync.Mutex // of the goroutine that reads now

	mu      sync.Mutex
	rest    []byte
	pending bool // a read was asked for and has not been answered
	lines   bool // it was asked for while the terminal gave lines
}

type chunk struct {
	data []byte
	err  error
}

func newSource(r io.Reader) *source {
	s := &source{reads: make(chan struct{}, 1), chunks: make(chan chunk, 1)}
	go func() {
		for range s.reads {
			buf := make([]byte, 4096)
			n, err := r.Read(buf)
			s.chunks <- chunk{buf[:n], err}
		}
	}()
	return s
}

// ask makes chunks receive the next typed text. The goroutine that receives it calls answered.
func (s *source) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.pending {
		s.pending = true
		s.reads <- struct{}{}
	}
}

// gives says whether the terminal gives keys or lines from now on.
func (s *source) gives(keys bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = keys && s.pending
}

// answered returns the text of a read, in which Return is a carriage return if a line ended the read: the
// driver of the terminal makes line feeds of them.
func (s *source) answered(c chunk) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines && bytes.HasSuffix(c.data, []byte{'\n'}) {
		c.data[len(c.data)-1] = '\r'
	}
	s.pending, s.lines = false, false
	return c.data
}

// take returns text that was read and not used, without waiting.
func (s *source) take() []byte {
	var data []byte
	select {
	case c := <-s.chunks:
		data = s.answered(c)
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := append(s.rest, data...)
	s.rest = nil
	return rest
}

// read returns the available text, or waits for more until cancel is closed.
func (s *source) read(p []byte, cancel <-chan struct{}) (int, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	select {
	case <-cancel:
		return 0, errCancelled
	default:
	}
	data := s.take()
	if len(data) == 0 {
		s.ask()
		select {
		case c := <-s.chunks:
			if data = s.answered(c); len(data) == 0 {
				return 0, c.err
			}
		case <-cancel:
			return 0, errCancelled
		}
	}
	n := copy(p, data)
	s.unread(data[n:])
	return n, nil
}

// unread puts bytes back in front of the unread ones.
func (s *source) unread(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(append([]byte{}, p...), s.rest...)
}

// A cellInput is the standard input of cells: lines of the same terminal.
type cellInput struct {
	source *source
	editor *cellEditor // nil on terminals without one

	mu     sync.Mutex
	cancel chan struct{} // nil: no cell runs
}

// begin lets the reads of the next cell wait.
func (in *cellInput) begin() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.cancel = make(chan struct{})
}

// End ends the read that waits, and those to come until the next cell: they find the end of the file.
func (in *cellInput) End() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.cancel != nil {
		close(in.cancel)
		in.cancel = nil
	}
}

// Read reads of the text that the person types while the cell runs, at most to the end of a line: what
// follows may be the next cell.
func (in *cellInput) Read(p []byte) (int, error) {
	in.mu.Lock()
	cancel := in.cancel
	in.mu.Unlock()
	if cancel == nil {
		return 0, io.EOF
	}
	if in.editor != nil {
		in.source.unread(in.editor.yield())
	}
	n, err := in.source.read(p, cancel)
	if err == errCancelled {
		err = io.EOF
	}
	if i := bytes.IndexByte(p[:n], '\n'); i >= 0 {
		in.source.unread(p[i+1 : n])
		n = i + 1
	}
	return n, err
}

// yield returns the text typed ahead, for a cell that reads standard input. The keyboard sends Return as a
// carriage return.
func (e *cellEditor) yield() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reading {
		return nil
	}
	return bytes.ReplaceAll(e.keys.Take(), []byte{'\r'}, []byte{'\n'})
}
