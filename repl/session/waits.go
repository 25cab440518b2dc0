package session

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// waits are the functions of a package that people wait in, so that an interrupted cell stops there at once,
// and those that would take more memory than there is. A name with an underscore stands for a method; package
// lower has the list of those.
func (s *Session) waits(path string) map[string]any {
	switch path {
	case "sync":
		return s.syncWaits()
	case "net":
		return s.netWaits()
	case "net/http":
		return s.httpWaits()
	case "io":
		return s.ioWaits()
	case "os/exec":
		return s.execWaits()
	case "strings":
		return map[string]any{
			"Repeat": func(text string, n int) string {
				s.checkSize("strings.Repeat", len(text), n)
				return strings.Repeat(text, n)
			},
			"Builder_Grow": func(b *strings.Builder, n int) { s.checkSize("Grow", 1, n); b.Grow(n) },
		}
	case "bytes":
		return map[string]any{
			"Repeat":      func(b []byte, n int) []byte { s.checkSize("bytes.Repeat", len(b), n); return bytes.Repeat(b, n) },
			"Buffer_Grow": func(b *bytes.Buffer, n int) { s.checkSize("Grow", 1, n); b.Grow(n) },
		}
	case "math/big":
		return map[string]any{
			"Int_Lsh": func(z, x *big.Int, n uint) *big.Int {
				s.checkSize("Lsh", 1, int(min(n/8, math.MaxInt)))
				return z.Lsh(x, n)
			},
		}
	}
	return nil
}

// checkSize panics if n times size bytes are more than cells may have, where Go would end the process.
func (s *Session) checkSize(what string, size, n int) {
	if n > 0 && size > 0 && uint64(n) > memoryLimit()/uint64(size) {
		panic(rt.RuntimeError(fmt.Sprintf("%s: %d times %d bytes are more than cells may take", what, n, size)))
	}
}

// one and two make a call of one or two results that may wait. Calling says that it may call functions of
// cells.
func one[A any](s *Session, unblock func(), f func() A) (a A) {
	s.rt.Block(func() { a = f() }, unblock)
	return a
}

func two[A, B any](s *Session, unblock func(), f func() (A, B)) (A, B) {
	var r struct {
		a A
		b B
	}
	s.rt.Block(func() { r.a, r.b = f() }, unblock)
	return r.a, r.b
}

func calling[A, B any](s *Session, f func() (A, B)) (A, B) {
	var r struct {
		a A
		b B
	}
	s.rt.BlockCalling(func() { r.a, r.b = f() })
	return r.a, r.b
}

func (s *Session) syncWaits() map[string]any {
	r := s.rt
	return map[string]any{
		"Mutex_Lock":     func(m *sync.Mutex) { r.Lock(m.TryLock, m.Lock, m.Unlock) },
		"Mutex_Unlock":   func(m *sync.Mutex) { r.Unlock("unlock of unlocked mutex", m.TryLock, m.Unlock, m.Unlock) },
		"RWMutex_Lock":   func(m *sync.RWMutex) { r.Lock(m.TryLock, m.Lock, m.Unlock) },
		"RWMutex_RLock":  func(m *sync.RWMutex) { r.Lock(m.TryRLock, m.RLock, m.RUnlock) },
		"RWMutex_Unlock": func(m *sync.RWMutex) { r.Unlock("Unlock of unlocked RWMutex", m.TryRLock, m.RUnlock, m.Unlock) },
		"RWMutex_RUnlock": func(m *sync.RWMutex) {
			r.Unlock("RUnlock of unlocked RWMutex", m.TryLock, m.Unlock, m.RUnlock)
		},
		"WaitGroup_Wait": func(w *sync.WaitGroup) { r.Block(w.Wait, nil) },
		"Cond_Wait":      r.CondWait,
	}
}

// past is a deadline that ends what waits now.
func past() time.Time { return time.Unix(1, 0) }

