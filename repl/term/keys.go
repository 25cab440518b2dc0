package term

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"strings"
	"sync"
)

// Marks are private-use runes that the editor's one-line buffer carries in place of what it cannot hold. Each is one
// column wide.
const (
	markNewline = '\uE000' // a line break inside the buffer
	markTab     = '\uE001' // a tab that is not indentation
	markPaste   = '\uE002' // a key: insert the next pasted text here; a Return follows
	markDelete  = '\uE003' // the Delete key, which readline would take for Ctrl-D on an empty line
)

// A keyReader stands between the terminal and chzyer/readline. It understands what terminals send and readline does
// not: bracketed paste, Home and End as tmux sends them, modified arrows. It hands on one submitted line at a time, so
// that what was typed ahead is not swallowed by readline's own buffer.
type keyReader struct {
	source *source
	in     *bufio.Reader
	out    bytes.Buffer
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	pasted []string // texts that wait for their markPaste
}

func newKeyReader(s *source) *keyReader {
	k := &keyReader{source: s, closed: make(chan struct{})}
	k.in = bufio.NewReader(readerFunc(func(p []byte) (int, error) {
		n, err := s.read(p, k.closed)
		if err == errCancelled {
			err = io.EOF
		}
		return n, err
	}))
	return k
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Close ends a pending Read. The terminal itself stays open.
func (k *keyReader) Close() error {
	k.once.Do(func() { close(k.closed) })
	return nil
}

// ahead says whether something was typed (or pasted without brackets) that nobody has read.
func (k *keyReader) ahead() bool { return k.in.Buffered() > 0 }

// yield gives what was read ahead back to the source, for a cell that reads standard input. The keyboard sends Return
// as a carriage return.
func (k *keyReader) yield() {
	n := k.in.Buffered()
	if n == 0 {
		return
	}
	p, _ := k.in.Peek(n)
	k.source.unread(bytes.ReplaceAll(p, []byte{'\r'}, []byte{'\n'}))
	k.in.Discard(n)
}

// takePaste gives the text that belongs to the oldest markPaste.
func (k *keyReader) takePaste() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.pasted) == 0 {
		return ""
	}
	text := k.pasted[0]
	k.pasted = k.pasted[1:]
	return text
}

// paste queues a text and writes the keys that insert it.
func (k *keyReader) paste(text string) {
	if text == "" {
		return
	}
	k.mu.Lock()
	k.pasted = append(k.pasted, text)
	k.mu.Unlock()
	k.out.WriteRune(markPaste)
	k.out.WriteByte('\r')
}

// Read gives keys in the form that readline understands, up to the first one that submits a line.
func (k *keyReader) Read(p []byte) (int, error) {
	for k.out.Len() == 0 {
		for {
			submits, err := k.key()
			if err != nil && k.out.Len() == 0 {
				return 0, err
			}
			if submits || err != nil || k.in.Buffered() == 0 {
				break
			}
		}
	}
	return k.out.Read(p)
}

const (
	ctrlA, ctrlC, ctrlD, ctrlE, ctrlO = 1, 3, 4, 5, 15
	escape, deleteKey                 = 0x1b, 0x7f
)

// knownControls are the control characters that mean something to readline; it would insert the others.
const knownControls = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x10\x12\x13\x14\x15\x17\x19\x1a\x7f"

// key translates one key; submits says that readline stops reading after it.
func (k *keyReader) key() (submits bool, err error) {
	c, err := k.in.ReadByte()
	switch {
	case err != nil:
		return false, err
	case c == escape:
		return k.escapeKey()
	case c == ctrlO:
		k.paste("\n")
		return true, nil
	case c < 0x20 && strings.IndexByte(knownControls, c) < 0:
		return false, nil
	}
	k.out.WriteByte(c)
	return c == '\r' || c == '\n' || c == ctrlC || c == ctrlD, nil
}

