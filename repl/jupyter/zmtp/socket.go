package zmtp

import (
	"bytes"
	"errors"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Kind is what a socket does with messages.
type Kind string

const (
	Router Kind = "ROUTER" // receives from all peers, and sends to one
	Pub    Kind = "PUB"    // sends to all that have subscribed to the beginning of the first frame
	Rep    Kind = "REP"    // returns each message
)

// meets says whether a socket of the other kind may connect.
func (k Kind) meets(other string) bool {
	return slices.Contains(map[Kind][]string{Router: {"DEALER", "REQ", "ROUTER"}, Pub: {"SUB", "XSUB"}, Rep: {"REQ", "DEALER"}}[k], other)
}

// maxQueue is how many bytes may wait for a peer that does not read. What comes after them is lost to it.
const maxQueue = 64 << 20

// A Message is what a peer has sent.
type Message struct {
	From   string // the peer's identity
	Frames [][]byte
}

// Options say how a socket behaves. The zero value of the rest is usable.
type Options struct {
	Kind Kind
	Keys *Keys // of CURVE; nil: nothing is encrypted
	// Subscribed returns a message for a peer of a Pub that has just subscribed to a topic; nil: none.
	Subscribed func(topic string) [][]byte
	// Log hears of peers that were refused or broke the protocol; nil: nobody does.
	Log func(error)
}

// A Socket is bound to an address. Any goroutine may call its methods.
type Socket struct {
	o        Options
	listener net.Listener
	incoming chan Message
	closed   chan struct{}

	mu    sync.Mutex
	peers map[string]*peer // by identity; of two with one identity the newer
}

// Listen binds a socket to an address, as net.Listen does. A Unix socket whose process has gone is replaced.
func Listen(network, address string, o Options) (*Socket, error) {
	if network == "unix" {
		if c, err := net.Dial(network, address); err == nil {
			c.Close()
			return nil, &net.OpError{Op: "listen", Net: network, Err: syscall.EADDRINUSE}
		}
		if info, err := os.Lstat(address); err == nil && info.Mode().Type() == os.ModeSocket {
			_ = os.Remove(address) // Listen says why it fails
		}
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = func(error) {}
	}
	s := &Socket{o: o, listener: l, incoming: make(chan Message), closed: make(chan struct{}), peers: map[string]*peer{}}
	go s.accept()
	return s, nil
}

// Addr is where the socket is bound.
func (s *Socket) Addr() net.Addr { return s.listener.Addr() }

// Messages are those of all peers of a Router. It is never closed.
func (s *Socket) Messages() <-chan Message { return s.incoming }

// accept takes in peers until the socket is closed. Each shakes hands by itself.
func (s *Socket) accept() {
	for {
		c, err := s.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // no more files, for now
			s.o.Log(err)
			time.Sleep(100 * time.Millisecond)
		default:
			go s.serve(c)
		}
	}
}

// serve takes in a peer, and reads what it sends until it goes.
func (s *Socket) serve(c net.Conn) {
	defer c.Close()
	w, err := accept(c, s.o.Kind, s.o.Keys)
	if err != nil {
		s.o.Log(err)
		return
	}
	p := &peer{wire: w, topics: map[string]int{}, ended: make(chan struct{})}
	p.some = sync.NewCond(&p.mu)
	if !s.add(p) {
		return
	}
	defer s.remove(p)
	go p.send()
	for {
		frames, isCommand, err := w.read()
		if err != nil {
			if !gone(err) {
				s.o.Log(err)
			}
			return
		}
		if err := s.take(p, frames, isCommand); err != nil {
			s.o.Log(err)
			return
		}
	}
}

// gone says whether an error of a connection only means that the peer is no longer there.
func gone(err error) bool {
	var failed net.Error
	return errors.As(err, &failed) || errors.Is(err, net.ErrClosed) || err.Error() == "EOF" || err.Error() == "unexpected EOF"
}

