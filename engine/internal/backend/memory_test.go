package backend

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/scope"
)

// counted is a backend that only counts what is allocated.
type counted struct {
	Backend
	bytes atomic.Int64
}

type room int

func (r room) Bytes() int { return int(r) }

func (c *counted) Info() Info { return Info{} }

func (c *counted) Alloc(n int) (ir.Buffer, error) {
	c.bytes.Add(int64(n))
	return room(n), nil
}

func (c *counted) Free(b ir.Buffer) { c.bytes.Add(-int64(b.Bytes())) }

// Memory that came back is kept as long as it is in use again now and then, and given back after a while
// without.
func TestKeptMemoryIsGivenBackWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{}
		d := NewDevice("counted", c)
		idleTime := d.Hints().Idle
		use := func() {
			raw, err := d.Scratch(1 << 20)
			if err != nil {
				t.Fatal(err)
			}
			d.GiveBack(raw)
			d.MemoryInUse() // takes notice of what came back
		}
		for range 5 {
			use()
			time.Sleep(idleTime * 3 / 4)
			if n := c.bytes.Load(); n != 1<<20 {
				t.Fatalf("in use: %d bytes are allocated, want %d", n, 1<<20)
			}
		}
		time.Sleep(2 * idleTime)
		synctest.Wait()
		if _, _, kept := d.MemoryInUse(); c.bytes.Load() != 0 || kept != 0 {
			t.Errorf("idle: %d bytes are allocated and %d kept, want none", c.bytes.Load(), kept)
		}
	})
}

// An allocation that asks the Go collector for unused blocks does not wait for it any more when the context
// of its evaluation is done.
func TestCollectionDoesNotHoldUpAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDevice("counted", &counted{})
		d.memory.gc = func() { time.Sleep(time.Minute) } // a large heap on a busy machine
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		d.memory.served = 1 << 40
		start := time.Now()
		scope.Within(ctx, func() {
			if _, err := d.Scratch(1 << 20); err != nil {
				t.Error(err)
			}
		})
		if took := time.Since(start); took != time.Second {
			t.Errorf("the allocation took %v, want the second until its context was done", took)
		}
		time.Sleep(time.Hour) // the collection ends by itself
	})
}

// sparse is a backend whose reserved memory takes what a test says.
type sparse struct {
	counted
	takes int
}

func (s *sparse) Reserve(n int) (ir.Buffer, error) { return &reserved{n}, nil }
func (s *sparse) Resident(ir.Buffer) int           { return s.takes }
func (s *sparse) Free(ir.Buffer)                   { s.takes = 0 }

type reserved struct{ bytes int }

func (r *reserved) Bytes() int { return r.bytes }

// Reserved memory counts as far as it was written, and goes back at once.
func TestReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sparse{}
		d := NewDevice("sparse", s)
		b, err := d.Reserve(1 << 30)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 4096, 1 << 20} {
			s.takes = n
			time.Sleep(time.Second)
			if inUse, _, _ := d.MemoryInUse(); inUse != int64(n) || b.Room() != n || b.Bytes() != 1<<30 {
				t.Errorf("%d bytes were written: got %d in use, %d of the block's %d", n, inUse, b.Room(), b.Bytes())
			}
		}
		s.takes = 2 << 20
		time.Sleep(time.Second)
		b.Release()
		if inUse, peak, kept := d.MemoryInUse(); inUse != 0 || peak != 2<<20 || kept != 0 || s.takes != 0 {
			t.Errorf("released: got %d in use, a peak of %d, %d kept, want 0, %d, 0", inUse, peak, kept, 2<<20)
		}
	})
}
