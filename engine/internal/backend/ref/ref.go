// Package ref is the reference backend: slow, exact and obvious. Every other backend is held against it.
//
// It runs a group instruction by instruction. A value is a dense array of float64 (floating-point types) or
// of int64 (integers and Bool); each op is computed in those, straight from its definition, without threads
// and without tricks. A result of type F32, F16 or BF16 is rounded to float32 after each instruction; F16 and
// BF16 are rounded once more when they are stored, and wherever a cast asks for it. F64 is kept as it is.
//
// Within a context that is [Disturbed] it computes a little wrong, which shows how far correct results can
// lie apart.
//
// Reading order: ref.go, value.go, then a file for each family of ops.
package ref

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/dtype"
	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/checked"
	"github.com/mcs-notebook/mcs/engine/internal/ir"
	"github.com/mcs-notebook/mcs/internal/ticks"
)

func init() {
	backend.Register(backend.Driver{
		Name: "ref", Speed: 0, Number: backend.Unnumbered,
		Probe: func() []backend.Found { return []backend.Found{{Name: "ref", Detail: detail}} },
		Open:  func(int) (backend.Backend, error) { return Open() },
	})
}

const detail = "reference, float64"

// Open returns a reference backend.
func Open() (backend.Backend, error) { return &Backend{}, nil }

// A Backend computes on Go's heap.
type Backend struct {
	mu      sync.Mutex // runs are one after the other
	checked checked.Runner
}

type buffer struct{ bytes []byte }

func (b *buffer) Bytes() int { return len(b.bytes) }

// Info says that ref knows every type.
func (b *Backend) Info() backend.Info {
	return backend.Info{Name: "ref", Detail: detail, DTypes: dtype.All(), Threads: 1}
}

// Alloc returns memory filled with 0xff, so that a kernel that reads what it did not write gets NaN.
func (b *Backend) Alloc(n int) (ir.Buffer, error) {
	if n < 0 {
		return nil, fmt.Errorf("ref: alloc: got %d bytes, want 0 or more", n)
	}
	if int64(n) > most {
		return nil, &backend.OutOfMemory{Device: "ref", Want: int64(n), Free: -1, Held: "the reference is for small tensors"}
	}
	m := make([]byte, n)
	for i := range m {
		m[i] = 0xff
	}
	return &buffer{m}, nil
}

// most is how many bytes a buffer may have: more would take minutes to compute, or end the process.
const most = 8 << 30

// Free lets go of the memory; a later use panics.
func (b *Backend) Free(buf ir.Buffer) { buf.(*buffer).bytes = nil }

// Upload copies src into dst.
func (b *Backend) Upload(dst ir.Buffer, offset int, src []byte) error {
	return transfer("upload", dst.(*buffer).bytes, offset, len(src), func(d []byte) { copy(d, src) })
}

// Download copies from src into dst; there is nothing to wait for.
func (b *Backend) Download(_ context.Context, dst []byte, src ir.Buffer, offset int) error {
	return transfer("download", src.(*buffer).bytes, offset, len(dst), func(s []byte) { copy(dst, s) })
}

func transfer(what string, mem []byte, offset, n int, move func([]byte)) error {
	if offset < 0 || offset+n > len(mem) {
		return fmt.Errorf("ref: %s: got bytes %d to %d, want them inside of a buffer of %d", what, offset, offset+n, len(mem))
	}
	move(mem[offset : offset+n])
	return nil
}

// A kernel is the group itself: it is interpreted.
type kernel struct{ g *backend.Group }

func (k *kernel) Name() string  { return k.g.Name }
func (k *kernel) Launches() int { return 1 }
func (k *kernel) Scratch() int  { return 0 }
func (k *kernel) Close()        {}

// Compile checks that every instruction is known.
func (b *Backend) Compile(g *backend.Group) (backend.Kernel, error) {
	for i := range g.Insts {
		if g.Insts[i].Op == ir.UserKernel {
			return newUserKernel(g)
		}
		if ops[g.Insts[i].Op] == nil {
			return nil, fmt.Errorf("ref: %s: op %v has no implementation", g.Name, g.Insts[i].Op)
		}
	}
	return &kernel{g}, nil
}

// A loaded is the program itself.
type loaded struct{ p *backend.Program }

func (loaded) Close() {}

// Load has nothing to prepare.
func (b *Backend) Load(p *backend.Program) (backend.Loaded, error) { return loaded{p}, nil }

// Run interprets the launches, and returns when they are done.
func (b *Backend) Run(ctx context.Context, p backend.Loaded, t *backend.Table, times []time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	program := p.(loaded).p
	t.Began = ticks.Now()
	for i := range program.Launches {
		if i == program.Commit {
			ctx = context.WithoutCancel(ctx)
		}
		if ctx.Err() != nil {
			return backend.Interrupted(ctx)
		}
		start := time.Now()
		if err := b.launch(ctx, &program.Launches[i], t); err != nil {
			return err
		}
		if times != nil {
			times[i] = time.Since(start)
		}
	}
	return nil
}

// Sync has nothing to wait for.
func (b *Backend) Sync(context.Context) error { return nil }

// failure is the panic by which an op stops a run: an index out of range.
type failure struct{ err error }

func run(ctx context.Context, l *backend.Launch, t *backend.Table) (err error) {
	g := l.Kernel.(*kernel).g
	if g.Kind == backend.Single && len(g.Insts) > 1 { // one may read what another one stores
		for i := range g.Insts {
			own := *l
			own.Kernel = &kernel{g.Alone(i)}
			if err := run(ctx, &own, t); err != nil {
				return err
			}
		}
		return nil
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("ref: %w", r.err)
		case runtime.Error:
			panic(fmt.Sprintf("ref: %s: %v", g.Name, r))
		default:
			panic(r)
		}
	}()
	inputs := make([]value, len(g.Inputs))
	for i, in := range g.Inputs {
		if in.Buf < 0 {
			inputs[i] = newValue(in.DType, nil)
			inputs[i].put(0, t.Scalar(l.Scalars[in.Scalar]))
			inputs[i].round()
		} else {
			inputs[i] = load(t.At(l.Bufs[in.Buf]), in.DType, in.Layout)
		}
	}
	results := make([][]value, len(g.Insts))
	get := func(r backend.Ref) value {
		if i, ok := r.Input(); ok {
			return inputs[i]
		}
		return results[r.Index][r.Result]
	}
	rng, _ := ctx.Value(disturbance).(*rand.Rand)
	for i := range g.Insts {
		if ctx.Err() != nil {
			return backend.Interrupted(ctx)
		}
		in := &g.Insts[i]
		args := make([]value, len(in.Args))
		for j, a := range in.Args {
			args[j] = get(a)
		}
		results[i] = apply(rng, in, args)
	}
	for _, o := range g.Outputs {
		store(t.At(l.Bufs[o.Buf]), o, get(o.Value))
	}
	return nil
}

// ops holds the meaning of each op: the results of an instruction from its arguments. The files of the
// families fill it.
var ops [ir.NumOps]func(in *backend.Inst, args []value) []value

// apply runs one instruction and rounds what it gives; rng disturbs it if it is not nil.
func apply(rng *rand.Rand, in *backend.Inst, args []value) []value {
	out := ops[in.Op](in, disturbedOperands(rng, in.Op, args))
	for i := range out {
		disturbResult(rng, in.Op, out[i])
		out[i].round()
	}
	return out
}

// one makes an op with one result.
func one(f func(in *backend.Inst, args []value) value) func(*backend.Inst, []value) []value {
	return func(in *backend.Inst, args []value) []value { return []value{f(in, args)} }
}
