package ranks

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/mcs-notebook/mcs/internal/wrap"
)

// Parts are the ranks of a machine, which hand each other files: by them a device has memory of which each of
// the ranks holds a part. See [Group.Parts].
type Parts struct {
	rank  int             // among those of the machine
	conns []*net.UnixConn // to the others; nil to itself
}

// Parts joins the ranks of each machine. It is an error if a rank is alone on its machine. All ranks call it.
func (g *Group) Parts(ctx context.Context) (_ *Parts, err error) {
	defer wrap.Error(&err, "ranks: parts")
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	// An address without a file, which other users of the machine can see: see own.
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@mcs-" + rand.Text(), Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	texts, err := g.Texts(host + "\n" + listener.Addr().String())
	if err != nil {
		return nil, err
	}
	p := &Parts{}
	var addresses []string
	for rank, text := range texts {
		if rank == g.Rank() {
			p.rank = len(addresses)
		}
		if other, address, _ := strings.Cut(text, "\n"); other == host {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) == 1 {
		return nil, g.common(fmt.Errorf("got a rank alone on the machine %s, want at least two that hold the base together", host))
	}
	p.conns = make([]*net.UnixConn, len(addresses))
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	if err := p.join(listener, addresses); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// join calls those before this rank, and is called by those after it.
func (p *Parts) join(listener *net.UnixListener, addresses []string) error {
	for i, address := range addresses[:p.rank] {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: address, Net: "unix"})
		if err != nil {
			return err
		}
		if p.conns[i] = c; !own(c) {
			return fmt.Errorf("%s is a socket of another user", address)
		}
		if err := binary.Write(c, binary.LittleEndian, uint32(p.rank)); err != nil {
			return err
		}
	}
	if err := listener.SetDeadline(time.Now().Add(meeting)); err != nil {
		return err
	}
	for left := len(addresses) - 1 - p.rank; left > 0; {
		c, err := listener.AcceptUnix()
		if err != nil {
			return err
		}
		var rank uint32
		if !own(c) || binary.Read(c, binary.LittleEndian, &rank) != nil || int(rank) <= p.rank || int(rank) >= len(p.conns) || p.conns[rank] != nil {
			c.Close()
			continue
		}
		p.conns[rank] = c
		left--
	}
	return nil
}

// own says whether the other end of a connection is a process of the same user.
func own(c *net.UnixConn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	same := false
	err = raw.Control(func(fd uintptr) {
		who, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
		same = err == nil && int(who.Uid) == os.Getuid()
	})
	return err == nil && same
}

// Rank is the number of this rank among those of its machine, Size how many these are.
func (p *Parts) Rank() int { return p.rank }
func (p *Parts) Size() int { return len(p.conns) }

// Swap gives a file to all ranks of the machine, and returns those of all, this one's too. A file may be nil.
func (p *Parts) Swap(file *os.File) ([]*os.File, error) {
	var rights []byte
	if file != nil {
		rights = syscall.UnixRights(int(file.Fd()))
	}
	for rank, c := range p.conns {
		if c == nil {
			continue
		}
		if _, _, err := c.WriteMsgUnix([]byte{1}, rights, nil); err != nil {
			return nil, fmt.Errorf("ranks: rank %d of this machine: %w", rank, err)
		}
	}
	files := make([]*os.File, len(p.conns))
	files[p.rank] = file
	for rank, c := range p.conns {
		if c == nil {
			continue
		}
		var err error
		if files[rank], err = receive(c); err != nil {
			for _, f := range files {
				f.Close() // of nil, too
			}
			return nil, fmt.Errorf("ranks: rank %d of this machine: %w", rank, err)
		}
	}
	return files, nil
}

// receive takes what a rank gives: a file, or none.
func receive(c *net.UnixConn) (*os.File, error) {
	const one = 4 // bytes of a file's number
	got, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(one))
	_, n, _, _, err := c.ReadMsgUnix(got, rights)
	if err != nil || n == 0 {
		return nil, err
	}
	list, err := syscall.ParseSocketControlMessage(rights[:n])
	if err != nil || len(list) != 1 {
		return nil, fmt.Errorf("got %d messages beside a byte, want a file: %w", len(list), err)
	}
	numbers, err := syscall.ParseUnixRights(&list[0])
	if err != nil || len(numbers) != 1 {
		return nil, fmt.Errorf("got %d files, want one: %w", len(numbers), err)
	}
	return os.NewFile(uintptr(numbers[0]), "part"), nil
}

// Close ends the connections.
func (p *Parts) Close() {
	for _, c := range p.conns {
		if c != nil {
			c.Close()
		}
	}
}
