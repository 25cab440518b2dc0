package ranks

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/mcs-notebook/mcs/engine/internal/launch"
	"github.com/mcs-notebook/mcs/engine/internal/mesh"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// here finds the group of a context.
var here = &scope.Key{Name: "ranks"}

// With returns a context whose code belongs to a rank of the group (within it, see tensor.Within).
func With(ctx context.Context, g *Group) context.Context { return context.WithValue(ctx, here, g) }

// Here returns the group of the code that calls it, which all ranks run: in cells of `mcs run` by several
// processes. It is nil, one process, in any other.
func Here() *Group {
	g, _ := scope.Context().Value(here).(*Group)
	return g
}

// Ended is closed when a rank has ended the group by a failure. It is nil, which never ends, where only the
// next call finds out, as with MPI.
func (g *Group) Ended() <-chan struct{} {
	if l, ok := g.meshed(); ok {
		return l.Ended()
	}
	return nil
}

// Err is why the group cannot go on, as far as this rank knows; nil while it does.
func (g *Group) Err() error {
	if l, ok := g.meshed(); ok {
		return l.Err()
	}
	return nil
}

// Failure returns the rank whose failure has ended the group, and why; nil while it goes on, as far as this
// rank knows.
func (g *Group) Failure() (rank int, err error) {
	var f *mesh.Failed
	if errors.As(g.Err(), &f) {
		return f.Rank, errors.New(f.Text)
	}
	return 0, nil
}

func (g *Group) meshed() (l *mesh.Link, ok bool) {
	if g.Size() > 1 {
		l, ok = g.link.(*mesh.Link)
	}
	return l, ok
}

// Again returns a group of the same ranks with a link of its own: one that has failed leaves the other as it
// is. The link between devices goes over to it. All ranks call it. An MPI library has one link, so it returns
// g.
func (g *Group) Again(ctx context.Context) (*Group, error) {
	if _, ok := g.meshed(); !ok {
		return g, nil
	}
	l := g.launch
	host, _, err := net.SplitHostPort(l.Meet)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, meeting, fmt.Errorf("waited for %v", meeting))
	defer cancel()
	left, err := g.Once(func() ([]byte, error) {
		own := ""
		if l.Here || l.By == launch.Own {
			own = host
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(own, "0"))
		if err != nil {
			return nil, err
		}
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		left := port + " " + rand.Text()
		go mesh.Serve(ctx, listener, l.Size, keyOf("", "", left))
		return []byte(left), nil
	})
	if err != nil {
		return nil, err
	}
	port, _, _ := strings.Cut(string(left), " ")
	more := &Group{limit: g.limit, here: g.here, started: g.started, text: g.text, launch: l}
	more.link, err = mesh.Process{Rank: l.Rank, Size: l.Size, Here: l.Here}.Join(ctx, func(context.Context) (mesh.Place, error) {
		return mesh.Place{Addr: net.JoinHostPort(host, port), Key: keyOf("", "", string(left))}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("ranks: %w", err)
	}
	switch {
	case g.near != nil:
		close(g.near.closed) // its watch ends, and the new group's begins
		more.near = &near{g.near.link, g.near.device, make(chan struct{})}
		g.near, g.lent = nil, true
		go more.watch(more.near)
	case g.lent: // it is broken
		err = more.approach(ctx)
	}
	return more, err
}
