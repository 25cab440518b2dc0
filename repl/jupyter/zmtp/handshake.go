package zmtp

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"time"
)

// handshakeTime is how long a peer may take to say who it is.
const handshakeTime = 10 * time.Second

// maxHandshake is how many bytes a frame of the handshake may have.
const maxHandshake = 4 << 10

// A wire is a connection with a peer that has said who it is.
type wire struct {
	net.Conn
	in   *bufio.Reader
	kind string  // the type of the peer's socket
	id   string  // the identity that it wants, or one that was made for it
	box  *cipher // nil: nothing is encrypted
}

// greeting is what a peer sends first.
func greeting(mechanism string, server bool) []byte {
	g := make([]byte, 64)
	g[0], g[9], g[10], g[11] = 0xff, 0x7f, 3, 1
	copy(g[12:32], mechanism)
	if server {
		g[32] = 1
	}
	return g
}

// greet exchanges greetings.
func (w *wire) greet(mechanism string, server bool) error {
	if _, err := w.Write(greeting(mechanism, server)); err != nil {
		return err
	}
	g := make([]byte, 64)
	if _, err := io.ReadFull(w.in, g); err != nil {
		return err
	}
	if g[0] != 0xff || g[9]&1 == 0 || g[10] < 3 {
		return fmt.Errorf("zmtp: got % x, want the greeting of version 3", g[:12])
	}
	if got := string(bytes.TrimRight(g[12:32], "\x00")); got != mechanism {
		return fmt.Errorf("zmtp: got a peer with security %s, want %s", got, mechanism)
	}
	return nil
}

// accept shakes hands with a peer that has connected. A kind is the socket's, keys those of CURVE or nil.
func accept(c net.Conn, kind Kind, keys *Keys) (*wire, error) {
	w := &wire{Conn: c, in: bufio.NewReader(c)}
	if err := c.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return nil, err
	}
	own := appendProperty(nil, "Socket-Type", []byte(kind))
	var metadata []byte
	var err error
	if keys != nil {
		metadata, err = w.acceptCurve(keys, own)
	} else {
		metadata, err = w.exchangeNull(own)
	}
	if err != nil {
		return nil, err
	}
	return w, w.meet(metadata, kind)
}

// exchangeNull greets a peer without security, and exchanges metadata with it.
func (w *wire) exchangeNull(own []byte) ([]byte, error) {
	if err := w.greet("NULL", false); err != nil {
		return nil, err
	}
	if err := w.writeFrames(command("READY", own)); err != nil {
		return nil, err
	}
	return w.expect("READY")
}

// meet takes a peer's metadata.
func (w *wire) meet(metadata []byte, kind Kind) error {
	m, err := parseProperties(metadata)
	if err != nil {
		return err
	}
	w.kind, w.id = m["socket-type"], m["identity"]
	if !kind.meets(w.kind) {
		_ = w.writeFrames(command("ERROR", []byte("\x13Invalid socket type")))
		return fmt.Errorf("zmtp: got a peer of type %q, which a %s socket does not meet", w.kind, kind)
	}
	w.id = cmp.Or(w.id, "\x00"+rand.Text()) // as ZeroMQ does: names that begin with a zero are the socket's
	return w.SetDeadline(time.Time{})
}

// expect reads a command of the handshake, which must have this name.
func (w *wire) expect(name string) ([]byte, error) {
	f, err := readFrame(w.in, maxHandshake)
	if err != nil {
		return nil, err
	}
	got, data, err := parseCommand(f.body)
	if err != nil {
		return nil, err
	}
	if got != name || f.flags&flagCommand == 0 {
		return nil, fmt.Errorf("zmtp: got command %q, want %s", got, name)
	}
	return data, nil
}

// writeFrames writes frames as they are, in one call.
func (w *wire) writeFrames(list ...frame) error {
	var b []byte
	for _, f := range list {
		b = appendFrame(b, f)
	}
	_, err := w.Write(b)
	return err
}

// read reads a message or a command.
func (w *wire) read() (frames [][]byte, isCommand bool, err error) {
	for left := int64(MaxMessage); ; {
		f, err := readFrame(w.in, left)
		if err == nil && w.box != nil {
			f, err = w.box.open(f)
		}
		if err != nil {
			return nil, false, err
		}
		if frames = append(frames, f.body); f.flags&flagMore == 0 || f.flags&flagCommand != 0 {
			return frames, f.flags&flagCommand != 0, nil
		}
		if left -= int64(len(f.body)); len(frames) >= maxFrames {
			return nil, false, fmt.Errorf("zmtp: got a message of more than %d frames", maxFrames)
		}
	}
}

// write writes a message, or a command of one frame.
func (w *wire) write(frames [][]byte, isCommand bool) error {
	list := make([]frame, len(frames))
	for i, body := range frames {
		f := frame{body: body}
		if isCommand {
			f.flags = flagCommand
		} else if i < len(frames)-1 {
			f.flags = flagMore
		}
		if w.box != nil {
			f = w.box.seal(f)
		}
		list[i] = f
	}
	return w.writeFrames(list...)
}
