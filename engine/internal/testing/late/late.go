// Package late is a backend for tests that behaves as a GPU does, and computes what the reference computes.
//
// Run returns at once, and a goroutine does the launches afterwards. If the data of a launch are wrong, the
// goroutine finds the error then: it fills the outputs of the launch with poison and goes on, but no launch
// from Program.Commit on takes effect. Kernels want scratch memory and are two launches each, outputs may be
// permuted, F64 is missing, and the device can be lost. Code that passes its tests on this backend does not
// rely on a device that is done when Run returns.
package late

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/ticks"
)

// Flight is how many runs may be under way, or parts of long ones.
const Flight = 8

// scratch is how many bytes each kernel wants.
const scratch = 96

// Register makes the backend known, for the tests of a package, as the device "late", or "late64" with F64.
// To do so again does nothing.
func Register(name string) {
	if slices.Contains(backend.Names(), name) {
		return
	}
	backend.Register(backend.Driver{
		Name:  name,
		Probe: func() []backend.Found { return []backend.Found{{Name: name, Detail: "the reference, later"}} },
		Open: func(int) (backend.Backend, error) {
			b, err := New()
			b.wide = name == "late64"
			return b, err
		},
	})
}

// A Backend queues work.
type Backend struct {
	exact backend.Backend
	wide  bool // it has F64

	mu     sync.Mutex
	change *sync.Cond
	queue  []func()
	busy   bool  // a goroutine works through the queue
	paused bool  // it waits
	lost   error // why the device is gone

	compiling chan struct{} // if not nil, Compile waits until it is closed

	room  chan struct{} // has an element for each run or part under way
	close struct {
		sync.Mutex
		kernels, programs, open int
	}
}

// New returns a backend.
func New() (*Backend, error) {
	exact, err := ref.Open()
	b := &Backend{exact: exact, room: make(chan struct{}, Flight)}
	b.change = sync.NewCond(&b.mu)
	return b, err
}

// Open returns a backend, for backendtest.
func Open() (backend.Backend, error) { return New() }

// Pause lets the device stop before its next work, and Resume lets it go on.
func (b *Backend) Pause()  { b.set(func() { b.paused = true }) }
func (b *Backend) Resume() { b.set(func() { b.paused = false }) }

// Lose lets all calls fail from now on, and the runs that are under way, too.
func (b *Backend) Lose() {
	b.set(func() { b.lost, b.paused = fmt.Errorf("late: %w: the test took it away", backend.ErrLost), false })
}

func (b *Backend) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	b.change.Broadcast()
}

// gone returns why the device is lost, or nil.
func (b *Backend) gone() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}

// enqueue lets f follow all other work.
func (b *Backend) enqueue(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append(b.queue, f)
	if !b.busy {
		b.busy = true
		go b.work()
	}
}

func (b *Backend) work() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) > 0 {
		if b.paused {
			b.change.Wait()
			continue
		}
		f := b.queue[0]
		b.queue[0], b.queue = nil, b.queue[1:] // so that nothing keeps what is done
		b.mu.Unlock()
		f()
		b.mu.Lock()
	}
	b.busy = false
}

// wait returns when f was done after all other work, or ctx is done.
func (b *Backend) wait(ctx context.Context, f func()) error {
	done := make(chan struct{})
	b.enqueue(func() { f(); close(done) })
	select {
	case <-done:
		return b.gone()
	case <-ctx.Done():
		return backend.Interrupted(ctx)
	}
}

// Info says that there is no F64, usually.
func (b *Backend) Info() backend.Info {
	return backend.Info{
		Name: "late", Detail: "the reference, later", Threads: 1,
		DTypes: slices.DeleteFunc(dtype.All(), func(dt dtype.Type) bool { return dt == dtype.F64 && !b.wide }),
		Hints:  backend.Hints{Permuted: func(ir.Op) bool { return true }, Room: true, Later: true, Alike: true, Stored: 64, Compilers: 4},
	}
}

type buffer struct {
	exact ir.Buffer
	bytes int
}

func (b *buffer) Bytes() int { return b.bytes }

// Alloc returns memory at once.
func (b *Backend) Alloc(n int) (ir.Buffer, error) {
	if err := b.gone(); err != nil {
		return nil, err
	}
	exact, err := b.exact.Alloc(n)
	if err != nil {
		return nil, err
	}
	return &buffer{exact, n}, nil
}

// Free frees memory when its turn comes: what uses it later panics.
func (b *Backend) Free(buf ir.Buffer) {
	b.enqueue(func() { b.exact.Free(buf.(*buffer).exact) })
}

func inside(what string, buf ir.Buffer, offset, n int) error {
	if offset < 0 || offset+n > buf.Bytes() {
		return fmt.Errorf("late: %s: got bytes %d to %d, want them inside of a buffer of %d", what, offset, offset+n, buf.Bytes())
	}
	return nil
}

// Upload copies src aside.
func (b *Backend) Upload(dst ir.Buffer, offset int, src []byte) error {
	if err := inside("upload", dst, offset, len(src)); err != nil {
		return err
	}
	staged := bytes.Clone(src)
	b.enqueue(func() { _ = b.exact.Upload(dst.(*buffer).exact, offset, staged) })
	return b.gone()
}

// Download waits for everything that was asked for before.
func (b *Backend) Download(ctx context.Context, dst []byte, src ir.Buffer, offset int) error {
	if err := inside("download", src, offset, len(dst)); err != nil {
		return err
	}
	staged := make([]byte, len(dst))
	var err error
	if waited := b.wait(ctx, func() { err = b.exact.Download(context.Background(), staged, src.(*buffer).exact, offset) }); waited != nil {
		return waited
	}
	copy(dst, staged)
	return err
}

