package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// What is the same in every driver: who owns which buffer, what is checked before a dispatch, what is freed
// behind work, and in which order things are closed. A driver's device embeds an Owner, its buffers a Held,
// its streams a Queue and its events an End.

// closing is how long things wait for work under way when they are closed.
const closing = time.Second

// An Owner is a device, as far as it keeps account of what it has given out.
type Owner struct {
	Name string // "cuda:0"

	closed  atomic.Bool
	mu      sync.Mutex
	streams map[Worker]bool // those that were not closed
	usage   Usage           // InUse and Peak
}

// A Worker is a stream, which may have work under way.
type Worker interface{ Busy() bool }

// Closed reports whether the device was closed.
func (o *Owner) Closed() bool { return o.closed.Load() }

// Count adds bytes to what is in use.
func (o *Owner) Count(bytes int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.usage.InUse += bytes
	o.usage.Peak = max(o.usage.Peak, o.usage.InUse)
}

// Counted is what Count has added up.
func (o *Owner) Counted() Usage {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.usage
}

// Owns finds the mistakes of buffers: freed, or of another device. nil is none.
func (o *Owner) Owns(list ...Buffer) error {
	for _, b := range list {
		if b == nil {
			continue
		}
		h, ok := b.(interface{ held() *Held })
		switch {
		case !ok || h.held().Owner != o:
			return errors.New("got a buffer of another device")
		case h.held().freed.Load():
			return errors.New("got a buffer that was freed")
		}
	}
	return nil
}

// OwnsArgs is Owns for what arguments are bound to.
func (o *Owner) OwnsArgs(list ...Arg) error {
	for _, a := range list {
		if err := o.Owns(a.Buffer); err != nil {
			return err
		}
	}
	return nil
}

// CheckDispatch looks at what every driver must, and whether the device owns what the dispatch names. mine
// looks at the pipeline.
func (o *Owner) CheckDispatch(d *Dispatch, l Limits, mine func(p Pipeline) error) error {
	if err := CheckDispatch(d, l); err != nil {
		return err
	}
	if err := mine(d.Pipeline); err != nil {
		return err
	}
	for i, a := range d.Args {
		if err := o.Owns(a.Buffer); err != nil {
			return fmt.Errorf("%s: argument %d: %w", d.Pipeline.Name(), i, err)
		}
	}
	if err := o.Owns(d.Uses...); err != nil {
		return fmt.Errorf("%s: %w", d.Pipeline.Name(), err)
	}
	return nil
}

// Add makes a stream known. It returns false if the device was closed.
func (o *Owner) Add(w Worker) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.streams == nil {
		o.streams = map[Worker]bool{}
	}
	o.streams[w] = true
	return !o.Closed()
}

// Close closes the device for its driver, which calls it op, when the work under way is over. It returns the
// streams that were not closed. While a kernel does not end there is nothing to give back, and the error says
// so.
func (o *Owner) Close(op string) (map[Worker]bool, error) {
	if o.closed.Swap(true) {
		return nil, Misused(o.Name, op, "the device was closed before")
	}
	o.mu.Lock()
	streams := o.streams
	o.mu.Unlock()
	if !idle(func() (busy bool) {
		for s := range streams {
			busy = busy || s.Busy()
		}
		return busy
	}) {
		return nil, Errorf(Timeout, o.Name, "close", "work was still under way after %v; its memory is free when the program ends", closing)
	}
	return streams, nil
}

