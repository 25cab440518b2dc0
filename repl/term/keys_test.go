package term

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// What terminals send, and what readline gets of it.
func TestKeys(t *testing.T) {
	const mark = string(markPaste) + "\r"
	for _, c := range []struct {
		name, in, out string
		pasted        []string
	}{
		{"text", "x := 1\r", "x := 1\r", nil},
		{"utf-8", "é日\r", "é日\r", nil},
		{"arrows", "\x1b[A\x1b[B\x1bOC\x1bOD", "\x1b[A\x1b[B\x1b[C\x1b[D", nil},
		{"home and end", "\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[7~\x1b[8~\x1bOH\x1bOF", "\x01\x05\x01\x05\x01\x05\x1b[H\x1b[F", nil},
		{"words", "\x1b[1;5C\x1b[1;5D\x1bb\x1bf\x1bd\x1b\x7f", "\x1bf\x1bb\x1bb\x1bf\x1bd\x1b\x7f", nil},
		{"delete", "\x1b[3~", string(markDelete), nil},
		{"unknown", "\x1b[15~\x1b[I\x1b[12;40R\x1bOP\x1bq\x00\x1e", "", nil},
		{"escape twice", "\x1b\x1b[A", "\x1b[A", nil},
		{"alt-return", "a\x1b\rb", "a" + mark + "b", []string{"\n"}},
		{"ctrl-o", "a\x0fb", "a" + mark + "b", []string{"\n"}},
		{"paste", "a\x1b[200~b\r\nc\rd\te\x1b[201~f", "a" + mark + "f", []string{"b\nc\nd\te"}},
		{"paste of a line", "\x1b[200~x\n\x1b[201~", mark, []string{"x"}},
		{"paste of nothing", "\x1b[200~\x1b[201~", "", nil},
		{"paste of control characters", "\x1b[200~a\x1b[31mb\x03\xffc\x1b[201~", mark, []string{"a[31mb\uFFFDc"}},
		{"paste of a session", "\x1b[200~In [1]: x := 1\n        y := 2\nOut[1]: 7\n        8\n\nIn [2]: y\n2\x1b[201~", mark,
			[]string{"x := 1\ny := 2\ny"}},
		{"two pastes", "\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~", mark + mark, []string{"a", "b"}},
	} {
		for how, in := range map[string]io.Reader{
			"at once":      strings.NewReader(c.in),
			"byte by byte": iotest.OneByteReader(strings.NewReader(c.in)),
		} {
			k := newKeyReader(newSource(in))
			out, err := io.ReadAll(k)
			if string(out) != c.out || err != nil {
				t.Errorf("%s, %s: got %q, %v, want %q", c.name, how, out, err, c.out)
			}
			for _, want := range append(c.pasted, "") {
				if got := k.takePaste(); got != want {
					t.Errorf("%s, %s: pasted %q, want %q", c.name, how, got, want)
				}
			}
		}
	}
}

// One submitted line at a time: readline's own buffer must not hold what a cell may want to read.
func TestKeysStopAtReturn(t *testing.T) {
	k := newKeyReader(newSource(strings.NewReader("first\rsecond\rthird")))
	buf := make([]byte, 100)
	n, err := k.Read(buf)
	if got := string(buf[:n]); got != "first\r" || err != nil {
		t.Fatalf("got %q, %v, want the first line", got, err)
	}
	if !k.ahead() {
		t.Error("more was typed, but ahead says no")
	}
	in := &cellInput{keys: k}
	if n, err = in.Read(buf); string(buf[:n]) != "second\nthird" || err != nil {
		t.Errorf("cell reads %q, %v, want what was typed ahead", buf[:n], err)
	}
	if n, err = k.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("got %q, %v, want io.EOF", buf[:n], err)
	}
}

// A read that was given up loses nothing: what it was waiting for goes to the next reader.
func TestSourceCancel(t *testing.T) {
	r, w := io.Pipe()
	s := newSource(r)
	cancel := make(chan struct{})
	close(cancel)
	buf := make([]byte, 2)
	if n, err := s.read(buf, cancel); n != 0 || err != errCancelled {
		t.Fatalf("got %d, %v, want errCancelled", n, err)
	}
	go func() {
		w.Write([]byte("abc"))
		w.Close()
	}()
	for _, want := range []string{"ab", "c"} {
		if n, err := s.read(buf, nil); string(buf[:n]) != want || err != nil {
			t.Fatalf("got %q, %v, want %q", buf[:n], err, want)
		}
	}
	if _, err := s.read(buf, nil); err != io.EOF {
		t.Fatalf("got %v, want io.EOF", err)
	}
}
