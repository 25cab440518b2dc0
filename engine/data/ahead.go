package data

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcs-notebook/mcs/engine/tensor"
)

// A Loader prepares batches before they are asked for. Make it with Ahead.
type Loader struct {
	source Source
	ahead  int

	mu   sync.Mutex
	work map[int]*prepared // by the number of the batch
}

// A prepared batch is one, or will be when done is closed.
type prepared struct {
	ctx      context.Context // of the call that began it
	done     chan struct{}
	batch    Batch
	err      error
	panicked any
}

// Ahead makes a source whose next n batches are prepared while a batch is used, each by a goroutine of its
// own: for a source that reads files, or a function of Map that takes its time. The batches are those of the
// source, with their numbers and their errors, so a run that goes on does so exactly; the fingerprint is the
// source's, too. The source's method Batch is called by several goroutines at once.
//
// No goroutine lives longer than it takes to prepare its batch. What is under way stops with the context of
// the call of Batch that began it (see tensor.Context): in train.Run with the run's.
func Ahead(source Source, n int) *Loader {
	if n < 0 {
		panic(&tensor.Error{Op: "data.Ahead", Msg: fmt.Sprintf("got %d batches, want at least 0", n)})
	}
	return &Loader{source: source, ahead: n, work: map[int]*prepared{}}
}

// Batch returns batch n of the source, which may be there already, and begins with those that follow. It
// returns early if its context is done.
func (l *Loader) Batch(n int) (Batch, error) {
	ctx := tensor.Context()
	p := l.take(ctx, n)
	select {
	case <-p.done:
	case <-ctx.Done():
		return Batch{}, context.Cause(ctx)
	}
	if p.panicked != nil {
		panic(p.panicked)
	}
	return p.batch, p.err
}

// take returns batch n, which the loader then forgets, and begins with the next ones.
func (l *Loader) take(ctx context.Context, n int) *prepared {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.work {
		if k < n || k > n+l.ahead {
			delete(l.work, k)
		}
	}
	for k := n; k <= n+l.ahead && k >= n; k++ {
		if p := l.work[k]; p == nil || p.ctx.Err() != nil { // what was stopped is begun again
			l.work[k] = l.begin(ctx, k)
		}
	}
	p := l.work[n]
	delete(l.work, n)
	return p
}

// begin prepares batch n in a goroutine.
func (l *Loader) begin(ctx context.Context, n int) *prepared {
	p := &prepared{ctx: ctx, done: make(chan struct{}), err: fmt.Errorf("data: ahead: batch %d: its goroutine ended early", n)}
	go func() {
		defer close(p.done)
		defer func() { p.panicked = recover() }()
		tensor.Within(ctx, func() { p.batch, p.err = l.source.Batch(n) })
	}()
	return p
}

// Fingerprint is the source's.
func (l *Loader) Fingerprint() string { return l.source.Fingerprint() }

// String is the source's, if it has one.
func (l *Loader) String() string { return fmt.Sprintf("%v, %d batches ahead", l.source, l.ahead) }

// Mapped are the batches of a source, changed by a function. Make them with Map.
type Mapped struct {
	Seed uint64 // of the function's random numbers; set it before the first batch is taken

	source Source
	change func(b Batch, n int) Batch
}

// Map makes a source of the batches that change makes of those of a source; n is the number of a batch.
// Random numbers that change draws with package tensor depend on the seed and n only, so that a batch stays a
// function of its number:
//
//	flipped := data.Map(fit, func(b data.Batch, n int) data.Batch {
//		left := tensor.Rand(b.Examples(), 1, 1, 1).Lt(0.5)
//		return data.Batch{Inputs: tensor.Where(left, b.Inputs, b.Inputs.Flip(3)), Targets: b.Targets}
//	})
//
// What change returns is evaluated. A *tensor.Error in it is the error of the batch. The fingerprint tells
// that there is a function, but not which one.
func Map(source Source, change func(b Batch, n int) Batch) *Mapped {
	return &Mapped{source: source, change: change}
}

// Batch returns what the function makes of batch n.
func (m *Mapped) Batch(n int) (Batch, error) {
	b, err := m.source.Batch(n)
	if err != nil {
		return Batch{}, err
	}
	var changed Batch
	random := tensor.NewRNG(mix(m.Seed, n))
	err = tensor.Try(func() {
		tensor.Within(tensor.WithRNG(tensor.Context(), random), func() {
			changed = m.change(b, n)
			tensor.Eval(changed.Inputs, changed.Targets)
			if !changed.Starts.IsNone() {
				tensor.Eval(changed.Starts)
			}
		})
	})
	if err != nil {
		return Batch{}, fmt.Errorf("data: map: batch %d: %w", n, err)
	}
	changed.Inputs, changed.Targets = changed.Inputs.Detach(), changed.Targets.Detach()
	if !changed.Starts.IsNone() {
		changed.Starts = changed.Starts.Detach()
	}
	return changed, nil
}

// Fingerprint is made of the source's and the seed.
func (m *Mapped) Fingerprint() string {
	return fmt.Sprintf("map %d of %s", m.Seed, m.source.Fingerprint())
}

// String is the source's, if it has one.
func (m *Mapped) String() string { return fmt.Sprintf("%v, changed by a function", m.source) }