// take does what a peer asks for.
func (s *Socket) take(p *peer, frames [][]byte, isCommand bool) error {
	if isCommand {
		name, data, err := parseCommand(frames[0])
		switch {
		case err != nil:
			return err
		case name == "PING" && len(data) >= 2:
			p.queue([][]byte{command("PONG", data[2:]).body}, true)
		case name == "SUBSCRIBE" || name == "CANCEL":
			s.subscribe(p, string(data), name == "SUBSCRIBE")
		}
		return nil
	}
	switch s.o.Kind {
	case Rep:
		p.queue(frames, false)
	case Pub: // as peers of version 3.0 subscribe
		if first := frames[0]; len(frames) == 1 && len(first) > 0 && first[0] <= 1 {
			s.subscribe(p, string(first[1:]), first[0] == 1)
		}
	case Router:
		select {
		case s.incoming <- Message{p.id, frames}:
		case <-s.closed:
		}
	}
	return nil
}

func (s *Socket) subscribe(p *peer, topic string, on bool) {
	p.mu.Lock()
	if p.topics[topic]++; !on {
		p.topics[topic] = max(p.topics[topic]-2, 0)
	}
	p.mu.Unlock()
	if on && s.o.Subscribed != nil {
		p.queue(s.o.Subscribed(topic), false)
	}
}

func (s *Socket) add(p *peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return false
	default:
	}
	if old := s.peers[p.id]; old != nil { // it has lost its connection, and comes again
		old.end()
	}
	s.peers[p.id] = p
	return true
}

func (s *Socket) remove(p *peer) {
	s.mu.Lock()
	if s.peers[p.id] == p {
		delete(s.peers, p.id)
	}
	s.mu.Unlock()
	p.end()
}

func (s *Socket) list() []*peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.peers))
}

// Send sends a message to the peer of a Router with this identity. It does not wait for the peer, and a
// message to one that is gone, or that does not read, is lost.
func (s *Socket) Send(to string, frames [][]byte) {
	s.mu.Lock()
	p := s.peers[to]
	s.mu.Unlock()
	if p != nil {
		p.queue(frames, false)
	}
}

// Publish sends a message to all peers of a Pub that have subscribed to the beginning of its first frame. It
// does not wait for them.
func (s *Socket) Publish(frames [][]byte) {
	for _, p := range s.list() {
		if p.wants(frames[0]) {
			p.queue(frames, false)
		}
	}
}

// Close ends the socket, as soon as peers have read what was sent to them, or after linger.
func (s *Socket) Close(linger time.Duration) {
	s.mu.Lock()
	select {
	case <-s.closed:
		s.mu.Unlock()
		return
	default:
		close(s.closed)
	}
	s.mu.Unlock()
	_ = s.listener.Close()
	for end := time.Now().Add(linger); time.Now().Before(end) && slices.ContainsFunc(s.list(), (*peer).waiting); {
		time.Sleep(time.Millisecond)
	}
	for _, p := range s.list() {
		p.end()
	}
}

// A peer is somebody who has connected.
type peer struct {
	*wire
	mu     sync.Mutex
	some   *sync.Cond // outbox is no longer empty, or the peer has ended
	topics map[string]int
	outbox []outgoing
	size   int // bytes in outbox, with those that are being written
	ended  chan struct{}
	once   sync.Once
}

type outgoing struct {
	frames    [][]byte
	isCommand bool
	size      int
}

func (p *peer) wants(first []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for topic, n := range p.topics {
		if n > 0 && bytes.HasPrefix(first, []byte(topic)) {
			return true
		}
	}
	return false
}

// queue has a message sent.
func (p *peer) queue(frames [][]byte, isCommand bool) {
	if len(frames) == 0 {
		return
	}
	o := outgoing{frames, isCommand, 64}
	for _, f := range frames {
		o.size += len(f)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size > maxQueue {
		return
	}
	p.outbox, p.size = append(p.outbox, o), p.size+o.size
	p.some.Signal()
}

func (p *peer) waiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size > 0
}

// send writes what is queued, until the peer has ended.
func (p *peer) send() {
	for {
		p.mu.Lock()
		for len(p.outbox) == 0 && !p.over() {
			p.some.Wait()
		}
		if p.over() {
			p.mu.Unlock()
			return
		}
		list := p.outbox
		p.outbox = nil
		p.mu.Unlock()
		for _, o := range list {
			if p.write(o.frames, o.isCommand) != nil {
				p.end()
				return
			}
			p.mu.Lock()
			p.size -= o.size
			p.mu.Unlock()
		}
	}
}

func (p *peer) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *peer) end() {
	p.once.Do(func() {
		_ = p.Conn.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		close(p.ended)
		p.size = 0
		p.some.Broadcast()
	})
}