func (s *Session) netWaits() map[string]any {
	// read waits for a connection; one that is given up is woken, and can be used again.
	type deadlined interface {
		SetReadDeadline(time.Time) error
	}
	read := func(c deadlined, f func() (int, error)) (int, error) {
		ended := make(chan struct{})
		return two(s, func() {
			if c.SetReadDeadline(past()) == nil {
				<-ended
				_ = c.SetReadDeadline(time.Time{}) // it has worked a moment ago
			}
		}, func() (int, error) { defer close(ended); return f() })
	}
	accept := func(l net.Listener) (net.Conn, error) {
		ended := make(chan struct{})
		return two(s, func() {
			d, ok := l.(interface{ SetDeadline(time.Time) error })
			if ok && d.SetDeadline(past()) == nil {
				<-ended
				_ = d.SetDeadline(time.Time{}) // it has worked a moment ago
			}
		}, func() (net.Conn, error) { defer close(ended); return l.Accept() })
	}
	return map[string]any{
		"Dial": func(network, address string) (net.Conn, error) {
			return two(s, nil, func() (net.Conn, error) { return net.Dial(network, address) })
		},
		"DialTimeout": func(network, address string, d time.Duration) (net.Conn, error) {
			return two(s, nil, func() (net.Conn, error) { return net.DialTimeout(network, address, d) })
		},
		"LookupHost": func(host string) ([]string, error) {
			return two(s, nil, func() ([]string, error) { return net.LookupHost(host) })
		},
		"LookupIP": func(host string) ([]net.IP, error) {
			return two(s, nil, func() ([]net.IP, error) { return net.LookupIP(host) })
		},
		"Listener_Accept":    accept,
		"TCPListener_Accept": func(l *net.TCPListener) (net.Conn, error) { return accept(l) },
		"Conn_Read":          func(c net.Conn, b []byte) (int, error) { return read(c, func() (int, error) { return c.Read(b) }) },
		"TCPConn_Read":       func(c *net.TCPConn, b []byte) (int, error) { return read(c, func() (int, error) { return c.Read(b) }) },
		"UDPConn_Read":       func(c *net.UDPConn, b []byte) (int, error) { return read(c, func() (int, error) { return c.Read(b) }) },
	}
}

func (s *Session) httpWaits() map[string]any {
	type response = *http.Response
	get := func(f func() (response, error)) (response, error) { return two(s, nil, f) }
	serve := func(srv *http.Server, f func() error) error {
		return one(s, func() { _ = srv.Close() }, f) // so that its address can be used again
	}
	own := newHandlers().registering()
	maps.Copy(own, map[string]any{
		"Get":  func(url string) (response, error) { return get(func() (response, error) { return http.Get(url) }) },
		"Head": func(url string) (response, error) { return get(func() (response, error) { return http.Head(url) }) },
		"Post": func(url, kind string, body io.Reader) (response, error) {
			return calling(s, func() (response, error) { return http.Post(url, kind, body) })
		},
		"Client_Do": func(c *http.Client, r *http.Request) (response, error) {
			return calling(s, func() (response, error) { return c.Do(r) })
		},
		"Client_Get": func(c *http.Client, url string) (response, error) {
			return calling(s, func() (response, error) { return c.Get(url) })
		},
		"Client_Post": func(c *http.Client, url, kind string, body io.Reader) (response, error) {
			return calling(s, func() (response, error) { return c.Post(url, kind, body) })
		},
		"ListenAndServe": func(address string, h http.Handler) error {
			srv := &http.Server{Addr: address, Handler: h}
			return serve(srv, srv.ListenAndServe)
		},
		"Serve": func(l net.Listener, h http.Handler) error {
			srv := &http.Server{Handler: h}
			return serve(srv, func() error { return srv.Serve(l) })
		},
		"Server_ListenAndServe": func(srv *http.Server) error { return serve(srv, srv.ListenAndServe) },
		"Server_Serve":          func(srv *http.Server, l net.Listener) error { return serve(srv, func() error { return srv.Serve(l) }) },
	})
	return own
}

func (s *Session) ioWaits() map[string]any {
	return map[string]any{
		"ReadAll": func(r io.Reader) ([]byte, error) {
			return calling(s, func() ([]byte, error) { return io.ReadAll(r) })
		},
		"Copy": func(w io.Writer, r io.Reader) (int64, error) {
			return calling(s, func() (int64, error) { return io.Copy(w, r) })
		},
		"CopyN": func(w io.Writer, r io.Reader, n int64) (int64, error) {
			return calling(s, func() (int64, error) { return io.CopyN(w, r, n) })
		},
		"ReadFull": func(r io.Reader, b []byte) (int, error) {
			return calling(s, func() (int, error) { return io.ReadFull(r, b) })
		},
		"PipeReader_Read": func(p *io.PipeReader, b []byte) (int, error) {
			return two(s, nil, func() (int, error) { return p.Read(b) })
		},
		"PipeWriter_Write": func(p *io.PipeWriter, b []byte) (int, error) {
			return two(s, nil, func() (int, error) { return p.Write(b) })
		},
	}
}
