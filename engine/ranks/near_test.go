package ranks_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/testing/together"
	"github.com/mcs-notebook/mcs/engine/ranks"
	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A wire stands in for what links GPUs: it moves memory of devices of one process.
type wire struct {
	backend.Backend
	by    string // who moves bytes; "" can not
	why   error
	wrong bool // what arrives is not what was sent
	sent  chan [][]byte
	back  chan [][]byte
	moves *int
	mu    *sync.Mutex

	untimed bool
}

func (w *wire) Untimed() { w.untimed = true }

func (w *wire) Links() (string, error) { return w.by, w.why }
func (w *wire) Meet() ([]byte, error)  { return []byte("here"), nil }

func (w *wire) Link(meeting []byte, rank, size int) (backend.Link, error) {
	if string(meeting) != "here" || size != 2 {
		return nil, fmt.Errorf("got the meeting %q of %d", meeting, size)
	}
	return &wired{w, rank}, nil
}

type wired struct {
	*wire
	rank int
}

// Move meets that of the other rank.
func (w *wired) Move(dst, src backend.Slice, bytes, apart int) error {
	parts := make([][]byte, 2)
	for r := range parts {
		parts[r] = make([]byte, bytes)
		if err := w.Download(context.Background(), parts[r], src.Buf, src.Offset+r*apart); err != nil {
			return err
		}
	}
	w.mu.Lock()
	*w.moves++
	w.mu.Unlock()
	out, in := w.sent, w.back
	if w.rank == 1 {
		out, in = in, out
	}
	out <- parts
	theirs := <-in
	got := [][]byte{parts[0], theirs[0]}
	if w.rank == 1 {
		got = [][]byte{theirs[1], parts[1]}
	}
	if w.wrong {
		got[0] = got[1]
	}
	return errors.Join(w.Upload(dst.Buf, dst.Offset, got[0]), w.Upload(dst.Buf, dst.Offset+bytes, got[1]))
}

func (w *wired) Err() error   { return nil }
func (w *wired) Break(error)  {}
func (w *wired) Close() error { return nil }

// onWires runs two ranks on devices of their own with wires that change has changed.
func onWires(t *testing.T, change func(w *wire, rank int), f func(g *ranks.Group) error) (errs []error, moves int) {
	t.Helper()
	sent, back, mu := make(chan [][]byte, 1), make(chan [][]byte, 1), new(sync.Mutex) // a move ahead
	cpu, err := backend.Open(backend.Host)
	if err != nil {
		t.Fatal(err)
	}
	return together.Run(2, func(g *ranks.Group) (err error) {
		w := &wire{Backend: cpu.Backend(), by: "wires 1.0", sent: sent, back: back, moves: &moves, mu: mu}
		change(w, g.Rank())
		choice := &backend.Choice{}
		choice.Set(backend.NewDevice(fmt.Sprintf("wired:%d", g.Rank()), w))
		failed := tensor.Try(func() {
			tensor.Within(backend.WithChoice(t.Context(), choice), func() {
				if err = g.Approach(t.Context()); err == nil {
					err = f(g)
				}
			})
		})
		return errors.Join(failed, err)
	}), moves
}

// Sums that move between devices have the bits of those that go through the host.
func TestNear(t *testing.T) {
	errs, moves := onWires(t, func(*wire, int) {}, func(g *ranks.Group) error {
		if text := g.String(); text != "2 ranks by wires 1.0" {
			return fmt.Errorf("got %q", text)
		}
		return uses(g)
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if want := 2 * (1 + 3*2); moves != want { // one to try, and two for each sum, on each rank
		t.Errorf("got %d moves, want %d", moves, want)
	}
}

// Where some rank cannot, numbers go through the host, and the group says why.
func TestNotNear(t *testing.T) {
	for _, c := range []struct {
		change func(w *wire, rank int)
		want   string
	}{
		{func(w *wire, rank int) { w.why = errors.ErrUnsupported }, "2 ranks by a link of its own"},
		{func(w *wire, rank int) {
			if rank == 1 {
				w.why = errors.New("wires: not installed")
			}
		}, "2 ranks by a link of its own, through the host: rank 1: wires: not installed"},
		{func(w *wire, rank int) { w.by = fmt.Sprint("wires ", rank+1) },
			"2 ranks by a link of its own, through the host: rank 1: it has wires 2, and rank 0 has wires 1"},
	} {
		errs, moves := onWires(t, c.change, func(g *ranks.Group) error {
			if text := g.String(); text != c.want {
				return fmt.Errorf("got %q, want %q", text, c.want)
			}
			return uses(g)
		})
		if err := errors.Join(errs...); err != nil || moves != 0 {
			t.Errorf("%s: %d moves, %v", c.want, moves, err)
		}
	}
}

// A wire that does not work is found before anything is computed.
func TestBadWires(t *testing.T) {
	errs, _ := onWires(t, func(w *wire, rank int) { w.wrong = true }, uses)
	if want := "ranks: wires 1.0: got [1 1] of the other devices, want their numbers"; errs[0] == nil || errs[0].Error() != want {
		t.Errorf("got %v, want %s", errs[0], want)
	}
}

// Devices choose nothing by its time where there are others on another machine.
func TestAlike(t *testing.T) {
	for _, c := range []struct {
		hosts []string
		want  bool
	}{{[]string{"a", "a"}, false}, {[]string{"a", "b", "a"}, true}} {
		var mine *wire
		errs, _ := onWires(t, func(w *wire, rank int) {
			if rank == 0 {
				mine = w
			}
		}, func(*ranks.Group) error {
			ranks.Alike(c.hosts)
			return nil
		})
		if err := errors.Join(errs...); err != nil || mine.untimed != c.want {
			t.Errorf("%v: untimed is %v, want %v: %v", c.hosts, mine.untimed, c.want, err)
		}
	}
}
