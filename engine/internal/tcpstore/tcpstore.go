// Package tcpstore is a client of PyTorch's TCPStore, in which a process of torchrun can leave a word for the
// others: keys and values. The protocol is not documented; it is read from torch/csrc/distributed/c10d
// (TCPStoreBackend.hpp), and has been the same since PyTorch 2.1.
package tcpstore

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// Kinds of requests.
const (
	validate = 0
	set      = 1
	get      = 3
	check    = 5

	number = 0x3C85F7CE // with which a client begins
	most   = 1 << 20    // bytes of a value
	limit  = 10 * time.Second
)

// with calls f with a connection to the store at host and port.
func with(ctx context.Context, addr string, f func(c net.Conn) error) error {
	c, err := (&net.Dialer{Timeout: limit}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("tcpstore: %w", err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(0, 0)) })()
	_ = c.SetDeadline(time.Now().Add(limit))
	_, err = c.Write(binary.LittleEndian.AppendUint32([]byte{validate}, number))
	if err == nil {
		err = f(c)
	}
	if err != nil {
		return fmt.Errorf("tcpstore: %s: %w", addr, err)
	}
	return nil
}

// word appends a text after its length.
func word(b []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
}

// Set gives a key a value. It returns when the store has it.
func Set(ctx context.Context, addr, key, value string) error {
	return with(ctx, addr, func(c net.Conn) error {
		if _, err := c.Write(word(word([]byte{set}, key), value)); err != nil {
			return err
		}
		got, there, err := read(c, key) // the store does not answer to set
		if err == nil && (!there || got != value) {
			err = fmt.Errorf("got %q for %s, want %q as was set", got, key, value)
		}
		return err
	})
}

// Get returns the value of a key, and whether it has one.
func Get(ctx context.Context, addr, key string) (value string, there bool, err error) {
	err = with(ctx, addr, func(c net.Conn) error {
		value, there, err = read(c, key)
		return err
	})
	return value, there, err
}

func read(c net.Conn, key string) (value string, there bool, err error) {
	if _, err := c.Write(word(binary.LittleEndian.AppendUint64([]byte{check}, 1), key)); err != nil {
		return "", false, err
	}
	var missing [1]byte
	if _, err := io.ReadFull(c, missing[:]); err != nil || missing[0] != 0 {
		return "", false, err
	}
	if _, err := c.Write(word([]byte{get}, key)); err != nil {
		return "", false, err
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return "", false, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > most {
		return "", false, fmt.Errorf("got a value of %d bytes for %s, want at most %d", n, key, most)
	}
	text := make([]byte, n)
	_, err = io.ReadFull(c, text)
	return string(text), true, err
}
