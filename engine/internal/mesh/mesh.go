// Package mesh moves bytes between processes over TCP. Each of them has two connections to every other one:
// for numbers, and for words, which are signs of life and why a process goes no further.
//
// The processes meet at a place that all know ([Serve], [Process.Join]), and learn there where the others
// listen. Once all are connected nobody listens any more. Each connection begins with both ends showing that
// they know the key of the run. What follows is neither encrypted nor signed.
//
// Reading order: mesh.go, guard.go, meet.go, greet.go.
package mesh

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Link connects a process to the others of its run. Its methods are those of a ranks.Link.
type Link struct {
	rank, size int
	peers      []*peer // by rank; nil for this one
	once       sync.Once
	err        *Failed
	failed     chan struct{} // closed when err is there
	closing    sync.Once
	closed     chan struct{}
	own        progress
	waits      atomic.Int64 // calls that wait for others
}

// A peer is another process.
type peer struct {
	rank           int
	numbers, words net.Conn
	speaking       sync.Mutex // of words
	quiet          bool       // no further word comes from this end
	heard          atomic.Int64
	left           chan struct{} // closed when the peer is done
	progress
}

// Failed is why a run cannot go on.
type Failed struct {
	Rank int
	Text string
	How  How
}

// How a rank has failed. The numbers are those of messages.
type How byte

// It has said why, its process has ended and said nothing, or nothing is heard of it.
const (
	Said  How = 'f'
	Ended How = 'e'
	Lost  How = 'o'
)

func (f *Failed) Error() string { return fmt.Sprintf("rank %d: %s", f.Rank, f.Text) }

// Kinds of messages.
const (
	exchanged, gathered = 'x', 'g' // numbers
	alive, leaves       = 'a', 'l' // words
)

const (
	beat   = time.Second // between two signs of life
	silent = 20          // so many beats of this process without one: a process that was stopped counts none
	lastly = 3 * time.Second
)

// add notes a connection.
func (l *Link) add(a arrival) error {
	if a.Rank < 0 || a.Rank >= l.size || a.Rank == l.rank {
		a.conn.Close()
		return fmt.Errorf("got a connection of rank %d, want one of %d other ranks", a.Rank, l.size-1)
	}
	p := l.peers[a.Rank]
	if p == nil {
		p = &peer{rank: a.Rank, left: make(chan struct{})}
		l.peers[a.Rank] = p
	}
	to := &p.numbers
	if a.Control {
		to = &p.words
	}
	if *to != nil {
		a.conn.Close()
		return fmt.Errorf("got two connections of rank %d", a.Rank)
	}
	*to = a.conn
	return nil
}

func (l *Link) others() func(yield func(p *peer) bool) {
	return func(yield func(p *peer) bool) {
		for _, p := range l.peers {
			if p != nil && !yield(p) {
				return
			}
		}
	}
}

func (l *Link) hangUp() {
	for p := range l.others() {
		for _, c := range []net.Conn{p.numbers, p.words} {
			if c != nil {
				c.Close()
			}
		}
	}
}

// listen hears a peer's words, until the last one.
func (l *Link) listen(p *peer) {
	for {
		kind, text, err := read(p.words, most)
		p.heard.Add(1)
		switch {
		case err != nil:
			l.fail(&Failed{p.rank, "its process has ended: " + err.Error(), Ended})
			return
		case kind == leaves:
			close(p.left)
			return
		case kind == alive:
			p.progress.read(text)
		default: // the number of a rank, and how it has failed
			f := &Failed{Text: "it goes no further", How: How(kind)}
			if _, err := fmt.Sscanf(string(text), "%d\n", &f.Rank); err == nil {
				f.Text = string(text[len(fmt.Sprintln(f.Rank)):])
			}
			l.fail(f)
			return
		}
	}
}

