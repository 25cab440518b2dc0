// Package checked runs the kernels that people write on the CPU: thread by thread, watched.
//
// Backends without a GPU use it for [ir.UserKernel]. The text is the one that a GPU runs; package check
// compiles it with clang and runs it in a process of its own. So a kernel that crashes or does not end is an
// error. A run hands its operands to the process and takes its results back,
// which makes no run fast: the path is for correctness.
//
// What is found: accesses outside of a tensor, barriers that not all threads reach, and results that depend
// on the order in which threads run, because a barrier is missing or two threads write to one place. When the
// plain run fails, the kernel runs again under the sanitizer that can tell the line.
package checked

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/engine/internal/msl"
	"github.com/mcs-notebook/mcs/engine/internal/msl/check"
)

// A Kernel is a group of a person's kernel, ready to run.
type Kernel struct {
	own     *ir.Kernel
	source  *msl.Source
	sources []backend.Piece
	results []backend.Piece
	ordered atomic.Bool // two orders of the threads gave the same results
}

// Compile reads the text of a group. Clang compiles it in the first run, which can be stopped.
func Compile(g *backend.Group) (*Kernel, error) {
	in := &g.Insts[0]
	k := &Kernel{own: in.Attr.Kernel}
	var err error
	if k.source, err = msl.Parse(k.own.Function+".metal", k.own.Text); err != nil {
		return nil, k.Plain(err)
	}
	k.sources, k.results = backend.PiecesOf(g)
	return k, nil
}

// Source is the text that runs.
func (k *Kernel) Source() string { return k.own.Text }

// Plain is an error of package check as a person reads it.
func (k *Kernel) Plain(err error) error {
	return errors.New(k.own.Plain(strings.TrimPrefix(err.Error(), "check: ")))
}

// A Runner has the process in which kernels run, one at a time. The zero value is ready; the first run starts
// the process, and so does the first one after a fault or a stop, which end it.
type Runner struct {
	turn   atomic.Pointer[chan struct{}]
	tools  *check.Toolchain
	device *check.Device
	loaded map[string]bool // by function
}

// take waits for the runner's turn.
func (r *Runner) take(ctx context.Context) (done func(), err error) {
	if r.turn.Load() == nil {
		c := make(chan struct{}, 1)
		r.turn.CompareAndSwap(nil, &c)
	}
	turn := *r.turn.Load()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, backend.Interrupted(ctx)
	}
}

// Run runs a kernel. Each of bufs is the memory of the launch's buffer of that number, from its place on.
// When ctx is done the process is killed, and the context's cause is the error.
func (r *Runner) Run(ctx context.Context, k *Kernel, bufs [][]byte) error {
	done, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	if r.tools == nil {
		if r.tools, err = check.Find(); err != nil {
			return fmt.Errorf("%s: a kernel in Metal's language runs on the CPU by way of clang: %s", k.own.Name, strings.TrimPrefix(err.Error(), "check: "))
		}
	}
	results, err := r.first(ctx, k, bufs)
	if err == nil && !k.ordered.Load() {
		if err = r.otherOrders(ctx, k, bufs, results); err == nil {
			k.ordered.Store(true)
		}
	}
	switch {
	case ctx.Err() != nil:
		return backend.Interrupted(ctx)
	case err != nil:
		return k.Plain(explained(ctx, k, bufs, err))
	}
	for i, b := range results {
		if r := k.results[i]; r.Buf >= 0 {
			copy(bufs[r.Buf], b)
		}
	}
	return nil
}

// first is the first run. A process that has ended since the last one, killed by somebody, is replaced.
func (r *Runner) first(ctx context.Context, k *Kernel, bufs [][]byte) ([][]byte, error) {
	old := r.device != nil
	results, err := r.plainRun(ctx, k, bufs, 0)
	var fault *check.Fault
	if old && errors.As(err, &fault) && fault.What != k.own.Function && ctx.Err() == nil {
		return r.plainRun(ctx, k, bufs, 0)
	}
	return results, err
}

