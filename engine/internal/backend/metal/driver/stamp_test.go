package driver

import (
	"strings"
	"testing"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
)

// Stamps are read at the ends of encoders, and all work is in one command buffer. Where the system has no
// such clock, or one that is wrong, each stamp ends a command buffer.
func TestClocks(t *testing.T) {
	for name, c := range map[string]struct {
		clocks  uintptr
		sampled bool
	}{"nanoseconds": {1, true}, "none": {0, false}, "stands still": {2, false}, "ticks of 24 MHz": {3, false}, "fails": {4, false}} {
		t.Run(name, func(t *testing.T) {
			s := newStub(t)
			s.ask("clocks", c.clocks)
			d, st := s.open()
			if sampled := d.clock() != nil; sampled != c.sampled {
				t.Fatalf("reads a clock: got %v, want %v", sampled, c.sampled)
			}
			x, y, p := s.alloc(d), s.alloc(d), s.pipeline(d)
			s.ask("sent")
			var stamps []gpu.Stamp
			stamp := func() {
				t.Helper()
				next, err := st.Stamp()
				if err != nil {
					t.Fatal(err)
				}
				stamps = append(stamps, next)
			}
			st.Fill(x, 0, 256, 0)
			stamp()
			for n := range 4 {
				for range n + 1 {
					st.Dispatch(axpy(p, x, y, 1))
					st.Barrier()
				}
				stamp()
			}
			st.Fill(x, 0, 256, 0) // after the last stamp
			e, err := st.Commit()
			if err == nil {
				err = e.Wait(t.Context(), 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			sent := " " + s.ask("sent")
			if got, want := strings.Count(sent, " commandBuffer "), map[bool]int{true: 1, false: 6}[c.sampled]; got != want {
				t.Errorf("got %d command buffers, want %d", got, want)
			}
			for n := range 4 {
				took, err := stamps[n+1].Since(stamps[n])
				// The stub's dispatches and fences take 3 µs each, its command buffers 2.
				if want := time.Duration(3*(2*(n+1)+1)) * time.Microsecond; err != nil || took < want-3*time.Microsecond || took > want+3*time.Microsecond {
					t.Errorf("%d dispatches: got %v, %v, want about %v", n+1, took, err, want)
				}
			}
			e.Close()
			for _, stamp := range stamps {
				stamp.Close()
				stamp.Close() // nothing
			}
			if _, err := stamps[1].Since(stamps[0]); err == nil {
				t.Error("got a time from a stamp that was closed")
			}
			x.Free()
			y.Free()
			p.Close()
			d.Close()
			s.clean(name)
		})
	}
}

// Stamps at the end of a commit, and in one without work, have a time, too.
func TestLastStamp(t *testing.T) {
	s := newStub(t)
	d, st := s.open()
	x := s.alloc(d)
	for range 2 {
		first, err := st.Stamp()
		if err != nil {
			t.Fatal(err)
		}
		second, _ := st.Stamp()
		e, err := st.Commit()
		if err == nil {
			err = e.Wait(t.Context(), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		if took, err := second.Since(first); err != nil || took != 0 {
			t.Errorf("two stamps without work between them: got %v, %v, want 0", took, err)
		}
		first.Close()
		second.Close()
		e.Close()
		st.Fill(x, 0, 256, 0)
	}
	e, err := st.Commit()
	if err != nil {
		t.Fatal(err)
	}
	e.Close()
	d.Close() // gives x back
	s.clean("stamps")
}
