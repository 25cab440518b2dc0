package mesh

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// magic begins a connection. Its number is that of the way in which processes talk.
const magic = "mcs ranks 1\n"

// greet lets both ends of a connection show that they know the key, which does not travel: each sends random
// bytes, and then a hash of the key and of both ends' bytes.
func greet(c net.Conn, key []byte, dials bool) error {
	own := make([]byte, sha256.Size)
	_, _ = rand.Read(own) // it never fails
	if _, err := c.Write(append([]byte(magic), own...)); err != nil {
		return err
	}
	other := make([]byte, len(magic)+len(own))
	if _, err := io.ReadFull(c, other); err != nil {
		return err
	}
	if string(other[:len(magic)]) != magic {
		return errors.New("what answers is no rank of this version of mcs")
	}
	other = other[len(magic):]
	proof := func(of, to []byte, dials bool) []byte {
		h := hmac.New(sha256.New, key)
		fmt.Fprintf(h, "%s%v%x%x", magic, dials, of, to)
		return h.Sum(nil)
	}
	if _, err := c.Write(proof(own, other, dials)); err != nil {
		return err
	}
	got := make([]byte, sha256.Size)
	if _, err := io.ReadFull(c, got); err != nil {
		return fmt.Errorf("it is of another run: %w", err)
	}
	if !hmac.Equal(got, proof(other, own, !dials)) {
		return errors.New("it is of another run")
	}
	return nil
}

// write writes a message of a kind: that, its length, its bytes.
func write(c net.Conn, kind byte, text []byte) error {
	head := binary.LittleEndian.AppendUint64([]byte{kind}, uint64(len(text)))
	_, err := (&net.Buffers{head, text}).WriteTo(c)
	return err
}

// readHead reads the kind and the length of a message.
func readHead(c net.Conn) (kind byte, n uint64, err error) {
	var head [9]byte
	_, err = io.ReadFull(c, head[:])
	return head[0], binary.LittleEndian.Uint64(head[1:]), err
}

// read reads a message of at most so many bytes.
func read(c net.Conn, most uint64) (kind byte, text []byte, err error) {
	kind, n, err := readHead(c)
	if err != nil {
		return 0, nil, err
	}
	if n > most {
		return 0, nil, fmt.Errorf("got a message of %d bytes, want at most %d", n, most)
	}
	text = make([]byte, n)
	_, err = io.ReadFull(c, text)
	return kind, text, err
}
