package rt

import (
	"sync"
	"sync/atomic"
	"time"
)

// A blocking call of compiled code cannot be interrupted. The calls that people wait in are made in
// another goroutine. An interrupt ends the wait for that goroutine, not the call.

// Block makes a call that may wait for long. An interrupt of the cell calls unblock, if it is not nil,
// which may end the call, and otherwise leaves the call behind.
func (r *Runtime) Block(call, unblock func()) {
	done := make(chan any, 1) // the panic value of the call
	go func() {
		defer func() { done <- recover() }()
		call()
	}()
	r.await(done, unblock)
}

// BlockCalling is Block for a call that may call functions of cells.
func (r *Runtime) BlockCalling(call func()) {
	c := r.here()
	around, done := c.fork(), make(chan any, 1)
	go func() {
		leave := r.join(c)
		defer func() {
			p := recover()
			leave()
			done <- p
		}()
		around(call)
	}()
	r.await(done, nil)
}

func (r *Runtime) await(done <-chan any, unblock func()) {
	defer r.waits()()
	for {
		wake := r.wake()
		if _, _, cause := r.cause(); cause != nil || r.drops() {
			if unblock != nil {
				unblock()
			}
			r.stop()
			return
		}
		select {
		case p := <-done:
			if p != nil {
				panic(p)
			}
			return
		case <-wake:
		}
	}
}

// Lock locks a mutex. If the cell stops waiting, the mutex is unlocked again as soon as the call has
// locked it.
func (r *Runtime) Lock(try func() bool, lock, unlock func()) {
	if try() {
		return
	}
	var given atomic.Int32 // 1: locked, 2: given up
	r.Block(func() {
		if lock(); !given.CompareAndSwap(0, 1) {
			unlock()
		}
	}, func() {
		if !given.CompareAndSwap(0, 2) {
			unlock()
		}
	})
}

// Unlock unlocks a mutex, and panics where the mutex itself would end the process. Free locks the mutex if
// it is not locked.
func (r *Runtime) Unlock(what string, free func() bool, undo, unlock func()) {
	if free() {
		undo()
		panic(RuntimeError("sync: " + what))
	}
	unlock()
}

// CondWait calls c.Wait. It returns or panics with the lock held, as the caller expects.
func (r *Runtime) CondWait(c *sync.Cond) {
	back := make(chan struct{})
	r.Block(func() {
		defer close(back)
		c.Wait()
	}, func() {
		for {
			c.Broadcast()
			select {
			case <-back:
				return
			case <-time.After(time.Millisecond): // the goroutine had not begun to wait
			}
		}
	})
}
