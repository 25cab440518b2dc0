// Package zmtp is the server's side of the ZeroMQ message transport protocol 3.1 (rfc.zeromq.org/spec/37):
// the sockets that a Jupyter kernel binds, over TCP and Unix sockets, without protection or with CURVE
// (spec/26).
//
// github.com/go-zeromq/zmq4, the one library in Go without cgo that is kept, shakes hands in its accept loop,
// so that a peer that says nothing keeps all others out; a subscriber that does not read stops its PUB
// socket; it makes room for as many bytes as a peer claims to send; and it has no CURVE. Here each peer has
// two goroutines, one that reads and one that writes from a bounded queue, and costs no other peer anything.
//
// Reading order: zmtp.go (frames and commands), handshake.go, curve.go, socket.go.
package zmtp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The flags of a frame.
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

// MaxMessage is how many bytes a message may have.
const MaxMessage = 256 << 20

// maxFrames is how many frames a message may have.
const maxFrames = 1 << 12

// A frame is a part of a message, or a command.
type frame struct {
	flags byte // flagMore, flagCommand
	body  []byte
}

// readFrame reads a frame of at most limit bytes. Memory grows with what arrives, not with what the peer
// claims.
func readFrame(r io.Reader, limit int64) (f frame, err error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:2]); err != nil {
		return f, err
	}
	f.flags = head[0]
	n := uint64(head[1])
	if f.flags&flagLong != 0 {
		if _, err := io.ReadFull(r, head[2:9]); err != nil {
			return f, err
		}
		n = binary.BigEndian.Uint64(head[1:9])
	}
	if n > uint64(limit) {
		return f, fmt.Errorf("zmtp: got a frame of %d bytes, want at most %d", n, limit)
	}
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, int64(n)); err != nil {
		return f, err
	}
	f.body = body.Bytes()
	return f, nil
}

// appendFrame writes a frame behind b.
func appendFrame(b []byte, f frame) []byte {
	if len(f.body) > 255 {
		b = binary.BigEndian.AppendUint64(append(b, f.flags|flagLong), uint64(len(f.body)))
	} else {
		b = append(b, f.flags, byte(len(f.body)))
	}
	return append(b, f.body...)
}

// command returns a command's frame.
func command(name string, data []byte) frame {
	body := append([]byte{byte(len(name))}, name...)
	return frame{flagCommand, append(body, data...)}
}

// parseCommand splits the body of a command into its name and its data.
func parseCommand(body []byte) (name string, data []byte, err error) {
	if len(body) == 0 || len(body) < 1+int(body[0]) {
		return "", nil, errors.New("zmtp: got a command without a name")
	}
	n := 1 + int(body[0])
	return string(body[1:n]), body[n:], nil
}

// appendProperty writes a property of the metadata that peers tell each other behind b.
func appendProperty(b []byte, name string, value []byte) []byte {
	b = append(append(b, byte(len(name))), name...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(value)))
	return append(b, value...)
}

// parseProperties reads metadata.
func parseProperties(b []byte) (map[string]string, error) {
	m := map[string]string{}
	for len(b) > 0 {
		n := 1 + int(b[0])
		if len(b) < n+4 {
			return nil, errors.New("zmtp: got metadata that ends early")
		}
		name := string(bytes.ToLower(b[1:n]))
		size := binary.BigEndian.Uint32(b[n:])
		b = b[n+4:]
		if uint64(size) > uint64(len(b)) {
			return nil, errors.New("zmtp: got metadata that ends early")
		}
		m[name], b = string(b[:size]), b[size:]
	}
	return m, nil
}
