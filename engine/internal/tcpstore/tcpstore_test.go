package tcpstore

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// What a client sends, and what the store of PyTorch 2.15 answers to it: both its servers, that with libuv
// and the older one. TestTorchrun of package ranks asks a real store.
func TestRecorded(t *testing.T) {
	const begin = "00cef7853c" + "050100000000000000" + "0100000000000000" + "6b" // validate; check of 1 key, k
	for _, c := range []struct {
		name    string
		replies []string // to each write of the client after the first
		sent    string
		value   string
		there   bool
		err     string
	}{
		{"a value", []string{"00", "0500000000000000" + hex.EncodeToString([]byte("hello"))}, begin + "03" + "0100000000000000" + "6b", "hello", true, ""},
		{"no value", []string{"01"}, begin, "", false, ""},
		{"a huge value", []string{"00", "ffffffffffffff7f"}, begin + "03" + "0100000000000000" + "6b", "", false, "got a value of 9223372036854775807 bytes for k, want at most 1048576"},
		{"a value that is cut off", []string{"00", "0500000000000000" + "68"}, begin + "03" + "0100000000000000" + "6b", "", true, "unexpected EOF"},
		{"nothing", []string{""}, begin, "", false, "EOF"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan []byte)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var all bytes.Buffer
			for i, lengths := 0, []int{5 + 9 + 9, 1 + 9}; i < len(c.replies); i++ {
				_, _ = io.CopyN(&all, conn, int64(lengths[i]))
				reply, _ := hex.DecodeString(c.replies[i])
				_, _ = conn.Write(reply)
			}
			conn.Close()
			sent <- all.Bytes()
		}()
		value, there, err := Get(t.Context(), l.Addr().String(), "k")
		if c.err == "" && (err != nil || value != c.value || there != c.there) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: got %q, %v, %v", c.name, value, there, err)
		}
		if got := hex.EncodeToString(<-sent); got != c.sent {
			t.Errorf("%s: sent %s, want %s", c.name, got, c.sent)
		}
		l.Close()
	}
}

// A store that does not answer holds nobody longer than the context.
func TestSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := Set(ctx, l.Addr().String(), "k", "v"); err == nil || !strings.Contains(err.Error(), "tcpstore: "+l.Addr().String()) {
		t.Errorf("got %v", err)
	}
	l.Close()
	if _, _, err := Get(t.Context(), l.Addr().String(), "k"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
}