// watch says to a peer that this process lives, and looks whether the peer does.
func (l *Link) watch(p *peer) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	last, missed := int64(-1), 0
	for {
		select {
		case <-ticker.C:
		case <-l.failed:
			return
		case <-l.closed:
			return
		}
		go p.say(alive, l.own.text()) // to a peer that is stopped it may take long
		select {
		case <-p.left: // it says nothing more, and waits for this end
			continue
		default:
		}
		if heard := p.heard.Load(); heard != last {
			last, missed = heard, 0
		} else if missed++; missed >= silent {
			l.fail(&Failed{p.rank, fmt.Sprintf("not heard of for %v", silent*beat), Lost})
		}
	}
}

// say sends a word. Signs of life are left out while another word is on its way.
func (p *peer) say(kind byte, text []byte) {
	if kind != alive {
		p.speaking.Lock()
	} else if !p.speaking.TryLock() {
		return
	}
	defer p.speaking.Unlock()
	if !p.quiet {
		p.quiet = kind != alive
		_ = write(p.words, kind, text) // if it does not arrive, listen finds out why
	}
}

// fail ends the link, and passes on why.
func (l *Link) fail(f *Failed) {
	l.once.Do(func() {
		l.err = f
		number := fmt.Sprintln(f.Rank)
		text := []byte(number + f.Text[:min(len(f.Text), most-len(number))])
		var told sync.WaitGroup
		for p := range l.others() {
			_ = p.words.SetWriteDeadline(time.Now().Add(lastly))
			told.Go(func() { p.say(byte(f.How), text) })
		}
		told.Wait()
		close(l.failed)
		l.hangUp()
	})
}

// Ended is closed when the run cannot go on; then Err says why.
func (l *Link) Ended() <-chan struct{} { return l.failed }

// Err is a *Failed when the run cannot go on, and else nil.
func (l *Link) Err() error {
	select {
	case <-l.failed:
		return l.err
	default:
		return nil
	}
}

// Rank is the number of this process.
func (l *Link) Rank() int { return l.rank }

// Size is the number of processes.
func (l *Link) Size() int { return l.size }

// Exchange sends part r of src to rank r, and receives part r of dst from there.
func (l *Link) Exchange(dst, src []byte) error {
	n := len(src) / l.size
	return l.call(exchanged, func(r int) (in, out []byte) { return dst[r*n:][:n], src[r*n:][:n] })
}

// Gather puts the src of rank r into part r of dst.
func (l *Link) Gather(dst, src []byte) error {
	n := len(src)
	return l.call(gathered, func(r int) (in, out []byte) { return dst[r*n:][:n], src })
}

// call sends and receives the parts of all ranks at once.
func (l *Link) call(kind byte, part func(rank int) (in, out []byte)) error {
	l.Moved()
	defer l.Pause()()
	in, out := part(l.rank)
	copy(in, out)
	var all sync.WaitGroup
	for p := range l.others() {
		in, out := part(p.rank)
		all.Go(func() { l.broken(p, write(p.numbers, kind, out)) })
		all.Go(func() { l.broken(p, p.take(kind, in)) })
	}
	all.Wait()
	return l.Err()
}

// take receives a part from a peer.
func (p *peer) take(kind byte, in []byte) error {
	got, n, err := readHead(p.numbers)
	if err != nil {
		return err
	}
	if got != kind || n != uint64(len(in)) {
		return fmt.Errorf("got a message %q of %d bytes, want %q of %d: it is at another call", got, n, kind, len(in))
	}
	_, err = io.ReadFull(p.numbers, in)
	return err
}

// broken ends the link for an error of a connection for numbers. The words of the peer, or of another one
// that knows more, go first.
func (l *Link) broken(p *peer, err error) {
	if err == nil {
		return
	}
	select {
	case <-l.failed:
	case <-time.After(lastly):
		l.fail(&Failed{p.rank, err.Error(), Lost})
	}
}

// Fail ends the run for all ranks, with the words of this one.
func (l *Link) Fail(text string) { l.fail(&Failed{l.rank, text, Said}) }

// Close waits until all ranks have called it.
func (l *Link) Close() error {
	for p := range l.others() {
		p.say(leaves, nil)
	}
	for p := range l.others() {
		select {
		case <-p.left:
		case <-l.failed:
			return l.err
		}
	}
	l.closing.Do(func() { close(l.closed) })
	l.hangUp()
	return nil
}