// errOrder is that of a kernel whose results are chance.
var errOrder = errors.New("the results depend on the order in which the threads run: a barrier is missing, or two threads write to one place")

// orders is how many other orders of the threads a new kernel runs in. A threadgroup of few threads may well
// have the same one first in some of them.
const orders = 3

// otherOrders runs a kernel again, with threads that take turns in other orders, and compares the results.
func (r *Runner) otherOrders(ctx context.Context, k *Kernel, bufs, results [][]byte) error {
	for seed := range uint32(orders) {
		again, err := r.plainRun(ctx, k, bufs, seed+1)
		if err != nil {
			return err
		}
		if !slices.EqualFunc(results, again, bytes.Equal) {
			return errOrder
		}
	}
	return nil
}

// plainRun runs a kernel in the process, which it starts if there is none, and returns the bytes of what it
// has written.
func (r *Runner) plainRun(ctx context.Context, k *Kernel, bufs [][]byte, seed uint32) ([][]byte, error) {
	if r.device == nil {
		d, err := r.tools.Start(ctx, check.Plain)
		if err != nil {
			return nil, err
		}
		r.device, r.loaded = d, map[string]bool{}
		runtime.AddCleanup(r, func(d *check.Device) { d.Close() }, d)
	}
	var err error
	if !r.loaded[k.own.Function] {
		err = r.device.Load(ctx, k.source)
	}
	var results [][]byte
	if err == nil {
		r.loaded[k.own.Function] = true
		results, err = k.run(ctx, r.device, bufs, seed)
	}
	var refused *check.CompileError
	if err != nil && !errors.As(err, &refused) {
		r.end()
	}
	return results, err
}

// end ends the process: after a fault its memory means nothing.
func (r *Runner) end() {
	r.device.Close()
	r.device = nil
}

// Close ends the process, if there is one.
func (r *Runner) Close() {
	if done, err := r.take(context.Background()); err == nil {
		defer done()
		if r.device != nil {
			r.end()
		}
	}
}

// explained runs a kernel that failed under the sanitizers that know the lines, and returns what they say; or
// err, if they find nothing.
func explained(ctx context.Context, k *Kernel, bufs [][]byte, err error) error {
	var fault *check.Fault
	switch {
	case errors.Is(err, errOrder):
		if found := placed(ctx, k, bufs, check.Thread); found != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimPrefix(found.Error(), "check: "))
		}
	case errors.As(err, &fault) && strings.Contains(fault.Text, "memory that is not its own"):
		found := placed(ctx, k, bufs, check.Address)
		if found != nil && !strings.HasPrefix(found.Text, "FPE") && !strings.HasPrefix(found.Text, "stack-overflow") {
			return found
		} // what a division by zero is called there says nothing to a person
		if undefined := placed(ctx, k, bufs, check.Undefined); undefined != nil {
			return undefined
		}
		if found != nil {
			return found
		}
	}
	return err
}

// placed is what a sanitizer finds, if it knows where.
func placed(ctx context.Context, k *Kernel, bufs [][]byte, mode check.Mode) *check.Fault {
	var fault *check.Fault
	if errors.As(Watch(ctx, k, bufs, mode), &fault) && strings.Contains(fault.Text, ".metal:") {
		return fault
	}
	return nil
}

// Watch runs a kernel once in a process of its own, under a sanitizer, and returns what that finds: a
// *check.Fault. Each of bufs is the memory of the launch's buffer of that number.
func Watch(ctx context.Context, k *Kernel, bufs [][]byte, mode check.Mode) error {
	tools, err := check.Find()
	if err != nil {
		return err
	}
	d, err := tools.Start(ctx, mode, k.source)
	if err != nil {
		return err
	}
	defer d.Close()
	_, err = k.run(ctx, d, bufs, 0)
	return err
}
