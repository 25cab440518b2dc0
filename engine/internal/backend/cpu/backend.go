// Package cpu is the backend that every machine has: generated assembly where the processor is known, plain
// Go elsewhere, and a pool of workers.
//
// A [backend.Group] becomes a kernel, which is a Go function that knows its loops, strides and micro-kernels;
// nothing is decided at launch that could be decided at compilation. f16 and bf16 are storage: they are
// widened when they are loaded and rounded once when they are stored, and all arithmetic is done in f32. f64
// and integers are computed by plain Go loops, but for matrix products of f64.
//
// Reading order: backend.go, memory.go, then one file a kind of group (map, reduce, row, matmul, single,
// attention); loops.go has the loops that exist for every type, double_attention.go attention in f64. Below
// lie pool (workers), tile (elementwise programs), gemm (blocked matrix products), vec and micro (vector
// functions and micro-kernels, generated assembly) and isa (which instructions the processor has).
package cpu

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/checked"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/isa"
	"github.com/mcs-notebook/mcs/engine/internal/backend/cpu/pool"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/few"
	"github.com/mcs-notebook/mcs/internal/machine"
	"github.com/mcs-notebook/mcs/internal/ticks"
)

func init() {
	backend.Register(backend.Driver{
		Name: backend.Host, Speed: 10, Number: backend.Threads, Probe: probe,
		Open: func(threads int) (backend.Backend, error) { return New(threads), nil },
	})
}

// probe says what a backend with all threads would be.
func probe() []backend.Found {
	return []backend.Found{{
		Name: backend.Host, Detail: describe(runtime.GOMAXPROCS(0), processors().size), Memory: machine.Memory(),
	}}
}

// describe says how many threads a backend has, on how many processors if these are fewer, and what they
// compute with.
func describe(threads, processors int) string {
	text := "1 thread"
	if threads > 1 {
		text = fmt.Sprintf("%d threads", threads)
	}
	if threads > processors {
		text += fmt.Sprintf(" on %d", processors)
	}
	return text + ", " + isa.Level().String()
}

// A Backend computes on the processor.
type Backend struct {
	pool    *pool.Pool
	memory  memory
	checked checked.Runner // kernels that people write

	turns  *turns
	closed atomic.Bool
	launch launch // with all threads
	// If turns are shared, turns.mu guards how many threads are in use, and launches with one thread that are
	// not.
	used  int
	lanes []*launch
}

// New returns a backend with that many threads; 0 stands for as many as Go may use.
func New(threads int) *Backend {
	b := &Backend{pool: pool.New(threads), turns: processors()}
	b.memory.limit = machine.Memory()
	accelerate()
	b.launch.pool = b.pool
	return b
}

// Close ends the workers when no list of commands runs any more. Those that come later find the device lost.
func (b *Backend) Close() error {
	l := b.turns.acquire(context.Background(), b, time.Hour) // with all threads
	defer b.turns.release(b, l)
	if !b.closed.Swap(true) {
		b.pool.Close()
		b.checked.Close()
	}
	return nil
}

// Info says what the processor can do.
func (b *Backend) Info() backend.Info {
	return backend.Info{
		Name:    "cpu",
		Detail:  describe(b.pool.Threads(), b.turns.size) + accelerate(),
		DTypes:  dtype.All(),
		Threads: b.pool.Threads(),
		Memory:  b.memory.limit,
	}
}

// A kernel is a compiled group. The compiled function has memory for one launch at a time, so for launches
// side by side the group is compiled again, as often as launches run at the same time.
type kernel struct {
	name    string
	work    time.Duration // about, on one thread
	compile func(*listing) (func(l *launch), error)
	listing listing         // of run
	run     func(l *launch) // with all threads: there is one such launch at a time

	mu    sync.Mutex
	spare []func(l *launch) // those with one thread that do not run
}

func newKernel(name string, work time.Duration, compile func(*listing) (func(l *launch), error)) (*kernel, error) {
	k := &kernel{name: name, work: work, compile: compile}
	var err error
	if k.run, err = compile(&k.listing); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *kernel) Name() string  { return k.name }
func (k *kernel) Launches() int { return 1 }
func (k *kernel) Scratch() int  { return 0 } // a launch has scratch memory of its own
func (k *kernel) Close()        {}

// runBeside runs the kernel in a launch with one thread.
func (k *kernel) runBeside(l *launch) {
	k.mu.Lock()
	var run func(l *launch)
	if n := len(k.spare); n > 0 {
		run, k.spare = k.spare[n-1], k.spare[:n-1]
	}
	k.mu.Unlock()
	if run == nil {
		var err error
		if run, err = k.compile(new(listing)); err != nil {
			l.fail("%s: %w", k.name, err)
			return
		}
	}
	run(l)
	k.mu.Lock()
	k.spare = append(k.spare, run)
	k.mu.Unlock()
}

// A launch is what a kernel gets to work with: a pool, the memory of the command, scratch memory. Later
// launches use it again, so a kernel keeps nothing of it.
type launch struct {
	ctx     context.Context // of the run
	pool    *pool.Pool
	bufs    [][]byte // by Input.Buf and Output.Buf, each from its slice's offset on
	scalars []ir.Scalar
	scratch arena
	failure atomic.Pointer[error]
	beside  bool // with one thread, others may run at the same time
}

// fail lets Run return an error, for example of an index that does not exist; the first one counts.
func (l *launch) fail(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	l.failure.CompareAndSwap(nil, &err)
}

// pollEvery is after how many elements a loop over single elements asks whether to go on, some 1 ms.
const pollEvery = 1 << 16

// stopped asks, at some steps of a loop over single elements, whether the launch is to stop.
func (l *launch) stopped(step int) bool { return step%pollEvery == 0 && l.pool.Stopped() }

