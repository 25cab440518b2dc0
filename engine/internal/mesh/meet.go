package mesh

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"
)

// A Place is where the processes of a run meet.
type Place struct {
	Addr string // host and port
	Key  []byte // what these processes know, and others should not
}

// A card is what a process says of itself.
type card struct {
	Rank, Size int
	Addr       string // where it listens for the others; without a host it is on the machine of the meeting
	Control    bool   // the connection is for words, not for numbers
}

// A table is what the meeting says to those who have come.
type table struct {
	Addrs []string // by rank
	Wrong string   // why there is no group
}

const (
	most   = 1 << 20          // bytes of a card or a table
	polite = 10 * time.Second // for a greeting
	again  = 200 * time.Millisecond
)

// An arrival is a process that came, or went away again.
type arrival struct {
	card
	conn net.Conn
	gone bool
}

// Serve waits at a listener, which it closes, until all processes of a run have come, and tells each where
// the others are. If they do not come before the context ends, those who came, and for a while those who come
// later, learn its cause, and who is missing.
func Serve(ctx context.Context, l net.Listener, size int, key []byte) {
	defer l.Close()
	open, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	arrivals := make(chan arrival)
	come := func(c net.Conn, a card) {
		defer c.Close()
		for _, gone := range []bool{false, true} {
			select {
			case arrivals <- arrival{a, c, gone}:
			case <-open.Done():
				return
			}
			_, _ = c.Read(make([]byte, 1)) // until it goes away, or has its table
		}
	}
	go func() {
		accept(open, l, key, come)
		done()
	}()
	here := map[int]arrival{}
	t := table{Wrong: assemble(ctx, arrivals, here, size)}
	if t.Wrong == "" {
		t.Addrs = make([]string, size)
		for rank, a := range here {
			t.Addrs[rank] = a.Addr
		}
	}
	answer(here, t)
	if t.Wrong == "" {
		return
	}
	for late := time.After(2 * polite); ; {
		select {
		case a := <-arrivals:
			answer(map[int]arrival{a.Rank: a}, t)
		case <-late:
			return
		case <-open.Done():
			return
		}
	}
}

// assemble notes who comes until all are here, or says why that will not be.
func assemble(ctx context.Context, arrivals <-chan arrival, here map[int]arrival, size int) (wrong string) {
	for len(here) < size {
		select {
		case a := <-arrivals:
			switch other, twice := here[a.Rank]; {
			case a.gone && other.conn == a.conn:
				delete(here, a.Rank)
			case a.gone:
			case twice:
				here[-1] = a
				return fmt.Sprintf("two processes say that they are rank %d, at %v and %v", a.Rank, other.conn.RemoteAddr(), a.conn.RemoteAddr())
			default:
				if here[a.Rank] = a; a.Size != size || a.Rank < 0 || a.Rank >= size {
					return fmt.Sprintf("at %v is rank %d of %d, want ranks of %d processes", a.conn.RemoteAddr(), a.Rank, a.Size, size)
				}
			}
		case <-ctx.Done():
			return absent(here, size) + ": " + context.Cause(ctx).Error()
		}
	}
	return ""
}

// absent says who is missing.
func absent(here map[int]arrival, size int) string {
	var names []string
	for rank := range size {
		if _, ok := here[rank]; !ok {
			names = append(names, fmt.Sprint(rank))
		}
	}
	return fmt.Sprintf("of %d ranks these have not come: %s", size, strings.Join(names, ", "))
}

// answer tells all, at last rank 0, whose process may be this one, and end with a bad answer.
func answer(here map[int]arrival, t table) {
	for _, a := range slices.SortedFunc(maps.Values(here), func(a, b arrival) int { return cmp.Compare(b.Rank, a.Rank) }) {
		_ = a.conn.SetDeadline(time.Now().Add(polite))
		_ = send(a.conn, t)
	}
}

// accept calls f, each time in a goroutine of its own, for each process of the run that comes to a listener,
// until the context or the listener ends. It closes connections of others.
func accept(ctx context.Context, l net.Listener, key []byte, f func(c net.Conn, a card)) {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	const strangers = 64
	room := make(chan struct{}, strangers)
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			if err == nil {
				c.Close()
			}
			return
		case err != nil: // as of too many open files
			time.Sleep(again)
			continue
		}
		room <- struct{}{}
		go func() {
			_ = c.SetDeadline(time.Now().Add(polite))
			var a card
			err := greet(c, key, false)
			if err == nil {
				err = receive(c, &a)
			}
			if <-room; err != nil {
				c.Close()
				return
			}
			_ = c.SetDeadline(time.Time{})
			f(c, a)
		}()
	}
}

