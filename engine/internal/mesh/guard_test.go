package mesh

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// A process that stands still ends the run, with its number. One that waits for others, or for a disk, does
// not; and where several stand still it is the one that has moved the least.
func TestGuard(t *testing.T) {
	t.Parallel()
	long.InCI(t, "waits for seconds")
	const limit = time.Second
	var all sync.WaitGroup // they wait, so all at once, whatever -parallel says
	for _, c := range []struct {
		name string
		do   func(l *Link, ended <-chan struct{})
		want string // "" if nothing ends
	}{
		{"one computes for ever", func(l *Link, ended <-chan struct{}) {
			if l.Rank() == 1 {
				<-ended
				return
			}
			l.Gather(make([]byte, 3), []byte{1})
		}, "rank 1: it has not gone on for 1s"},
		{"others wait within a device", func(l *Link, ended <-chan struct{}) {
			l.Moved()
			if l.Rank() != 2 {
				l.Moved()
			}
			<-ended
		}, "rank 2: it has not gone on for 1s"},
		{"all", func(l *Link, ended <-chan struct{}) { <-ended }, "rank 0: it has not gone on for 1s, nor have all of [0 1 2]"},
		{"a disk", func(l *Link, ended <-chan struct{}) {
			if l.Rank() == 0 {
				resume := l.Pause()
				time.Sleep(3 * limit)
				resume()
			}
			l.Gather(make([]byte, 3), []byte{1})
		}, ""},
		{"slow steps", func(l *Link, ended <-chan struct{}) {
			for range 30 {
				time.Sleep(limit / 10) // far from it, on a busy machine, too
				l.Went()
			}
		}, ""},
	} {
		all.Go(func() {
			links, errs := meetings(t, 3, nil)
			if err := errors.Join(errs...); err != nil {
				t.Errorf("%s: %v", c.name, err)
				return
			}
			began := time.Now()
			errs = each(links, func(l *Link) error {
				stop := l.Guard(limit)
				c.do(l, l.Ended())
				stop()
				return l.Err()
			})
			for rank, err := range errs {
				if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
					t.Errorf("%s: rank %d got %v, want %s", c.name, rank, err, c.want)
				}
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("%s: took %v", c.name, took)
			}
			for _, l := range links {
				l.hangUp()
			}
		})
	}
	all.Wait()
}

// What a process says of how far it has come.
func TestProgress(t *testing.T) {
	var own, other progress
	own.moves.Store(7)
	own.still.Store(3)
	other.read(own.text())
	other.read([]byte("nothing"))
	if got := string(other.text()); got != "7 3" {
		t.Errorf("got %q, want 7 moves and 3 beats", got)
	}
}
