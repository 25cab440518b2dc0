package jupyter

import (
	"io"
	"sync"
)

// An input is the standard input of cells: a read asks the client that runs the cell for a line.
type input struct {
	*kernel
	mu     sync.Mutex
	parent *message
	allow  bool          // the client says that it can ask the person
	ended  chan struct{} // closed when the cell has ended; nil: none runs
	rest   []byte        // of a line
}

func (in *input) begin(m *message, allow bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.parent, in.allow, in.ended, in.rest = m, allow, make(chan struct{}), nil
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

// Read asks for a line. Where the client does not allow it, and after the cell's end, it is the end of the
// file.
func (in *input) Read(b []byte) (int, error) {
	in.mu.Lock()
	parent, allow, ended, rest := in.parent, in.allow, in.ended, in.rest
	in.mu.Unlock()
	if len(rest) == 0 {
		if !allow || ended == nil {
			return 0, io.EOF
		}
		in.out.flush()
		in.sockets[stdin].Send(parent.from, in.signer.write("input_request", parent, map[string]any{"prompt": "", "password": false}))
		line, ok := in.reply(ended)
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

// reply waits for the client's line.
func (in *input) reply(ended <-chan struct{}) (line string, ok bool) {
	for {
		select {
		case <-ended:
			return "", false
		case received := <-in.sockets[stdin].Messages():
			m := in.read(received)
			if m == nil || m.header.Type != "input_reply" {
				continue
			}
			content := struct {
				Value string `json:"value"`
			}{}
			if err := decode(m, &content); err != nil {
				in.log(err)
				continue
			}
			return content.Value, true
		}
	}
}