// dial connects to a process of the run, and says who this one is.
func dial(ctx context.Context, addr string, key []byte, own func(c net.Conn) (card, error)) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: polite}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(polite))
	if err = greet(c, key, true); err == nil {
		var a card
		if a, err = own(c); err == nil {
			err = send(c, a)
		}
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	_ = c.SetDeadline(time.Time{})
	return c, nil
}

// A Process says which of how many a process is, and whether all of them are on this machine, so that none
// needs to be reached from outside.
type Process struct {
	Rank, Size int
	Here       bool
}

// Join returns the link of a process, when all have come to the place, which may not be there yet, or be
// that of an earlier attempt.
func (p Process) Join(ctx context.Context, where func(ctx context.Context) (Place, error)) (*Link, error) {
	var last error
	for {
		place, err := where(ctx)
		if err == nil {
			var l *Link
			if l, err = p.meet(ctx, place); err == nil {
				return l, nil
			}
		}
		var wrong refused
		if errors.As(err, &wrong) {
			return nil, wrong
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("rank %d found no meeting of %d ranks (%w): %w", p.Rank, p.Size, last, context.Cause(ctx))
		case <-time.After(again):
		}
	}
}

// refused is what the meeting has against the run.
type refused string

func (r refused) Error() string { return string(r) }

// meet goes to the meeting, and connects to the others.
func (p Process) meet(ctx context.Context, place Place) (*Link, error) {
	var own net.Listener
	c, err := dial(ctx, place.Addr, place.Key, func(c net.Conn) (card, error) {
		host, _, err := net.SplitHostPort(c.LocalAddr().String())
		if err != nil {
			return card{}, err
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() && !p.Here { // for the others it has another name
			host = ""
		}
		if own, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0")); err != nil {
			return card{}, err
		}
		_, port, err := net.SplitHostPort(own.Addr().String())
		return card{Rank: p.Rank, Size: p.Size, Addr: net.JoinHostPort(host, port)}, err
	})
	if own != nil {
		defer own.Close()
	}
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now().Add(polite / 10)) })() // the meeting may say why
	var t table
	switch err := receive(c, &t); {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", place.Addr, err)
	case t.Wrong != "":
		return nil, refused(t.Wrong)
	case len(t.Addrs) != p.Size:
		return nil, fmt.Errorf("%s: got %d addresses, want %d", place.Addr, len(t.Addrs), p.Size)
	}
	there, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		return nil, err
	}
	for i, addr := range t.Addrs {
		if port, ok := strings.CutPrefix(addr, ":"); ok {
			t.Addrs[i] = net.JoinHostPort(there, port)
		}
	}
	l, err := p.connect(ctx, own, t.Addrs, place.Key)
	if err != nil {
		return nil, refused(err.Error()) // the meeting is over
	}
	return l, nil
}

// connect dials the ranks below this one and waits for those above it: two connections to each.
func (p Process) connect(ctx context.Context, own net.Listener, addrs []string, key []byte) (*Link, error) {
	const connecting = 30 * time.Second // all have just been here
	ctx, cancel := context.WithTimeoutCause(ctx, connecting, fmt.Errorf("want connections to all ranks within %v", connecting))
	defer cancel()
	conns := make(chan arrival)
	put := func(a arrival) {
		select {
		case conns <- a:
		case <-ctx.Done():
			a.conn.Close()
		}
	}
	go accept(ctx, own, key, func(c net.Conn, a card) { put(arrival{card: a, conn: c}) })
	failed := make(chan error, 2*p.Size)
	for rank := range p.Rank {
		for _, control := range []bool{false, true} {
			go func() {
				c, err := dial(ctx, addrs[rank], key, func(net.Conn) (card, error) { return card{Rank: p.Rank, Size: p.Size, Control: control}, nil })
				if err != nil {
					failed <- fmt.Errorf("rank %d does not reach rank %d: %w", p.Rank, rank, err)
					return
				}
				put(arrival{card: card{Rank: rank, Control: control}, conn: c})
			}()
		}
	}
	l := &Link{rank: p.Rank, size: p.Size, peers: make([]*peer, p.Size), failed: make(chan struct{}), closed: make(chan struct{})}
	for range 2 * (p.Size - 1) {
		var err error
		select {
		case a := <-conns:
			err = l.add(a)
		case err = <-failed:
		case <-ctx.Done():
			err = fmt.Errorf("rank %d: %w", p.Rank, context.Cause(ctx))
		}
		if err != nil {
			l.hangUp()
			return nil, err
		}
	}
	for p := range l.others() {
		go l.listen(p)
		go l.watch(p)
	}
	return l, nil
}

// send writes a value after its length.
func send(c net.Conn, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return write(c, 'j', text)
}

func receive(c net.Conn, v any) error {
	kind, text, err := read(c, most)
	if err != nil {
		return err
	}
	if kind != 'j' {
		return fmt.Errorf("got a message of kind %q", kind)
	}
	return json.Unmarshal(text, v)
}
