package supervise

import (
	"context"
	"sync"
	"time"
)

// Workers are the goroutines in which a session checks and runs cells, each one task after the other.
// Their stacks have grown already, which would otherwise cost each cell time. A command that runs cells
// occupies one worker while the cells run in another.
type workers struct {
	mu   sync.Mutex
	idle []worker
}

// A worker receives the tasks of a goroutine. The goroutine ends when it is closed.
type worker chan func()

// take returns an idle worker. Give it back when its task has ended; close it if nobody waits for the
// task.
func (w *workers) take() worker {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.idle) - 1; n >= 0 {
		one := w.idle[n]
		w.idle = w.idle[:n]
		return one
	}
	one := make(worker)
	go one.work()
	return one
}

func (w *workers) give(one worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle = append(w.idle, one)
}

// end ends the workers that have nothing to do.
func (w *workers) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.idle {
		close(one)
	}
	w.idle = nil
}

func (w worker) work() {
	ended := false
	defer func() {
		if !ended { // code of a cell has called runtime.Goexit
			go w.work()
		}
	}()
	for f := range w {
		f()
	}
	ended = true
}

// Do has a worker call f, which runs no code of cells, and waits for it. When ctx is cancelled it waits
// only a little longer. It returns whether f has ended. A panic of f becomes a panic of Do.
func (rn *Runner) Do(ctx context.Context, f func()) (ended bool) {
	failed := make(chan any, 1)
	w := rn.workers.take()
	w <- func() {
		defer func() { failed <- recover() }()
		f()
	}
	var p any
	select {
	case p = <-failed:
	case <-ctx.Done():
		select {
		case p = <-failed:
		case <-time.After(rn.Grace / 2):
			close(w)
			return false
		}
	}
	rn.workers.give(w)
	if p != nil {
		panic(p)
	}
	return true
}
