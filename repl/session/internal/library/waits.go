package library

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/big"
	"net"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/repl/session/internal/rt"
)

// waits are the functions of a package that people wait in, so that an interrupted cell stops there at once,
// and those that would take more memory than there is. A name with an underscore stands for a method; package
// lower has the list of those.
func (lib *Library) waits(path string) map[string]any {
	switch path {
	case "sync":
		return lib.syncWaits()
	case "net":
		return lib.netWaits()
	case "io":
		return map[string]any{
			"ReadAll": lib.calls(io.ReadAll), "Copy": lib.calls(io.Copy), "CopyN": lib.calls(io.CopyN), "ReadFull": lib.calls(io.ReadFull),
			"PipeReader_Read": lib.wait((*io.PipeReader).Read), "PipeWriter_Write": lib.wait((*io.PipeWriter).Write),
		}
	case "os/exec":
		return lib.execWaits()
	case "strings":
		return map[string]any{
			"Repeat": func(text string, n int) string {
				lib.checkSize("strings.Repeat", len(text), n)
				return strings.Repeat(text, n)
			},
			"Builder_Grow": func(b *strings.Builder, n int) { lib.checkSize("Grow", 1, n); b.Grow(n) },
		}
	case "bytes":
		return map[string]any{
			"Repeat":      func(b []byte, n int) []byte { lib.checkSize("bytes.Repeat", len(b), n); return bytes.Repeat(b, n) },
			"Buffer_Grow": func(b *bytes.Buffer, n int) { lib.checkSize("Grow", 1, n); b.Grow(n) },
		}
	case "math/big":
		return map[string]any{
			"Int_Lsh": func(z, x *big.Int, n uint) *big.Int {
				lib.checkSize("Lsh", 1, int(min(n/8, math.MaxInt)))
				return z.Lsh(x, n)
			},
		}
	}
	return nil
}

// checkSize panics if n times size bytes are more than cells may have, where Go would end the process.
func (lib *Library) checkSize(what string, size, n int) {
	if n > 0 && size > 0 && uint64(n) > lib.limits.Memory/uint64(size) {
		panic(rt.RuntimeError(fmt.Sprintf("%s: %d times %d bytes are more than cells may take", what, n, size)))
	}
}

// wait returns a function that calls f, and ends the wait for it where its cell is stopped.
func (lib *Library) wait(f any) reflect.Value {
	return waiting(f, func(call func()) { lib.rt.Block(call, nil) })
}

// calls is wait for a function that may call functions of cells.
func (lib *Library) calls(f any) reflect.Value { return waiting(f, lib.rt.BlockCalling) }

func waiting(f any, block func(call func())) reflect.Value {
	v := reflect.ValueOf(f)
	return reflect.MakeFunc(v.Type(), func(args []reflect.Value) (results []reflect.Value) {
		done := make(chan []reflect.Value, 1)
		block(func() { done <- rt.Call(v, args) })
		select {
		case results = <-done:
		default: // the call was left behind
			for t := range v.Type().Outs() {
				results = append(results, reflect.Zero(t))
			}
		}
		return results
	})
}

// one and two make a call of one or two results that may wait; unblock may end it.
func one[A any](lib *Library, unblock func(), f func() A) (a A) {
	lib.rt.Block(func() { a = f() }, unblock)
	return a
}

func two[A, B any](lib *Library, unblock func(), f func() (A, B)) (A, B) {
	var r struct {
		a A
		b B
	}
	lib.rt.Block(func() { r.a, r.b = f() }, unblock)
	return r.a, r.b
}

func (lib *Library) syncWaits() map[string]any {
	r := lib.rt
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

// past returns a deadline that ends a wait at once.
func past() time.Time { return time.Unix(1, 0) }

func (lib *Library) netWaits() map[string]any {
	// read waits for a connection. A read that is given up is woken, and the connection can be used again.
	type deadlined interface {
		SetReadDeadline(time.Time) error
	}
	read := func(c deadlined, f func() (int, error)) (int, error) {
		ended := make(chan struct{})
		return two(lib, func() {
			if c.SetReadDeadline(past()) == nil {
				<-ended
				_ = c.SetReadDeadline(time.Time{}) // it has worked a moment ago
			}
		}, func() (int, error) { defer close(ended); return f() })
	}
	accept := func(l net.Listener) (net.Conn, error) {
		ended := make(chan struct{})
		return two(lib, func() {
			d, ok := l.(interface{ SetDeadline(time.Time) error })
			if ok && d.SetDeadline(past()) == nil {
				<-ended
				_ = d.SetDeadline(time.Time{}) // it has worked a moment ago
			}
		}, func() (net.Conn, error) { defer close(ended); return l.Accept() })
	}
	return map[string]any{
		"Dial": lib.wait(net.Dial), "DialTimeout": lib.wait(net.DialTimeout), "LookupHost": lib.wait(net.LookupHost), "LookupIP": lib.wait(net.LookupIP),
		"Listener_Accept":    accept,
		"TCPListener_Accept": func(l *net.TCPListener) (net.Conn, error) { return accept(l) },
		"Conn_Read":          func(c net.Conn, b []byte) (int, error) { return read(c, func() (int, error) { return c.Read(b) }) },
		"TCPConn_Read":       func(c *net.TCPConn, b []byte) (int, error) { return read(c, func() (int, error) { return c.Read(b) }) },
		"UDPConn_Read":       func(c *net.UDPConn, b []byte) (int, error) { return read(c, func() (int, error) { return c.Read(b) }) },
	}
}