// idle waits until nothing is busy, but no longer than closing.
func idle(busy func() bool) bool {
	for deadline := time.Now().Add(closing); busy(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// A Held is a Buffer that a driver has given out. Its driver fills the fields in.
type Held struct {
	Owner   *Owner
	Bytes   int
	At      uint64 // where the device finds it
	Memory  []byte // as the processor sees it, or nil
	Release func() // gives it back, when nothing uses it any more

	freed atomic.Bool
}

func (h *Held) held() *Held     { return h }
func (h *Held) Len() int        { return h.Bytes }
func (h *Held) Address() uint64 { return h.At }
func (h *Held) Host() []byte    { return h.Memory }

// Free gives the memory back at once.
func (h *Held) Free() {
	if h.Take() {
		h.Release()
	}
}

// Take marks it as freed, and says whether the caller is to give it back: the first one, while the device is
// open.
func (h *Held) Take() bool { return !h.freed.Swap(true) && !h.Owner.closed.Load() }

// A Queue is a stream, as far as it keeps account of what is to be done behind its work.
type Queue struct {
	Owner *Owner

	mu      sync.Mutex
	frees   []*Held // to be freed when the next commit is over
	waiting []*End  // that were closed before they were over
	closed  bool
}

// Free frees a buffer once the next commit is over.
func (q *Queue) Free(b Buffer) {
	if h, ok := b.(interface{ held() *Held }); ok && h.held().Take() {
		q.FreeLater(h.held())
	}
}

// FreeLater is Free of a buffer that was taken.
func (q *Queue) FreeLater(h *Held) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.frees = append(q.frees, h)
}

// Reap gives back what closed events have left behind.
func (q *Queue) Reap() {
	q.mu.Lock()
	waiting := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	for _, e := range waiting {
		if done, _ := e.Done(); done {
			e.Drop()
		} else {
			q.wait(e)
		}
	}
}

func (q *Queue) wait(e *End) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, e)
}

// Close closes a stream w for its driver, which calls it op: after at most a second for what must be freed in
// its order. It returns false if the driver has nothing to give back, because the device was closed.
func (q *Queue) Close(op string, w Worker) (open bool, err error) {
	q.mu.Lock()
	closed := q.closed
	q.closed = true
	q.mu.Unlock()
	if closed {
		return false, Misused(q.Owner.Name, op, "the stream was closed before")
	}
	if q.Owner.Closed() {
		return false, nil
	}
	idle(w.Busy)
	q.Reap()
	for _, h := range q.frees {
		h.Release()
	}
	q.Owner.mu.Lock()
	defer q.Owner.mu.Unlock()
	delete(q.Owner.streams, w)
	return true, nil
}

// An End is an Event, as far as it keeps account of what waits for it. Its driver fills the fields in.
type End struct {
	Queue *Queue
	Op    string                        // what the driver calls Poll
	Poll  func() (over bool, err error) // asks whether the work is over, and what went wrong in it
	Drop  func()                        // gives back what the driver has for it
	Keeps bool                          // whether that must stay until the work is over

	mu     sync.Mutex
	frees  []*Held // to be freed when it is over
	over   bool
	err    error
	closed bool
}

// Begin lets an event of the queue's last commit free what was to be freed behind that.
func (e *End) Begin() {
	e.Queue.mu.Lock()
	defer e.Queue.mu.Unlock()
	e.frees, e.Queue.frees = e.Queue.frees, nil
}

// Done asks the driver, until the work is over.
func (e *End) Done() (bool, error) { return e.done(e.Queue.Owner.Closed()) }

// Over reports whether the work is over. The device may be closing.
func (e *End) Over() bool {
	over, _ := e.done(false)
	return over
}

// done frees what waited for the end of the work.
func (e *End) done(closed bool) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.over:
		return true, e.err
	case closed:
		return true, Misused(e.Queue.Owner.Name, e.Op, "the device was closed")
	}
	if e.over, e.err = e.Poll(); !e.over {
		return false, nil
	}
	for _, h := range e.frees {
		h.Release()
	}
	e.frees = nil
	return true, e.err
}

// Wait asks again and again, so that a device that hangs hangs no goroutine.
func (e *End) Wait(ctx context.Context, limit time.Duration) error {
	return Poll(ctx, limit, e.Done, func() error {
		return Errorf(Timeout, e.Queue.Owner.Name, "wait", "waited %v", limit)
	})
}

// Closed reports whether the event was closed.
func (e *End) Closed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// Close gives back what the driver has for the event, or leaves that to the queue while something waits for
// it.
func (e *End) Close() {
	e.mu.Lock()
	closed, stays := e.closed, !e.over && e.Keeps || len(e.frees) > 0
	e.closed = true
	e.mu.Unlock()
	switch {
	case closed:
	case stays:
		e.Queue.wait(e)
	default:
		e.Drop()
	}
}