type kernel struct {
	backend.Kernel
	b      *Backend
	group  *backend.Group
	closed sync.Once
}

func (k *kernel) Launches() int { return 2 }
func (k *kernel) Scratch() int  { return scratch }

func (k *kernel) Close() {
	k.closed.Do(func() { k.b.count(func() { k.b.close.kernels++ }) })
}

func (b *Backend) count(f func()) {
	b.close.Lock()
	defer b.close.Unlock()
	f()
}

// Closed is how many kernels and programs were closed; Loaded is how many programs were loaded.
func (b *Backend) Closed() (kernels, programs int) {
	b.close.Lock()
	defer b.close.Unlock()
	return b.close.kernels, b.close.programs
}

// Loaded is how many programs were loaded.
func (b *Backend) Loaded() int {
	b.close.Lock()
	defer b.close.Unlock()
	return b.close.open
}

// Compile refuses types that the device lacks.
func (b *Backend) Compile(g *backend.Group) (backend.Kernel, error) {
	for _, in := range g.Inputs {
		if in.DType == dtype.F64 && !b.wide {
			return nil, fmt.Errorf("late: %s: got f64, which the device lacks", g.Name)
		}
	}
	if b.compiling != nil {
		<-b.compiling
	}
	k, err := b.exact.Compile(g)
	if err != nil {
		return nil, err
	}
	return &kernel{Kernel: k, b: b, group: g}, b.gone()
}

// A loaded is a program whose launches run one by one.
type loaded struct {
	*backend.Program
	b     *Backend
	exact []backend.Loaded
}

func (l *loaded) Close() { l.b.count(func() { l.b.close.programs++ }) }

// Load prepares each launch for the reference.
func (b *Backend) Load(p *backend.Program) (backend.Loaded, error) {
	l := &loaded{Program: p, b: b}
	for _, launch := range p.Launches {
		k := launch.Kernel.(*kernel)
		launch.Kernel = k.Kernel
		exact, err := b.exact.Load(&backend.Program{Launches: []backend.Launch{launch}, Bufs: p.Bufs, Scalars: p.Scalars, Commit: 1})
		if err != nil {
			return nil, err
		}
		l.exact = append(l.exact, exact)
	}
	b.count(func() { b.close.open++ })
	return l, b.gone()
}

// part is how many launches are queued at once.
const part = 64

// A run is one run of a program on the device.
type run struct {
	*loaded
	table  *backend.Table
	times  []time.Duration
	failed error // the first one
}

// Run queues the launches, some at a time. A run that is timed is waited for.
func (b *Backend) Run(ctx context.Context, p backend.Loaded, t *backend.Table, times []time.Duration) error {
	r := &run{loaded: p.(*loaded), table: &backend.Table{Scalars: slices.Clone(t.Scalars)}, times: times}
	for _, buf := range t.Bufs {
		if buf == nil { // a plan without an arena
			r.table.Bufs = append(r.table.Bufs, nil)
			continue
		}
		r.table.Bufs = append(r.table.Bufs, buf.(*buffer).exact)
	}
	outcome := t.Later()
	t.Began = ticks.Now()
	for from, to := 0, 0; from < len(r.Launches) || to == 0; from = to {
		if to = min(from+part, len(r.Launches)); from < r.Commit {
			to = min(to, r.Commit)
		} else {
			ctx = context.WithoutCancel(ctx)
		}
		if err := b.enter(ctx); err != nil {
			outcome.Finish(err)
			return err
		}
		b.enqueue(func() {
			r.part(from, to)
			if to == len(r.Launches) {
				outcome.Finish(r.failed)
			}
			<-b.room
		})
		if to == len(r.Launches) {
			break
		}
	}
	if times != nil {
		return b.Sync(context.WithoutCancel(ctx))
	}
	return nil
}

// enter waits until less is under way.
func (b *Backend) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return backend.Interrupted(ctx)
	}
	if err := b.gone(); err != nil {
		return err
	}
	select {
	case b.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return backend.Interrupted(ctx)
	}
}

// part is what the device does with some launches.
func (r *run) part(from, to int) {
	for i := from; i < to; i++ {
		if err := r.b.gone(); err != nil {
			r.failed = err
			return
		}
		if r.failed != nil && i >= r.Commit {
			return
		}
		start := time.Now()
		if err := r.b.launch(r.loaded, i, r.table); err != nil && r.failed == nil {
			r.failed = err
		}
		if r.times != nil {
			r.times[i] = time.Since(start)
		}
	}
}

// launch runs one kernel, whose scratch memory it writes full before and after.
func (b *Backend) launch(p *loaded, i int, t *backend.Table) error {
	l := &p.Launches[i]
	if at := t.At(l.Scratch); at.Buf != nil {
		junk := bytes.Repeat([]byte{0xaa}, scratch)
		if err := b.exact.Upload(at.Buf, at.Offset, junk); err != nil {
			return err
		}
		defer func() { _ = b.exact.Upload(at.Buf, at.Offset, junk) }()
	}
	err := b.exact.Run(context.Background(), p.exact[i], t, nil)
	if err == nil {
		return nil
	}
	for _, o := range l.Kernel.(*kernel).group.Outputs { // NaN, or -1
		at := t.At(l.Bufs[o.Buf])
		_ = b.exact.Upload(at.Buf, at.Offset+o.Offset*o.DType.Size(), bytes.Repeat([]byte{0xff}, ir.Size(o.Shape)*o.DType.Size()))
	}
	return err
}

// Sync waits for everything.
func (b *Backend) Sync(ctx context.Context) error { return b.wait(ctx, func() {}) }
