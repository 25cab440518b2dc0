package runner

import (
	"io"
	"sync"
)

// An input is the standard input of cells: a read asks who runs the cell for a line.
type input struct {
	flush func() // what the cell has printed, which may be a question

	mu    sync.Mutex
	ask   func(ended <-chan struct{}) (line string, ok bool)
	ended chan struct{} // closed when the cell has ended; nil: none runs
	rest  []byte        // of a line
}

func (in *input) begin(ask func(ended <-chan struct{}) (line string, ok bool)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ask, in.ended, in.rest = ask, make(chan struct{}), nil
}

// End lets a read return that waits.
func (in *input) End() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended != nil {
		close(in.ended)
		in.ended = nil
	}
}

// Read asks for a line. Where nobody can be asked, and after the cell's end, it is the end of the file.
func (in *input) Read(b []byte) (int, error) {
	in.mu.Lock()
	ask, ended, rest := in.ask, in.ended, in.rest
	in.mu.Unlock()
	if len(rest) == 0 {
		if ask == nil || ended == nil {
			return 0, io.EOF
		}
		in.flush()
		line, ok := ask(ended)
		if !ok {
			return 0, io.EOF
		}
		rest = []byte(line + "\n")
	}
	n := copy(b, rest)
	in.mu.Lock()
	in.rest = rest[n:]
	in.mu.Unlock()
	return n, nil
}
