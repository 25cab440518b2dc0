package mesh

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// TestMain lets all tests run at once: they wait for limits, and compute next to nothing.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "16")
	os.Exit(m.Run())
}

// meetings are ranks of one process that find each other. The errors of those that fail are by rank.
func meetings(t testing.TB, size int, change func(p *Process, place *Place)) ([]*Link, []error) {
	return meetingsWithin(t, time.Minute, size, change)
}

func meetingsWithin(t testing.TB, limit time.Duration, size int, change func(p *Process, place *Place)) ([]*Link, []error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, []error{err}
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, fmt.Errorf("waited for %v", limit))
	defer cancel()
	place := Place{Addr: listener.Addr().String(), Key: []byte("key of the run")}
	links, errs := make([]*Link, size), make([]error, size)
	var all sync.WaitGroup
	served := make(chan struct{})
	go func() { Serve(ctx, listener, size, place.Key); close(served) }()
	for rank := range size {
		p, place := Process{Rank: rank, Size: size, Here: true}, place
		if change != nil {
			change(&p, &place)
		}
		if p.Size > 0 {
			all.Go(func() {
				links[rank], errs[rank] = p.Join(ctx, func(context.Context) (Place, error) { return place, nil })
			})
		}
	}
	all.Wait()
	listener.Close()
	<-served
	return links, errs
}

// each calls f for all links at once.
func each(links []*Link, f func(l *Link) error) []error {
	errs := make([]error, len(links))
	var all sync.WaitGroup
	for i, l := range links {
		all.Go(func() { errs[i] = f(l) })
	}
	all.Wait()
	return errs
}

func TestLink(t *testing.T) {
	t.Parallel()
	for _, here := range []bool{true, false} {
		for _, size := range []int{2, 3, 8} {
			links, errs := meetings(t, size, func(p *Process, _ *Place) { p.Here = here })
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			errs = each(links, func(l *Link) error {
				for _, n := range []int{0, 1, 1000, 300_001} {
					src, dst := make([]byte, n*size), make([]byte, n*size)
					for to := range size {
						copy(src[to*n:], bytes.Repeat([]byte{byte(16*l.Rank() + to)}, n))
					}
					if err := l.Exchange(dst, src); err != nil {
						return err
					}
					for from := range size {
						if want := bytes.Repeat([]byte{byte(16*from + l.Rank())}, n); !bytes.Equal(dst[from*n:][:n], want) {
							return fmt.Errorf("rank %d has other bytes of rank %d", l.Rank(), from)
						}
					}
					if err := l.Gather(dst, src[:n]); err != nil {
						return err
					}
					for from := range size {
						if want := bytes.Repeat([]byte{byte(16 * from)}, n); !bytes.Equal(dst[from*n:][:n], want) {
							return fmt.Errorf("rank %d gathered other bytes of rank %d", l.Rank(), from)
						}
					}
				}
				time.Sleep(time.Duration(l.Rank()) * 30 * time.Millisecond) // the last one is late
				return l.Close()
			})
			if err := errors.Join(errs...); err != nil {
				t.Errorf("%d ranks: %v", size, err)
			}
		}
	}
}

// What one rank says, or that it is gone, is what all others get, whatever they are at.
func TestFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(l *Link) error
		want Failed
	}{
		{"it says so", func(l *Link) error { l.Fail("the disk is full"); return nil }, Failed{1, "the disk is full", Said}},
		{"it ends", func(l *Link) error { l.once.Do(l.hangUp); return nil }, Failed{1, "its process has ended: EOF", Ended}},
		{"it is at another call", func(l *Link) error { return l.Gather(make([]byte, 30), make([]byte, 10)) }, Failed{0, `got a message 'x' of 1000000 bytes, want 'g' of 10: it is at another call`, Lost}},
	} {
		if c.want.How == Lost && !long.CI() { // one takes three seconds
			continue
		}
		links, errs := meetings(t, 3, nil)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		errs = each(links, func(l *Link) error {
			if l.Rank() == 1 {
				return c.do(l)
			}
			if l.Rank() == 2 && c.want.How != Lost { // it computes meanwhile
				<-l.failed
			}
			return l.Exchange(make([]byte, 3_000_000), make([]byte, 3_000_000))
		})
		for _, rank := range []int{0, 2} {
			var f *Failed
			if !errors.As(errs[rank], &f) || c.want.How != Lost && *f != c.want {
				t.Errorf("%s: rank %d got %v, want %v", c.name, rank, errs[rank], &c.want)
			}
		}
		if c.want.How == Lost && !strings.Contains(fmt.Sprint(errs), "it is at another call") {
			t.Errorf("%s: got %v", c.name, errs)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: took %v", c.name, took)
		}
		for _, l := range links { // again
			if l.err == nil { // it has ended
				continue
			}
			l.Fail("another word")
			if err := l.Gather(make([]byte, 3), make([]byte, 1)); err == nil || strings.Contains(err.Error(), "another word") {
				t.Errorf("%s: got %v later", c.name, err)
			}
		}
	}
}