// escapeKey translates a sequence that starts with ESC. Waiting for the byte after ESC loses nothing: readline would
// wait for it as well.
func (k *keyReader) escapeKey() (submits bool, err error) {
	c, err := k.in.ReadByte()
	if err != nil {
		return false, err
	}
	switch c {
	case '[':
		return k.controlSequence()
	case 'O':
		if c, err = k.in.ReadByte(); err == nil && strings.IndexByte("ABCDHF", c) >= 0 {
			k.out.WriteString("\x1b[" + string(rune(c)))
		}
		return false, err
	case '\r', '\n': // Alt-Return: another line, even though the cell is complete
		k.paste("\n")
		return true, nil
	case escape:
		return false, k.in.UnreadByte()
	case 'b', 'f', 'd', deleteKey, 0x14:
		k.out.Write([]byte{escape, c})
	case 0x08:
		k.out.Write([]byte{escape, deleteKey})
	}
	return false, nil
}

// keyNames maps the parameters and final byte of control sequences to what readline understands. What is not listed is
// dropped: readline would insert parts of it.
var keyNames = map[string]string{
	"A": "\x1b[A", "B": "\x1b[B", "C": "\x1b[C", "D": "\x1b[D", "H": "\x01", "F": "\x05",
	"3~": string(markDelete), "1~": "\x01", "7~": "\x01", "4~": "\x05", "8~": "\x05",
	"1;5C": "\x1bf", "1;5D": "\x1bb", "1;3C": "\x1bf", "1;3D": "\x1bb", "1;9C": "\x1bf", "1;9D": "\x1bb",
	"3;5~": "\x1bd", "3;3~": "\x1bd",
}

func (k *keyReader) controlSequence() (submits bool, err error) {
	var seq []byte
	for {
		c, err := k.in.ReadByte()
		if err != nil {
			return false, err
		}
		seq = append(seq, c)
		if c >= 0x40 && c <= 0x7e {
			break
		}
		if len(seq) > 32 {
			return false, nil
		}
	}
	switch name := string(seq); name {
	case "200~":
		return true, k.bracketedPaste()
	default:
		k.out.WriteString(keyNames[name])
	}
	return false, nil
}

// bracketedPaste reads up to the closing bracket. One line break at the end is left out: people copy whole lines, and
// the cell must not run before they have looked at it.
func (k *keyReader) bracketedPaste() error {
	var text []byte
	closing := []byte("\x1b[201~")
	for !bytes.HasSuffix(text, closing) {
		c, err := k.in.ReadByte()
		if err != nil {
			return err
		}
		text = append(text, c)
	}
	k.paste(strings.TrimSuffix(withoutPrompts(cleanPaste(text[:len(text)-len(closing)])), "\n"))
	return nil
}

var pastedPrompt = regexp.MustCompile(`^In \[\d+\]: ?`)

// withoutPrompts takes the cells out of a piece of a session that was copied from a terminal or a page: prompts go, and
// so does what the cells have put out. Other text stays as it is.
func withoutPrompts(text string) string {
	lines := strings.Split(text, "\n")
	if !pastedPrompt.MatchString(lines[0]) {
		return text
	}
	var cells []string
	margin := "" // of the lines that continue a cell; empty in output
	for _, line := range lines {
		prompt := pastedPrompt.FindString(line)
		switch {
		case prompt != "":
			margin = strings.Repeat(" ", len(prompt))
			cells = append(cells, line[len(prompt):])
		case margin != "" && strings.HasPrefix(line, margin):
			cells = append(cells, line[len(margin):])
		default:
			margin = ""
		}
	}
	return strings.Join(cells, "\n")
}

// cleanPaste keeps what can stand in a cell: line breaks of all kinds become one, other control characters go.
func cleanPaste(text []byte) string {
	s := strings.ToValidUTF8(string(text), "\uFFFD")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == deleteKey || r >= markNewline && r <= markDelete {
			return -1
		}
		return r
	}, s)
}
