package library

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"sync"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Stream is an output of cells: package fmt's functions write to it, and os.Stdout (or os.Stderr) of cells
// is a file that leads to it. The file is made when a cell first mentions it: the write end of a pipe. A
// whole program has the session's own stream instead, if that is a file. Goroutines of earlier cells write to
// it like any other code; their output is not marked.
type Stream struct {
	mu    *sync.Mutex // of both streams, which may lead to the same place
	w     io.Writer
	other *Stream

	whole bool // of a whole program

	file *os.File // the variable os.Stdout of cells; they may assign to it
	pipe *pipe

	// mu guards the rest.
	begun bool // a line that has not ended
	mute  *Mute
}

// Streams are os.Stdin, os.Stdout and os.Stderr of cells.
type Streams struct {
	In       *Input
	Out, Err *Stream
}

// NewStreams makes streams that lead to stdout and stderr, and one that reads stdin; nil drops the output,
// and is an empty input. Whole says that they are those of a whole program.
func NewStreams(stdin io.Reader, stdout, stderr io.Writer, whole bool) *Streams {
	mu := new(sync.Mutex)
	ss := &Streams{newInput(stdin), &Stream{mu: mu, w: stdout, file: os.Stdout, whole: whole}, &Stream{mu: mu, w: stderr, file: os.Stderr, whole: whole}}
	ss.Out.other, ss.Err.other = ss.Err, ss.Out
	for _, s := range []*Stream{ss.Out, ss.Err} {
		if s.w == nil {
			s.w = io.Discard
		}
	}
	return ss
}

// Flush waits until all text written to the files has arrived.
func (ss *Streams) Flush() {
	ss.Out.flush()
	ss.Err.flush()
}

// Close closes the files.
func (ss *Streams) Close() {
	ss.Out.close()
	ss.Err.close()
}

// Write may be called by goroutines of cells at any time. Earlier text from the files is written first.
func (s *Stream) Write(b []byte) (int, error) {
	if m, ok := tensor.Context().Value(muteKey{}).(*Mute); ok && m.drop(b) {
		return len(b), nil
	}
	s.flush()
	s.other.flush()
	return s.write(b)
}

func (s *Stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b) > 0 {
		s.begun = b[len(b)-1] != '\n'
		s.other.begun = false
	}
	return s.w.Write(b)
}

// piped takes text that any code has written to the file.
func (s *Stream) piped(b []byte) (int, error) {
	s.mu.Lock()
	m := s.mute
	s.mu.Unlock()
	if m != nil && m.drop(b) {
		return len(b), nil
	}
	return s.write(b)
}

// Line writes a text on lines of its own.
func (s *Stream) Line(text string) {
	s.flush()
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if begun {
		text = "\n" + text
	}
	_, _ = s.write([]byte(text + "\n")) // it fails if the reader of the session's output has gone
}

// open makes the file.
func (s *Stream) open() error {
	if s.pipe != nil {
		return nil
	}
	if f, ok := s.w.(*os.File); ok && s.whole {
		s.file = f
		return nil
	}
	p, err := newPipe(s.piped)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipe, s.file = p, p.in
	return nil
}

// print is where fmt.Print goes: to the file, if a cell has put another in its place.
func (s *Stream) print() io.Writer {
	if s.pipe != nil && s.file != s.pipe.in && s.file != nil {
		return s.file
	}
	return s
}

// flush waits until all text written to the file has arrived.
func (s *Stream) flush() {
	s.mu.Lock()
	p := s.pipe
	s.mu.Unlock()
	if p != nil {
		p.flush()
	}
}

func (s *Stream) close() {
	s.flush()
	if s.pipe != nil {
		_ = s.pipe.in.Close() // a cell may have closed it
	}
}

// A pipe passes the text written to a file to a function. A token in the stream of bytes, which nobody can
// guess, asks for a signal when all text before it has arrived.
type pipe struct {
	in      *os.File
	token   []byte
	mu      sync.Mutex // one flush at a time
	arrived chan struct{}
	ended   chan struct{}
}

func newPipe(to func([]byte) (int, error)) (*pipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &pipe{in: w, token: []byte(rand.Text()), arrived: make(chan struct{}, 1), ended: make(chan struct{})}
	go p.pump(r, to)
	return p, nil
}

func (p *pipe) pump(r *os.File, to func([]byte) (int, error)) {
	defer close(p.ended)
	defer r.Close()
	buf := make([]byte, 32<<10)
	kept := 0 // bytes in front of buf that may begin a token
	for {
		n, err := r.Read(buf[kept:])
		data := buf[:kept+n]
		for {
			before, after, found := bytes.Cut(data, p.token)
			if !found {
				break
			}
			_, _ = to(before) // it fails if the reader of the session's output has gone
			p.arrived <- struct{}{}
			data = after
		}
		hold := 0
		for k := min(len(p.token)-1, len(data)); k > 0 && hold == 0; k-- {
			if bytes.HasSuffix(data, p.token[:k]) {
				hold = k
			}
		}
		if len(data) > hold {
			_, _ = to(data[:len(data)-hold])
		}
		kept = copy(buf, data[len(data)-hold:])
		if err != nil {
			return
		}
	}
}

func (p *pipe) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.in.Write(p.token); err != nil {
		return // a cell has closed it
	}
	select {
	case <-p.arrived:
	case <-p.ended:
	}
}
