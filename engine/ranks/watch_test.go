package ranks

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/mesh"
)

// told is a link that ends when a test says so.
type told struct {
	Link
	ended chan struct{}
	err   error
	said  chan string
}

func (l *told) Rank() int              { return 0 }
func (l *told) Ended() <-chan struct{} { return l.ended }
func (l *told) Err() error             { return l.err }
func (l *told) Fail(text string)       { l.said <- text }

// A frail is a link of devices that is broken.
type frail struct {
	backend.Link
	err   error
	broke chan error
}

func (l *frail) Err() error      { return l.err }
func (l *frail) Break(why error) { l.broke <- why }

// The devices' link ends with the rank that goes no further, but not when this one does; and when it is
// broken by itself, all ranks hear of it.
func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		failed *mesh.Failed
		own    error
		want   string
		said   string
	}{
		"another rank": {&mesh.Failed{Rank: 1, Text: "its process has ended"}, nil, "rank 1: its process has ended", ""},
		"this rank":    {&mesh.Failed{Rank: 0, Text: "the disk is gone"}, nil, "", ""},
		"the wire":     {nil, errors.New("a cable"), "a cable", "NCCL 2.28.9: a cable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &told{ended: make(chan struct{}), said: make(chan string, 1)}
				f := &frail{err: c.own, broke: make(chan error, 1)}
				g := &Group{link: l, near: &near{link: f, closed: make(chan struct{})}, text: "NCCL 2.28.9"}
				done := make(chan struct{})
				go func() {
					defer close(done)
					g.watch(g.near)
				}()
				if c.failed != nil {
					l.err = c.failed
					close(l.ended)
				}
				select {
				case <-done:
				case <-time.After(time.Minute):
					t.Fatal("it watches on")
				}
				close(f.broke)
				if err := <-f.broke; (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("broken by %v, want %q", err, c.want)
				}
				close(l.said)
				if said := <-l.said; said != c.said {
					t.Errorf("said %q, want %q", said, c.said)
				}
			})
		})
	}
}

func TestWhy(t *testing.T) {
	gone := &mesh.Failed{Rank: 1, Text: "its process has ended"}
	lost := fmt.Errorf("cuda:0: %w: %w", backend.ErrLost, gone)
	other := errors.New("the disk is full")
	for err, want := range map[error]error{lost: gone, gone: gone, other: other, backend.ErrLost: backend.ErrLost} {
		if got := (*Group)(nil).Why(err); got != want {
			t.Errorf("%v: got %v, want %v", err, got, want)
		}
	}
}
