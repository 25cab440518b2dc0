// Package local has what the servers of a person's own machine share: taking a port, serving on it, and
// comparing secrets.
package local

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// Loopback is the address that only this machine reaches.
const Loopback = "127.0.0.1"

// Listen takes a port of an address; 0 is a free one.
func Listen(host string, port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is taken by another program; --port 0 takes a free one", port)
	}
	return l, err
}

// slowHeaders is the time for a client to say what it wants.
const slowHeaders = 10 * time.Second

// Serve answers requests while work runs beside, until ctx ends or the listener fails. The context of work
// and of the requests has then ended; ended is closed when work has returned. The caller closes h.
func Serve(ctx context.Context, l net.Listener, h *http.Server, work func(context.Context)) (ended <-chan struct{}, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h.ReadHeaderTimeout, h.BaseContext = slowHeaders, func(net.Listener) context.Context { return ctx }
	worked, served := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(worked)
		work(ctx)
	}()
	go func() { served <- h.Serve(l) }()
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	return worked, err
}

// IsLoopback says whether a name of a host, without a port, is this machine's alone.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Same compares secrets in a time that does not tell how much of them is right.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