// Those that have come learn why there is no group.
func TestNoMeeting(t *testing.T) {
	t.Parallel()
	long.InCI(t, "waits for seconds")
	var all sync.WaitGroup
	for _, c := range []struct {
		name   string
		change func(p *Process, place *Place)
		want   string // of rank 0
	}{
		{"one does not come", func(p *Process, _ *Place) {
			if p.Rank == 2 {
				p.Size = 0
			}
		}, "of 3 ranks these have not come: 2: waited for 3s"},
		{"another key", func(p *Process, place *Place) {
			if p.Rank > 0 {
				place.Key = []byte("of another run")
			}
		}, "of 3 ranks these have not come: 1, 2: waited for 3s"},
		{"another size", func(p *Process, _ *Place) {
			if p.Rank == 1 {
				p.Size = 4
			}
		}, "is rank 1 of 4, want ranks of 3 processes"},
		{"one twice", func(p *Process, _ *Place) { p.Rank = min(p.Rank, 1) }, "two processes say that they are rank 1"},
		{"nobody is there", func(_ *Process, place *Place) { place.Addr = "127.0.0.1:1" }, "rank 0 found no meeting of 3 ranks (dial tcp 127.0.0.1:1"},
	} {
		all.Go(func() {
			links, errs := meetingsWithin(t, 3*time.Second, 3, c.change)
			for rank, l := range links {
				if l != nil {
					t.Errorf("%s: rank %d has a link", c.name, rank)
				}
			}
			if !strings.Contains(fmt.Sprint(errs), c.want) {
				t.Errorf("%s: got %v, want %s", c.name, errs, c.want)
			}
		})
	}
	all.Wait()
}

// Strangers are not let in, and keep nobody out.
func TestStrangers(t *testing.T) {
	var listening net.Listener
	serve := func(said string) error {
		var err error
		if listening, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		defer listening.Close()
		met := make(chan card, 1)
		go accept(t.Context(), listening, []byte("key"), func(c net.Conn, a card) { met <- a; c.Close() })
		for range 100 {
			c, err := net.Dial("tcp", listening.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = c.Write([]byte(said))
			c.Close()
		}
		c, err := dial(t.Context(), listening.Addr().String(), []byte("key"), func(net.Conn) (card, error) { return card{Rank: 7}, nil })
		if err != nil {
			return err
		}
		defer c.Close()
		if a := <-met; a.Rank != 7 {
			return fmt.Errorf("got %v", a)
		}
		return nil
	}
	for _, said := range []string{"", "GET / HTTP/1.1\r\n\r\n", magic, magic + strings.Repeat("x", 64), strings.Repeat("\x00", 5000)} {
		if err := serve(said); err != nil {
			t.Errorf("%.20q: %v", said, err)
		}
	}
}

// A message of a process that knows the key takes no memory out of proportion.
func TestRead(t *testing.T) {
	a, b := net.Pipe()
	go func() { _, _ = a.Write([]byte("j\xff\xff\xff\xff\xff\xff\xff\x7f")) }()
	if _, _, err := read(b, most); err == nil || err.Error() != "got a message of 9223372036854775807 bytes, want at most 1048576" {
		t.Errorf("got %v", err)
	}
}
