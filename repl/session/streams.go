package session

import (
	"bytes"
	"crypto/rand"
	"go/types"
	"io"
	"os"
	"sync"
)

// A stream is where cells print: package fmt's functions write to it, and what cells know as os.Stdout (or
// os.Stderr) is a file that leads to it. The file is made when a cell first mentions it: the write end of a
// pipe, or the session's own stream if that is a file. Goroutines of earlier cells write to it like any other
// code; nothing marks what is theirs.
type stream struct {
	mu    *sync.Mutex // of both streams, which may lead to the same place
	w     io.Writer
	other *stream

	file *os.File // the variable os.Stdout of cells; they may assign to it
	pipe *pipe
}

// newStreams makes the streams for what cells know as os.Stdout and os.Stderr.
func newStreams(o Options) (out, errOut *stream) {
	mu := new(sync.Mutex)
	out, errOut = &stream{mu: mu, w: o.Stdout, file: os.Stdout}, &stream{mu: mu, w: o.Stderr, file: os.Stderr}
	out.other, errOut.other = errOut, out
	for _, s := range []*stream{out, errOut} {
		if s.w == nil {
			s.w = io.Discard
		}
	}
	return out, errOut
}

// Write is for goroutines of cells at any time. What was written to the files before comes first.
func (s *stream) Write(b []byte) (int, error) {
	s.flush()
	s.other.flush()
	return s.write(b)
}

func (s *stream) write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

// open makes the file.
func (s *stream) open() error {
	if s.pipe != nil {
		return nil
	}
	if f, ok := s.w.(*os.File); ok {
		s.file = f
		return nil
	}
	p, err := newPipe(s.write)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipe, s.file = p, p.in
	return nil
}

// print is where fmt.Print goes: to the file, if a cell has put another in its place.
func (s *stream) print() io.Writer {
	if s.pipe != nil && s.file != s.pipe.in && s.file != nil {
		return s.file
	}
	return s
}

// flush waits until what was written to the file has arrived.
func (s *stream) flush() {
	s.mu.Lock()
	p := s.pipe
	s.mu.Unlock()
	if p != nil {
		p.flush()
	}
}

func (s *stream) close() {
	s.flush()
	if s.pipe != nil {
		_ = s.pipe.in.Close() // a cell may have closed it
	}
}

// A pipe carries what is written to a file to a function. In the stream of bytes a token that nobody can
// guess asks for a word when everything before it has arrived.
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

// openStreams makes the files that checked code mentions as os.Stdout and os.Stderr.
func (s *Session) openStreams(info *types.Info) error {
	for _, o := range info.Uses {
		v, ok := o.(*types.Var)
		if !ok || v.IsField() || v.Pkg() == nil || v.Pkg().Path() != "os" {
			continue
		}
		to := map[string]*stream{"Stdout": s.out, "Stderr": s.errOut}[v.Name()]
		if to == nil {
			continue
		}
		if err := to.open(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) flushStreams() {
	s.out.flush()
	s.errOut.flush()
}