// compilerOf is what makes the function of a group that is no kernel of a person's.
func compilerOf(g *backend.Group) func(*backend.Group, *listing) (func(*launch), error) {
	switch g.Kind {
	case backend.Map:
		return compileMap
	case backend.Reduce:
		return compileReduce
	case backend.Row:
		return compileRow
	case backend.MatMul:
		if isJoined(g) {
			return compileApart
		}
		return compileMatMul
	}
	return compileSingle
}

// Compile makes a kernel for g.
func (b *Backend) Compile(g *backend.Group) (backend.Kernel, error) {
	if g.Kind == backend.Single && g.Insts[0].Op == ir.UserKernel {
		return b.compileUser(g)
	}
	compile := compilerOf(g)
	k, err := newKernel(g.Name, workOf(g), func(ls *listing) (func(l *launch), error) { return compile(g, ls) })
	if err != nil {
		return nil, fmt.Errorf("cpu: %s: %w", g.Name, err)
	}
	return k, nil
}

// workOf is about how long one thread takes for a group, which tells whether it is worth to wake others. A
// group that does not say its bytes may take long.
func workOf(g *backend.Group) time.Duration {
	if g.Bytes == 0 {
		return time.Millisecond
	}
	return time.Duration(max(0, g.Flops)/50 + g.Bytes/20) // at 50 GFLOP/s and 20 GB/s
}

// A loaded is a program, and how long each of its launches takes on one thread, about.
type loaded struct {
	*backend.Program
	work  []time.Duration // from each launch on
	quick bool            // all launches are
}

func (*loaded) Close() {}

// Load adds up the work.
func (b *Backend) Load(p *backend.Program) (backend.Loaded, error) {
	l := &loaded{p, make([]time.Duration, len(p.Launches)+1), len(p.Launches) > 0}
	for i := len(p.Launches) - 1; i >= 0; i-- {
		k := p.Launches[i].Kernel.(*kernel)
		l.work[i], l.quick = l.work[i+1]+k.work, l.quick && k.listing.quick != nil
	}
	return l, nil
}

// Run runs the launches and returns when they are done.
func (b *Backend) Run(ctx context.Context, program backend.Loaded, t *backend.Table, times []time.Duration) error {
	p := program.(*loaded)
	if p.quick && times == nil {
		return b.runQuick(ctx, p, t)
	}
	from, to := 0, p.Commit
	for {
		switch {
		case from == to && ctx.Err() != nil:
			return backend.Interrupted(ctx)
		case from == len(p.Launches):
			return nil
		case from == p.Commit:
			ctx, to = context.WithoutCancel(ctx), len(p.Launches)
		}
		var err error
		if from, err = b.turn(ctx, p, t, times, from, to); err != nil {
			return err
		}
	}
}

// runQuick runs launches that take no turn.
func (b *Backend) runQuick(ctx context.Context, p *loaded, t *backend.Table) error {
	if b.closed.Load() {
		return fmt.Errorf("cpu: %w", backend.ErrLost)
	}
	for i := range p.Launches {
		if ctx.Err() != nil {
			return backend.Interrupted(ctx)
		}
		c := &p.Launches[i]
		c.Kernel.(*kernel).listing.quick.run(c, t)
	}
	return nil
}

// turn runs launches until all are done, or others have waited for long. It returns the first that it did not
// run.
func (b *Backend) turn(ctx context.Context, p *loaded, t *backend.Table, times []time.Duration, from, to int) (int, error) {
	work := p.work[from] - p.work[to]
	l := b.turns.acquire(ctx, b, work)
	if l == nil {
		return 0, backend.Interrupted(ctx)
	}
	done := ctx.Done()
	defer func() { // one, which costs less than several
		if done != nil {
			l.pool.Watch(nil)
		}
		l.ctx = nil
		b.turns.release(b, l)
	}()
	if b.closed.Load() {
		return 0, fmt.Errorf("cpu: %w", backend.ErrLost)
	}
	if done != nil {
		l.pool.Watch(done)
	}
	l.pool.Expect(work)
	l.ctx = ctx
	var waited time.Time
	var before time.Duration // when the launch before had ended
	if times != nil {
		if before = ticks.Now(); from == 0 {
			t.Began = before
		}
	}
	for i := from; i < to; i++ {
		if ctx.Err() != nil {
			return 0, backend.Interrupted(ctx)
		}
		l.run(&p.Launches[i], t)
		if err := l.failure.Load(); err != nil {
			l.failure.Store(nil)
			return 0, fmt.Errorf("cpu: %w", *err)
		}
		if times != nil {
			end := ticks.Now()
			times[i], before, t.Ended = end-before, end, end
		}
		if b.turns.overdue(&waited) {
			return i + 1, nil
		}
	}
	return to, nil
}

func (l *launch) run(c *backend.Launch, t *backend.Table) {
	bufs := slices.Grow(l.bufs[:0], len(c.Bufs))[:len(c.Bufs)]
	l.bufs, l.scalars = bufs, l.scalars[:0]
	for i, p := range c.Bufs {
		bufs[i] = t.Bufs[p.Index].(*buffer).bytes[p.Offset:]
	}
	for _, n := range c.Scalars {
		l.scalars = append(l.scalars, t.Scalar(n))
	}
	l.scratch.reset()
	defer few.Clear(l.bufs) // a panic too must not keep the buffers alive
	if k := c.Kernel.(*kernel); l.beside {
		k.runBeside(l)
	} else {
		k.run(l)
	}
}

// Sync has nothing to wait for: Run returns when the work is done.
func (b *Backend) Sync(context.Context) error { return nil }
