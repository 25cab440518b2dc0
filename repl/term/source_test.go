package term

import (
	"io"
	"testing"
)

// A cell that reads standard input has asked for a line when it ends. What is typed before the terminal gives
// keys answers it as a line, whose end is the driver's line feed: for the prompt it is Return.
func TestLineOfAnOlderRead(t *testing.T) {
	for _, c := range []struct {
		name, typed, want string
		then              func(*source)
	}{
		{"a line for the prompt", "go on\n", "go on\r", func(s *source) { s.gives(true) }},
		{"a key for the prompt", "\r", "\r", func(s *source) { s.gives(true) }},
		{"a line for the next cell", "go on\n", "go on\n", func(s *source) { s.gives(true); s.gives(false) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, w := io.Pipe()
			defer w.Close()
			s := newSource(r)
			given := make(chan struct{})
			close(given)
			s.ask()
			if _, err := s.read(make([]byte, 1), given); err != errCancelled {
				t.Fatalf("a read that is given up: got %v", err)
			}
			c.then(s)
			go io.WriteString(w, c.typed)
			buf := make([]byte, 64)
			n, err := s.read(buf, nil)
			if got := string(buf[:n]); err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
			s.ask() // keys of the terminal's own come as they are
			go io.WriteString(w, "\n")
			if n, err := s.read(buf, nil); err != nil || string(buf[:n]) != "\n" {
				t.Errorf("Ctrl-J: got %q, %v", buf[:n], err)
			}
		})
	}
}
