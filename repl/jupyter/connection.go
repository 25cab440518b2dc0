package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/mcs-notebook/mcs/internal/regular"
	"github.com/mcs-notebook/mcs/repl/jupyter/zmtp"
)

// maxConnection is how many bytes a connection file may have.
const maxConnection = 64 << 10

// A Connection says where a kernel listens, and how messages are signed. It is what a client's connection
// file has.
type Connection struct {
	Transport       string `json:"transport"` // "tcp" or "ipc"
	IP              string `json:"ip"`        // for ipc the beginning of the sockets' paths
	Shell           int    `json:"shell_port"`
	Control         int    `json:"control_port"`
	Stdin           int    `json:"stdin_port"`
	IOPub           int    `json:"iopub_port"`
	Heartbeat       int    `json:"hb_port"`
	SignatureScheme string `json:"signature_scheme"`
	Key             string `json:"key"` // empty: messages are not signed
	CurvePublic     string `json:"curve_publickey"`
	CurveSecret     string `json:"curve_secretkey"` // empty: nothing is encrypted
}

// ReadConnection reads a connection file.
func ReadConnection(path string) (*Connection, error) {
	text, err := regular.Text(path, maxConnection)
	if err != nil {
		return nil, err
	}
	c := &Connection{Transport: "tcp", IP: "127.0.0.1", SignatureScheme: "hmac-sha256"}
	if err := json.Unmarshal([]byte(text), c); err != nil {
		return nil, fmt.Errorf("%s: got no connection file: %w", path, err)
	}
	switch {
	case c.Transport != "tcp" && c.Transport != "ipc":
		return nil, fmt.Errorf("%s: got transport %q, want tcp or ipc", path, c.Transport)
	case c.Key != "" && c.SignatureScheme != "hmac-sha256":
		return nil, fmt.Errorf("%s: got signature_scheme %q, want hmac-sha256", path, c.SignatureScheme)
	}
	for _, s := range c.channels() {
		if *s.port < 0 || *s.port > 65535 || *s.port == 0 && c.Transport == "ipc" {
			return nil, fmt.Errorf("%s: got port %d for %s, want 1 to 65535", path, *s.port, s.name)
		}
	}
	return c, nil
}

// A channel is one of a kernel's sockets.
type channel struct {
	name string
	kind zmtp.Kind
	port *int
}

// The numbers of the channels.
const (
	shell = iota
	control
	stdin
	iopub
	heartbeat
	channelCount
)

func (c *Connection) channels() [channelCount]channel {
	return [channelCount]channel{{"shell", zmtp.Router, &c.Shell}, {"control", zmtp.Router, &c.Control}, {"stdin", zmtp.Router, &c.Stdin},
		{"iopub", zmtp.Pub, &c.IOPub}, {"heartbeat", zmtp.Rep, &c.Heartbeat}}
}

// listen binds the sockets. A port that was 0 is then the one that the system has chosen.
func (c *Connection) listen(o zmtp.Options) (list [channelCount]*zmtp.Socket, err error) {
	defer func() {
		if err != nil {
			for _, s := range list {
				if s != nil {
					s.Close(0)
				}
			}
		}
	}()
	if c.CurveSecret != "" {
		if o.Keys, err = zmtp.ParseKeys(c.CurvePublic, c.CurveSecret); err != nil {
			return list, err
		}
	}
	for i, ch := range c.channels() {
		network, address := "tcp", net.JoinHostPort(c.IP, strconv.Itoa(*ch.port))
		if c.Transport == "ipc" {
			network, address = "unix", fmt.Sprintf("%s-%d", c.IP, *ch.port)
		}
		own := o
		own.Kind = ch.kind
		if ch.kind != zmtp.Pub {
			own.Subscribed = nil
		}
		if list[i], err = zmtp.Listen(network, address, own); err != nil {
			if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, os.ErrExist) {
				err = fmt.Errorf("%s is taken, perhaps by another kernel of the same connection file", address)
			}
			return list, fmt.Errorf("%s channel: %w", ch.name, err)
		}
		if tcp, ok := list[i].Addr().(*net.TCPAddr); ok {
			*ch.port = tcp.Port
		}
	}
	return list, nil
}
