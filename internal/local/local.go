// Package local has what the servers of a person's own machine share: taking a port, and comparing secrets.
package local

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
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

// IsLoopback says whether a name of a host, without a port, is this machine's alone.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Same compares secrets in a time that does not tell how much of them is right.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
