package library

import (
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/internal/unread"
)

// An Input is the standard input of cells: os.Stdin of cells is a file that leads to it, and package fmt's
// functions read that file. The session's own stream is that file if it is one, as in a compiled program.
// Otherwise, in a notebook, the file is a pipe of the session's own, made when a cell first reads or mentions
// it. The stream is read only while a cell runs and somebody waits for the pipe, and no further than is
// waited for. So what the person types for the next cell is never taken, and a reader that an interrupt or
// the end of a cell leaves behind finds the end of the file, and not the keyboard.
type Input struct {
	from io.Reader
	file *os.File // the variable os.Stdin of cells; they may assign to it

	mu   sync.Mutex
	pipe *inputPipe // nil: no cell has asked for it
	stop chan struct{}
}

// An Ender is a stream whose waiting Read returns when End is called, without having taken anything.
type Ender interface{ End() }

func newInput(from io.Reader) *Input {
	in := &Input{from: from, file: os.Stdin}
	switch f := from.(type) {
	case nil:
		in.from = io.MultiReader()
	case *os.File:
		in.file = f
	}
	return in
}

// Begin is called when a cell begins. Readers that an earlier one has left behind find the end of the file,
// and the cell has a new one.
func (in *Input) Begin() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stop = make(chan struct{})
	if in.pipe != nil {
		in.feed()
	}
}

// End is called when a cell has ended.
func (in *Input) End() {
	in.mu.Lock()
	defer in.mu.Unlock()
	close(in.stop)
	in.stop = nil
	if in.pipe == nil {
		return
	}
	if e, ok := in.from.(Ender); ok {
		e.End()
		<-in.pipe.fed
	}
	if in.pipe.awaited() {
		in.pipe.close()
	}
}

// open makes the pipe if there is none.
func (in *Input) open() (err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if _, own := in.from.(*os.File); own || in.pipe != nil {
		return nil
	}
	if in.pipe, err = newInputPipe(); err != nil {
		return err
	}
	in.file = in.pipe.out
	in.feed()
	return nil
}

// feed has the pipe fed while the cell runs. The caller holds mu.
func (in *Input) feed() {
	if in.pipe.awaited() {
		in.pipe.close()
	}
	if in.pipe.closed() {
		next, err := newInputPipe()
		if err != nil {
			return // cells read the end of the file
		}
		if in.file == in.pipe.out {
			in.file = next.out
		}
		in.pipe = next
	}
	if in.stop != nil {
		in.pipe.fed = make(chan struct{})
		go in.pipe.feed(in.from, in.stop)
	}
}

// read is what package fmt's functions read.
func (in *Input) read() io.Reader {
	if err := in.open(); err != nil {
		return io.MultiReader()
	}
	return in.file
}

// lend gives a command that is to read os.Stdin of cells what it leads to: nobody sees that a process waits
// for a pipe.
func (in *Input) lend(c *exec.Cmd) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if f, ok := c.Stdin.(*os.File); !ok || in.pipe == nil || f != in.pipe.out {
		return
	}
	c.Stdin = in.from
	if _, ok := in.from.(Ender); ok {
		c.Stdin = os.Stdin // a terminal that nobody else reads meanwhile
	}
}

// An inputPipe is a pipe that is written to when somebody waits for it.
type inputPipe struct {
	out, in *os.File
	once    sync.Once
	ended   chan struct{} // closed when nothing more will be written
	fed     chan struct{} // closed when nobody feeds it any more
}

func newInputPipe() (*inputPipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &inputPipe{out: r, in: w, ended: make(chan struct{}), fed: make(chan struct{})}
	close(p.fed)
	return p, nil
}

func (p *inputPipe) close() {
	p.once.Do(func() {
		_ = p.in.Close() // the reader's end is the cells'
		close(p.ended)
	})
}

func (p *inputPipe) closed() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

const (
	// lookEvery is how often it is looked whether somebody waits for the input.
	lookEvery = 5 * time.Millisecond
	// waitsFrom is how long a reader takes from which on it waits.
	waitsFrom = 10 * time.Millisecond
)

// free returns a channel that is closed as soon as nobody reads the pipe: reads of a file happen one after
// the other, so another use of it, which takes nothing, waits for a read that waits, and for those that
// follow it at once.
func (p *inputPipe) free() <-chan struct{} {
	free := make(chan struct{})
	raw, err := p.out.SyscallConn()
	go func() {
		defer close(free)
		if err == nil {
			err = raw.Read(func(uintptr) bool { return true })
		}
		if err != nil {
			p.close() // a cell has closed it
		}
	}()
	return free
}

// awaited says whether somebody waits for the pipe.
func (p *inputPipe) awaited() bool {
	select {
	case <-p.free():
		return false
	case <-time.After(waitsFrom):
		return true
	}
}

// empty says whether all that was written has been taken.
func (p *inputPipe) empty() bool {
	n := 0
	if raw, err := p.out.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { n = unread.Bytes(fd) }) // it fails if a cell has closed the file
	}
	return n == 0
}

// feed passes on what each read of from brings to those who wait for it, until stop is closed.
func (p *inputPipe) feed(from io.Reader, stop <-chan struct{}) {
	defer close(p.fed)
	buf := make([]byte, 4096)
	for free := p.free(); ; {
		select {
		case <-stop:
			return
		case <-free:
			select {
			case <-stop:
				return
			case <-time.After(lookEvery):
			}
			free = p.free()
			continue
		case <-time.After(waitsFrom):
		}
		if !p.empty() {
			continue
		}
		n, err := from.Read(buf)
		if n > 0 {
			_, _ = p.in.Write(buf[:n]) // it fails if a cell has closed it
		}
		if err != nil {
			p.close()
			return
		}
	}
}
